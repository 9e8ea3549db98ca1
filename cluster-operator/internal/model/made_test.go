package model

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestWhatANodesConfigMapSays(t *testing.T) {
	g := NewWithT(t)
	config := &corev1.ConfigMap{Data: map[string]string{"server.config": "process.roles=broker,controller\nnode.id=2\n" +
		"controller.quorum.voters=0@a:9090,2@b.c:9090\nlog.dirs=/var/lib/kafka/data-0/kafka-log2,/var/lib/kafka/data-3/kafka-log2\n"}}
	g.Expect(RolesIn(config)).To(Equal(topology.Roles{Controller: true, Broker: true}))
	g.Expect(VotersIn(config)).To(Equal([]int32{0, 2}))
	broken := &corev1.ConfigMap{Data: map[string]string{"server.config": "broken"}}
	g.Expect(RolesIn(broken)).To(Equal(topology.Roles{}))
	g.Expect(VotersIn(broken)).To(BeEmpty())
}

func TestVolumesThatAPodWouldNotMount(t *testing.T) {
	config := func(dirs string) *corev1.ConfigMap {
		return &corev1.ConfigMap{Data: map[string]string{"server.config": "log.dirs=" + dirs + "\n"}}
	}
	disk := func(id int32) v1.StorageVolume {
		return v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: "1Gi"}
	}
	jbod := v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{disk(0)}}
	single := v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"}
	for name, c := range map[string]struct {
		config *corev1.ConfigMap
		claims []string
		wanted v1.Storage
		want   string
	}{
		"all are mounted":                     {config("/var/lib/kafka/data-0/kafka-log1"), []string{"data-0-c-p-1"}, jbod, ""},
		"one was removed":                     {config("/var/lib/kafka/data-0/kafka-log1,/var/lib/kafka/data-1/kafka-log1"), nil, jbod, "data-1"},
		"one was removed before, and is kept": {config("/var/lib/kafka/data-0/kafka-log1"), []string{"data-0-c-p-1", "data-1-c-p-1"}, jbod, ""},
		"one volume becomes several":          {config("/var/lib/kafka/data/kafka-log1"), []string{"data-c-p-1"}, jbod, "data"},
		"it becomes ephemeral": {config("/var/lib/kafka/data/kafka-log1"), []string{"data-c-p-1"}, v1.Storage{Type: v1.StorageEphemeral},
			"data"},
		"it was ephemeral":                      {config("/var/lib/kafka/data/kafka-log1"), nil, single, ""},
		"without a ConfigMap, all are mounted":  {nil, []string{"data-c-p-1", "data-c-p-11"}, single, ""},
		"without a ConfigMap, one is not":       {nil, []string{"data-0-c-p-1", "data-1-c-p-1"}, jbod, "data-1"},
		"without a ConfigMap, two are not":      {nil, []string{"data-1-c-p-1", "data-2-c-p-1"}, jbod, "data-1 data-2"},
		"without a ConfigMap, others' are none": {nil, []string{"data-5-c-p-2"}, jbod, ""},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(strings.Join(Unmounted("c-p-1", c.config, c.claims, c.wanted), " ")).To(Equal(c.want))
		})
	}
}
