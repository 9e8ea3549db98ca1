package external

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func TestOneCallFindsOutWhetherAProgramAnswersAgain(t *testing.T) {
	g := NewWithT(t)
	s, silent := &silence{}, errors.New("no answer")
	g.Expect(s.lasts(time.Hour)).To(Succeed())
	g.Expect(s.lasts(time.Hour)).To(Succeed(), "nobody waits for others while it answers")
	s.note(silent, time.Hour)
	g.Expect(s.lasts(time.Hour)).To(Equal(silent))
	s.note(silent, 0)
	g.Expect(s.lasts(time.Hour)).To(Succeed(), "the silence is over, and this call tries")
	g.Expect(s.lasts(time.Hour)).To(Equal(silent), "others do not wait for it")
	s.note(nil, 0)
	g.Expect(s.lasts(time.Hour)).To(Succeed())
	g.Expect(s.lasts(time.Hour)).To(Succeed())
}

// A call that was under way when another one got no answer must not end the silence.
func TestACallWithoutAnAnswerEndsNoSilence(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, ctx := range map[string]context.Context{"its caller gives up": cancelled, "its connection is closed": t.Context()} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			conn, err := grpc.NewClient("passthrough:///nobody", grpc.WithTransportCredentials(insecure.NewCredentials()))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conn.Close()).To(Succeed())
			p, silent := &Provider{options: Options{Deadline: time.Hour}, conn: conn, program: &plugin.Client{}}, errors.New("no answer")
			p.silent.note(silent, 0)
			_, err = p.Info(ctx)
			g.Expect(err).To(And(HaveOccurred(), Not(Equal(silent))), "it tries")
			g.Expect(p.silent.lasts(0)).To(Equal(silent))
		})
	}
}
