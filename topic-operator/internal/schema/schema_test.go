package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// apiServer stubs an API server that publishes a schema, and answers dry runs as a client of it.
type apiServer struct {
	client.Client
	mu             sync.Mutex
	version        int
	status, spec   string
	err            error
	fetched        int
	told           []bool
	lines          []string
	withoutTheKind bool
	// keeps is whether it would store the clusterId of a KafkaTopic, rejects is its error instead, and empty means that there is none.
	keeps, empty bool
	rejects      error
	tried        int
}

func (s *apiServer) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if !s.empty {
		list.(*v1.KafkaTopicList).Items = []v1.KafkaTopic{{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}}
	}
	return nil
}

func (s *apiServer) Status() client.SubResourceWriter { return &statuses{s: s} }

// statuses are the statuses of a stubbed API server.
type statuses struct {
	client.SubResourceWriter
	s *apiServer
}

func (w *statuses) Patch(_ context.Context, o client.Object, _ client.Patch, opts ...client.SubResourcePatchOption) error {
	var options client.SubResourcePatchOptions
	options.ApplyOptions(opts)
	if len(options.DryRun) == 0 {
		return errors.New("this patch would be stored")
	}
	w.s.tried++
	if w.s.keeps && w.s.rejects == nil {
		o.(*v1.KafkaTopic).Status.ClusterID = "kept"
	}
	return w.s.rejects
}

func (s *apiServer) get(_ context.Context, path string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return nil, s.err
	case path == "/openapi/v3":
		return fmt.Appendf(nil, `{"paths":{"apis/kafka.strimzi.io/v1":{"serverRelativeURL":"/doc?hash=%d"}}}`, s.version), nil
	case s.withoutTheKind:
		return []byte(`{}`), nil
	}
	s.fetched++
	return fmt.Appendf(nil, `{"components":{"schemas":{"io.strimzi.kafka.v1.KafkaTopic":{"properties":{"status":%s,"spec":%s},
		"x-kubernetes-group-version-kind":[{"group":"kafka.strimzi.io","kind":"KafkaTopic","version":"v1"}]}}}}`, s.status, s.spec), nil
}

func (s *apiServer) publish(status, spec string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.status, s.spec = status, spec
}

const (
	oursStatus, oursSpec       = `{"properties":{"clusterId":{},"topicId":{}}}`, `{"properties":{"managed":{}}}`
	strimziStatus, strimziSpec = `{"properties":{"topicId":{}}}`, `{"properties":{}}`
)

func (s *apiServer) watcher() *Watcher {
	log := funcr.New(func(_, line string) { s.lines = append(s.lines, line) }, funcr.Options{})
	return New(Options{Get: s.get, Client: s, Interval: time.Hour, Changed: func(keeps bool) { s.told = append(s.told, keeps) }, Log: log})
}

func TestTheSchemaIsFollowed(t *testing.T) {
	g := NewWithT(t)
	s := &apiServer{}
	w := s.watcher()
	looks := 0
	for i, c := range []struct {
		status, spec string
		keeps        bool
	}{{oursStatus, oursSpec, true}, {strimziStatus, strimziSpec, false}, {oursStatus, oursSpec, true},
		{`{"x-kubernetes-preserve-unknown-fields":true}`, strimziSpec, true}, {`{}`, oursSpec, false}} {
		s.publish(c.status, c.spec)
		w.Look(t.Context())
		w.Look(t.Context())
		if looks++; c.status != oursStatus || c.spec != oursSpec {
			looks++ // a schema that drops a field is read each time
		}
		g.Expect(w.KeepsClusterID()).To(Equal(c.keeps), "%d", i)
		g.Expect(s.fetched).To(Equal(looks), "%d", i)
	}
	g.Expect(s.told).To(Equal([]bool{false, true, false}))
	for _, words := range []string{"drops status.clusterId", "drops spec.managed", "keeps status.clusterId again",
		"keeps spec.managed again"} {
		g.Expect(s.lines).To(ContainElement(ContainSubstring(words)))
	}
}

