package simulator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// History is a history that can be played again.
type History struct {
	Cluster Cluster
	Steps   []Step
}

// Step is one step of a history. It is a plain value that is interpreted when it is played, so a history stays valid if steps are removed.
type Step struct {
	// Do is the kind of step: a look of the roller, time that passes, or an event in the cluster.
	Do string
	// Node is the node's id. Arg selects everything else.
	Node, Arg int
	// Fault is what goes wrong with a look's actions. Blind are the facts that the look can't read, of the nodes in Mask.
	Fault string
	Blind blind
	Mask  uint64
}

// The faults of a look.
const (
	faultCrashBeforeStore = "crash-before-store" // nothing is stored, and nothing done
	faultCrashBeforeActs  = "crash-before-acts"  // the progress is stored, and nothing done
	faultCrashMidway      = "crash-midway"       // some of the actions are done
	faultRefused          = "refused"            // only some of the actions are done
	faultLost             = "answer-lost"        // all actions are done, but the answer is lost
	faultSlowLook         = "slow-look"          // Kafka responds long after Kubernetes
	faultSlowStore        = "slow-store"         // storing the progress takes long
	faultSlowActs         = "slow-acts"          // Kafka takes long for each change of a configuration
	faultMeanwhile        = "meanwhile"          // something happens while the progress is stored
	faultSleep            = "sleep"              // the program is suspended before it acts, and another one takes over
)

// stepKind is a kind of step; its weight is how often it occurs.
type stepKind struct {
	name   string
	weight int
	run    func(r *run, s Step)
}

// stepKinds returns all kinds of steps.
func stepKinds() []stepKind {
	return []stepKind{
		{"look", 60, (*run).look},
		{"pass", 45, (*run).passes},
		{"crash", 4, (*run).crashes},
		{"lose", 1, (*run).loses},
		{"unread", 1, (*run).unreads},
		{"unlist", 2, (*run).unlists},
		{"evict", 2, (*run).evicts},
		{"fate", 4, (*run).fates},
		{"free", 3, (*run).frees},
		{"slow", 2, (*run).slows},
		{"hang", 2, (*run).hangs},
		{"mute", 2, (*run).mutes},
		{"leader", 3, (*run).leads},
		{"lag", 2, (*run).lags},
		{"reassign", 3, (*run).reassigns},
		{"cancel", 1, (*run).cancels},
		{"create", 2, (*run).creates},
		{"delete", 1, (*run).deletes},
		{"revise", 2, (*run).revises},
		{"request", 3, (*run).requests},
		{"sticky", 1, (*run).sticks},
		{"configure", 3, (*run).configures},
		{"hold", 2, (*run).holds},
		{"owner", 1, (*run).disowns},
		{"pause", 2, (*run).pauses},
		{"limit", 1, (*run).limits},
		{"stale", 3, (*run).stales},
		{"sidecar", 3, (*run).sidecars},
		{"abandon", 1, (*run).abandons},
		{"cut", 2, (*run).cuts},
		{"refuse", 2, (*run).refuses},
		{"mum", 2, (*run).hushes},
		{"expire", 1, (*run).expires},
		{"wedge", 1, (*run).wedges},
		{"hide", 2, (*run).hides},
		// Those that random histories add at the end (rarely).
		{"distrust", 0, (*run).distrusts},
		{"clog", 0, (*run).clogs},
		{"doom", 0, (*run).dooms},
		{"kill", 0, (*run).kills},
		{"flap", 0, (*run).flaps},
		{"offline", 0, (*run).offlines},
		{"enlist", 0, (*run).enlists},
	}
}

// RandomHistory returns the history of a seed.
func RandomHistory(seed uint64) History {
	r := rand.New(rand.NewPCG(seed, 2)) // no secret depends on it
	return randomHistory(r, randomShape(r), 30+r.IntN(170)).rarely(seed).observed(seed).failing(seed)
}

// failing lets log directories of several nodes fail at the end of one history in ten, so that these may wait for one another.
func (h History) failing(seed uint64) History {
	r := rand.New(rand.NewPCG(seed, 98)) // no secret depends on it
	if r.IntN(10) > 0 {
		return h
	}
	for range 2 + r.IntN(3) {
		h.Steps = append(h.Steps, Step{Do: "offline", Node: r.IntN(len(h.Cluster.Nodes)), Arg: r.IntN(1 << 16)})
	}
	return h
}

