package drain

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cast is a pod on the cordoned Kubernetes node "a", beside the Kubernetes node "b".
type cast struct {
	pod    *corev1.Pod
	a, b   *corev1.Node
	beside *corev1.Pod
	volume *corev1.PersistentVolume
}

func newCast() cast {
	at := time.Unix(1000, 0)
	host := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	}
	pod := func(name, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kafka": "yes"},
			CreationTimestamp: metav1.NewTime(at)}, Spec: corev1.PodSpec{NodeName: node}}
	}
	c := cast{pod: pod("one", "a"), a: host("a"), b: host("b"), beside: pod("two", "b"),
		volume: &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}}
	later := metav1.NewTime(at.Add(time.Hour))
	c.a.Spec.Unschedulable = true
	c.a.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &later}}
	return c
}

// on is a node selector for the Kubernetes node of that name.
func on(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}}}
}

func TestAPodLeavesWhereItsDataCanFollow(t *testing.T) {
	const noNode, noVolume = "no other Kubernetes node may run it", "no other Kubernetes node that may run it reaches PersistentVolume pv"
	apart := func(key string, with map[string]string) *corev1.Affinity {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: with}}}}}
	}
	for name, test := range map[string]struct {
		edit func(*cast)
		why  string
	}{
		"another Kubernetes node, and a volume of the network": {func(*cast) {}, ""},
		"no other Kubernetes node":                             {func(c *cast) { c.b.Name = "a" }, noNode},
		"the other one is cordoned, too":                       {func(c *cast) { c.b.Spec.Unschedulable = true }, noNode},
		"the other one is tainted": {func(c *cast) {
			c.b.Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoExecute}}
		}, noNode},
		"the other one is rather avoided": {func(c *cast) {
			c.b.Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectPreferNoSchedule}}
		}, ""},
		"a taint that the pod tolerates": {func(c *cast) {
			c.b.Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
			c.pod.Spec.Tolerations = []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}}
		}, ""},
		"a pod for one Kubernetes node": {func(c *cast) { c.pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"} }, noNode},
		"a pod that avoids the other": {func(c *cast) {
			c.pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: on("a")}}
		}, noNode},
		"one broker for each machine": {func(c *cast) {
			c.pod.Spec.Affinity = apart(corev1.LabelHostname, map[string]string{"kafka": "yes"})
		}, noNode},
		"one of something else for each machine": {func(c *cast) {
			c.pod.Spec.Affinity = apart(corev1.LabelHostname, map[string]string{"kafka": "no"})
		}, ""},
		"the other broker is nowhere": {func(c *cast) {
			c.pod.Spec.Affinity, c.beside.Spec.NodeName = apart(corev1.LabelHostname, map[string]string{"kafka": "yes"}), ""
		}, ""},
		"a volume of the other Kubernetes node, too": {func(c *cast) {
			c.volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: on("b")}
		}, ""},
		"a volume of this Kubernetes node": {func(c *cast) {
			c.volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: on("a")}
		}, noVolume},
		"a folder of this Kubernetes node": {func(c *cast) { c.volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"} }, noVolume},
		"ephemeral storage": {func(c *cast) {
			c.pod.Spec.Volumes = []corev1.Volume{{Name: "data-0", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}, "its storage is ephemeral, and would be empty elsewhere"},
		"a folder for temporary files": {func(c *cast) {
			c.pod.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}, ""},
		"a pod that tolerates everything": {func(c *cast) {
			c.pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}, "it tolerates that"},
		"a pod that came back": {func(c *cast) {
			c.pod.CreationTimestamp = metav1.NewTime(c.a.Spec.Taints[0].TimeAdded.Add(time.Second))
		}, "it was started there since then"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCast()
			test.edit(&c)
			NewWithT(t).Expect(WhyStays(c.pod, c.a, Surroundings{Nodes: []corev1.Node{*c.a, *c.b}, Pods: []*corev1.Pod{c.pod, c.beside},
				Volumes: []*corev1.PersistentVolume{c.volume}})).To(Equal(test.why))
		})
	}
}
