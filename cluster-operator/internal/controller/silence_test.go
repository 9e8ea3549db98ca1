package controller

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Each time that brokers do not answer costs a worker the time of a request: they are asked less and less often, and at once again after they answered.
func TestSilentBrokersAreAskedLessOften(t *testing.T) {
	g := NewWithT(t)
	now, asked, refused := time.Unix(0, 0), 0, errors.New("connection refused")
	clients := &Clients{Now: func() time.Time { return now }, Connect: func(kafka.Config) (Admin, error) { asked++; return nil, refused }}
	silent := Connection{Kafka: types.NamespacedName{Namespace: "a", Name: "silent"}}
	silent.Config.TLS = &kafka.TLS{}
	other := silent
	other.Kafka.Name = "other"
	for i, wait := range []time.Duration{10, 20, 40, 80, 120, 120} {
		wait *= time.Second
		for _, passed := range []time.Duration{0, wait / 2, wait - 1} { // however often passes come
			before := now
			now = now.Add(passed)
			_, err := clients.Inspect(t.Context(), silent)
			again := &SilentError{}
			g.Expect(errors.As(err, &again)).To(BeTrue())
			g.Expect(again.Again).To(Equal(wait - passed))
			g.Expect(err).To(MatchError(refused))
			now = before
		}
		g.Expect(asked).To(Equal(i + 1))
		now = now.Add(wait)
	}
	_, err := clients.Inspect(t.Context(), other)
	g.Expect(err).To(HaveOccurred())
	g.Expect(asked).To(Equal(7), "other Kafkas are asked")

	clients.Forget(silent.Kafka)
	_, err = clients.Inspect(t.Context(), silent)
	g.Expect(err).To(MatchError(refused))
	g.Expect(clients.silent.note(silent.Kafka, nil, now)).To(Succeed())
	g.Expect(clients.silent.lasts(silent.Kafka, now)).To(Succeed(), "it answered")
}
