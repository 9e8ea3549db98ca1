package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// A status and an Event must stay small, however many objects claim a topic. Another test checks for all combinations that messages have no
// newlines.
func TestMessagesStaySmallWithAThousandRivals(t *testing.T) {
	crowd := func(f *ownership.Facts) {
		for i := range 1000 {
			rival("ns", fmt.Sprintf("rival-%04d-%s", i, strings.Repeat("x", 200)))(f)
		}
	}
	g := NewWithT(t)
	refused := ownership.Decide(facts(crowd)).Refusal.Message
	left := ownership.Decide(facts(crowd, deleting)).Note.Message
	for _, message := range []string{refused, left} {
		g.Expect(message).To(ContainSubstring("ns/rival-0000-"))
		g.Expect(message).To(HaveSuffix("and 980 more"))
		g.Expect(len(message)).To(BeNumerically("<", 8192))
		g.Expect(message).NotTo(ContainSubstring("\n"))
	}
}
