package brokerconfig

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

// Node is one node, for CompareAll. Omit nodes whose configuration is unknown.
type Node struct {
	ID     int32
	Roles  Roles
	Config Config
}

// Outcome lists the changes after which all nodes have their desired configuration.
type Outcome struct {
	// Nodes are the differences of each node that has any, without the cluster-wide changes.
	Nodes map[int32]Diff `json:"nodes"`
	// Global are the changes that all brokers apply while they run, each once, sorted by key.
	Global []Change `json:"global,omitempty"`
	// StoredGlobal are cluster-wide values that running brokers reject (Diff.StoredGlobal).
	StoredGlobal []Change `json:"storedGlobal,omitempty"`
	// Met are the refusals that still block a change.
	Met []Refusal `json:"met,omitempty"`
	// Disputes are the cluster-wide keys that should be changed and that the nodes do not agree on, sorted by key.
	Disputes []Dispute `json:"disputes,omitempty"`
}

// Dispute is a cluster-wide key for which nodes have different desired values.
type Dispute struct {
	Key string `json:"key"`
	// Wishes are sorted by the first node of each.
	Wishes []Wish `json:"wishes"`
	// Unsolved means that the key can't be set for single nodes, so that it is not changed.
	Unsolved bool `json:"unsolved,omitempty"`
}

// Wish is a desired value, and the nodes that have it.
type Wish struct {
	// Value is nil if Kafka has no default for the key and the nodes should not have a value.
	Value *string `json:"value"`
	Nodes []int32 `json:"nodes"`
}

// TableOf returns the table by which to compare the nodes of one cluster: that of the oldest Kafka version among them, so that during an
// upgrade no key counts as changeable at run time that some node would not apply. It ignores nodes whose version is unknown
// (Config.Version); if all are unknown, it returns the latest table. A key of a newer Kafka is compared once all nodes run that version. A
// table that is too old or too new only costs an additional restart: see [For].
func TableOf(nodes []Node) *Table {
	oldest := ""
	for i := range nodes {
		version := nodes[i].Config.Version
		if configdef.Minor(version) != nil && (oldest == "" || slices.Compare(configdef.Minor(version), configdef.Minor(oldest)) < 0) {
			oldest = version
		}
	}
	t, _ := For(oldest)
	return t
}

// CompareAll returns what to do so that each node has its desired configuration, with each cluster-wide change once. Nodes are described by
// Config and Roles; their order does not matter.
//
// A change that a running node can apply is made at run time: a per-broker key for the node, a cluster-wide key for all brokers, and the
// node's own value of it is removed. A restart is requested only if it changes something: a value that Kafka stores overrides the file, so
// the stored value is deleted instead. After the whole result was applied, restarts included, there are no differences; if a node does not
// report the synonyms of its values, that takes a second result.
//
// The result never has the following keys, so a change of them must change the pod's revision (a hash of their values, for example):
//   - keys that Kafka does not define, such as those of plugins and those behind a listener's prefix (listener.name.x.), and keys that the
//     node does not report: an older Kafka would reject them;
//   - passwords, which no node reports, and values that the node looks up itself (${file:...}). A node's own stored value of a password is
//     deleted, because there is no way to check whether it is the right one;
//   - the keys that identify a node: its id, roles, rack and advertised listeners;
//   - keys that the node does not read: a controller's settings on a broker, a broker's on a controller, log.retention.hours if
//     log.retention.ms is desired.
//
// A key that is no longer desired gets Kafka's default. If its value is the default already, it stays, wherever the value comes from.
//
// Nodes may have different desired values for a cluster-wide key: pools that are configured differently, or an edit that has reached only
// some of them. If such a key were set for the cluster, the nodes would overwrite each other's value forever. It is set for each node
// instead, which Kafka allows for all of them but min.insync.replicas, and the dispute is reported. Nodes that have their desired value
// from the cluster's value get it as their own before that is changed. When the nodes agree again, the next change replaces their own
// values by the cluster's.
//
// Changes that Kafka has rejected are not in the result again. A legal value is applied by a restart instead, and any other one is reported
// as rejected.
func (t *Table) CompareAll(nodes []Node, refusals ...Refusal) Outcome {
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	compared := t.compareEach(nodes, nil, nil)
	out := Outcome{Nodes: map[int32]Diff{}, Disputes: t.disputes(nodes, compared)}
	disputed := map[string]bool{}
	for _, d := range out.Disputes {
		disputed[d.Key] = true
	}
	if len(disputed)+len(refusals) > 0 {
		compared = t.compareEach(nodes, disputed, refusals)
	}
	changes, stored := map[string]Change{}, map[string]Change{}
	for i, n := range nodes {
		d := compared[i].diff
		out.Met = Add(out.Met, compared[i].met...)
		for _, c := range d.StoredGlobal {
			stored[c.Key] = c
		}
		for _, c := range d.Global {
			// A value takes precedence over a deletion: both lead to the default, but a deletion would restore the old value of some node's
			// file.
			if known, ok := changes[c.Key]; !ok || known.To == nil {
				changes[c.Key] = c
			}
		}
		if d.Global, d.StoredGlobal = nil, nil; !d.Empty() {
			out.Nodes[n.ID] = d
		}
	}
	out.postpone(changes, disputed)
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		out.Global = append(out.Global, changes[key])
	}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		out.StoredGlobal = append(out.StoredGlobal, stored[key])
	}
	return out
}

// compareEach compares each node by itself.
func (t *Table) compareEach(nodes []Node, disputed map[string]bool, refusals []Refusal) []comparison {
	compared := make([]comparison, len(nodes))
	for i, n := range nodes {
		compared[i] = comparison{table: t, config: n.Config, roles: n.Roles, disputed: disputed, node: n.ID, refusals: refusals}
		compared[i].compare()
	}
	return compared
}

// disputes returns the cluster-wide keys that would be changed and for which nodes have different desired values.
func (t *Table) disputes(nodes []Node, compared []comparison) (disputes []Dispute) {
	global := map[string]bool{}
	for i := range compared {
		for _, c := range compared[i].diff.Global {
			global[c.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(global)) {
		if wishes := t.wishes(key, nodes); len(wishes) > 1 {
			disputes = append(disputes, Dispute{Key: key, Wishes: wishes, Unsolved: t.keys[key].undeletable})
		}
	}
	return disputes
}

// postpone drops changes of disputed keys while a node still needs its own value first.
func (o *Outcome) postpone(changes map[string]Change, disputed map[string]bool) {
	for _, d := range o.Nodes {
		for _, c := range d.Node {
			if c.To != nil && disputed[c.Key] {
				delete(changes, c.Key)
			}
		}
	}
}

// wishes returns the desired values for a cluster-wide key of the nodes that apply changes of it.
func (t *Table) wishes(key string, nodes []Node) []Wish {
	k := t.keys[key]
	var wishes []Wish
	for _, n := range nodes {
		if !k.considered(n.Roles) || k.mode(n.Roles) != ClusterWide {
			continue
		}
		want := k.Default
		if value, desired := n.Config.Desired[key]; desired {
			if configdef.Refers(value) || t.illegal(k, value, n.Config.Version) != "" {
				continue
			}
			want = &value
		}
		same := func(w Wish) bool { return k.Type.same(w.Value, want) }
		if i := slices.IndexFunc(wishes, same); i >= 0 {
			wishes[i].Nodes = append(wishes[i].Nodes, n.ID)
		} else {
			wishes = append(wishes, Wish{Value: want, Nodes: []int32{n.ID}})
		}
	}
	return wishes
}
