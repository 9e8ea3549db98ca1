package simulator

import (
	"slices"
	"strconv"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// mostTries is how often a value is set that is taken and does not show (docs/decisions/rejected-values.md).
const mostTries = 3

// apart is how far apart two tries are at the most that count: half a minute, from look to look.
const apart = 40 * time.Second

// shows is what a node shows of a key that it should have otherwise, and what it should have; false: it is right, or nobody knows.
func shows(n *roller.Node, key int) (wanted int, differs bool) {
	c, known := n.Config.Get()
	if !known || c.Desired[keyNames[key]] == c.Live[keyNames[key]].Value {
		return 0, false
	}
	wanted, _ = strconv.Atoi(c.Desired[keyNames[key]])
	return wanted, true
}

// illegal are the keys of which the node is seen to be to have an illegal value.
func (o *oracle) illegal(n *roller.Node) []int {
	var keys []int
	for key := range keyCount {
		if wanted, differs := shows(n, key); differs && !legal(wanted) {
			keys = append(keys, key)
		}
	}
	return keys
}

// differs is the reason to restart a node that shows another value of a key than a legal one that it is to have. One that shows yet
// another value
// after its restart took up what was wanted meanwhile: that is a reason of its own.
func (o *oracle) differs(n *roller.Node, key int) []string {
	if wanted, differs := shows(n, key); differs && legal(wanted) {
		return []string{"config " + keyNames[key] + "=" + strconv.Itoa(wanted) +
			" and not " + n.Config.Or(brokerconfig.Config{}).Live[keyNames[key]].Value}
	}
	return nil
}

// refusedValues are reasons to restart a node because of legal values that are refused, or not taken up, while nodes run.
func (o *oracle) refusedValues(n *roller.Node) []string {
	var all []string
	for _, key := range []int{threads, connections} {
		wanted, _ := shows(n, key)
		if stored := o.w.stored[key]; stored != 0 && stored != wanted {
			continue // what is stored would stand against the file
		}
		if o.refused[[2]int{key, wanted}] || o.w.untaken[key] >= mostTries || len(o.waiting[[2]int{key, wanted}]) >= mostTries {
			all = append(all, o.differs(n, key)...)
		}
	}
	return all
}

// starts: nobody restarts a node that serves into an illegal value: it would not come back. What it is to have is always known.
func (o *oracle) starts(n *node) {
	if key := n.config.illegal(); key >= 0 && o.serves(n) {
		o.fail("illegal value: node %d is restarted, and does not start with %s=%d", n.ID, keyNames[key], n.config.wanted[key])
	}
}

// asks: what Kafka is known to refuse is not asked for again, and no illegal value is asked for at all.
func (o *oracle) asks(key, value int, controllers bool) {
	at, denied := o.denied[[2]int{key, value}]
	switch {
	case !legal(value):
		o.fail("illegal value: Kafka is asked for %s=%d", keyNames[key], value)
	case denied && at == o.w.wished[key] && !controllers:
		o.fail("Kafka has refused %s=%d, and is asked again", keyNames[key], value)
	}
}

// waits notes that another key was in the way of a legal value.
func (o *oracle) waits(key, value int) {
	at := [2]int{key, value}
	if !slices.Contains(o.waiting[at], o.w.now) {
		o.waiting[at] = append(o.waiting[at], o.w.now)
	}
}

// heard notes what Kafka refused, and the roller knows of. What has to wait for another key may be asked for again, and not forever.
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

// reconfigured: what needs a restart is not changed while a node runs.
func (o *oracle) reconfigured(n *node, a roller.Action) {
	if len(a.Changes.Restart) > 0 {
		o.fail("a change that needs a restart is made while node %d runs", n.ID)
	}
}