// observed lets controllers of one history in ten not vote, except for one.
func (h History) observed(seed uint64) History {
	r := rand.New(rand.NewPCG(seed, 99)) // no secret depends on it
	if r.IntN(10) > 0 {
		return h
	}
	first := true
	h.Cluster.Dynamic = true
	var controllers []int
	for i := range h.Cluster.Nodes {
		if n := &h.Cluster.Nodes[i]; n.Roles.Controller {
			n.Observes = !first && r.IntN(2) == 0
			first = false
			controllers = append(controllers, i)
		}
	}
	if len(controllers) > 2 && r.IntN(5) < 3 {
		for _, i := range controllers {
			h.Cluster.Nodes[i].Outdated = false
		}
		h.Steps = append(outvoting(r, controllers), h.Steps...)
	}
	return h
}

// outvoting returns steps in which voters are added and removed during a pause, perhaps while nobody looks, and some controllers then stay
// away.
func outvoting(r *rand.Rand, controllers []int) []Step {
	one := func() int { return controllers[r.IntN(len(controllers))] }
	look, pause := Step{Do: "look"}, Step{Do: "pause"}
	steps := []Step{pause, look}
	for range 1 + r.IntN(4) {
		steps = append(steps, Step{Do: "enlist", Node: one()}, Step{Do: "pass", Arg: r.IntN(8)})
	}
	for range 1 + r.IntN(len(controllers)) {
		node := one()
		steps = append(steps, Step{Do: "fate", Node: node, Arg: int(fateNever)}, Step{Do: "crash", Node: node})
	}
	steps = append(steps, pause)
	for range 3 {
		steps = append(steps, look, Step{Do: "pass", Arg: r.IntN(6)})
	}
	return steps
}

// rarely adds steps of the kinds without a weight, each kind to one history in ten. Each has its own random numbers, so that a new kind
// leaves most histories as they are.
func (h History) rarely(seed uint64) History {
	for i, kind := range slices.DeleteFunc(stepKinds(), func(d stepKind) bool { return d.weight > 0 }) {
		r := rand.New(rand.NewPCG(seed, 100+uint64(i))) // no secret depends on it
		if r.IntN(10) > 0 {
			continue
		}
		for range 1 + r.IntN(2) {
			s := Step{Do: kind.name, Node: r.IntN(len(h.Cluster.Nodes)), Arg: r.IntN(1 << 16)}
			h.Steps = slices.Insert(h.Steps, r.IntN(len(h.Steps)+1), s)
		}
	}
	return h
}

// LargeHistory returns the history of a seed with this many brokers over three racks, and some controllers.
func LargeHistory(seed uint64, brokers int) History {
	r := rand.New(rand.NewPCG(seed, 3)) // no secret depends on it
	h := randomHistory(r, Shape{Nodes: brokers, Partitions: 6, Controllers: 3 + 2*r.IntN(2), Racks: 3, Aware: r.IntN(4) > 0,
		Places: 1 + 2*r.IntN(2)}, 300)
	h.Cluster.Policy.MaxUnavailable = []int{3, 10, brokers}[r.IntN(3)]
	return h
}

func randomHistory(r *rand.Rand, s Shape, steps int) History {
	h := History{Cluster: randomCluster(r, s)}
	faults := r.IntN(5) > 0
	for range steps {
		h.Steps = append(h.Steps, randomStep(r, faults, len(h.Cluster.Nodes)))
	}
	return h
}

// randomStep returns the next step of a random history. Without faults it returns only looks, time, and actions of users.
func randomStep(r *rand.Rand, faults bool, nodes int) Step {
	all := stepKinds()
	total := 0
	for _, d := range all {
		total += d.weight
	}
	for {
		n := r.IntN(total)
		at := slices.IndexFunc(all, func(d stepKind) bool { n -= d.weight; return n < 0 })
		s := Step{Do: all[at].name, Node: r.IntN(nodes), Arg: r.IntN(1 << 16)}
		calm := []string{"look", "pass", "revise", "request", "leader", "reassign", "create", "delete", "hold", "owner", "pause"}
		disaster := s.Do == "expire" || s.Do == "wedge"
		if !faults && !slices.Contains(calm, s.Do) || disaster && r.IntN(6) > 0 {
			continue
		}
		if s.Do == "look" && faults {
			if r.IntN(8) == 0 {
				s.Fault = []string{faultCrashBeforeStore, faultCrashBeforeActs, faultCrashMidway, faultRefused, faultLost, faultSlowLook,
					faultSlowStore, faultSlowActs, faultMeanwhile, faultSleep}[r.IntN(10)]
			}
			if r.IntN(6) == 0 {
				some, others := blind(r.IntN(int(blindKinds))), blind(r.IntN(int(blindKinds)))
				s.Blind, s.Mask = some&others, r.Uint64()
			}
		}
		return s
	}
}

