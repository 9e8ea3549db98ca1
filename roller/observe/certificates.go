package observe

import (
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/roller"
)

// generations are annotations that identify the certificates and keys that a pod was started with.
var generations = []struct {
	annotation string
	kind       roller.ReasonKind
	what       string
}{
	{core.AnnotationClusterCAKeyGeneration, roller.ClusterCACertKeyReplaced, "the key of the cluster's CA"},
	{core.AnnotationClusterCACertGeneration, roller.CACertHasOldGeneration, "the certificate of the cluster's CA"},
	{core.AnnotationClientsCACertGeneration, roller.CACertHasOldGeneration, "the certificate of the clients' CA"},
	{core.AnnotationServerCertHash, roller.KafkaCertificatesChanged, "the node's own certificate"},
}

// certificates returns the reasons for certificates and keys that are newer than those with which the pod was started. An annotation that
// only one of the two pods has proves nothing.
func certificates(pod, desired *corev1.Pod) []roller.Reason {
	var reasons []roller.Reason
	for _, g := range generations {
		has, wants := pod.Annotations[g.annotation], desired.Annotations[g.annotation]
		if has != "" && wants != "" && has != wants {
			reasons = append(reasons, roller.Reason{Kind: g.kind, Note: g.what + " changed", Mark: g.annotation + "=" + wants})
		}
	}
	return reasons
}
