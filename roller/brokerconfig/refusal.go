package brokerconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

// EveryBroker is the Node of a Refusal of a change for all brokers.
const EveryBroker int32 = -1

// Refusal is Kafka's rejection of one change of one key.
type Refusal struct {
	Key string `json:"key"`
	// To is the rejected value; nil if the change was a deletion.
	To *string `json:"to"`
	// Node is the node whose own value was changed, or EveryBroker.
	Node int32  `json:"node"`
	Why  string `json:"why"`
	// Final means that the refusal does not depend on the running node, so that a restart would circumvent a rule: a policy forbids the
	// change, or this Kafka has disabled it.
	Final bool `json:"final,omitempty"`
	// Waits is how often Kafka named another key that blocks the change; 0: the refusal is about the key itself. From the third time on it
	// counts as refused, because the other key may block forever: on a node on hold that can't apply the stored value.
	Waits int `json:"waits,omitempty"`
	// Last is the time of the last count.
	Last time.Time `json:"last,omitzero"`
}

// mostWaits is how often a change is tried that is blocked by another key.
const mostWaits = 3

// open reports whether the change is worth a retry.
func (r Refusal) open() bool { return r.Waits > 0 && r.Waits < mostWaits }

// Same reports whether two refusals are about the same change.
func (r Refusal) Same(o Refusal) bool {
	return r.Key == o.Key && r.Node == o.Node && (r.To == nil) == (o.To == nil) && text(r.To) == text(o.To)
}

// Add returns refusals with others added; the latest refusal of a change replaces earlier ones.
func Add(refusals []Refusal, others ...Refusal) []Refusal {
	refusals = slices.DeleteFunc(slices.Clone(refusals), func(r Refusal) bool { return slices.ContainsFunc(others, r.Same) })
	return append(refusals, others...)
}

// Count is Add with a time. It also counts how often another key blocked a change: at most once per interval, for all nodes together.
func Count(refusals []Refusal, now time.Time, apart time.Duration, others ...Refusal) []Refusal {
	others = slices.Clone(others)
	for i := range others {
		r := &others[i]
		if r.Waits == 0 {
			continue
		}
		r.Last = now
		at := slices.IndexFunc(refusals, r.Same)
		switch {
		case at < 0:
		case now.Sub(refusals[at].Last) < apart:
			r.Waits, r.Last = refusals[at].Waits, refusals[at].Last
		default:
			r.Waits += refusals[at].Waits
		}
	}
	return Add(refusals, others...)
}

// Rejection is a desired value that is not applied to a node.
type Rejection struct {
	Key string `json:"key"`
	// Value is nil for none.
	Value *string `json:"value"`
	Why   string  `json:"why"`
	// Illegal means that the value violates Kafka's definition of the key. A node does not start with it.
	Illegal bool `json:"illegal,omitempty"`
	// Final is that of the Refusal.
	Final bool `json:"final,omitempty"`
}

// String describes which value is rejected, and why.
func (r Rejection) String() string {
	what := r.Key + " without a value"
	if r.Value != nil {
		what = r.Key + "=" + *r.Value
	}
	if r.Illegal {
		return fmt.Sprintf("%s is illegal: it %s", what, r.Why)
	}
	return fmt.Sprintf("Kafka rejects %s: %s", what, r.Why)
}

// illegal explains why no node could start with a value, by the definition of the key; empty if one could, or if that is unknown. A value
// that a later Kafka accepts is not illegal: a pod with that version may replace the present one.
func (t *Table) illegal(k *Key, value, version string) string {
	wrong := k.Check(value)
	if len(wrong) == 0 || newer(version) {
		return ""
	}
	tables := all()
	for _, later := range tables[slices.Index(tables, t)+1:] {
		if d, known := later.keys[k.Name]; known && len(d.Check(value)) == 0 {
			return ""
		}
	}
	return strings.Join(wrong, ", and ")
}

// Illegal returns the desired values with which no node of this version would start, sorted by key. CompareAll reports them, too; this
// function is for nodes that do not report their configuration.
func (t *Table) Illegal(desired map[string]string, version string) []Rejection {
	var all []Rejection
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		k, known := t.keys[name]
		if !known || k.owned {
			continue
		}
		value := desired[name]
		if why := t.illegal(k, value, version); why != "" {
			all = append(all, Rejection{Key: name, Value: &value, Why: why, Illegal: true})
		}
	}
	return all
}

// newer reports whether a version is later than all known ones.
func newer(version string) bool {
	return slices.Compare(configdef.Minor(version), configdef.Minor(Latest().Version)) > 0
}

// illegal rejects a value with which the node would not start, even if the key is not compared.
func (c *comparison) illegal(k *Key, e Entry, value string) bool {
	if k.owned || k.Type.Same(e.Value, value) {
		return false
	}
	why := c.table.illegal(k, value, c.config.Version)
	if why != "" {
		c.reject(k, &value, Rejection{Why: why, Illegal: true})
	}
	return why != ""
}

// setNode requests a change of the node's own value, and setGlobal one of the cluster-wide value.
func (c *comparison) setNode(d difference, to *string)   { c.ask(&c.diff.Node, c.node, d, to) }
func (c *comparison) setGlobal(d difference, to *string) { c.ask(&c.diff.Global, EveryBroker, d, to) }

func (c *comparison) ask(list *[]Change, node int32, d difference, to *string) {
	i := slices.IndexFunc(c.refusals, Refusal{Key: d.Name, To: to, Node: node}.Same)
	if i < 0 {
		*list = append(*list, d.change(to))
		return
	}
	c.met = append(c.met, c.refusals[i])
	if c.refusals[i].open() {
		*list = append(*list, d.change(to))
		return
	}
	c.refused(d, c.refusals[i])
}

// refused finds another way to a value that Kafka rejects while the node runs: a restart, if the value is legal. A stored value would
// override the file after it, so the stored value is changed first, where it is not validated. If another key blocked the change on the
// brokers that were asked, other brokers may still apply it without a restart.
func (c *comparison) refused(d difference, r Refusal) {
	legal := d.want == nil || c.table.Judge(d.Name, *d.want) == Legal
	switch {
	case !legal, r.Final, d.entry.Sensitive, d.same(&d.entry.Value):
		c.reject(d.Key, d.want, Rejection{Why: r.Why, Final: r.Final})
	case d.node != nil && !d.same(d.node):
		c.store(&c.diff.StoredNode, d, nil)
	case d.node == nil && (d.global != nil || r.Waits > 0 && r.Node == EveryBroker) && !d.same(d.global):
		c.store(&c.diff.StoredGlobal, d, d.want)
	default:
		c.restart(d)
	}
}

// store requests a change of the value that Kafka stores.
func (c *comparison) store(list *[]Change, d difference, to *string) {
	if !slices.ContainsFunc(*list, func(x Change) bool { return x.Key == d.Name }) {
		*list = append(*list, d.change(to))
	}
}

// reject records a rejected value, once per key.
func (c *comparison) reject(k *Key, value *string, r Rejection) {
	if r.Key, r.Value = k.Name, value; !slices.ContainsFunc(c.diff.Rejected, func(x Rejection) bool { return x.Key == k.Name }) {
		c.diff.Rejected = append(c.diff.Rejected, r)
	}
}