// The API server's answer to a patch overrules the schema that it publishes, until it publishes another one.
func TestTheAnswerToAPatchOverrulesTheSchema(t *testing.T) {
	g := NewWithT(t)
	s := &apiServer{}
	w := s.watcher()
	s.publish(oursStatus, oursSpec)
	w.Look(t.Context())
	w.DroppedClusterID()
	w.Look(t.Context())
	g.Expect(w.KeepsClusterID()).To(BeFalse(), "the same document does not arm the protection again")
	s.publish(oursStatus, oursSpec)
	w.Look(t.Context())
	g.Expect(w.KeepsClusterID()).To(BeTrue())
	g.Expect(s.told).To(Equal([]bool{false, true}))
}

// Another CustomResourceDefinition was applied and replaced between two looks: the published document is the same as before.
func TestTheProtectionIsArmedAgainAfterASwapThatNoLookSaw(t *testing.T) {
	for what, c := range map[string]struct{ spoil, mend func(*apiServer) }{
		"the field is kept":     {func(*apiServer) {}, func(s *apiServer) { s.keeps = true }},
		"no schema is readable": {func(s *apiServer) { s.err = errors.New("forbidden") }, func(s *apiServer) { s.keeps = true }},
		"a dry run is rejected": {func(s *apiServer) { s.keeps, s.rejects = true, errors.New("a webhook") },
			func(s *apiServer) { s.rejects = nil }},
		"no KafkaTopic is left": {func(*apiServer) {}, func(s *apiServer) { s.empty = true }},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			s := &apiServer{}
			w := s.watcher()
			s.publish(oursStatus, oursSpec)
			w.Look(t.Context())
			w.Look(t.Context())
			g.Expect(s.tried).To(BeZero(), "nothing is asked without a reason")
			c.spoil(s)
			w.DroppedClusterID()
			w.Look(t.Context())
			w.Look(t.Context())
			g.Expect(w.KeepsClusterID()).To(BeFalse())
			g.Expect(strings.Count(strings.Join(s.lines, "\n"), "Failed to check whether")).To(Equal(map[bool]int{true: 1}[s.rejects != nil]))
			c.mend(s)
			w.Look(t.Context())
			g.Expect(w.KeepsClusterID()).To(BeTrue())
			g.Expect(s.told).To(Equal([]bool{false, true}))
		})
	}
}

func TestASchemaThatCannotBeReadChangesNothing(t *testing.T) {
	for what, spoil := range map[string]func(*apiServer){
		"no answer": func(s *apiServer) { s.err = errors.New("forbidden") },
		"no kind":   func(s *apiServer) { s.withoutTheKind = true },
	} {
		t.Run(what, func(t *testing.T) {
			s := &apiServer{}
			w := s.watcher()
			s.publish(strimziStatus, strimziSpec)
			w.Look(t.Context())
			spoil(s)
			s.version++
			w.Look(t.Context())
			w.Look(t.Context())
			g := NewWithT(t)
			g.Expect(w.KeepsClusterID()).To(BeFalse())
			g.Expect(s.told).To(HaveLen(1))
			g.Expect(strings.Count(strings.Join(s.lines, "\n"), "Failed to read the schema")).To(Equal(1))
		})
	}
}

func TestTheWatcherLooksAtOnceAndWhenAPatchSaysSo(t *testing.T) {
	s := &apiServer{}
	s.publish(oursStatus, oursSpec)
	looks := make(chan struct{}, 10)
	w := New(Options{Get: func(ctx context.Context, path string) ([]byte, error) {
		if path == "/openapi/v3" {
			looks <- struct{}{}
		}
		return s.get(ctx, path)
	}, Client: s, Interval: time.Hour, Changed: func(bool) {}, Log: logr.Discard()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Start(ctx) }()
	<-looks
	w.DroppedClusterID()
	<-looks
	cancel()
	g := NewWithT(t)
	g.Expect(<-ended).To(Succeed())
	g.Expect(w.NeedLeaderElection()).To(BeFalse())
}

// The index of a real API server kept naming the earlier document.
func TestADocumentIsReadThoughTheIndexIsBehind(t *testing.T) {
	s := &apiServer{}
	w := s.watcher()
	s.publish(strimziStatus, strimziSpec)
	w.Look(t.Context())
	s.status, s.spec = oursStatus, oursSpec // the index stays
	w.Look(t.Context())
	NewWithT(t).Expect(w.KeepsClusterID()).To(BeTrue(), "status.clusterId is kept again")
}
