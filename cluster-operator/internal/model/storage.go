package model

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// AnnotationClusterID is the id of the Kafka cluster that a volume belongs to, on its PersistentVolumeClaim. A recreated Kafka object takes
// the id of its existing volumes.
const AnnotationClusterID = "kafka-operators.io/cluster-id"

// AnnotationRemoved is "true" on the PersistentVolumeClaim of a volume that no node needs: the volume was removed from its pool, or its
// node left. A recreated Kafka object may leave such a claim unused.
const AnnotationRemoved = "kafka-operators.io/removed"

// AnnotationEmpty is "true" on the PersistentVolumeClaim of a volume that was found empty when it was taken from its node.
const AnnotationEmpty = "kafka-operators.io/empty"

// volume is one data volume of each node of a pool.
type volume struct {
	v1.StorageVolume
	// jbod reports whether the id is part of the volume's name.
	jbod bool
}

func (v volume) id() int32 { return value(v.ID, 0) }

// name is that of the volume in the pod.
func (v volume) name() string { return volumeName(v.id(), v.jbod) }

func volumeName(id int32, jbod bool) string {
	if jbod {
		return fmt.Sprintf("data-%d", id)
	}
	return "data"
}

func (v volume) mountPath() string { return dataDir + "/" + v.name() }

// logDir is the log directory of a node on a volume.
func logDir(volume string, node int32) string {
	return fmt.Sprintf("%s/%s/kafka-log%d", dataDir, volume, node)
}

// claim names the PersistentVolumeClaim of a pod.
func (v volume) claim(pod string) string { return v.name() + "-" + pod }

// volumes returns the data volumes of each node of a pool, in the order of its spec.
func (c *cluster) volumes(pool string) []volume {
	p := c.Pools[pool]
	if p == nil || p.Spec == nil {
		return nil
	}
	return volumesOf(p.Spec.Storage)
}

func volumesOf(s v1.Storage) []volume {
	if s.Type == v1.StorageJBOD {
		var list []volume
		for _, v := range s.Volumes {
			list = append(list, volume{v, true})
		}
		return list
	}
	return []volume{{v1.StorageVolume{
		Type: s.Type, ID: s.ID, Size: s.Size, Class: s.Class, SizeLimit: s.SizeLimit, Selector: s.Selector, DeleteClaim: s.DeleteClaim,
		KraftMetadata: s.KraftMetadata, VolumeAttributesClass: s.VolumeAttributesClass, Overrides: s.Overrides,
	}, false}}
}

// HasVolumes reports whether a pod is made with the volumes of a storage, and no others.
func HasVolumes(pod *corev1.Pod, s v1.Storage) bool {
	var has []string
	for _, v := range pod.Spec.Volumes {
		if hasData(v) {
			has = append(has, jsonOf(v))
		}
	}
	var wants []string
	for _, v := range volumesOf(s) {
		wants = append(wants, jsonOf(v.podVolume(pod.Name)))
	}
	slices.Sort(has)
	slices.Sort(wants)
	return slices.Equal(has, wants)
}

// hasData reports whether a volume in a pod's manifest is for Kafka's data.
func hasData(v corev1.Volume) bool {
	return v.Name == volumeName(0, false) || strings.HasPrefix(v.Name, volumeName(0, false)+"-")
}

// IsEphemeral reports whether a pod has data that goes with it.
func IsEphemeral(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return hasData(v) && v.EmptyDir != nil })
}

// podVolume is the volume in a pod's manifest.
func (v volume) podVolume(pod string) corev1.Volume {
	source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.claim(pod)}}
	if v.Type == v1.StorageEphemeral {
		empty := &corev1.EmptyDirVolumeSource{}
		if limit, err := v1.ParseQuantity(v.SizeLimit); err == nil {
			empty.SizeLimit = &limit
		}
		source = corev1.VolumeSource{EmptyDir: empty}
	}
	return corev1.Volume{Name: v.name(), VolumeSource: source}
}

// class returns the storage class of one node's volume, nil for the Kubernetes cluster's default, "" for none; overrides stand in older
// manifests. One without a class changes nothing.
func (v volume) class(node int32) *string {
	for _, o := range v.Overrides {
		if o.Broker != nil && *o.Broker == node && o.Class != nil {
			return o.Class
		}
	}
	return v.Class
}

// ClaimOf names the PersistentVolumeClaim of one of several volumes of a pod.
func ClaimOf(id int32, pod string) string { return volumeName(id, true) + "-" + pod }

// LogClaim names the PersistentVolumeClaim of the volume that has the metadata log of a pod; "" if that volume has none.
func LogClaim(s v1.Storage, pod string) string {
	id := MetadataVolume(s)
	for _, v := range volumesOf(s) {
		if v.id() == id && v.Type == v1.StoragePersistentClaim {
			return v.claim(pod)
		}
	}
	return ""
}

// claims returns the PersistentVolumeClaims of a node. Only a claim that should be deleted with the node has an owner.
func (c *cluster) claims(n topology.Node) ([]*corev1.PersistentVolumeClaim, error) {
	var list []*corev1.PersistentVolumeClaim
	for _, v := range c.volumes(n.Pool) {
		if v.Type != v1.StoragePersistentClaim {
			continue
		}
		size, err := v1.ParseQuantity(v.Size)
		if err != nil {
			return nil, fmt.Errorf("size %q of the storage of KafkaNodePool %s: %w", v.Size, n.Pool, err)
		}
		pvc := &corev1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: c.meta(v.claim(c.podName(n)), c.poolLabels(n.Pool), c.claimTemplate(n.Pool)),
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
			},
		}
		pvc.Spec.StorageClassName = v.class(n.ID)
		if len(v.Selector) > 0 {
			pvc.Spec.Selector = &metav1.LabelSelector{MatchLabels: v.Selector}
		}
		if v.VolumeAttributesClass != "" {
			pvc.Spec.VolumeAttributesClassName = &v.VolumeAttributesClass
		}
		remove := value(v.DeleteClaim, false)
		if !remove {
			pvc.OwnerReferences = nil
		}
		pvc.Annotations = with(pvc.Annotations, v1.AnnotationDeleteClaim, fmt.Sprint(remove))
		pvc.Annotations = with(pvc.Annotations, AnnotationClusterID, c.ClusterID)
		list = append(list, pvc)
	}
	return list, nil
}

func (c *cluster) claimTemplate(pool string) *v1.ResourceTemplate {
	if p := c.Pools[pool]; p != nil && p.Spec.Template != nil && p.Spec.Template.PersistentVolumeClaim != nil {
		return p.Spec.Template.PersistentVolumeClaim
	}
	if t := c.spec().Template; t != nil {
		return t.PersistentVolumeClaim
	}
	return nil
}
