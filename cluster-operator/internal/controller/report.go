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

// failed reports whether the pass failed. Neither a pending deletion nor hibernation is a failure.
func (p *pass) failed() bool {
	return p.status.Failure != nil && p.status.Failure.Reason != reasonDeleting && p.status.Failure.Reason != reasonHibernated
}

// count counts the pass, and what it found.
func (p *pass) count(took time.Duration) {
	name := client.ObjectKeyFromObject(p.kafka)
	p.Metrics.Reconciled(name.Namespace, passes.Pass{Took: took, Periodical: wasReady(p.kafka), Succeeded: !p.failed()})
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
}

// told are the messages of the warnings that there are Events of: those of the last pass that did not end early, and those of the last one.
// While passes end early for long, what they do not warn of any more is forgotten.
type told struct{ whole, last []string }

// tell records an Event for a failure, for each warning, and for each Kubernetes cluster that was lost or is back, unless the status before
// the pass shows it.
func (p *pass) tell(before v1.KafkaStatus) {
	name := client.ObjectKeyFromObject(p.kafka)
	stored, _ := p.toldWarnings.Load(name)
	told, _ := stored.(told)
	shown := func(message string) bool {
		return slices.ContainsFunc(before.Conditions, func(c v1.Condition) bool { return c.Message == message })
	}
	var warned []string
	for _, w := range p.status.Warnings {
		warned = append(warned, w.Message)
		if !shown(w.Message) && !slices.Contains(told.whole, w.Message) && !slices.Contains(told.last, w.Message) {
			p.Events.Warning(p.kafka, w.Reason, "Reconcile", w.Message)
		}
	}
	if told.last = warned; p.status.Failure == nil {
		told.whole = warned
	}
	p.toldWarnings.Store(name, told)
	if p.failed() && !shown(p.status.Failure.Message) {
		p.Events.Warning(p.kafka, p.status.Failure.Reason, "Reconcile", p.status.Failure.Message)
	}
	p.tellClusters(before.StretchClusters)
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
