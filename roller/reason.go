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
	// ManualRollingUpdate: somebody asked for it by an annotation.
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
	// Note says more, for people.
	Note string `json:"note,omitempty"`
	// Mark tells this reason from a later one of the same kind: a revision, a hash. A node is not restarted twice for the same kind and mark, unless the
	// reason was gone in between.
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
