package brokerconfig

import (
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

// compare returns what to do so that one node has its desired configuration, as CompareAll describes.
func (c *comparison) compare() Diff {
	met := 0
	for name, e := range c.config.Live {
		if e.Source == SourceDefault || e.Source == SourceUnknown {
			continue // most of them: no value is set, or the source is unknown
		}
		value, desired := c.config.Desired[name]
		if desired {
			met++
			if e.Source == SourceStatic && e.Value == value {
				continue // most of the others: nothing is stored, and the file is right
			}
		}
		c.key(c.table.keys[name], e, value, desired)
	}
	if met < len(c.config.Desired) {
		c.unset()
	}
	d := &c.diff
	for _, changes := range [][]Change{d.Node, d.Global, d.StoredNode, d.StoredGlobal, d.Restart} {
		slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	}
	slices.SortFunc(d.Rejected, func(a, b Rejection) int { return strings.Compare(a.Key, b.Key) })
	return c.diff
}

// comparison is the state of comparing one node.
type comparison struct {
	table  *Table
	config Config
	roles  Roles
	// disputed are the keys with different desired values: they are set for each node.
	disputed map[string]bool
	// node is the node's id, refusals the changes that Kafka rejected, and met those of them that block a change.
	node     int32
	refusals []Refusal
	met      []Refusal
	diff     Diff
}

// difference is one key with a value that is not the desired one.
type difference struct {
	*Key
	layers
	entry *Entry
	// want is the value that should be effective: the desired one, else Kafka's default, which may be nil.
	want    *string
	desired bool
}

// unset compares the desired keys that have no value yet.
func (c *comparison) unset() {
	for name, value := range c.config.Desired {
		e, told := c.config.Live[name]
		if told && (e.Source == SourceDefault || e.Source == SourceUnknown) && e.Value != value {
			c.key(c.table.keys[name], e, value, true)
		}
	}
}

// key compares one key; k is nil for one that Kafka does not define. The value counts only if it is desired.
func (c *comparison) key(k *Key, e Entry, value string, desired bool) {
	if k == nil || desired && (c.illegal(k, e, value) || configdef.Refers(value)) || !k.considered(c.roles) {
		return
	}
	d := difference{Key: k, layers: layersOf(k.Name, &e), entry: &e, want: k.Default, desired: desired}
	if desired {
		d.want = &value
	}
	mode := k.mode(c.roles)
	if e.ReadOnly {
		mode = ReadOnly
	}
	if e.Sensitive || k.Type == Password {
		if d.node != nil && mode == PerBroker {
			c.deleteOverride(d)
		}
		return
	}
	c.compareAs(mode, d)
}

// compareAs compares a key that can be changed in the given mode.
func (c *comparison) compareAs(mode Mode, d difference) {
	switch {
	case mode == ReadOnly:
		c.readOnly(d)
	case c.disputed[d.Name]:
		c.disputedKey(d)
	case d.same(&d.entry.Value):
		// It is effective already, wherever it comes from.
	case mode == PerBroker:
		c.perBroker(d)
	default:
		c.clusterWide(d)
	}
}

// disputedKey sets a cluster-wide key for this node, so that it does not depend on the value for all brokers.
func (c *comparison) disputedKey(d difference) {
	settled := d.same(&d.entry.Value) && (d.node != nil || d.global == nil)
	if !settled && !d.undeletable { // while eligible leader replicas are enabled, such a key can't be set for one node
		c.perBroker(d)
	}
}

// readOnly compares a key that is read when the node starts: only the file is effective, although a controller also shows stored values.
func (c *comparison) readOnly(d difference) {
	if slices.ContainsFunc(d.Before, func(key string) bool { _, ok := c.config.Desired[key]; return ok }) {
		return
	}
	if d.node != nil && !d.same(d.node) {
		c.deleteOverride(d)
	}
	if d.entry.Source >= SourceStatic || d.entry.Source == SourceUnknown {
		// A node may report a value derived from the file's value, which another restart would not change.
		if !d.same(&d.entry.Value) && (d.static == nil || !d.same(d.static)) {
			c.restart(d)
		}
	} else if d.known && !d.same(d.file()) {
		c.restart(d)
	}
}

// perBroker changes a key for this node.
func (c *comparison) perBroker(d difference) {
	switch {
	case d.node != nil && (d.known && d.same(d.below()) || !d.known && !d.desired):
		// The value below the override is right. If the node does not report that value, it will once the override is deleted.
		c.deleteOverride(d)
	case d.want != nil:
		c.setNode(d, d.want)
	default: // no value can be set that means no value
		if d.node != nil {
			c.deleteOverride(d)
		}
		if d.global != nil && c.disputed[d.Name] {
			c.setGlobal(d, nil)
		}
		if d.static != nil {
			c.restart(d)
		}
	}
}

// clusterWide changes a key for all brokers, even if the file is right already: other brokers may not have been restarted with it.
func (c *comparison) clusterWide(d difference) {
	if d.node != nil {
		c.deleteOverride(d)
		if d.known && d.same(d.below()) || !d.known && !d.desired {
			return
		}
	}
	stored := d.global != nil && !d.undeletable
	switch {
	case d.desired:
		c.setGlobal(d, d.want)
	case stored && (d.static == nil || d.same(d.static)):
		c.setGlobal(d, nil)
	case d.want != nil:
		// The file with which the node was started still has the old value, or the stored one can't be deleted.
		c.setGlobal(d, d.want)
	default:
		if stored {
			c.setGlobal(d, nil)
		}
		if d.static != nil {
			c.restart(d)
		}
	}
}

func (c *comparison) deleteOverride(d difference) {
	c.setNode(d, nil)
}

func (c *comparison) restart(d difference) {
	if slices.ContainsFunc(c.diff.Restart, func(x Change) bool { return x.Key == d.Name }) {
		return
	}
	to := d.want
	if !d.desired {
		to = nil
	}
	c.diff.Restart = append(c.diff.Restart, d.change(to))
}

// change returns the change from the node's value to another one; nil removes the value.
func (d *difference) change(to *string) Change {
	change := Change{Key: d.Name, To: to}
	if d.entry.Value != "" {
		from := d.entry.Value
		change.From = &from
	}
	return change
}

// same reports whether a value is the wanted one.
func (d *difference) same(value *string) bool { return d.Type.same(value, d.want) }

// below returns the value without the node's own override.
func (d *difference) below() *string {
	if d.global != nil {
		return d.global
	}
	return d.file()
}

// file returns the value without those that Kafka stores.
func (d *difference) file() *string {
	if d.static != nil {
		return d.static
	}
	return d.Default
}
