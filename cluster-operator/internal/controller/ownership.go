package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// The reasons of Events about whose an object in another Kubernetes cluster is. The last one is also a value of the counter of conflicts.
const (
	reasonRestored = "OwnershipRestored"
	reasonResumed  = "OwnershipResumed"
	reasonCopied   = "CopiedOwnerMark"
)

// noteConflict counts an object in another Kubernetes cluster that is not the Kafka's, if err says that, and records an Event of a copy
// that the status does not name yet.
func (p *pass) noteConflict(s *site, kind string, err error) {
	if s.cluster == topology.Home {
		return
	}
	if failure, is := errors.AsType[*Failure](err); is && (failure.Reason == reasonConflict || failure.Reason == reasonFenced) {
		p.Metrics.Conflicted(s.cluster, kind, failure.Reason)
		return
	}
	foreign, is := errors.AsType[*apply.ForeignError](err)
	switch {
	case !is:
	case !foreign.Copied:
		p.Metrics.Conflicted(s.cluster, kind, reasonNotOwned)
	default:
		p.Metrics.Conflicted(s.cluster, kind, reasonCopied)
		named := func(c v1.Condition) bool { return strings.Contains(c.Message, foreign.Error()) }
		if !slices.ContainsFunc(p.kafka.Status.Conditions, named) {
			p.Events.Warning(p.kafka, reasonCopied, "Apply", fmt.Sprintf("In cluster '%s': %s", s.cluster, foreign))
		}
	}
}

// noteRestored records that an object in another Kubernetes cluster got its marks back.
func (p *pass) noteRestored(s *site, key facts.Key) {
	p.Events.Warning(p.kafka, reasonRestored, "Restore", fmt.Sprintf("%s %s in cluster '%s' had lost its ownership annotations, and got them "+
		"back", key.Kind, key.Name, s.cluster))
}

// noteResumed records that the Kafka continues with what an earlier Kafka object of its name left in another Kubernetes cluster.
func (p *pass) noteResumed(s *site) {
	p.Events.Normal(p.kafka, reasonResumed, "Resume", fmt.Sprintf("Cluster '%s' has objects of an earlier Kafka object of this name: this "+
		"one continues with them", s.cluster))
}