// Result is the result of a history.
type Result struct {
	// Broken is the first broken rule; empty if none was broken.
	Broken string
	// Took is the virtual time from the end of the steps until everything was rolled.
	Took time.Duration
	// Looks and Restarts are the numbers of all looks and restarts. Races is how many of the restarts broke a rule that was kept when their
	// facts were read, a moment before.
	Looks, Restarts, Races int
	// Progress is the last progress.
	Progress roller.Progress
}

// Play plays a history, then ends all faults and waits until everything is rolled. It writes the story unless story is nil.
func (h History) Play(story *strings.Builder) Result { return h.play(roller.Step, story) }

// play is Play with another decider.
func (h History) play(decide decider, story *strings.Builder) Result {
	r := newRun(h.Cluster, story)
	r.decide = decide
	return h.playOn(r)
}

// playOn is Play with a prepared run.
func (h History) playOn(r *run) Result {
	story := r.w.story
	for i, s := range h.Steps {
		if r.broken() != "" {
			break
		}
		if story != nil && s.Do != "look" && s.Do != "pass" {
			fmt.Fprintf(story, "-- %d: %s\n", i+1, s.Do)
		}
		r.apply(s)
	}
	ended := r.w.now
	if r.broken() == "" {
		r.heal()
		r.finish()
	}
	return Result{Broken: r.broken(), Took: r.w.now.Sub(ended), Looks: r.count, Restarts: r.restarts, Races: r.oracle.races,
		Progress: r.progress}
}

// Shrink removes all parts that are not needed to break a rule: steps, large parts first, then their faults, then nodes and topics.
func (h History) Shrink(breaks func(History) bool) History {
	for again := true; again; {
		before := h.size()
		h = h.fewerSteps(breaks)
		h = h.simplerSteps(breaks)
		h = h.smaller(breaks)
		again = h.size() < before
	}
	return h
}

func (h History) size() int {
	n := len(h.Steps) + len(h.Cluster.Nodes)
	for _, t := range h.Cluster.Topics {
		n += len(t.Partitions)
	}
	for _, s := range h.Steps {
		if s.Fault != "" || s.Blind != 0 {
			n++
		}
	}
	return n
}

func (h History) fewerSteps(breaks func(History) bool) History {
	for size := max(1, len(h.Steps)/2); size > 0; size /= 2 {
		for at := 0; at+size <= len(h.Steps); {
			try := h
			try.Steps = slices.Concat(h.Steps[:at], h.Steps[at+size:])
			if breaks(try) {
				h = try
			} else {
				at += size
			}
		}
	}
	return h
}

func (h History) simplerSteps(breaks func(History) bool) History {
	for i, s := range h.Steps {
		for _, simpler := range []Step{{Do: s.Do, Node: s.Node, Arg: s.Arg}, {Do: s.Do, Node: s.Node, Arg: s.Arg, Fault: s.Fault},
			{Do: s.Do, Node: s.Node, Arg: s.Arg, Blind: s.Blind, Mask: s.Mask}} {
			if simpler == h.Steps[i] {
				continue
			}
			try := h
			try.Steps = slices.Clone(h.Steps)
			try.Steps[i] = simpler
			if simpler.size() < h.Steps[i].size() && breaks(try) {
				h = try
			}
		}
	}
	return h
}

func (s Step) size() int {
	n := 0
	if s.Fault != "" {
		n++
	}
	if s.Blind != 0 {
		n++
	}
	return n
}

func (h History) smaller(breaks func(History) bool) History {
	for i := len(h.Cluster.Nodes) - 1; i >= 0 && len(h.Cluster.Nodes) > 1; i-- {
		try := h
		if try.Cluster = h.Cluster.without(h.Cluster.Nodes[i].ID); breaks(try) {
			h = try
		}
	}
	for i := len(h.Cluster.Topics) - 1; i >= 0; i-- {
		try := h
		try.Cluster.Topics = slices.Delete(slices.Clone(h.Cluster.Topics), i, i+1)
		if breaks(try) {
			h = try
			continue
		}
		for p := len(h.Cluster.Topics[i].Partitions) - 1; p >= 0 && len(h.Cluster.Topics[i].Partitions) > 1; p-- {
			try := h
			try.Cluster.Topics = slices.Clone(h.Cluster.Topics)
			try.Cluster.Topics[i].Partitions = slices.Delete(slices.Clone(h.Cluster.Topics[i].Partitions), p, p+1)
			if breaks(try) {
				h = try
			}
		}
	}
	return h
}

// Literal returns the history in Go syntax, for a package that imports this one and package roller.
func (h History) Literal() string {
	return strings.NewReplacer("simulator.Step{Do", "\n\t{Do", "simulator.Node{ID", "\n\t{ID", "simulator.Topic{Name",
		"\n\t{Name").Replace(fmt.Sprintf("%#v", h))
}
