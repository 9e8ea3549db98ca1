// Package apply writes the objects of a Kafka into a Kubernetes cluster, and only those that are provably its own: an object with a desired
// name that belongs to another owner is rejected and not changed.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// FieldManager is the name under which the API server knows the operator's fields.
const FieldManager = model.ManagedBy

// AnnotationApplied is a hash of what was last applied to an object, so that a field that is not wanted any more is noticed.
const AnnotationApplied = "kafka-operators.io/applied"

// Outcome is the result of writing an object.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "Unchanged"
	Created   Outcome = "Created"
	Changed   Outcome = "Changed"
	Deleted   Outcome = "Deleted"
	// Unproven is an obsolete object without the mark of its own name: an earlier version of the operator created it, or somebody copied it.
	Unproven Outcome = "Unproven"
)

// ForeignError means that an object with a desired name belongs to another owner.
type ForeignError struct {
	Kind, Namespace, Name string
	// Why describes what shows that it is not the Kafka's.
	Why string
	// Advice is what the user can do about it.
	Advice string
	// Copied reports whether it is a copy of another object, with the marks of that one.
	Copied bool
}

// Error names the object that is in the way, and what the user can do about it.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %s/%s exists and does not belong to this Kafka (%s): the operator does not change it. %s",
		e.Kind, e.Namespace, e.Name, e.Why, e.Advice)
}

// Applier writes the objects of one Kafka in one Kubernetes cluster.
type Applier struct {
	// Client reads and writes without a cache in between: what is there is judged right before each write.
	Client client.Client
	// Kafka names the Kafka, and UID identifies what owns its objects.
	Kafka string
	UID   types.UID
	// ClusterID is the id of the Kafka cluster, by which volumes are known that outlived their Kafka object.
	ClusterID string
	// Owner marks written objects, and decides which may be written, in a Kubernetes cluster that other central clusters may also write to.
	// UID is then that of the anchor there. Nil in the Kubernetes cluster of the Kafka object, where its uid is sufficient.
	Owner *ownership.Owner
	// Central is the uid of the central cluster, which claims in other Kubernetes clusters name, because they outlive their owner. Empty in
	// the Kubernetes cluster of the Kafka object, where no claim of this Kafka names one.
	Central types.UID
	// Orphan has Delete keep what an object owns.
	Orphan bool
}

// Owns reports whether an object belongs to the Kafka.
func (a *Applier) Owns(o client.Object) bool { return a.WhyForeign(o) == "" }

// WhyForeign returns why an object does not belong to the Kafka, "" if it does.
func (a *Applier) WhyForeign(o client.Object) string {
	if a.is(o, ownership.Copy) {
		return copied(o)
	}
	if central := a.otherCentral(o); central != "" {
		return fmt.Sprintf("it is a volume of a Kafka with another central cluster, whose namespace kube-system has the uid %s", central)
	}
	if a.Owner != nil {
		if d := a.decide(o); !a.permits(d, o) && !a.survives(o) {
			return why(d, o)
		}
		return ""
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == a.UID {
			return ""
		}
		if ref.Kind == "Kafka" && ref.Name == a.Kafka {
			return "it belongs to an earlier Kafka of this name, and is deleted with it"
		}
	}
	if len(o.GetOwnerReferences()) == 0 && (a.survives(o) || a.orphaned(o)) {
		return ""
	}
	return "its owner references do not name it"
}

// otherCentral returns the central cluster that an object names, "" if it names none or this one.
func (a *Applier) otherCentral(o client.Object) types.UID {
	if central := types.UID(o.GetAnnotations()[ownership.MarkCentral]); central != a.Central {
		return central
	}
	return ""
}

// is asks something about an object of which its kind must be known.
func (a *Applier) is(o client.Object, what func(metav1.Object, string) bool) bool {
	gvk, err := apiutil.GVKForObject(o, a.Client.Scheme())
	return err == nil && what(o, gvk.Kind)
}

// decide decides what may be done with an object in a Kubernetes cluster that others may write to.
func (a *Applier) decide(o client.Object) ownership.Decision {
	gvk, err := apiutil.GVKForObject(o, a.Client.Scheme())
	if err != nil {
		return ownership.Unowned // its own mark can't be read
	}
	live := ownership.Read(o, gvk.Kind)
	live.Terminating = false // wait for such an object, whoever owns it
	return ownership.Decide(&live, *a.Owner, ownership.Facts{Proven: a.anchors(o)})
}

