// Package brokerconfig compares the desired configuration of a Kafka node with its live one, and decides which differences can be applied
// while the node runs and which need a restart (KIP-226; docs/roller/checklist.md). It is pure.
package brokerconfig

// Config is the desired and the live configuration of one node.
type Config struct {
	// Version is the version of Kafka that the node runs, such as 4.3.1; empty if it is unknown. In pods it is Strimzi's annotation
	// strimzi.io/kafka-version: a node reports its capabilities to clients, but not its version.
	Version string `json:"version,omitempty"`
	// Desired contains the properties that the node should have.
	Desired map[string]string `json:"desired"`
	// Live is the configuration that the node reports, by key: all keys, including those with Kafka's default. The node's Kafka does not
	// define a missing key.
	Live map[string]Entry `json:"live"`
}

// Entry is the effective value of one key.
type Entry struct {
	// Value is empty if Kafka does not show it (Sensitive).
	Value  string `json:"value"`
	Source Source `json:"source"`
	// ReadOnly means that the node reports the key as not changeable at run time.
	ReadOnly  bool `json:"readOnly,omitempty"`
	Sensitive bool `json:"sensitive,omitempty"`
	// Synonyms are all places that have a value for the key, the effective one first. They show the values below a value that Kafka stores;
	// without them, it takes two comparisons to reach the desired configuration instead of one.
	Synonyms []Synonym `json:"synonyms,omitempty"`
}

// Synonym is a value for a key in one of the places where it can be set.
type Synonym struct {
	// Key may differ from the requested one: log.retention.hours for log.retention.ms.
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source Source `json:"source"`
}

// Source is the source of a value (KIP-226), with Kafka's own codes.
type Source int8

// The sources.
const (
	SourceUnknown       Source = 0
	SourceDynamicNode   Source = 2
	SourceDynamicGlobal Source = 3
	SourceStatic        Source = 4
	SourceDefault       Source = 5
)

// Change is one difference.
type Change struct {
	Key string `json:"key"`
	// From and To are the live and the desired value; nil if none is set.
	From *string `json:"from"`
	To   *string `json:"to"`
}

// Diff lists what to do so that a node gets its desired configuration. Each list is sorted by key.
type Diff struct {
	// Node are changes that the node applies while it runs, for itself alone.
	Node []Change `json:"node,omitempty"`
	// Global are changes that all brokers apply while they run.
	Global []Change `json:"global,omitempty"`
	// StoredNode and StoredGlobal are changes that running brokers reject. Kafka should store them nevertheless, through its controllers,
	// which do not validate them: otherwise the stored values would override the file after the next start.
	StoredNode   []Change `json:"storedNode,omitempty"`
	StoredGlobal []Change `json:"storedGlobal,omitempty"`
	// Restart are differences that require a restart.
	Restart []Change `json:"restart,omitempty"`
	// Rejected are desired values that are not applied.
	Rejected []Rejection `json:"rejected,omitempty"`
}

// Empty reports whether there is nothing to do.
func (d Diff) Empty() bool { return len(d.Restart)+len(d.Rejected) == 0 && !d.Live() }

// Live reports whether there are changes that the node can apply while it runs.
func (d Diff) Live() bool {
	return len(d.Node)+len(d.Global)+len(d.StoredNode)+len(d.StoredGlobal) > 0
}

// WithoutRestart returns the changes that can be made while the node runs.
func (d Diff) WithoutRestart() Diff {
	return Diff{Node: d.Node, Global: d.Global, StoredNode: d.StoredNode, StoredGlobal: d.StoredGlobal}
}
