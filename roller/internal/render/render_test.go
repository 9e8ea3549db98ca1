package render_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
	"github.com/kafka-operators/kafka-operators/roller/internal/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file in testdata. Users and their programs rely on these texts.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	g := NewWithT(t)
	file := filepath.Join("testdata", name)
	if *update {
		g.Expect(os.WriteFile(file, text, 0o644)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal(string(want)))
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// cluster returns three controllers, one of which is on hold, and six brokers over three racks: one is stuck, one only needs another
// configuration, one was restarted without success, and one hosts a topic alone.
func cluster() (*roller.Snapshot, roller.Progress) {
	s := &roller.Snapshot{At: noon}
	quorum := roller.Quorum{Leader: 1}
	sixteen := map[string]brokerconfig.Entry{"num.io.threads": {Value: "16", Source: brokerconfig.SourceStatic}}
	for id := range roller.NodeID(9) {
		n := roller.Node{
			ID: id, Name: fmt.Sprintf("my-cluster-brokers-%d", id), Roles: roller.Roles{Broker: true}, Instance: roller.Known("first"),
			Ready: roller.Known(true), ReadyChanged: noon.Add(-time.Hour), Stuck: roller.Known(""), Recovery: roller.Known[*roller.Recovery](nil),
			Answers: roller.Known(true), Fenced: roller.Known(false),
			Config:   roller.Known(brokerconfig.Config{Desired: map[string]string{"num.io.threads": "16"}, Live: sixteen}),
			Revision: roller.Known(roller.Revision{Current: "7f1c3b0a", Desired: "9b21d0e4"}),
		}
		if id < 3 {
			n.Name, n.Roles = fmt.Sprintf("my-cluster-controllers-%d", id), roller.Roles{Controller: true}
			quorum.Voters = append(quorum.Voters, roller.Voter{ID: id, LastCaughtUp: 1000})
		} else {
			n.Rack = string("abc"[id%3])
		}
		s.Nodes = append(s.Nodes, n)
	}
	s.Quorum = roller.Known(quorum)
	s.Node(0).Hold = "ann looks into it"
	stuck := s.Node(4)
	stuck.Ready, stuck.Stuck, stuck.Fenced, stuck.Answers = roller.Known(false), roller.Known("CrashLoopBackOff"), roller.Known(true),
		roller.Known(false)
	current := roller.Known(roller.Revision{Current: "9b21d0e4", Desired: "9b21d0e4"})
	live := map[string]brokerconfig.Entry{"num.io.threads": {Value: "8", Source: brokerconfig.SourceStatic}}
	s.Node(5).Revision, s.Node(5).Config = current, roller.Known(brokerconfig.Config{Desired: map[string]string{"num.io.threads": "16"},
		Live: live})
	manual := roller.Reason{Kind: roller.ManualRollingUpdate, Note: "StrimziPodSet my-cluster-brokers is annotated", Mark: "podset 1"}
	s.Node(6).Revision, s.Node(6).Requests = current, []roller.Reason{manual}
	partition := func(replicas, isr []roller.NodeID) roller.Partition {
		return roller.Partition{Leader: isr[0], Replicas: replicas, ISR: isr}
	}
	s.Topics = roller.Known([]roller.Topic{
		{Name: "orders", MinISR: roller.Known(2), Partitions: []roller.Partition{
			partition([]roller.NodeID{3, 7, 8}, []roller.NodeID{3, 7, 8}), partition([]roller.NodeID{4, 5, 6}, []roller.NodeID{5, 6}),
		}},
		{Name: "scratch", MinISR: roller.Known(1), Partitions: []roller.Partition{partition([]roller.NodeID{8}, []roller.NodeID{8})}},
	})
	return s, roller.Progress{Restarted: map[roller.NodeID][]string{6: {"ManualRollingUpdate/podset 1"}}}
}

func plan() roller.Plan {
	s, progress := cluster()
	policy := roller.DefaultPolicy()
	policy.MaxUnavailable = 3
	return roller.NewPlan(s, progress, policy)
}

func TestAPlanForPeople(t *testing.T) {
	var out bytes.Buffer
	NewWithT(t).Expect(render.Plan(&out, plan())).To(Succeed())
	golden(t, "plan.txt", out.Bytes())
}

func TestAPlanForPrograms(t *testing.T) {
	g := NewWithT(t)
	text, err := json.MarshalIndent(plan(), "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	golden(t, "plan.json", append(text, '\n'))
	var read roller.Plan
	g.Expect(json.Unmarshal(text, &read)).To(Succeed())
	again, err := json.MarshalIndent(read, "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(again)).To(Equal(string(text)), "nothing of it is lost on the way")
}

// The same cluster is always described in the same words: maps are printed in a fixed order.
func TestAPlanIsStable(t *testing.T) {
	var first bytes.Buffer
	NewWithT(t).Expect(render.Plan(&first, plan())).To(Succeed())
	for range 50 {
		var next bytes.Buffer
		NewWithT(t).Expect(render.Plan(&next, plan())).To(Succeed())
		NewWithT(t).Expect(next.String()).To(Equal(first.String()))
	}
}

func TestAPlanOfNothing(t *testing.T) {
	g := NewWithT(t)
	s, _ := cluster()
	s.Nodes = s.Nodes[1:3]
	s.Topics = roller.Known[[]roller.Topic](nil)
	s.Quorum = roller.Known(roller.Quorum{Leader: 1, Voters: []roller.Voter{{ID: 1, LastCaughtUp: 1000}, {ID: 2, LastCaughtUp: 1000}}})
	for i := range s.Nodes {
		s.Nodes[i].Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
	}
	var out bytes.Buffer
	nothing := roller.NewPlan(s, roller.Progress{}, roller.DefaultPolicy())
	g.Expect(render.Plan(&out, nothing)).To(Succeed())
	g.Expect(out.String()).To(Equal("Nothing to do: 2 nodes are up to date.\n"))
	text, err := json.Marshal(nothing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring(`"batches":[]`), "programs can go through them")
}

// Unknown and unready nodes are shown as such.
func TestAPlanOfUnknownNodes(t *testing.T) {
	g := NewWithT(t)
	s, _ := cluster()
	s.Nodes = s.Nodes[1:4]
	for i := range s.Nodes {
		s.Nodes[i].Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
	}
	s.Nodes[1].Config = roller.Unknown[brokerconfig.Config]("the node was not asked")
	s.Nodes[2].Ready = roller.Known(false)
	s.Unread = "cluster east can't be read"
	var out bytes.Buffer
	g.Expect(render.Plan(&out, roller.NewPlan(s, roller.Progress{}, roller.DefaultPolicy()))).To(Succeed())
	g.Expect(out.String()).To(Equal(`
Node 3 is NotReady.

Node 2 may need something, because this is unknown: its configuration: the node was not asked.

There may be other nodes: cluster east can't be read.
No pending work is known. Of 3 nodes, 1 are not ready, and the state of 1 is unknown.
`))
}

// Nodes that need nothing, and that a roll has to wait for, are named: one that did not come back, one whose pod does not end, and one that
// is being stopped.
func TestAPlanNamesWhoIsNotReady(t *testing.T) {
	g := NewWithT(t)
	s, _ := cluster()
	s.Nodes = s.Nodes[1:4]
	for i := range s.Nodes[:2] {
		s.Nodes[i].Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
	}
	s.Nodes[0].Ready, s.Nodes[0].ReadyChanged = roller.Known(false), noon.Add(-11*time.Minute)
	s.Nodes[1].Terminating, s.Nodes[1].Deleted, s.Nodes[1].Overdue = true, noon.Add(-12*time.Minute), noon.Add(-11*time.Minute)
	progress := roller.Progress{Restarts: map[roller.NodeID]roller.Restart{
		1: {Instance: "before", At: noon.Add(-12 * time.Minute)}, 3: {Instance: "first", At: noon.Add(-time.Second)},
	}}
	var out bytes.Buffer
	g.Expect(render.Plan(&out, roller.NewPlan(s, progress, roller.DefaultPolicy()))).To(Succeed())
	g.Expect(out.String()).To(And(
		ContainSubstring("\nNode 1 is Failed: it was restarted 12m0s ago and is not ready.\n"),
		ContainSubstring("\nNode 2 is blocked (Unknown): its pod should have ended at 11:49:00 UTC: its machine may be lost"),
		ContainSubstring("\nNode 3 is Restarting: it is being stopped.\n"),
		HaveSuffix("\nNo pending work is known. Of 3 nodes, 3 are not ready, and the state of 0 is unknown.\n"),
	))
}

// What nothing in the table shows: that all of it has to wait.
func TestAPlanTellsThatNothingBegins(t *testing.T) {
	g := NewWithT(t)
	s, progress := cluster()
	policy := roller.DefaultPolicy()
	policy.Paused, policy.Closed = "ConfigMap a/b is annotated", "the next window opens at 22:00 UTC"
	var out bytes.Buffer
	g.Expect(render.Plan(&out, roller.NewPlan(s, progress, policy))).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("\n\nNothing begins now (Paused): ConfigMap a/b is annotated.\n" +
		"Nothing begins now (Window): the next window opens at 22:00 UTC.\n"))
}

// A prediction says what it judges by.
func TestAPlanTellsWhatItJudgesBy(t *testing.T) {
	for text, p := range map[string]roller.Plan{
		"needed: p), which takes about 1m30s or somewhat longer, an estimate from how long the nodes took to start;": {
			PredictedSeconds: 90, Estimated: true},
		"needed: p), which takes about 1m30s, judging by the last restarts;": {PredictedSeconds: 90},
		"needed: p);": {},
	} {
		p.Batches, p.Fewest, p.Proof = []roller.Batch{{Nodes: []roller.NodeID{1}}}, 1, "p"
		var out bytes.Buffer
		NewWithT(t).Expect(render.Plan(&out, p)).To(Succeed())
		NewWithT(t).Expect(out.String()).To(ContainSubstring(text))
	}
}

func TestNodesForPeople(t *testing.T) {
	s, progress := cluster()
	live := map[string]brokerconfig.Entry{"log.retention.hours": {Value: "168", Source: brokerconfig.SourceStatic},
		"num.io.threads": {Value: "16", Source: brokerconfig.SourceStatic}}
	s.Node(7).Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"log.retention.hours": "24", "num.io.threads": "16"},
		Live: live})
	var out bytes.Buffer
	for _, a := range roller.Step(s, progress, roller.DefaultPolicy()).Nodes {
		render.Node(&out, a)
	}
	golden(t, "nodes.txt", out.Bytes())
}
