package controller

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/operator/passes"
)

// report counts the pass, and records an Event for a failure, for each warning that the status does not show yet, and for each Kubernetes
// cluster that was lost or is back.
func (p *pass) report(took time.Duration) {
	name := client.ObjectKeyFromObject(p.kafka)
	// Neither a pending deletion nor hibernation is a failure.
	failed := p.status.Failure != nil && p.status.Failure.Reason != reasonDeleting && p.status.Failure.Reason != reasonHibernated
	p.Metrics.Reconciled(name.Namespace, passes.Pass{Took: took, Periodical: wasReady(p.kafka), Succeeded: !failed})
	figures := p.figures
	figures.Ready = status.Converged(p.status)
	figures.Pending = len(p.status.Pending)
	if len(p.sites) > 0 { // else nothing is known but what is at home
		figures.Nodes, figures.NotReady = countNodes(p.podSets())
	}
	for id := range p.away {
		lost := len(p.record.Clusters[id].Nodes)
		figures.Nodes, figures.NotReady = figures.Nodes+lost, figures.NotReady+lost
	}
	if unread := figures.Created.IsZero(); !unread || !p.Metrics.Unread(name) {
		p.Metrics.Observe(name, figures)
	}
	problems := slices.Clone(p.status.Warnings)
	if failed {
		problems = append(problems, *p.status.Failure)
	}
	for _, problem := range problems {
		shown := func(c v1.Condition) bool { return c.Message == problem.Message }
		if !slices.ContainsFunc(p.kafka.Status.Conditions, shown) {
			p.Events.Warning(p.kafka, problem.Reason, "Reconcile", problem.Message)
		}
	}
	p.reportClusters()
}

// wasReady reports whether a Kafka was Ready, by its status.
func wasReady(kafka *v1.Kafka) bool {
	return kafka.Status.ObservedGeneration == kafka.Generation && slices.ContainsFunc(kafka.Status.Conditions,
		func(c v1.Condition) bool { return c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue })
}

// figuresOf returns the metrics that follow from the objects of a Kafka, independent of the result of its pass.
func figuresOf(f facts.Cluster, kafka *v1.Kafka) metrics.Kafka {
	spec := kafka.Spec
	if spec == nil {
		spec = &v1.KafkaSpec{}
	}
	authority := func(secret string, config *v1.CertificateAuthority) metrics.Certificate {
		return metrics.Certificate(pki.CAValidity(f.Secret(secret), caConfig(config)))
	}
	figures := metrics.Kafka{
		Created:   kafka.CreationTimestamp.Time,
		ClusterCA: authority(pki.ClusterCACertSecret(kafka.Name), spec.ClusterCa),
		ClientsCA: authority(pki.ClientsCACertSecret(kafka.Name), spec.ClientsCa),
		Served:    nodeCertificates(f, spec),
		Listeners: listenerCertificates(f, kafka),
		// The topic operator of a Kafka that is being deleted goes, and that of one that is hibernated is stopped.
		TopicOperator: model.WantsTopicOperator(kafka) && kafka.DeletionTimestamp == nil &&
			!slices.ContainsFunc(f.PodSets(), (*core.StrimziPodSet).IsHibernated),
	}
	figures.Nodes, figures.NotReady = countNodes(f.PodSets())
	return figures
}

// countNodes counts the nodes that exist, and those of them that are not ready. A node that could not be created yet is none: who looks for
// its pod finds nothing, and the condition Ready says why. Nodes of a hibernated Kafka are to have no pods.
func countNodes(sets []*core.StrimziPodSet) (nodes, notReady int) {
	for _, set := range sets {
		nodes += len(set.Spec.Pods)
		if !set.IsHibernated() {
			notReady += max(0, len(set.Spec.Pods)-int(set.Status.ReadyPods))
		}
	}
	return nodes, notReady
}
