package roller

import (
	"cmp"
	"slices"
	"strings"
)

// ReasonKind is why a node is restarted: the name that users know from the Events of a restart.
type ReasonKind string

// The reasons (by the names of Strimzi's Events).
const (
	// CACertHasOldGeneration: the pod trusts an older generation of a CA's certificate.
	CACertHasOldGeneration ReasonKind = "CaCertHasOldGeneration"
	// CACertRemoved: a CA's certificate that expired was removed.
	CACertRemoved ReasonKind = "CaCertRemoved"
	// CACertRenewed: a CA's certificate was renewed.
	CACertRenewed ReasonKind = "CaCertRenewed"
	// ClusterCACertKeyReplaced: the key of the cluster's CA was replaced.
	ClusterCACertKeyReplaced ReasonKind = "ClusterCaCertKeyReplaced"
	// ConfigChangeRequiresRestart: the configuration differs in what can't be changed while the node runs.
	ConfigChangeRequiresRestart ReasonKind = "ConfigChangeRequiresRestart"
	// FileSystemResizeNeeded: a volume has grown, and its file system has not.
	FileSystemResizeNeeded ReasonKind = "FileSystemResizeNeeded"
	// ManualRollingUpdate: an annotation requests it.
	ManualRollingUpdate ReasonKind = "ManualRollingUpdate"
	// PodForceRestartOnError: the node does not work otherwise.
	PodForceRestartOnError ReasonKind = "PodForceRestartOnError"
	// PodHasOldRevision: the pod was made from an older template.
	PodHasOldRevision ReasonKind = "PodHasOldRevision"
	// PodHasOldResourceRevision: the pod was made with other resources.
	PodHasOldResourceRevision ReasonKind = "PodHasOldResourceRevision"
	// PodResourcesChanged: the pod's resources can't be changed in place.
	PodResourcesChanged ReasonKind = "PodResourcesChanged"
	// PodStuck: the pod can't run as it is, and is out of date.
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
	// and mark, unless the reason was gone in between.
	Mark string `json:"mark,omitempty"`
}

// String is the kind, and the note.
func (r Reason) String() string {
	if r.Note == "" {
		return string(r.Kind)
	}
	return string(r.Kind) + " (" + r.Note + ")"
}

// key tells reasons apart.
func (r Reason) key() string { return string(r.Kind) + "/" + r.Mark }

// before stands in the mark of a configuration between the values that are wanted and those that the node has: who has others than
// before the restart
// that was to give it the wanted ones took another wish up, which nobody may have seen, and has to be restarted once more.
const before = "<"

// mostRestarts is how often a node is restarted for the same wanted values if it has others each time.
const mostRestarts = 3

// served reports whether a node that was restarted for all of these keys is not to be restarted for this reason as well.
func (r Reason) served(keys []string) bool {
	times := 0
	for _, key := range keys {
		if key == r.key() || key == r.wish() { // a mark of an earlier version has the wanted values only
			return true
		}
		if r.about(key) {
			times++
		}
	}
	return times >= mostRestarts
}

// about reports whether a node with this key was restarted for what this reason wants, whatever it had.
func (r Reason) about(key string) bool {
	wish, _, _ := strings.Cut(key, before)
	return wish == r.wish() && (r.Kind == ConfigChangeRequiresRestart || key == r.key())
}

// wish is the key without what the node has.
func (r Reason) wish() string {
	if r.Kind != ConfigChangeRequiresRestart {
		return r.key()
	}
	wish, _, _ := strings.Cut(r.key(), before)
	return wish
}

// Reasons renders several reasons for people.
func Reasons(rs []Reason) string {
	words := make([]string, len(rs))
	for i, r := range rs {
		words[i] = r.String()
	}
	return strings.Join(words, ", ")
}

// sortedReasons are the reasons in a stable order, each once.
func sortedReasons(rs []Reason) []Reason {
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b Reason) int { return cmp.Compare(a.key(), b.key()) })
	return slices.CompactFunc(rs, func(a, b Reason) bool { return a.key() == b.key() })
}
