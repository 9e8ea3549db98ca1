package app

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// Without a terminal, nothing is restarted unless --yes is given.
func TestNobodyIsAskedWhoIsNotThere(t *testing.T) {
	g := NewWithT(t)
	in, theirs, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	defer in.Close()
	_, err = theirs.WriteString("y\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(theirs.Close()).To(Succeed())
	_, err = Confirmation(options.Options{}, in, io.Discard)
	g.Expect(err).To(MatchError(ErrNobodyToAsk))
	confirm, err := Confirmation(options.Options{Yes: true}, in, io.Discard)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(confirm).To(BeNil())
}

func TestWhatIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y": true, "Y": true, "yes": true, " Yes ": true, "": false, "n": false, "yesterday": false} {
		NewWithT(t).Expect(ask(t.Context(), strings.NewReader(answer+"\n"), io.Discard)).To(Equal(want), answer)
	}
	NewWithT(t).Expect(ask(t.Context(), strings.NewReader(""), io.Discard)).To(BeFalse(), "nobody answers")
}

// Ctrl-C ends the question at once.
func TestAnInterruptIsANo(t *testing.T) {
	g := NewWithT(t)
	in, theirs := io.Pipe()
	defer theirs.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	g.Expect(ask(ctx, in, io.Discard)).To(BeFalse())
}

// A roll that finds nothing to do at first may find something later: in a Kubernetes cluster that can't be read now, or with a node that
// is not ready or blocked now.
func TestWhatARollIsAskedFor(t *testing.T) {
	ready := []roller.Assessment{{State: roller.StateReady}}
	for name, c := range map[string]struct {
		plan roller.Plan
		asks bool
	}{
		"nothing to do":       {roller.Plan{Nodes: ready}, false},
		"a restart":           {roller.Plan{Nodes: ready, Batches: []roller.Batch{{}}}, true},
		"a node is not ready": {roller.Plan{Nodes: []roller.Assessment{{State: roller.StateUnready}}}, true},
		"a cluster is unread": {roller.Plan{Nodes: ready, Unread: "cluster east can't be read"}, true},
		"a node is unknown":   {roller.Plan{Nodes: ready, Unknown: []roller.NodeID{0}}, true},
		"a node is blocked":   {roller.Plan{Nodes: ready, Blocked: []roller.NodeID{0}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := false
			no := func(context.Context) bool { asked = true; return false }
			err := confirmed(t.Context(), c.plan, io.Discard, no)
			g.Expect(asked).To(Equal(c.asks))
			if c.asks {
				g.Expect(err).To(MatchError(ErrNotConfirmed))
				g.Expect(confirmed(t.Context(), c.plan, io.Discard, func(context.Context) bool { return true })).To(Succeed())
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}
