package controller

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kafka-operators/kafka-operators/clusters"
)

func TestWhatARemoteAPIServerRefuses(t *testing.T) {
	connected := clusters.Status{ID: "east", State: clusters.Connected, Secret: "operators/kubeconfig-east"}
	refused := clusters.Status{ID: "east", State: clusters.Refused, Reason: clusters.ReasonCredentialsRefused,
		Message: "the API server does not accept the credentials: Unauthorized", Secret: "operators/kubeconfig-east"}
	away := clusters.Status{ID: "east", State: clusters.Unreachable, Reason: clusters.ReasonNoAnswer, Message: "no answer"}
	lacking := clusters.Status{ID: "east", State: clusters.Refused, Reason: clusters.ReasonKindMissing,
		Message: `set up the clients of cluster east: no matches for kind "StrimziPodSet" in version "core.strimzi.io/v1"`}
	denied := clusters.Status{ID: "east", State: clusters.Refused, Reason: clusters.ReasonForbidden, Message: "caches need: services is " +
		`forbidden: User "u" cannot list resource "services" in API group "" at the cluster scope; services is forbidden: User "u" cannot watch`}
	sets := schema.GroupResource{Group: "core.strimzi.io", Resource: "strimzipodsets"}
	const missing = "Required CRD 'strimzipodsets.core.strimzi.io' not found in cluster 'east'. " +
		"Please ensure Strimzi CRDs are installed in all target clusters."
	forbids := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "s", errors.New(text))
	}
	for _, c := range []struct {
		name    string
		member  clusters.Status
		err     error
		reason  string
		message string
	}{
		{"the namespace is not there", connected, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "kafka"),
			"RemoteNamespaceMissing", "Namespace kafka does not exist in cluster 'east'"},
		{"something else is not there", connected, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "kafka"),
			"ClusterFailed", `configmaps "kafka" not found`},
		{"a right is missing in the core group", connected,
			forbids(`User "u" cannot patch resource "services" in API group "" in the namespace "kafka"`),
			"RemoteForbidden", "may not patch services in namespace kafka: apply your copy of the current " +
				"config/cluster-operator/overlays/remote there again"},
		{"a right is missing in all namespaces", connected,
			forbids(`User "u" cannot list resource "strimzipodsets" in API group "core.strimzi.io"`),
			"RemoteForbidden", "may not list strimzipodsets.core.strimzi.io in all namespaces"},
		{"the caches lost a right", denied, &clusters.UnreachableError{Status: denied}, "RemoteForbidden",
			"In cluster 'east', the operator may not list services in all namespaces: apply your copy of the current " +
				"config/cluster-operator/overlays/remote there again"},
		{"a quota is no missing right", connected, forbids("exceeded quota: small"), "ClusterFailed", "exceeded quota: small"},
		{"the credentials are refused in the middle", connected, apierrors.NewUnauthorized("Unauthorized"), "ConnectivityError",
			"Cannot connect to cluster 'east': its API server rejects the credentials in Secret operators/kubeconfig-east " +
				"(apply Service s: Unauthorized); put a kubeconfig with valid ones into it, which the operator reloads immediately. " +
				"Please check kubeconfig and network connectivity."},
		{"the connection ended with a refusal", refused, &clusters.UnreachableError{Status: refused}, "ConnectivityError",
			"Cannot connect to cluster 'east': its API server rejects the credentials in Secret operators/kubeconfig-east " +
				"(the API server does not accept the credentials: Unauthorized); put a kubeconfig with valid ones into it, which the operator " +
				"reloads immediately. Please check kubeconfig and network connectivity."},
		{"a kind is missing from the start", lacking, &clusters.UnreachableError{Status: lacking}, "MissingCRD", missing},
		{"a kind is not served any more", connected, apierrors.NewGenericServerResponse(404, "patch", sets, "s", "404 page not found", 0, true),
			"MissingCRD", missing},
		{"an object of that kind is not there", connected, apierrors.NewNotFound(sets, "s"), "ClusterFailed", `"s" not found`},
		{"nobody answers", away, &clusters.UnreachableError{Status: away}, "ConnectivityError",
			"Cannot connect to cluster 'east': no answer. Please check kubeconfig and network connectivity."},
	} {
		t.Run(c.name, func(t *testing.T) {
			problem := remoteProblem("east", c.member, fmt.Errorf("apply Service s: %w", c.err))
			NewWithT(t).Expect(problem.Reason).To(Equal(c.reason))
			NewWithT(t).Expect(problem.Message).To(ContainSubstring(c.message))
		})
	}
}

// TestTheCauseIsTheSameForEachConnection checks that the status is not written anew because a connection had another port.
func TestTheCauseIsTheSameForEachConnection(t *testing.T) {
	g := NewWithT(t)
	away := clusters.Status{ID: "east", State: clusters.Unreachable, Reason: clusters.ReasonNoAnswer,
		Message: `Get "https://10.0.0.1:6443/api": read tcp 10.0.3.7:41822->10.0.0.1:6443: read: connection reset by peer`}
	const want = `Get "https://10.0.0.1:6443/api": read tcp 10.0.0.1:6443: read: connection reset by peer`
	g.Expect(remoteProblem("east", away, &clusters.UnreachableError{Status: away}).Message).To(ContainSubstring(want))
	broke := &clusters.UnreachableError{Status: clusters.Status{ID: "east", State: clusters.Connected}, Err: errors.New(away.Message)}
	g.Expect(remoteProblem("east", broke.Status, broke).Message).To(ContainSubstring(want))
	g.Expect(remoteProblem("east", broke.Status, errors.New(away.Message)).Message).To(ContainSubstring(want))
	g.Expect(withoutLocalAddress("dial tcp: lookup a on 10.96.0.10:53: read udp 10.0.3.7:41822->10.96.0.10:53: i/o timeout")).
		To(Equal("dial tcp: lookup a on 10.96.0.10:53: read udp 10.96.0.10:53: i/o timeout"))
}

// TestABrokenConnectionWritesNoStatusEachTime checks an error of brokers that has another port in each pass.
func TestABrokenConnectionWritesNoStatusEachTime(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	var versions []string
	for port := range 2 {
		h.brokers.err = fmt.Errorf("read tcp 10.0.3.7:%d->10.0.0.9:9091: i/o timeout", 41822+port)
		_, _ = h.pass(h.leader(), -1)
		g.Expect(h.centrals[0].kafka().Status.Conditions).To(ContainElement(And(HaveField("Reason", "KafkaUnreachable"),
			HaveField("Message", ContainSubstring("read tcp 10.0.0.9:9091: i/o timeout")))))
		versions = append(versions, h.centrals[0].kafka().ResourceVersion)
	}
	g.Expect(versions[1]).To(Equal(versions[0]))
}

func TestANamespaceThatIsMissingElsewhereIsNamed(t *testing.T) {
	w := newStretchedWorld(t)
	east := w.members["east"]
	err := east.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "missing", Name: "a"}})
	w.Expect(remoteProblem("east", connected{east}.Status(), err).Reason).To(Equal("RemoteNamespaceMissing"))
	w.Expect(remoteProblem("east", connected{east}.Status(), err).Message).To(HavePrefix("Namespace missing does not exist in cluster 'east'"))
}
