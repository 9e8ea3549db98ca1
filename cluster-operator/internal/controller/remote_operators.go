package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
)

const (
	// remoteOperatorsInterval is how often the heartbeats are read for the metrics; a heartbeat is renewed as often.
	remoteOperatorsInterval = 10 * time.Second
	// remoteOperatorsTimeout is how long a Kubernetes cluster may take for an answer.
	remoteOperatorsTimeout = 5 * time.Second
)

// watchRemoteOperators has the metrics show which operators live in other Kubernetes clusters, until ctx ends.
func (r *Reconciler) watchRemoteOperators(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) { r.Metrics.ObserveRemoteOperators(r.remoteOperators(ctx)) }, remoteOperatorsInterval)
	return nil
}

// remoteOperators returns what is known of the operators in other Kubernetes clusters, without those that can't be read.
func (r *Reconciler) remoteOperators(ctx context.Context) map[string]metrics.RemoteOperator {
	ctx, cancel := context.WithTimeout(ctx, remoteOperatorsTimeout)
	defer cancel()
	beats := askRemotes(r, func(m Member) (heartbeat.Beat, error) {
		return r.beats.Read(ctx, m.Reader(), m.ID(), r.Stretching.Namespace, r.Now())
	})
	known := map[string]metrics.RemoteOperator{}
	for _, b := range beats {
		if b.err != nil {
			continue // the status of the Kafkas with nodes there has the reason
		}
		operator := metrics.RemoteOperator{Running: b.value.Lives(r.Now())}
		if operator.Running && b.value.Version != "" {
			operator.SameVersion = new(b.value.Version == r.OperatorVersion)
		}
		known[b.member.ID()] = operator
	}
	return known
}
