//go:build linux

package rollernodes

import (
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// history has the lives of the pods of a Kafka cluster, in all Kubernetes clusters, from the events of their API servers.
type history struct {
	mu sync.Mutex
	// pods are all pods that ever existed, in the order of their creation. The last one of a name is the present one.
	pods []life
	// together is the largest number of nodes that were not ready when one was stopped, including that one.
	together int
}

// life is the life of one pod.
type life struct {
	name, revision string
	uid            types.UID
	// begun is true if the pod was ever ready, ready if it is ready, ending if it was deleted.
	begun, ready, ending bool
}

// follow records the events of the pods of a Kafka cluster from now on, until the suite's ctx ends.
func (h *history) follow(c *realnodes.Cluster, namespace, cluster string) {
	GinkgoHelper()
	events, err := clientOf(c).Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace), client.MatchingLabels{v1.LabelCluster: cluster})
	Expect(err).NotTo(HaveOccurred())
	ended := make(chan struct{})
	DeferCleanup(func() {
		events.Stop()
		<-ended
	})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				h.note(pod, event.Type == watch.Deleted)
			}
		}
	}()
}

func (h *history) note(pod *corev1.Pod, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.pods, func(l life) bool { return l.uid == pod.UID })
	if i < 0 {
		i = len(h.pods)
		h.pods = append(h.pods, life{name: pod.Name, uid: pod.UID, revision: pod.Annotations[core.AnnotationRevision]})
	}
	l := &h.pods[i]
	l.ready = podReady(pod) && !gone
	l.begun = l.begun || l.ready
	if ends := pod.DeletionTimestamp != nil || gone; ends && !l.ending {
		l.ending = true
		h.together = max(h.together, h.away())
	}
}

// away returns the number of nodes that are not ready. The caller holds mu.
func (h *history) away() int {
	present := map[string]bool{}
	for _, l := range h.pods {
		present[l.name] = l.ready
	}
	away := 0
	for _, ready := range present {
		if !ready {
			away++
		}
	}
	return away
}

// made returns the names of the pods that were created with a revision, in order.
func (h *history) made(revision string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, l := range h.pods {
		if l.revision == revision {
			names = append(names, l.name)
		}
	}
	return names
}

// stopped returns the names of the pods of a revision that were deleted, in the order of their creation.
func (h *history) stopped(revision string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, l := range h.pods {
		if l.revision == revision && l.ending {
			names = append(names, l.name)
		}
	}
	return names
}

// mostAway returns the largest number of nodes that were not ready when one was stopped, including that one.
func (h *history) mostAway() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.together
}
