package events

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"
)

func TestWarningsLeaveFirstAndNothingBlocks(t *testing.T) {
	g := NewWithT(t)
	sink := clientevents.NewFakeRecorder(100)
	dropped := 0
	r := New(sink, Limits{PerSecond: 1000, Burst: 1000, Waiting: 2}, func() { dropped++ })
	for i := range 3 {
		r.Normal(&corev1.Pod{}, "Created", "Create", fmt.Sprint("created ", i, " 100%d"))
	}
	r.Warning(&corev1.Pod{}, "KafkaError", "Reconcile", "no broker")
	g.Expect(dropped).To(Equal(1), "a full line drops, it does not block")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	for _, want := range []string{"Warning KafkaError no broker", "Normal Created created 0 100%d", "Normal Created created 1 100%d"} {
		g.Eventually(sink.Events).Should(Receive(Equal(want)))
	}
	cancel()
	g.Eventually(ended).Should(Receive(BeNil()))
}

func TestTheRateIsBounded(t *testing.T) {
	g := NewWithT(t)
	sink := clientevents.NewFakeRecorder(100)
	r := New(sink, Limits{PerSecond: 0.0001, Burst: 5, Waiting: 50}, func() {})
	for i := range 20 {
		r.Normal(&corev1.Pod{}, "Created", "Create", fmt.Sprint(i))
	}
	go r.Start(t.Context()) //nolint:errcheck // it ends with the test
	g.Eventually(sink.Events).Should(HaveLen(5))
	g.Consistently(sink.Events, "100ms").Should(HaveLen(5))
}

func TestANoteIsNoLongerThanKubernetesTakes(t *testing.T) {
	for _, note := range []string{"", "short", strings.Repeat("x", 1024)} {
		if got := Note(note); got != note {
			t.Errorf("a note of %d bytes became %q", len(note), got)
		}
	}
	for name, long := range map[string]string{
		"ascii":              strings.Repeat("a", 3000),
		"two bytes":          strings.Repeat("ä", 3000),
		"three bytes":        strings.Repeat("€", 3000),
		"four bytes":         strings.Repeat("🚀", 3000),
		"one and four bytes": "aa" + strings.Repeat("🚀", 3000),
		"no text":            strings.Repeat("\xff\xfea", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := Note(long)
			g.Expect(len(got)).To(And(BeNumerically("<=", 1024), BeNumerically(">", 1014)))
			g.Expect(utf8.ValidString(got)).To(BeTrue())
			g.Expect(got).To(HaveSuffix("..."))
			g.Expect(strings.ToValidUTF8(long, "?")).To(HavePrefix(strings.TrimSuffix(got, "...")))
		})
	}
}
