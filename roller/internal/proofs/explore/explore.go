package explore

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Result is the result of an exploration.
type Result struct {
	// States and Transitions are their numbers; incomplete if the exploration was cut short.
	States, Transitions int
	// Ends is the number of states in which the roll is finished.
	Ends int
	// Complete reports whether all states were explored.
	Complete bool
	// Broken is the first broken rule, with the shortest path to it; empty if no rule was broken.
	Broken string
}

// search is a running exploration.
type search struct {
	cluster *Cluster
	known   map[[16]byte]int32
	// states are dropped once they were expanded. from and by record how each state was first reached.
	states []*state
	from   []int32
	by     []string
	// back are the benign transitions, by their target, and ends the states at the end.
	back  [][]int32
	ends  []int32
	count int
}

// Explore explores all reachable states, up to a limit; 0 means no limit.
func Explore(c *Cluster, limit int) Result {
	x := &search{cluster: c, known: map[[16]byte]int32{}}
	x.add(c.first(), -1, "")
	for at := int32(0); int(at) < len(x.states); at++ {
		if limit > 0 && len(x.states) > limit {
			return Result{States: len(x.states), Transitions: x.count, Ends: len(x.ends)}
		}
		if broken := x.expand(at); broken != "" {
			return Result{States: len(x.states), Transitions: x.count, Ends: len(x.ends), Broken: broken + x.way(at)}
		}
		x.states[at] = nil
	}
	return Result{States: len(x.states), Transitions: x.count, Ends: len(x.ends), Complete: true, Broken: x.hopeless()}
}

// add records a state if it is new, and returns its number.
func (x *search) add(s *state, from int32, by string) int32 {
	sum := sha256.Sum256([]byte(s.key()))
	key := [16]byte(sum[:16])
	if at, ok := x.known[key]; ok {
		return at
	}
	at := int32(len(x.states)) // no exploration is that large
	x.known[key] = at
	x.states, x.from, x.by, x.back = append(x.states, s), append(x.from, from), append(x.by, by), append(x.back, nil)
	return at
}

// expand explores everything that can happen in a state.
func (x *search) expand(at int32) string {
	s := x.states[at]
	if broken := x.cluster.standing(s); broken != "" {
		return broken
	}
	all, done, broken := x.cluster.looks(s)
	if broken != "" {
		return broken
	}
	if done && x.cluster.rolled(s) {
		x.ends = append(x.ends, at)
	}
	for _, m := range append(all, x.cluster.moves(s)...) {
		x.count++
		to := x.add(m.to, at, m.name)
		if m.benign && to != at {
			x.back[to] = append(x.back[to], at)
		}
	}
	return ""
}

// rolled reports whether the roll is finished and all nodes are well.
func (c *Cluster) rolled(s *state) bool {
	for _, n := range s.nodes {
		if n.phase != up || n.dead || n.outdated && !n.served {
			return false
		}
	}
	for _, p := range s.partitions {
		if p.isr != p.replicas {
			return false
		}
	}
	return true
}

// hopeless finds a state from which the roll can't finish even without further faults.
func (x *search) hopeless() string {
	reaches := make([]bool, len(x.states))
	queue := append([]int32(nil), x.ends...)
	for _, at := range queue {
		reaches[at] = true
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, from := range x.back[at] {
			if !reaches[from] {
				reaches[from] = true
				queue = append(queue, from)
			}
		}
	}
	for at, ok := range reaches {
		if !ok {
			return "there is no way to the end from here" + x.way(int32(at)) // no exploration is that large
		}
	}
	return ""
}

// way describes how a state was reached.
func (x *search) way(at int32) string {
	var steps []string
	for ; at > 0; at = x.from[at] {
		steps = append(steps, x.by[at])
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "\n    %s", steps[i])
	}
	return b.String()
}
