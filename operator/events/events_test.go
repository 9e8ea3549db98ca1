package events

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clientevents "k8s.io/client-go/tools/events"
)

func TestWarningsLeaveFirstAndNothingBlocks(t *testing.T) {
	sink := clientevents.NewFakeRecorder(100)
	dropped := 0
	r := New(sink, Limits{PerSecond: 1000, Burst: 1000, Waiting: 2}, func() { dropped++ })
	for i := range 3 {
		r.Normal(&corev1.Pod{}, "Created", "Create", fmt.Sprint("created ", i, " 100%d"))
	}
	r.Warning(&corev1.Pod{}, "KafkaError", "Reconcile", "no broker")
	if dropped != 1 {
		t.Errorf("%d Events were dropped, want 1: a full line drops, it does not block", dropped)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	for _, want := range []string{"Warning KafkaError no broker", "Normal Created created 0 100%d", "Normal Created created 1 100%d"} {
		if got := <-sink.Events; got != want {
			t.Errorf("got Event %q, want %q", got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestEachNoteIsToldAndOccurrencesAreCounted checks that users read each of the notes about an object, and how often one was recorded.
func TestEachNoteIsToldAndOccurrencesAreCounted(t *testing.T) {
	kubernetes := fake.NewClientset()
	watch, err := kubernetes.EventsV1().Events("a").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := clientevents.NewBroadcaster(&clientevents.EventSinkImpl{Interface: kubernetes.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := New(broadcaster.NewRecorder(scheme.Scheme, "test"), DefaultLimits, func() { t.Error("an Event was dropped") })
	go r.Start(t.Context()) //nolint:errcheck // it ends with the test

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "kafka-0"}}
	counts := map[string]int32{}
	for _, note := range []string{"waits for availability", "waits for its turn", "waits for availability"} {
		r.Warning(pod, "Blocked", "Block", note)
		e := (<-watch.ResultChan()).Object.(*eventsv1.Event)
		counts[e.Note] = 1
		if e.Series != nil {
			counts[e.Note] = e.Series.Count
		}
	}
	if want := map[string]int32{"waits for availability": 2, "waits for its turn": 1}; !maps.Equal(counts, want) {
		t.Errorf("got notes %v, want %v", counts, want)
	}
}

func TestTheRateIsBounded(t *testing.T) {
	sink := clientevents.NewFakeRecorder(100)
	r := New(sink, Limits{PerSecond: 0.0001, Burst: 5, Waiting: 50}, func() {})
	for i := range 20 {
		r.Normal(&corev1.Pod{}, "Created", "Create", fmt.Sprint(i))
	}
	go r.Start(t.Context()) //nolint:errcheck // it ends with the test
	for range 5 {
		<-sink.Events
	}
	select {
	case more := <-sink.Events:
		t.Errorf("Event %q exceeds the burst", more)
	case <-time.After(100 * time.Millisecond):
	}
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
			got := Note(long)
			if len(got) <= 1014 || len(got) > 1024 || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid %t: want almost 1024 valid ones", len(got), utf8.ValidString(got))
			}
			if begin, cut := strings.CutSuffix(got, "..."); !cut || !strings.HasPrefix(strings.ToValidUTF8(long, "?"), begin) {
				t.Errorf("%q does not begin as the note and end with an ellipsis", got)
			}
		})
	}
}
