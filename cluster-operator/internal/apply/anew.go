package apply

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/api/ownership"
)

// AnnotationAskedFor is, on a claim, the class, selector and size that the operator asked for when it made it, as JSON. A claim that has
// something else is somebody else's work, such as that of a tool that restores its data.
const AnnotationAskedFor = "kafka-operators.io/asked-for"

// askedFor is what only a new claim can have instead of one without a volume.
type askedFor struct {
	// Class is nil if the API server is to choose one.
	Class    *string               `json:"class,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Size     resource.Quantity     `json:"size"`
}

func askedForBy(claim *corev1.PersistentVolumeClaim) askedFor {
	return askedFor{claim.Spec.StorageClassName, claim.Spec.Selector, *claim.Spec.Resources.Requests.Storage()}
}

// notedOn returns what a claim says that was asked for, if it is no copy, and was not restored into another namespace.
func notedOn(claim *corev1.PersistentVolumeClaim) (noted askedFor, ok bool) {
	err := json.Unmarshal([]byte(claim.Annotations[AnnotationAskedFor]), &noted)
	return noted, err == nil && ownership.Original(claim, "PersistentVolumeClaim")
}

// noteAskedFor notes on a claim that is about to be made what is asked for, and does nothing with other objects. The hash does not have it.
func noteAskedFor(u *unstructured.Unstructured, wanted client.Object) error {
	claim, ok := wanted.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	text, err := json.Marshal(askedForBy(claim))
	if err != nil {
		return err
	}
	return unstructured.SetNestedField(u.Object, string(text), "metadata", "annotations", AnnotationAskedFor)
}

// keepAskedFor keeps what a live claim says that was asked for. It is unknown who made a claim that lacks that, or the mark of its own
// name, which it gets now.
func keepAskedFor(u *unstructured.Unstructured, live *corev1.PersistentVolumeClaim) error {
	noted, ok := live.Annotations[AnnotationAskedFor]
	if !ok || !ownership.Original(live, u.GetKind()) {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", AnnotationAskedFor)
		return nil
	}
	return unstructured.SetNestedField(u.Object, noted, "metadata", "annotations", AnnotationAskedFor)
}

// IsAsAskedFor reports whether a claim has the class, selector and size that the operator asked for when it made it, and whichever class
// if it asked for none.
func IsAsAskedFor(claim *corev1.PersistentVolumeClaim) bool {
	noted, ok := notedOn(claim)
	has := askedForBy(claim)
	if noted.Class == nil {
		has.Class = nil
	}
	return ok && equality.Semantic.DeepEqual(noted, has)
}

// WhyAnew returns what of a claim without a volume only a new claim can have, "" if nothing, or if somebody else made it what it is.
func WhyAnew(wanted, live *corev1.PersistentVolumeClaim) string {
	if !IsAsAskedFor(live) {
		return ""
	}
	noted, _ := notedOn(live)
	wants, has := askedForBy(wanted), askedForBy(live)
	if noted.Class == nil && wants.Class == nil {
		wants.Class = has.Class
	}
	class := func(name *string) string {
		if name == nil {
			return "default"
		}
		return *name
	}
	switch {
	case !equality.Semantic.DeepEqual(wants.Class, has.Class):
		return fmt.Sprintf("class %q instead of %q", class(has.Class), class(wants.Class))
	case !equality.Semantic.DeepEqual(wants.Selector, has.Selector):
		return "another selector"
	case wants.Size.Cmp(has.Size) < 0:
		return fmt.Sprintf("size %s instead of %s", has.Size.String(), wants.Size.String())
	}
	return ""
}
