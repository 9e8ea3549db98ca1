package providers

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

func TestSettingsChangeWhileTheOperatorRuns(t *testing.T) {
	g := NewWithT(t)
	unobserved := func(c *Current) string {
		t.Helper()
		about, err := c.Info(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return strings.Join(about.Unobserved, ",")
	}
	c, err := Follow(t.Context(), Options{Name: "nodeport", Operator: "1.0.0", Settings: map[string]string{"nodeAddress.east": "192.0.2.1"}})
	g.Expect(err).NotTo(HaveOccurred())
	for _, step := range []struct {
		settings  map[string]string
		changed   bool
		want, err string
	}{
		{settings: map[string]string{"nodeAddress.east": "192.0.2.1"}, want: "east"},
		{settings: map[string]string{"nodeAddress.west": "192.0.2.2"}, changed: true, want: "west"},
		{settings: map[string]string{"nodeAddress": "192.0.2.2"}, want: "west", err: "network provider nodeport: "},
		{settings: nil, changed: true, want: ""},
	} {
		changed, err := c.Set(t.Context(), step.settings)
		g.Expect(changed).To(Equal(step.changed), "%v", step.settings)
		if step.err == "" {
			g.Expect(err).NotTo(HaveOccurred())
		} else {
			g.Expect(err).To(MatchError(ContainSubstring(step.err)))
		}
		g.Expect(unobserved(c)).To(Equal(step.want), "%v", step.settings)
	}
}

// slow answers when it is told to.
type slow struct {
	network.Provider
	asked, answer chan struct{}
}

func (s slow) Plan(context.Context, network.Request) ([]network.Object, error) {
	close(s.asked)
	<-s.answer
	return nil, nil
}

func TestACallEndsWithTheProviderThatItBeganWith(t *testing.T) {
	g := NewWithT(t)
	c, err := Follow(t.Context(), Options{Name: "nodeport", Operator: "1.0.0"})
	g.Expect(err).NotTo(HaveOccurred())
	earlier, ended := slow{c.now.Provider, make(chan struct{}), make(chan struct{})}, make(chan struct{})
	c.now.Provider, c.now.end = earlier, func() { close(ended) }
	answered := make(chan struct{})
	go func() {
		_, _ = c.Plan(context.Background(), network.Request{})
		close(answered)
	}()
	<-earlier.asked
	g.Expect(c.Set(t.Context(), map[string]string{"nodeAddress.east": "192.0.2.1"})).To(BeTrue())
	g.Expect(ended).NotTo(BeClosed(), "while it is asked")
	close(earlier.answer)
	<-answered
	<-ended
}
