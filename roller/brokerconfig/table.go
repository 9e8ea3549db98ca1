package brokerconfig

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// tables are made by hack/brokerconfig/generate.sh from Kafka's own classes; a test holds them against the jars and against live nodes.
//
//go:embed tables/*.tsv
var tables embed.FS

// Mode is how a key can be changed.
type Mode uint8

// The modes, by Kafka's names (DynamicBrokerConfig.dynamicConfigUpdateModes).
const (
	// ReadOnly keys are read when a node starts.
	ReadOnly Mode = iota
	// PerBroker keys can be changed for one running node.
	PerBroker
	// ClusterWide keys can be changed for all running nodes at once, and for one.
	ClusterWide
	// PerListener keys can be changed for one listener of a running node, behind the listener's prefix. Without it, Kafka says that they are
	// dynamic, and refuses to change them: to the node as a whole they are read-only.
	PerListener
)

var modes = map[string]Mode{"read-only": ReadOnly, "per-broker": PerBroker, "cluster-wide": ClusterWide, "per-listener": PerListener}

// String is Kafka's name of the mode.
func (m Mode) String() string {
	for name, mode := range modes {
		if mode == m {
			return name
		}
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// Key is what Kafka says of one key.
type Key struct {
	Name string
	Type Type
	Mode Mode
	// DynamicOnControllers: a node that is only a controller takes a change up while it runs. Where this is false, and the mode is dynamic, such
	// a controller accepts the change and does nothing about it.
	DynamicOnControllers bool
	// Group is the part of Kafka that defines the key.
	Group string
	// Before are the keys whose values count instead of this one's where they are set, the strongest first: log.retention.ms, log.retention.minutes
	// for log.retention.hours.
	Before []string
	// Default is nil where there is none.
	Default *string

	owned                  bool
	onBroker, onController bool
	undeletable            bool
}

// Table is what one version of Kafka knows of the configuration of its nodes. It is prepared once and then only read: any number of goroutines may
// use it.
type Table struct {
	// Version is Kafka's.
	Version string
	keys    map[string]*Key
}

// Key returns what is said of a key, and whether Kafka knows it. Keys behind a listener's prefix, and those of plugins, are not known.
func (t *Table) Key(name string) (Key, bool) {
	k, ok := t.keys[name]
	if !ok {
		return Key{}, false
	}
	return *k, true
}

// Names are all keys, sorted.
func (t *Table) Names() []string { return slices.Sorted(maps.Keys(t.keys)) }

// all are the tables that there are, by ascending version.
var all = sync.OnceValue(func() []*Table {
	files, err := tables.ReadDir("tables")
	if err != nil {
		panic("brokerconfig: the embedded tables: " + err.Error())
	}
	var ts []*Table
	for _, file := range files {
		text, err := tables.ReadFile("tables/" + file.Name())
		if err != nil {
			panic("brokerconfig: the embedded tables: " + err.Error())
		}
		t, err := parseTable(string(text))
		if err != nil {
			panic("brokerconfig: " + file.Name() + ": " + err.Error())
		}
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b *Table) int { return compareVersions(a.Version, b.Version) })
	return ts
})

// Versions are the versions of Kafka whose tables there are, ascending.
func Versions() []string {
	var names []string
	for _, t := range all() {
		names = append(names, t.Version)
	}
	return names
}

// Latest is the table of the newest Kafka that is known.
func Latest() *Table { return all()[len(all())-1] }

// For returns the table for a version of Kafka such as 4.2 or 4.3.1, and whether it is one of that very minor version: keys do not change their
// mode in a patch. Otherwise it is that of the newest known Kafka before it, the oldest for what is older still, the latest for what is no version.
// A wrong guess does no harm beyond a restart too many: what a node says of itself (Entry.ReadOnly) counts too, and what it does not know is left
// alone.
func For(version string) (*Table, bool) {
	wanted := minor(version)
	if wanted == nil {
		return Latest(), false
	}
	best := all()[0]
	for _, t := range all() {
		if slices.Compare(minor(t.Version), wanted) <= 0 {
			best = t
		}
	}
	return best, slices.Equal(minor(best.Version), wanted)
}

// minor is a version's first two numbers; nil if it does not begin with two.
func minor(version string) []int {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return nil
	}
	var numbers []int
	for _, part := range parts[:2] {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// compareVersions compares number by number.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}
