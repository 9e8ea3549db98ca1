package volumes

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func claim(change func(*corev1.PersistentVolumeClaim)) corev1.PersistentVolumeClaim {
	class := StorageClass
	c := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "data", UID: "u1", ResourceVersion: "7",
			Annotations: map[string]string{"volume.kubernetes.io/selected-node": "here"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}},
		},
	}
	change(&c)
	return c
}

func TestAClaimOfTheNodeGetsAFolder(t *testing.T) {
	g := NewWithT(t)
	c := claim(func(*corev1.PersistentVolumeClaim) {})
	plan := For("here", "/volumes", []corev1.PersistentVolumeClaim{c}, nil)
	g.Expect(plan.Delete).To(BeEmpty())
	g.Expect(plan.Create).To(HaveLen(1))
	v := plan.Create[0]
	g.Expect(v.Name).To(Equal("pvc-u1"))
	g.Expect(v.Spec.Local.Path).To(Equal("/volumes/pvc-u1"))
	g.Expect(v.Spec.ClaimRef.UID).To(Equal(c.UID))
	g.Expect(v.Spec.Capacity.Storage().String()).To(Equal("3Gi"))
	g.Expect(v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values).To(Equal([]string{"here"}))
	g.Expect(For("here", "/volumes", []corev1.PersistentVolumeClaim{c}, plan.Create).Create).To(BeEmpty(), "once")
}

func TestWhatIsNotTheNodesIsLeftAlone(t *testing.T) {
	other := "other"
	now := metav1.Now()
	for what, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"another node":   func(c *corev1.PersistentVolumeClaim) { c.Annotations["volume.kubernetes.io/selected-node"] = "there" },
		"no node yet":    func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil },
		"another class":  func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &other },
		"no class":       func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil },
		"has its volume": func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" },
		"going away":     func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &now },
	} {
		t.Run(what, func(t *testing.T) {
			NewWithT(t).Expect(For("here", "/volumes", []corev1.PersistentVolumeClaim{claim(change)}, nil)).To(Equal(Plan{}))
		})
	}
}

func TestOnlyReleasedVolumesOfTheNodeAreDeleted(t *testing.T) {
	now := metav1.Now()
	for what, test := range map[string]struct {
		change  func(*corev1.PersistentVolume)
		deleted int
	}{
		"released":      {func(*corev1.PersistentVolume) {}, 1},
		"bound":         {func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound }, 0},
		"unknown phase": {func(v *corev1.PersistentVolume) { v.Status.Phase = "" }, 0},
		"to be kept": {func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		}, 0},
		"another's":       {func(v *corev1.PersistentVolume) { v.Annotations = nil }, 0},
		"on another node": {func(v *corev1.PersistentVolume) { v.Labels[corev1.LabelHostname] = "there" }, 0},
		"deleted already": {func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &now }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			c := claim(func(*corev1.PersistentVolumeClaim) {})
			v := For("here", "/volumes", []corev1.PersistentVolumeClaim{c}, nil).Create[0]
			v.Status.Phase = corev1.VolumeReleased
			test.change(&v)
			plan := For("here", "/volumes", nil, []corev1.PersistentVolume{v})
			g.Expect(plan.Create).To(BeEmpty())
			g.Expect(plan.Delete).To(HaveLen(test.deleted))
		})
	}
}