// Restores reports whether an object of the owner has lost its marks, which Apply gives it back.
func (a *Applier) Restores(live client.Object) bool {
	return a.Owner != nil && !isNil(live) && a.decide(live) == ownership.Restore
}

// permits reports whether a decision permits to write an object. What a holder before made is taken over with its anchor alone: anybody
// can write an owner's id and a later epoch into a Kafka object.
func (a *Applier) permits(d ownership.Decision, o client.Object) bool {
	return d.Writes() && (d != ownership.TakeOver || a.anchors(o) || a.UID != "" && o.GetUID() == a.UID)
}

// anchors reports whether the owner reference of an object names the Kafka's anchor.
func (a *Applier) anchors(o client.Object) bool {
	return a.UID != "" && OwnedBy(o, a.UID)
}

// OwnedBy reports whether an owner reference of an object names an object.
func OwnedBy(o client.Object, owner types.UID) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner })
}

// why describes a decision that forbids a write.
func why(d ownership.Decision, o client.Object) string {
	switch d {
	case ownership.Foreign:
		return "its owner is " + o.GetAnnotations()[ownership.MarkID]
	case ownership.Fenced:
		return "another central cluster took it over"
	case ownership.TakeOver:
		return "it was made for another Kafka object, whose anchor is gone"
	case ownership.Copied:
		return copied(o)
	}
	return "it has no ownership annotations"
}

// copied describes a copy.
func copied(o client.Object) string {
	return "its ownership annotations name " + o.GetAnnotations()[ownership.MarkSelf] + ", so it is a copy"
}

// manager is the name under which the API server knows the fields that are applied.
func (a *Applier) manager() client.FieldOwner {
	if a.Owner != nil {
		return client.FieldOwner(a.Owner.FieldManager())
	}
	return FieldManager
}

// survives reports whether an object without an owner is one that outlives the Kafka object: a volume, or the Secret of a CA.
func (a *Applier) survives(o client.Object) bool {
	labels := o.GetLabels()
	if labels[v1.LabelCluster] != a.Kafka || labels[core.LabelManagedBy] != model.ManagedBy {
		return false
	}
	switch o.(type) {
	case *corev1.PersistentVolumeClaim:
		marks := o.GetAnnotations()
		unmarked := marks[ownership.MarkID] == "" && marks[ownership.MarkCentral] == ""
		if a.otherCentral(o) != "" || a.Owner != nil && (unmarked || len(o.GetOwnerReferences()) > 0) {
			return false // a Kafka of this name that lives there, or that has another central cluster, may have it
		}
		return a.ClusterID != "" && o.GetAnnotations()[model.AnnotationClusterID] == a.ClusterID
	case *corev1.Secret:
		return a.Owner == nil && !ownership.Remote(o) // keys of CAs stay in the home cluster
	}
	return false
}

// Apply updates a live object to the desired state. live is the cached object, or nil: without a difference, Apply sends no request.
func (a *Applier) Apply(ctx context.Context, wanted, live client.Object) (Outcome, error) {
	u, err := a.marked(wanted)
	if err != nil {
		return "", err
	}
	if isNil(live) {
		return a.create(ctx, u, wanted)
	}
	changed, err := drift(u, live)
	if err != nil {
		return "", err
	}
	if changed == "" {
		return Unchanged, nil
	}
	return a.change(ctx, u, live)
}

// Applied reports whether Apply would change nothing. The live object may have more fields, which others set.
func (a *Applier) Applied(wanted, live client.Object) (bool, error) {
	u, err := a.marked(wanted)
	if err != nil {
		return false, err
	}
	changed, err := drift(u, live)
	return changed == "", err
}

// drift keeps the immutable fields of a live object, and returns the path of the first field that differs, or "".
func drift(u *unstructured.Unstructured, live client.Object) (string, error) {
	if err := keepImmutable(u, live); err != nil {
		return "", err
	}
	return differs(u, live)
}

