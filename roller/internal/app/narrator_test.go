package app

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

func TestANarratorTellsAtOnceWhoIsNotReady(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	n := &narrator{out: &out}
	s := &roller.Snapshot{At: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	stuck, ready := roller.Assessment{Node: 4, Need: roller.NeedNothing, State: roller.StateStuck},
		roller.Assessment{Node: 5, Need: roller.NeedNothing, State: roller.StateReady}
	n.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{stuck, ready}}, nil)
	g.Expect(out.String()).To(Equal("12:00:00  node 4: Stuck\n"), "and nothing of those that are as they should be")
	n.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{stuck, ready}}, nil)
	g.Expect(out.String()).To(HaveSuffix("node 4: Stuck\n"), "each thing once")
	stuck.State = roller.StateReady
	n.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{stuck, ready}}, nil)
	g.Expect(out.String()).To(Equal("12:00:00  node 4: Stuck\n12:00:00  node 4: ready\n"))
}

func TestANarratorCountsRestartsAndReconfigurations(t *testing.T) {
	g := NewWithT(t)
	n := &narrator{out: io.Discard}
	var outcomes []actuate.Outcome
	for kind, times := range map[roller.ActionKind]int{roller.ActionRestart: 3, roller.ActionReconfigure: 2, roller.ActionElectLeaders: 1} {
		for range times {
			outcomes = append(outcomes, actuate.Outcome{Action: roller.Action{Kind: kind}, Result: actuate.Done},
				actuate.Outcome{Action: roller.Action{Kind: kind}, Result: actuate.TooLate, Err: errors.New("later")})
		}
	}
	n.ReportLook(&roller.Snapshot{}, roller.Decision{}, outcomes)
	g.Expect([]int{n.restarted, n.reconfigured}).To(Equal([]int{3, 2}), "what follows a restart is neither")
}
