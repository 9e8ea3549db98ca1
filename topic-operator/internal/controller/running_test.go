package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

const workers = 20

// untimed makes sure that no timed pass occurs in a test: the interval is an hour, and the clock stands at the beginning of one.
func untimed(s *setup) {
	s.Interval = time.Hour
	s.Now = func() time.Time { return time.Unix(0, 1) }
}

// start runs the reconciler in a manager with real watches. stop ends it.
func (w *world) start(k Kafka, changes ...func(*manager.Options)) (stop func()) {
	w.t.Helper()
	yes := true
	o := manager.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: &yes}, // other tests run the same controller
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.ns: {}}},
		Logger:     logging.New(w.logged, logging.Options{Level: -10}),
	}
	for _, change := range changes {
		change(&o)
	}
	mgr, err := manager.New(w.config(), o)
	w.Expect(err).NotTo(HaveOccurred())
	w.r = NewReconciler(mgr.GetClient(), k, w.recorder, w.metrics, w.setup.Options)
	w.Expect(w.r.SetupWithManager(w.t.Context(), mgr, workers)).To(Succeed())
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = func() {
		w.t.Helper()
		cancel()
		w.Eventually(ended).Should(Receive(BeNil()))
		ended <- nil // for a second call of stop
	}
	w.t.Cleanup(stop)
	w.Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	return stop
}

// readyNames returns the sorted names of the Ready objects in the namespace.
func (w *world) readyNames() []string {
	list := &v1.KafkaTopicList{}
	w.Expect(w.admin.List(w.t.Context(), list, client.InNamespace(w.ns))).To(Succeed())
	names := []string{}
	for i := range list.Items {
		if topic.IsReady(&list.Items[i]) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// asks returns how often a call was made for a topic.
func (k *fakeKafka) asks(call, name string) func() int {
	return func() int {
		k.mu.Lock()
		defer k.mu.Unlock()
		n := 0
		for _, c := range k.calls {
			if c == call+" "+name || name == "" && strings.HasPrefix(c, call+" ") {
				n++
			}
		}
		return n
	}
}

// all returns all recorded writes.
func (q *requests) all() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.writes)
}
