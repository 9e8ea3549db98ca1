package app

import (
	"io"
	"os"
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
