//go:build linux

package stretch

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
)

// idle are the rights of the operator in remote Kubernetes clusters that it does not use in the specs, with the reasons why it has them.
var idle = map[string]string{
	"get pods":                                         "there is a pod that the cache does not show yet",
	"delete pods":                                      "a node is removed: in full",
	"list kafkabridges.kafka.strimzi.io":               otherKind,
	"list kafkaconnects.kafka.strimzi.io":              otherKind,
	"list kafkamirrormaker2s.kafka.strimzi.io":         otherKind,
	"patch kafkabridges/status.kafka.strimzi.io":       otherKind,
	"patch kafkaconnects/status.kafka.strimzi.io":      otherKind,
	"patch kafkamirrormaker2s/status.kafka.strimzi.io": otherKind,
	"patch kafkas/status.kafka.strimzi.io":             "its user created a Kafka there; the specs create a KafkaNodePool",
	"patch events.events.k8s.io":                       repeated,
	"patch events in kafka-operators":                  repeated,
	"patch events.events.k8s.io in kafka-operators":    repeated,
	"create events.events.k8s.io in kafka-operators":   "the ClusterRole may be bound in other namespaces only",
}

const (
	otherKind = "only Strimzi has this kind; who creates one there is told that nobody looks after it"
	repeated  = "an Event is patched when it happens again after minutes"
)

// remotesUseTheirRights checks, after all specs, that the operator in remote Kubernetes clusters has needed each of its rights in one of
// them, except those that it has for a reason.
func remotesUseTheirRights() {
	if suite, _ := GinkgoConfiguration(); full || len(suite.FocusStrings)+len(suite.SkipStrings) > 0 {
		return // idle is for all specs of ordinary test runs
	}
	east, west := places[1], places[2]
	unused, err := controlplane.UnusedRights(ctx, east.Client, deploy.Namespace, "cluster-operator", idle, east.AuditLog(), west.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	Expect(unused).To(BeEmpty(), "if the operator does not use a right, it should not have it")
}