// marked returns what is applied of an object: with the marks of its owner, and the hash of all.
func (a *Applier) marked(wanted client.Object) (*unstructured.Unstructured, error) {
	u, err := toUnstructured(wanted)
	if err != nil {
		return nil, fmt.Errorf("%T %s: %w", wanted, wanted.GetName(), err)
	}
	if a.Owner != nil {
		ownership.Mark(u, u.GetKind(), *a.Owner)
		if u.GetKind() == "PersistentVolumeClaim" && a.Central != "" {
			ownership.MarkCluster(u, a.Central)
		}
	} else {
		ownership.MarkName(u, u.GetKind())
	}
	return u, mark(u)
}

// differs returns the path of the first field in which a live object differs from the desired one, or "".
func differs(u *unstructured.Unstructured, live client.Object) (string, error) {
	l, err := toUnstructured(live)
	if err != nil {
		return "", err
	}
	w := maps.Clone(u.Object)
	delete(w, "apiVersion") // typed objects from a cache have neither
	delete(w, "kind")
	extra, err := added(u, l)
	if err != nil {
		return "", err
	}
	path, differs := drifts(w, l.Object)
	switch {
	case !differs:
		return extra, nil
	case path == "":
		return ".", nil // the object as a whole
	}
	return path, nil
}

// mark adds the hash of what is applied.
func mark(u *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", AnnotationApplied)
	text, err := json.Marshal(u)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationApplied] = hex.EncodeToString(sum[:8])
	u.SetAnnotations(annotations)
	return nil
}

// noVersion is a resourceVersion that no object ever has. The API server ignores it where there is no object yet, and refuses what is
// applied (409) where somebody was faster: without it, what is applied would be merged into their object. A POST would do the same, but
// leave the fields with an owner of its own, which no later apply could take away again.
const noVersion = "9223372036854775807"

// create creates an object that is not in the cache. It first asks the API server whether the object exists anyway, for example without the
// Kafka's label.
func (a *Applier) create(ctx context.Context, u *unstructured.Unstructured, wanted client.Object) (Outcome, error) {
	live, ok := wanted.DeepCopyObject().(client.Object)
	if !ok {
		return "", fmt.Errorf("%T is not an object", wanted)
	}
	switch err := a.Client.Get(ctx, client.ObjectKeyFromObject(wanted), live); {
	case err == nil && u.GetKind() == "StrimziPodSet" && live.GetLabels()[v1.LabelCluster] == a.Kafka && a.Owns(live):
		// The cache is behind. Which nodes are wanted was decided without those that it lists.
		return "", apierrors.NewConflict(schema.GroupResource{Group: u.GroupVersionKind().Group, Resource: "strimzipodsets"}, u.GetName(),
			errors.New("it was created in the meantime"))
	case err == nil && a.Owner != nil && u.GetKind() == "ConfigMap" && u.GetName() == model.AnchorName(a.Kafka) && a.Owns(live):
		// Whose this anchor is was not looked at, and decides whether anything may be written.
		return "", apierrors.NewConflict(corev1.Resource("configmaps"), u.GetName(), errors.New("it was created in the meantime"))
	case err == nil:
		if err := keepImmutable(u, live); err != nil {
			return "", err
		}
		return a.change(ctx, u, live)
	case !apierrors.IsNotFound(err):
		return "", fmt.Errorf("get %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	if err := noteAskedFor(u, wanted); err != nil {
		return "", err
	}
	return a.make(ctx, u)
}

// make creates an object that does not exist.
func (a *Applier) make(ctx context.Context, u *unstructured.Unstructured) (Outcome, error) {
	u.SetResourceVersion(noVersion)
	if err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), a.manager()); err != nil {
		return "", fmt.Errorf("create %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return Created, nil
}

// change applies to exactly the checked object: the API server rejects the request if the object was recreated or changed since.
func (a *Applier) change(ctx context.Context, u *unstructured.Unstructured, live client.Object) (Outcome, error) {
	if why := a.WhyForeign(live); why != "" {
		return "", &ForeignError{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), Why: why, Advice: a.advice(u, live),
			Copied: a.is(live, ownership.Copy)}
	}
	if live.GetDeletionTimestamp() != nil {
		return Unchanged, nil // made again once it is gone
	}
	if a.Owner != nil && retyped(u, live) {
		switch outcome, err := a.Delete(ctx, live); {
		case err != nil || outcome == Changed:
			return outcome, err
		case outcome == Deleted:
			return a.make(ctx, u)
		}
	}
	u.SetUID(live.GetUID())
	u.SetResourceVersion(live.GetResourceVersion())
	if err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), a.manager(), client.ForceOwnership); err != nil {
		return "", fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	if u.GetResourceVersion() == live.GetResourceVersion() {
		return Unchanged, nil // an admission webhook made of it what was there
	}
	return Changed, nil
}

