package app

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
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
