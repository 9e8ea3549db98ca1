package brokerconfig

import (
	"slices"
	"sync"

	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

// Mode is how a key can be changed.
type Mode uint8

// The modes, by Kafka's names (DynamicBrokerConfig.dynamicConfigUpdateModes).
const (
	// ReadOnly keys are read when a node starts.
	ReadOnly Mode = iota
	// PerBroker keys can be changed for one running node.
	PerBroker
	// ClusterWide keys can be changed for all running nodes together, and for a single one.
	ClusterWide
	// PerListener keys can be changed for one listener of a running node, behind the listener's prefix. Without it, Kafka reports them as
	// dynamic but rejects changes: for the node as a whole they are read-only.
	PerListener
)

var modes = map[string]Mode{"read-only": ReadOnly, "per-broker": PerBroker, "cluster-wide": ClusterWide, "per-listener": PerListener}

// Key is Kafka's definition of one key, and how to compare its values.
type Key struct {
	configdef.Key
	// Type and Mode are those of the definition. A dynamic mode applies to controllers only if DynamicOnControllers is set: otherwise a
	// controller accepts a change and ignores it.
	Type Type
	Mode Mode

	owned                  bool
	onBroker, onController bool
	undeletable            bool
}

// Table contains the definitions of the configuration keys of one version of Kafka. It is immutable, and safe for concurrent use.
type Table struct {
	*configdef.Table
	keys map[string]*Key
}

// all returns all tables, by ascending version.
var all = sync.OnceValue(func() []*Table {
	var ts []*Table
	for _, defined := range configdef.Tables() {
		ts = append(ts, newTable(defined))
	}
	return ts
})

func newTable(defined *configdef.Table) *Table {
	t := &Table{Table: defined, keys: map[string]*Key{}}
	for _, name := range defined.Names() {
		d, _ := defined.Key(name)
		k := &Key{Key: d, Type: types[d.Type], Mode: modes[d.Mode]}
		k.prepare()
		t.keys[name] = k
	}
	return t
}

// Latest returns the table of the newest known Kafka.
func Latest() *Table { return all()[len(all())-1] }

// For returns the table for a version of Kafka such as 4.2 or 4.3.1, and whether it is that of the same minor version: keys do not change
// their mode in a patch. Otherwise it returns that of the newest known Kafka before the version, the oldest one for an older version, and
// the latest one for a text that is no version. A wrong guess only costs an additional restart: the node's own report (Entry.ReadOnly)
// counts too, and keys that the node does not report are left alone.
func For(version string) (*Table, bool) {
	defined, exact := configdef.For(version)
	i := slices.IndexFunc(all(), func(t *Table) bool { return t.Version == defined.Version })
	return all()[i], exact
}
