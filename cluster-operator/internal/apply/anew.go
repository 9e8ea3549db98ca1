package apply

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// WhyAnew returns what of a claim without a volume only a new claim can have, "" if nothing. Applied reports that the live one got just
// what is wanted, and has something else: making it anew would not help.
func (a *Applier) WhyAnew(wanted, live *corev1.PersistentVolumeClaim) (why string, applied bool, err error) {
	class := func(c *corev1.PersistentVolumeClaim) string {
		if c.Spec.StorageClassName == nil {
			return "default"
		}
		return *c.Spec.StorageClassName
	}
	size := func(c *corev1.PersistentVolumeClaim) string { return c.Spec.Resources.Requests.Storage().String() }
	switch {
	case class(wanted) != class(live):
		why = fmt.Sprintf("class %q instead of %q", class(live), class(wanted))
	case !equality.Semantic.DeepEqual(wanted.Spec.Selector, live.Spec.Selector):
		why = "another selector"
	case wanted.Spec.Resources.Requests.Storage().Cmp(*live.Spec.Resources.Requests.Storage()) < 0:
		why = fmt.Sprintf("size %s instead of %s", size(live), size(wanted))
	default:
		return "", false, nil
	}
	u, err := a.marked(wanted)
	if err != nil {
		return "", false, err
	}
	return why, u.GetAnnotations()[AnnotationApplied] == live.Annotations[AnnotationApplied], nil
}
