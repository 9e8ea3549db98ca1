package roller

import (
	"cmp"
	"slices"
	"strings"
)

// ReasonKind is the kind of a reason to restart a node: the name that users know from the Events of a restart.
type ReasonKind string

// The reasons (by the names of Strimzi's Events).
const (
	// CACertHasOldGeneration: the pod trusts an older generation of a CA's certificate.
	CACertHasOldGeneration ReasonKind = "CaCertHasOldGeneration"
	// ClusterCACertKeyReplaced: the key of the cluster's CA was replaced.
	ClusterCACertKeyReplaced ReasonKind = "ClusterCaCertKeyReplaced"
	// ConfigChangeRequiresRestart: a difference in the configuration can't be changed while the node runs.
	ConfigChangeRequiresRestart ReasonKind = "ConfigChangeRequiresRestart"
	// FileSystemResizeNeeded: a volume has grown, and its file system has not.
	FileSystemResizeNeeded ReasonKind = "FileSystemResizeNeeded"
	// ManualRollingUpdate: an annotation requests it.
	ManualRollingUpdate ReasonKind = "ManualRollingUpdate"
	// PodForceRestartOnError: only a restart can repair the node.
	PodForceRestartOnError ReasonKind = "PodForceRestartOnError"
	// PodHasOldRevision: the pod was made from an older template.
	PodHasOldRevision ReasonKind = "PodHasOldRevision"
	// PodHasOldResourceRevision: the pod was made with other resources.
	PodHasOldResourceRevision ReasonKind = "PodHasOldResourceRevision"
	// PodResourcesChanged: the pod's resources can't be changed in place.
	PodResourcesChanged ReasonKind = "PodResourcesChanged"
	// PodStuck: the pod can't run in its present form, and is out of date.
	PodStuck ReasonKind = "PodStuck"
	// PodUnresponsive: the node does not answer.
	PodUnresponsive ReasonKind = "PodUnresponsive"
	// KafkaCertificatesChanged: the node's own certificate was replaced.
	KafkaCertificatesChanged ReasonKind = "KafkaCertificatesChanged"
)

// Reason is one reason to restart one node.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	// Note adds details for people.
	Note string `json:"note,omitempty"`
	// Mark distinguishes this reason from a later one of the same kind: a revision, a hash. A node is not restarted twice for the same kind
	// and mark, unless the reason disappeared in between.
	Mark string `json:"mark,omitempty"`
}

// String returns the kind and the note.
func (r Reason) String() string {
	if r.Note == "" {
		return string(r.Kind)
	}
	return string(r.Kind) + " (" + r.Note + ")"
}

// key returns a unique text of the reason's kind and mark.
func (r Reason) key() string { return string(r.Kind) + "/" + r.Mark }

// before separates, in the mark of a configuration reason, the wanted values from those that the node has. A node that has other values
// after its restart than before applied another wish meanwhile, which no look may have seen, and has to be restarted once more.
const before = "<"

// mostRestarts is how often a node is restarted for the same wanted values if it has other values each time.
const mostRestarts = 3

// served reports whether a node that was restarted for all of these keys does not need a restart for this reason.
func (r Reason) served(keys []string) bool {
	times := 0
	for _, key := range keys {
		if key == r.key() || key == r.wish() { // a mark of an earlier version has only the wanted values
			return true
		}
		if r.about(key) {
			times++
		}
	}
	return times >= mostRestarts
}

// about reports whether a node with this key was restarted for the values that this reason wants, whatever values it had.
func (r Reason) about(key string) bool {
	wish, _, _ := strings.Cut(key, before)
	return wish == r.wish() && (r.Kind == ConfigChangeRequiresRestart || key == r.key())
}

// wish returns the key without the values that the node has.
func (r Reason) wish() string {
	if r.Kind != ConfigChangeRequiresRestart {
		return r.key()
	}
	wish, _, _ := strings.Cut(r.key(), before)
	return wish
}

// Reasons formats several reasons for people.
func Reasons(rs []Reason) string {
	words := make([]string, len(rs))
	for i, r := range rs {
		words[i] = r.String()
	}
	return strings.Join(words, ", ")
}

// sortedReasons returns the reasons in a stable order, without duplicates.
func sortedReasons(rs []Reason) []Reason {
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b Reason) int { return cmp.Compare(a.key(), b.key()) })
	return slices.CompactFunc(rs, func(a, b Reason) bool { return a.key() == b.key() })
}
