package simulator

import (
	"slices"
	"strconv"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// mostTries is how often a value is set that Kafka accepts but does not report (docs/decisions/rejected-values.md).
const mostTries = 3

// apart is the longest time between two tries that count: half a minute, from look to look.
const apart = 40 * time.Second

// shows returns the desired value of a key, and whether the node reports another one; false if the values agree or are unknown.
func shows(n *roller.Node, key int) (wanted int, differs bool) {
	c, known := n.Config.Get()
	if !known || c.Desired[keyNames[key]] == c.Live[keyNames[key]].Value {
		return 0, false
	}
	wanted, _ = strconv.Atoi(c.Desired[keyNames[key]])
	return wanted, true
}

// illegal returns the keys whose desired value is illegal, as far as the look showed.
func (o *oracle) illegal(n *roller.Node) []int {
	var keys []int
	for key := range keyCount {
		if wanted, differs := shows(n, key); differs && !legal(wanted) {
			keys = append(keys, key)
		}
	}
	return keys
}

// differs returns the reason to restart a node that reports another value of a key than the desired, legal one. The reason includes the
// reported value: a node that reports yet another one after its restart applied a value that was desired meanwhile, which is a new reason.
func (o *oracle) differs(n *roller.Node, key int) []string {
	if wanted, differs := shows(n, key); differs && legal(wanted) {
		return []string{"config " + keyNames[key] + "=" + strconv.Itoa(wanted) +
			" and not " + n.Config.Or(brokerconfig.Config{}).Live[keyNames[key]].Value}
	}
	return nil
}

// refusedValues returns the reasons to restart a node because of legal values that nodes reject, or do not apply, at runtime.
func (o *oracle) refusedValues(n *roller.Node) []string {
	var all []string
	for _, key := range []int{threads, connections} {
		wanted, _ := shows(n, key)
		if stored := o.w.stored[key]; stored != 0 && stored != wanted {
			continue // the stored value would override the file
		}
		if o.refused[[2]int{key, wanted}] || o.w.untaken[key] >= mostTries || len(o.waiting[[2]int{key, wanted}]) >= mostTries {
			all = append(all, o.differs(n, key)...)
		}
	}
	return all
}

// starts fails if a serving node is restarted with an illegal value, because it would not start again. The desired value is always known.
func (o *oracle) starts(n *node) {
	if key := n.config.illegal(); key >= 0 && o.serves(n) {
		o.fail("illegal value: node %d is restarted, and does not start with %s=%d", n.ID, keyNames[key], n.config.wanted[key])
	}
}

// asks fails if the roller requests an illegal value, or one that it knows Kafka to reject.
func (o *oracle) asks(key, value int, controllers bool) {
	at, denied := o.denied[[2]int{key, value}]
	switch {
	case !legal(value):
		o.fail("illegal value: Kafka is asked for %s=%d", keyNames[key], value)
	case denied && at == o.w.wished[key] && !controllers:
		o.fail("Kafka has refused %s=%d, and is asked again", keyNames[key], value)
	}
}

// waits records that another key prevented a legal value.
func (o *oracle) waits(key, value int) {
	at := [2]int{key, value}
	if !slices.Contains(o.waiting[at], o.w.now) {
		o.waiting[at] = append(o.waiting[at], o.w.now)
	}
}

// heard records the rejections that the roller knows of. A value that waits for another key may be requested again, but not forever.
func (o *oracle) heard(refusals []brokerconfig.Refusal) {
	for _, r := range refusals {
		key := slices.Index(keyNames[:], r.Key)
		value, _ := strconv.Atoi(*r.To)
		if r.Waits > 0 {
			times := [3]int{key, value, o.w.wished[key]}
			heard := o.heardOf[times]
			if n := len(heard); n == 0 || o.w.now.Sub(heard[n-1]) >= apart {
				heard = append(heard, o.w.now)
				o.heardOf[times] = heard
			}
			if len(heard) < mostTries {
				continue
			}
		}
		o.denied[[2]int{key, value}] = o.w.wished[key]
	}
}

// reconfigured fails if a key that needs a restart is changed at runtime.
func (o *oracle) reconfigured(n *node, a roller.Action) {
	if len(a.Changes.Restart) > 0 {
		o.fail("a change that needs a restart is made while node %d runs", n.ID)
	}
}

// reconfigures checks that a configuration may be changed through this node.
func (o *oracle) reconfigures(seen *roller.Node) {
	switch {
	case o.policy.Closed != "" || o.policy.Paused != "":
		o.fail("a configuration is changed although it is paused or no window is open")
	case seen.Hold != "":
		o.fail("a configuration is changed through node %d, which is on hold", seen.ID)
	case seen.Foreign != "":
		o.fail("a configuration is changed through node %d, which nobody would make anew", seen.ID)
	}
}
