package controller

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

var (
	// errTerminating is what an API server answers to a create in a namespace that is being deleted, and errNoNamespace once that is gone.
	errTerminating = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden,
		Reason: metav1.StatusReasonForbidden, Message: "unable to create new content in namespace " + historyNamespace +
			" because it is being terminated",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
	errNoNamespace = apierrors.NewNotFound(corev1.Resource("namespaces"), historyNamespace)
)

// deleteNamespaces deletes the Kafka's namespace in some Kubernetes clusters, or in none. The Kafka goes with that in the central one, and
// lives on without those in others. It returns the Kubernetes clusters in which the namespace was deleted.
func (h *stretched) deleteNamespaces() map[*apiServer]bool {
	h.t.Helper()
	deleted := map[*apiServer]bool{}
	remote, home := h.rand.Intn(3) == 0, h.rand.Intn(3) == 0
	for _, s := range h.servers {
		h.others(s)
	}
	if remote {
		s := h.servers[2+h.rand.Intn(2)]
		deleted[s] = true
		h.deleteNamespace(s)
		if !home {
			h.rest()
		}
	}
	if home {
		s := h.centrals[0].server
		deleted[s] = true
		h.deleteNamespace(s)
	}
	return deleted
}

// others creates an object of somebody else that has the Kafka's label.
func (h *stretched) others(s *apiServer) {
	key := facts.Key{Kind: "ConfigMap", Name: "my-cluster-theirs"}
	h.must(s.client().Create(h.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: key.Name,
		Labels: map[string]string{v1.LabelCluster: "my-cluster"}}}))
	h.foreign[s][key] = s.objects[key].Object
}

// deleteNamespace does what Kubernetes' namespace controller does, while operators act and may be killed: nothing can be created in the
// namespace any more, and all that is there is deleted, in any order.
func (h *stretched) deleteNamespace(s *apiServer) {
	h.told = append(h.told, "the namespace in "+s.id+" is deleted")
	s.closed = errTerminating
	keys := sortedKeys(s.objects)
	h.rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys {
		if s.objects[key] == nil || inNoNamespace(key) {
			continue
		}
		delete(h.foreign[s], key)
		s.terminate(key)
		if h.rand.Intn(6) == 0 {
			kill := -1
			if h.rand.Intn(3) == 0 {
				kill = h.rand.Intn(10)
			}
			_, err := h.pass(h.leader(), kill)
			h.told = append(h.told, fmt.Sprintf("pass after the deletion of %s %s: %v", key.Kind, key.Name, err))
		}
		if h.rand.Intn(6) == 0 {
			h.collect()
		}
	}
	if s != h.centrals[0].server {
		s.closed = errNoNamespace
	}
}

// inNoNamespace reports whether an object of a history is not in the Kafka's namespace: Leases are in that of the operators.
func inNoNamespace(key facts.Key) bool { return key.Kind == "Node" || key.Kind == "Lease" }
