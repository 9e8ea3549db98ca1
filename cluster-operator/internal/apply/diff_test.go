package apply

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheFirstFieldThatDiffersIsNamed(t *testing.T) {
	claim := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"a": "b"},
				OwnerReferences: []metav1.OwnerReference{{UID: "1", Kind: "Kafka", Name: "k"}}},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}
		change(c)
		return c
	}
	for what, c := range map[string]struct {
		live func(*corev1.PersistentVolumeClaim)
		want string
	}{
		"the same":             {func(*corev1.PersistentVolumeClaim) {}, ""},
		"read from a cache":    {func(c *corev1.PersistentVolumeClaim) { c.TypeMeta = metav1.TypeMeta{} }, ""},
		"another label beside": {func(c *corev1.PersistentVolumeClaim) { c.Labels["more"] = "x" }, ""},
		"a finalizer and a status": {func(c *corev1.PersistentVolumeClaim) {
			c.Finalizers, c.Status.Phase = []string{"x"},
				corev1.ClaimBound
		}, ""},
		"the same size in other words": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1024Mi")
		}, ""},
		"another owner before ours": {func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = append([]metav1.OwnerReference{{UID: "0", Kind: "Other"}}, c.OwnerReferences...)
		}, ""},
		"a hash that looks like a large number": {func(c *corev1.PersistentVolumeClaim) { c.Labels["a"] = "7152e1358245902" },
			".metadata.labels.a"},
		"a label":   {func(c *corev1.PersistentVolumeClaim) { c.Labels["a"] = "c" }, ".metadata.labels.a"},
		"no labels": {func(c *corev1.PersistentVolumeClaim) { c.Labels = nil }, ".metadata.labels"},
		"a list's item": {func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes[0] = corev1.ReadOnlyMany },
			".spec.accessModes[0]"},
		"one item more": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.AccessModes = append(c.Spec.AccessModes, corev1.ReadOnlyMany)
		}, ".spec.accessModes"},
		"the size": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		}, ".spec.resources.requests.storage"},
		"our owner reference": {func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].Name = "other" },
			".metadata.ownerReferences[0].name"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			wanted, err := toUnstructured(claim(func(*corev1.PersistentVolumeClaim) {}))
			g.Expect(err).NotTo(HaveOccurred())
			path, err := differs(wanted, claim(c.live))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(path).To(Equal(c.want))
		})
	}
}

func TestFinalizersAreASet(t *testing.T) {
	service := func(label string, finalizers ...string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"finalizers": label}, Finalizers: finalizers}}
	}
	for what, c := range map[string]struct {
		live *corev1.Service
		want string
	}{
		"the same":                          {service("x", "a", "b"), ""},
		"another order, and one of another": {service("x", "service.kubernetes.io/load-balancer-cleanup", "b", "a"), ""},
		"one is missing":                    {service("x", "b", "c"), ".metadata.finalizers"},
		"all are missing":                   {service("x"), ".metadata.finalizers"},
		"a label of that name":              {service("y", "a", "b"), ".metadata.labels.finalizers"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			wanted, err := toUnstructured(service("x", "a", "b"))
			g.Expect(err).NotTo(HaveOccurred())
			path, err := differs(wanted, c.live)
			g.Expect(err).NotTo(HaveOccurred())
			if c.want == "" {
				g.Expect(path).To(BeEmpty())
			} else {
				g.Expect(path).To(HavePrefix(c.want))
			}
		})
	}
}

func TestHashesAreNotComputedAsNumbers(t *testing.T) {
	g := NewWithT(t)
	g.Expect(equal("7152341e35824590", "2e13582459021734")).To(BeFalse())
	g.Expect(equal("1e3", "1k")).To(BeTrue())
	g.Expect(equal("2E", "2000P")).To(BeTrue())
}

// What is compared stays as it is: a network provider reads addresses from the status.
func TestAComparisonChangesNoObject(t *testing.T) {
	g := NewWithT(t)
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gateway",
		"metadata": map[string]any{"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
		"status":   map[string]any{"address": "192.0.2.1"}}}
	before := live.DeepCopy()
	u, err := toUnstructured(live)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.Object).NotTo(HaveKey("status"))
	g.Expect(live).To(Equal(before))
}
