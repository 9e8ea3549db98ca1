package configdef

import (
	"embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// files are made by hack/brokerconfig/generate.sh from Kafka's own classes; a test holds them against the jars and against live nodes.
//
//go:embed tables/*.tsv
var files embed.FS

// Key is what Kafka says of one key.
type Key struct {
	Name string
	Type Type
	// Mode is how the key can be changed, by Kafka's names: read-only, per-broker, cluster-wide, or per-listener for those that can be changed
	// behind the prefix of a listener only.
	Mode string
	// DynamicOnControllers: a node that is only a controller takes a change up while it runs.
	DynamicOnControllers bool
	// Group is the part of Kafka that defines the key.
	Group string
	// Before are the keys whose values count instead of this one's where they are set, the strongest first.
	Before []string
	// Default is nil where there is none.
	Default *string
	// Values are the rules for values beyond what the type says.
	Values Values
}

// Values are the rules for the values of a key.
type Values struct {
	// Min and Max are the ends of a number's range; empty where it has none.
	Min, Max string
	// OneOf are the legal values; any if empty. Case counts unless AnyCase.
	OneOf   []string
	AnyCase bool
	// Items are the legal items of a list; any if empty.
	Items []string
	// Distinct forbids duplicates and empty entries in a list; NonEmpty requires an entry.
	Distinct, NonEmpty bool
	// Code marks keys with rules that only Kafka's code has.
	Code bool
}

// Table is what one version of Kafka knows of the configuration of its nodes. It is only read: any number of goroutines may use it.
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

// Tables are those of all versions that are known, by ascending version.
var Tables = sync.OnceValue(func() []*Table {
	entries, err := files.ReadDir("tables")
	if err != nil {
		panic("configdef: the embedded tables: " + err.Error())
	}
	var tables []*Table
	for _, entry := range entries {
		text, err := files.ReadFile("tables/" + entry.Name())
		if err != nil {
			panic("configdef: the embedded tables: " + err.Error())
		}
		t, err := parse(string(text))
		if err != nil {
			panic("configdef: " + entry.Name() + ": " + err.Error())
		}
		tables = append(tables, t)
	}
	slices.SortFunc(tables, func(a, b *Table) int { return slices.Compare(Minor(a.Version), Minor(b.Version)) })
	return tables
})

// For returns the table for a version of Kafka such as 4.2 or 4.3.1, and whether it is one of that very minor version: keys do not change
// their mode in a patch. Otherwise it is that of the newest known Kafka before it, the oldest for what is older still, the latest for what
// is no version.
func For(version string) (*Table, bool) {
	tables := Tables()
	wanted := Minor(version)
	if wanted == nil {
		return tables[len(tables)-1], false
	}
	best := tables[0]
	for _, t := range tables {
		if slices.Compare(Minor(t.Version), wanted) <= 0 {
			best = t
		}
	}
	return best, slices.Equal(Minor(best.Version), wanted)
}

// Minor is a version's first two numbers; nil if it does not begin with two.
func Minor(version string) []int {
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
