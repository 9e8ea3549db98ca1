//go:build linux

package clusteroperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

// idle are the rights of the cluster-operator that it does not use in the specs, with the reasons why it has them.
var idle = map[string]string{
	"update configmaps":                              granted + "the roller, by name",
	"update leases.coordination.k8s.io":              granted + "the roller, by name",
	"get kafkatopics.kafka.strimzi.io":               granted + "topic operators",
	"watch kafkatopics.kafka.strimzi.io":             granted + "topic operators",
	"patch kafkatopics/status.kafka.strimzi.io":      granted + "topic operators",
	"get namespaces kube-system":                     "it is the identity of a Kubernetes cluster: e2e/stretch",
	"patch kafkas.kafka.strimzi.io":                  "a stretched Kafka is marked: e2e/stretch",
	"get persistentvolumes":                          "a node is cordoned: e2e/stretch, in full",
	"patch secrets":                                  "Secrets of a CA become the user's own: in full",
	"patch events.events.k8s.io":                     repeated,
	"patch events in kafka-operators":                repeated,
	"create events.events.k8s.io in kafka-operators": "the ClusterRole may be bound in other namespaces only",
	"patch events.events.k8s.io in kafka-operators":  repeated,
}

const (
	granted  = "Kubernetes lets nobody grant what they may not do: it is granted to "
	repeated = "an Event is patched when it happens again after minutes"
)

// usesItsRights checks, after all specs, that the cluster-operator has needed each of its rights, except those that it has for a reason.
func usesItsRights() {
	if suite, _ := GinkgoConfiguration(); full || len(suite.FocusStrings)+len(suite.SkipStrings) > 0 {
		return // idle is for all specs of ordinary test runs
	}
	unused, err := controlplane.UnusedRights(ctx, k8s, operatorNamespace, "cluster-operator", idle, home.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	Expect(unused).To(BeEmpty(), "if the operator does not use a right, it should not have it")
}
