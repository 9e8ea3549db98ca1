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

// centralIdle are the rights of the central operators in remote Kubernetes clusters that they do not use in the specs, with the reasons.
var centralIdle = map[string]string{
	"delete services":                             removed,
	"delete secrets":                              removed,
	"delete serviceaccounts":                      removed,
	"delete persistentvolumeclaims":               removed,
	"delete strimzipodsets.core.strimzi.io":       removed,
	"delete networkpolicies.networking.k8s.io":    removed,
	"delete poddisruptionbudgets.policy":          removed,
	"get ingresses.networking.k8s.io":             ingress,
	"create ingresses.networking.k8s.io":          ingress,
	"patch ingresses.networking.k8s.io":           ingress,
	"delete ingresses.networking.k8s.io":          ingress,
	"get serviceexports.multicluster.x-k8s.io":    exported,
	"list serviceexports.multicluster.x-k8s.io":   exported,
	"watch serviceexports.multicluster.x-k8s.io":  exported,
	"create serviceexports.multicluster.x-k8s.io": exported,
	"patch serviceexports.multicluster.x-k8s.io":  exported,
	"delete serviceexports.multicluster.x-k8s.io": exported,
	"patch pods":                 "the roller is asked to restart a pod whose address is lost, or that drains a node",
	"get nodes":                  "a pod's address is lost",
	"get persistentvolumes":      "a node is cordoned: in full",
	"patch events.events.k8s.io": repeated,
}

const (
	otherKind = "only Strimzi has this kind; who creates one there is told that nobody looks after it"
	repeated  = "an Event is patched when it happens again after minutes"
	removed   = "pools and nodes are removed: in full"
	ingress   = "a listener is of type ingress: e2e/clusteroperator"
	exported  = "the network provider is mcs: in full"
)

// remotesUseTheirRights checks, after all specs, that the operator in remote Kubernetes clusters, and the central operators, have needed
// each of their rights in one of these, except those that they have for a reason.
func remotesUseTheirRights() {
	if suite, _ := GinkgoConfiguration(); full || len(suite.FocusStrings)+len(suite.SkipStrings) > 0 {
		return // idle is for all specs of ordinary test runs
	}
	east, west := places[1], places[2]
	for account, reasons := range map[string]map[string]string{"cluster-operator": idle, "central-operators": centralIdle} {
		unused, err := controlplane.UnusedRights(ctx, east.Client, deploy.Namespace, account, reasons, east.AuditLog(), west.AuditLog())
		Expect(err).NotTo(HaveOccurred())
		Expect(unused).To(BeEmpty(), "if %s do not use a right, they should not have it", account)
	}
}
