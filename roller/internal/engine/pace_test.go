package engine_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

func TestHowOftenItIsLookedAtARoll(t *testing.T) {
	const soon = 2 * time.Second
	starting := roller.Restart{At: noon}
	back := func(first, left int) roller.Restart {
		return roller.Restart{At: noon, Ready: noon.Add(10 * time.Second), First: first, Left: left}
	}
	restarts := func(rs ...roller.Restart) map[roller.NodeID]roller.Restart {
		all := map[roller.NodeID]roller.Restart{}
		for i, r := range rs {
			all[roller.NodeID(i)] = r
		}
		return all
	}
	for _, c := range []struct {
		name     string
		phase    roller.Phase
		actions  []roller.Action
		restarts map[roller.NodeID]roller.Restart
		want     time.Duration
	}{
		{"nothing is under way", roller.PhaseWaiting, nil, nil, soon},
		{"something is done", roller.PhaseRolling, []roller.Action{{}}, restarts(starting), soon},
		{"a pod is waited for", roller.PhaseRolling, nil, restarts(starting), 44 * time.Second},
		{"replicas that need 20 s more", roller.PhaseRolling, nil, restarts(back(200, 100)), 15 * time.Second},
		{"replicas that need 7 s more", roller.PhaseRolling, nil, restarts(back(200, 50)), 5 * time.Second},
		{"replicas that need an hour", roller.PhaseRolling, nil, restarts(back(20000, 19999)), 20 * time.Second},
		{"replicas that are nearly in sync", roller.PhaseRolling, nil, restarts(back(200, 1)), soon},
		{"replicas of which nobody knows", roller.PhaseRolling, nil, restarts(back(200, 200)), soon},
		{"both", roller.PhaseRolling, nil, restarts(starting, back(200, 100)), 15 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := roller.Decision{Phase: c.phase, Actions: c.actions, Again: soon, Progress: roller.Progress{Restarts: c.restarts}}
			NewWithT(t).Expect(engine.Pace(d, noon.Add(30*time.Second), engine.UnreadyWoken)).To(BeNumerically("~", c.want, time.Millisecond))
		})
	}
}