// retyped reports whether a Secret is to have another type, which nobody can change: it has to be made anew. In other Kubernetes clusters
// than that of the Kafka object, it is a copy.
func retyped(u *unstructured.Unstructured, live client.Object) bool {
	secret, ok := live.(*corev1.Secret)
	if !ok {
		return false
	}
	wanted, _, _ := unstructured.NestedString(u.Object, "type") // it is made of a Secret
	return wanted != "" && wanted != string(secret.Type)
}

// keepImmutable keeps the immutable fields of a claim, and what it says of them, and does nothing with other objects. What a claim keeps is
// no difference, or it would be applied in each pass, in vain.
func keepImmutable(u *unstructured.Unstructured, live client.Object) error {
	claim, ok := live.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	if err := keepAskedFor(u, claim); err != nil {
		return err
	}
	l, err := toUnstructured(claim)
	if err != nil {
		return err
	}
	for _, field := range []string{"storageClassName", "accessModes", "selector", "volumeMode"} {
		value, found, err := unstructured.NestedFieldCopy(l.Object, "spec", field)
		if err != nil {
			return err
		}
		unstructured.RemoveNestedField(u.Object, "spec", field)
		if found {
			if err := unstructured.SetNestedField(u.Object, value, "spec", field); err != nil {
				return err
			}
		}
	}
	// A claim can't be made smaller, and grows only once it has a volume.
	size := claim.Spec.Resources.Requests.Storage()
	wanted, _, err := unstructured.NestedString(u.Object, "spec", "resources", "requests", "storage")
	if err != nil || size == nil || claim.Status.Phase == corev1.ClaimBound && !smaller(wanted, size.String()) {
		return err
	}
	return unstructured.SetNestedField(u.Object, size.String(), "spec", "resources", "requests", "storage")
}

// markForOwner marks an object of an earlier holder as the owner's, and changes nothing else: it is deleted later, when it is known to
// carry the marks. It does not change an object without the mark of its own name.
func (a *Applier) markForOwner(ctx context.Context, live client.Object) (Outcome, error) {
	if !a.is(live, ownership.Original) {
		return Unchanged, nil
	}
	gvk, err := apiutil.GVKForObject(live, a.Client.Scheme())
	if err != nil {
		return "", err
	}
	marked, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return "", fmt.Errorf("%T is not an object", live)
	}
	ownership.Mark(marked, gvk.Kind, *a.Owner)
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, marked, patch, a.manager()); err != nil {
		return "", fmt.Errorf("mark %s %s: %w", gvk.Kind, live.GetName(), err)
	}
	return Changed, nil
}

// Delete deletes an obsolete object, if it belongs to the Kafka and has not been replaced since the check. Labels and owner references do
// not prove ownership, because a copy that a user made has them too. So the object needs the mark of its own name.
func (a *Applier) Delete(ctx context.Context, live client.Object) (Outcome, error) {
	if !a.Owns(live) || live.GetDeletionTimestamp() != nil {
		return Unchanged, nil
	}
	if a.Owner != nil && !a.decide(live).Deletes() && !a.survives(live) {
		return a.markForOwner(ctx, live)
	}
	if !a.is(live, ownership.Original) {
		return Unproven, nil
	}
	uid, version, owned := live.GetUID(), live.GetResourceVersion(), metav1.DeletePropagationBackground
	if a.Orphan {
		owned = metav1.DeletePropagationOrphan
	}
	err := a.Client.Delete(ctx, live, client.Preconditions{UID: &uid, ResourceVersion: &version}, client.PropagationPolicy(owned))
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("delete %T %s: %w", live, live.GetName(), err)
	}
	return Deleted, nil
}

func isNil(o client.Object) bool { return o == nil || reflect.ValueOf(o).IsNil() }
