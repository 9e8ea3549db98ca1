package roller

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

// follow continues the current plan, and orders the brokers by it. If the plan lacks a broker that should be restarted, or if one can now
// go with others and could not when the plan was made, it makes a new plan, as soon as no broker is away.
func (r *round) follow() {
	r.takeUp()
	slices.SortStableFunc(r.nodes, func(a, b *Assessment) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(r.batch[a.Node], r.batch[b.Node]))
	})
	r.rings()
}

// open reports whether the broker may go down by the replicas in sync, both now and after the loss of a Kubernetes cluster.
func (r *round) open(a *Assessment) bool {
	return r.ledger.open(a.Node) && r.losses.first(a) == nil
}

func (r *round) takeUp() {
	r.batch = map[NodeID]int{}
	for i, ids := range r.progress.Batches {
		for _, id := range ids {
			r.batch[id] = i
		}
	}
	brokers := r.brokers()
	if len(brokers) == 0 {
		r.progress.Batches, r.progress.Limits, r.progress.Shut, r.batch = nil, "", nil, map[NodeID]int{}
		return
	}
	limits := fmt.Sprintf("%d/%d/%g", r.policy.MaxUnavailable, r.policy.MaxPerRack, r.policy.MaxLeaderShare)
	covered := !slices.ContainsFunc(brokers, func(a *Assessment) bool { _, planned := r.batch[a.Node]; return !planned })
	opened := slices.ContainsFunc(brokers, func(a *Assessment) bool {
		return slices.Contains(r.progress.Shut, a.Node) && (a.Down || r.open(a))
	})
	if covered && limits == r.progress.Limits && !opened {
		return
	}
	if slices.ContainsFunc(r.away, func(a *Assessment) bool { return a.Roles.Broker && a.node.Hold == "" }) {
		r.due = true
		return
	}
	d := r.divide(brokers)
	r.made, r.progress.Batches, r.progress.Limits, r.progress.Shut = &d, d.batches, limits, d.shut
	r.batch = map[NodeID]int{}
	for i, ids := range d.batches {
		for _, id := range ids {
			r.batch[id] = i
		}
	}
}

// brokers returns the broker-only nodes that should be restarted, in their order.
func (r *round) brokers() []*Assessment {
	var brokers []*Assessment
	for _, a := range r.nodes {
		if a.wanted() && !a.Roles.Controller {
			brokers = append(brokers, a)
		}
	}
	return brokers
}

// division is the division of brokers into batches.
type division struct {
	batches [][]NodeID
	// fewest is a proven lower bound on the number of batches, without those of shut brokers; proof explains it.
	fewest int
	proof  string
	// shut are the brokers that may not go down at this moment.
	shut []NodeID
}

// divide divides brokers into batches that may go down together (docs/decisions/availability.md). Unready brokers are in earlier batches
// than ready ones. Brokers that may not go down at this moment form batches of one, at the end.
func (r *round) divide(brokers []*Assessment) division {
	if r.policy.MaxUnavailable <= 1 {
		return oneByOne(brokers)
	}
	var unready, ready, shut []*Assessment
	for _, a := range brokers {
		switch {
		case !a.Down && !r.open(a):
			shut = append(shut, a)
		case a.rank() == 3:
			unready = append(unready, a)
		default:
			ready = append(ready, a)
		}
	}
	all := r.pack(unready)
	if len(unready) > 0 && len(ready) > 0 {
		all.proof = "unready nodes first: " + all.proof + "; ready ones: "
	}
	then := r.pack(ready)
	var closed []NodeID
	for _, a := range shut {
		closed = append(closed, a.Node)
	}
	return division{
		shut:    closed,
		batches: slices.Concat(all.batches, then.batches, oneByOne(shut).batches),
		fewest:  all.fewest + then.fewest,
		proof:   all.proof + then.proof,
	}
}

func oneByOne(brokers []*Assessment) division {
	d := division{fewest: len(brokers)}
	for _, a := range brokers {
		d.batches = append(d.batches, []NodeID{a.Node})
		d.proof = "one broker at a time"
	}
	return d
}

// pack divides brokers into the fewest batches that it finds.
func (r *round) pack(brokers []*Assessment) division {
	if len(brokers) == 0 {
		return division{}
	}
	in := r.ledger.constraints(brokers)
	r.losses.constrain(&in, brokers)
	in.MaxSize = r.policy.MaxUnavailable
	in.MaxPerGroup = r.policy.MaxPerRack
	in.Groups = r.racks(brokers)
	if r.policy.MaxLeaderShare > 0 {
		in.MaxWeight = max(1, int64(math.Floor(r.policy.MaxLeaderShare*float64(r.avail.total))))
		for _, a := range brokers {
			in.Weights = append(in.Weights, int64(r.avail.leads(a.Node)))
		}
	}
	packed, err := packing.Pack(&in)
	if err != nil { // more brokers than Pack accepts
		d := oneByOne(brokers)
		d.fewest, d.proof = 1, "no search for better batches: "+err.Error()
		return d
	}
	d := division{fewest: packed.Bound.Batches, proof: r.proof(brokers, packed.Bound)}
	for _, items := range packed.Batches {
		batch := make([]NodeID, len(items))
		for i, item := range items {
			batch[i] = brokers[item].Node
		}
		d.batches = append(d.batches, batch)
	}
	return d
}

// proof explains why there can't be fewer batches.
func (r *round) proof(brokers []*Assessment, bound packing.Bound) string {
	var words []string
	for _, p := range bound.Parts {
		words = append(words, fmt.Sprintf("%s: %s", amount(p.Batches, "batch"), r.because(brokers, p)))
	}
	return strings.Join(words, " and ")
}

func (r *round) because(brokers []*Assessment, p packing.Part) string {
	switch p.Kind {
	case packing.KindSize:
		return fmt.Sprintf("%s, at most %d down at once", amount(len(p.Items), "broker"), r.policy.MaxUnavailable)
	case packing.KindGroup:
		return fmt.Sprintf("%s of one rack, at most %d of it down at once", amount(len(p.Items), "broker"), r.policy.MaxPerRack)
	case packing.KindWeight:
		return fmt.Sprintf("at most %.1f %% of all partitions may change their leader at once", 100*r.policy.MaxLeaderShare)
	case packing.KindConstraint:
		return fmt.Sprintf("nodes %s have replicas of one partition", some(brokers, p.Items))
	case packing.KindClique:
		if len(p.Items) == 1 {
			return fmt.Sprintf("there is node %s", some(brokers, p.Items))
		}
		return fmt.Sprintf("no two of nodes %s may be down at once", some(brokers, p.Items))
	case packing.KindSearch:
		return "all other combinations were tried"
	}
	return p.String()
}

// some lists the first of many nodes.
func some(brokers []*Assessment, items []int32) string {
	const most = 8
	var words []string
	for _, i := range items[:min(most, len(items))] {
		words = append(words, fmt.Sprint(brokers[i].Node))
	}
	if more := len(items) - most; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// racks numbers the racks; a node without a rack has -1.
func (r *round) racks(brokers []*Assessment) []int32 {
	number := map[string]int32{"": -1}
	groups := make([]int32, len(brokers))
	for i, a := range brokers {
		rack := a.node.Rack
		if _, seen := number[rack]; !seen {
			number[rack] = int32(len(number) - 1)
		}
		groups[i] = number[rack]
	}
	return groups
}
