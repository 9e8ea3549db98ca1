package app

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

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
