package clusters

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAnUnreachableErrorSaysWhatIsKnown(t *testing.T) {
	g := NewWithT(t)
	judged := &UnreachableError{Status: Status{ID: "east", State: Unreachable, Reason: ReasonNoAnswer, Message: "no answer within 5s"}}
	g.Expect(judged).To(MatchError("cluster east is not connected (Unreachable, NoAnswer): no answer within 5s"))
	broken := &UnreachableError{Status: Status{ID: "east", State: Connected}, Err: errors.New("connection reset")}
	g.Expect(broken).To(MatchError("the connection to cluster east broke: connection reset"), "nobody has judged yet")
}
