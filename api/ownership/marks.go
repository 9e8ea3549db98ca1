package ownership

import (
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The marks of an object.
const (
	// MarkID is a label and an annotation: the owner's id. The label is for lists.
	MarkID = "strimzi.io/owner-id"
	// MarkTerm is an annotation: the holder and the epoch.
	MarkTerm = "strimzi.io/owner-term"
	// MarkSelf is an annotation: <kind>/<namespace>/<name> of the object itself, which tells a copy from it.
	MarkSelf = "strimzi.io/owner-self"
	// MarkCentral is an annotation of what outlives its owner: the uid of the holder's cluster, in clear. A term has only a hash of the
	// holder, which tells nothing once the holder is gone.
	MarkCentral = "strimzi.io/owner-central"
)

// Self is the value of MarkSelf for an object. The namespace is empty for one without.
func Self(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// Mark adds the owner's marks to an object of a kind that is to be applied. All other labels and annotations stay.
func Mark(o metav1.Object, kind string, owner Owner) {
	o.SetLabels(with(o.GetLabels(), map[string]string{MarkID: owner.ID}))
	o.SetAnnotations(with(o.GetAnnotations(), map[string]string{MarkID: owner.ID, MarkTerm: owner.Term().String()}))
	MarkName(o, kind)
}

// MarkName adds the mark of its own name to an object of a kind: where an owner reference tells the owner, a copy has that, too.
func MarkName(o metav1.Object, kind string) {
	o.SetAnnotations(with(o.GetAnnotations(), map[string]string{MarkSelf: Self(kind, o.GetNamespace(), o.GetName())}))
}

// MarkCluster adds the mark of the holder's cluster to an object.
func MarkCluster(o metav1.Object, cluster types.UID) {
	o.SetAnnotations(with(o.GetAnnotations(), map[string]string{MarkCentral: string(cluster)}))
}

// Original reports whether an object carries the mark of its own kind, namespace and name: it was created under this identity,
// and is not a copy.
func Original(o metav1.Object, kind string) bool {
	return o.GetAnnotations()[MarkSelf] == Self(kind, o.GetNamespace(), o.GetName())
}

// Copy reports whether an object carries the mark of another name. Namespaces do not count: an object that a backup restored into another
// one is not a copy of something beside it.
func Copy(o metav1.Object, kind string) bool {
	self, marked := o.GetAnnotations()[MarkSelf]
	return marked && (!strings.HasPrefix(self, kind+"/") || !strings.HasSuffix(self, "/"+o.GetName()))
}

// Remote reports whether an object was made in a Kubernetes cluster that was remote to its operator: it has the id of its owner.
func Remote(o metav1.Object) bool {
	return o.GetAnnotations()[MarkID] != "" || o.GetLabels()[MarkID] != ""
}

// Restored reports whether an object carries the mark of its own kind and name in another namespace, from which a backup restored it.
func Restored(o metav1.Object, kind string) bool {
	_, marked := o.GetAnnotations()[MarkSelf]
	return marked && !Copy(o, kind) && !Original(o, kind)
}

func with(m, more map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, m)
	maps.Copy(out, more)
	return out
}

// Live is what is known of an object that exists.
type Live struct {
	// ID is the owner's id that the object carries; empty without one.
	ID string
	// Term is the holder's time that the object carries; nil if it carries none, or one that can't be read.
	Term *Term
	// Copied reports that the marks are those of another object.
	Copied bool
	// Terminating reports that the object is being deleted.
	Terminating bool
	// Applied maps the ids of owners whose field managers have a part in the object to the newest of their epochs.
	Applied map[string]int64
}

// Read returns what is known of an object of a kind.
func Read(o metav1.Object, kind string) Live {
	marks := o.GetAnnotations()
	live := Live{ID: marks[MarkID], Terminating: o.GetDeletionTimestamp() != nil, Applied: map[string]int64{}}
	if _, marked := marks[MarkSelf]; marked && !Original(o, kind) {
		live.Copied = true
	}
	if term, err := ParseTerm(marks[MarkTerm]); err == nil {
		live.Term = &term
	}
	for _, entry := range o.GetManagedFields() {
		if rest, ours := strings.CutPrefix(entry.Manager, managerPrefix); ours && entry.Operation == metav1.ManagedFieldsOperationApply {
			id, text, _ := strings.Cut(rest, "/")
			if epoch, err := strconv.ParseInt(text, 10, 64); err == nil {
				live.Applied[id] = max(live.Applied[id], epoch)
			}
		}
	}
	return live
}
