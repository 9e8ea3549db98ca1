package app

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/controller"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/identity"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/policy"
)

// identityTimeout bounds one attempt to read the Kafka cluster's id. Passes wait for it while the id is unknown.
const identityTimeout = 5 * time.Second

// newGuard returns the guard of the operator's cluster. It requeues all KafkaTopics when the operator's own cluster answers again after
// another one did.
func newGuard(admin kafka.Admin, o options.Options, m *metrics.Metrics, armed func(bool), again func(func(*v1.KafkaTopic) bool),
	log logr.Logger) *identity.Guard {
	return identity.New(admin, identity.Options{
		CallTimeout: identityTimeout,
		Interval:    o.ReconciliationInterval,
		Armed:       armed,
		Changed:     m.ClusterChanged,
		Restored:    func() { again(func(*v1.KafkaTopic) bool { return true }) },
		Now:         time.Now,
		Log:         log.WithName("identity"),
	})
}

func ownershipRules(o options.Options) ownership.Rules {
	return ownership.Rules{OldestWins: o.ConflictPolicy == options.ConflictOldestWins,
		BlockUnknown: o.ClusterIDUnknown == options.ClusterIDUnknownBlock}
}

// newPolicy loads the namespace policy. When the policy changes, it requeues the KafkaTopics for which the answer changed.
func newPolicy(o options.Options, m *metrics.Metrics, again func(func(*v1.KafkaTopic) bool), log logr.Logger) (*policy.Watcher, error) {
	return policy.Load(o.NamespacePolicyFile, policy.Settings{
		Log: logging.Slog(log.WithName("policy")),
		OnChange: func(before, after *policy.Policy) {
			again(func(kt *v1.KafkaTopic) bool {
				name := ownership.ClaimedName(kt)
				return message(before, kt.Namespace, name) != message(after, kt.Namespace, name)
			})
		},
		OnRejected: func(reason error) { m.PolicyRejected(reason != nil) },
	})
}

// violation returns a function that describes why the policy in force forbids a topic.
func violation(w *policy.Watcher) func(namespace, topic string) string {
	return func(namespace, topic string) string { return message(w.Current(), namespace, topic) }
}

func message(p *policy.Policy, namespace, topic string) string {
	if v := p.Check(namespace, topic); v != nil {
		return v.Message()
	}
	return ""
}

// requeue requeues the KafkaTopics that match, because something other than the objects changed.
func requeue(ctx context.Context, r *controller.Reconciler, which func(*v1.KafkaTopic) bool, log logr.Logger) {
	if err := r.Requeue(ctx, which); err != nil && !errors.Is(err, context.Canceled) {
		log.Error(err, "Failed to requeue the KafkaTopics; they are reconciled at the next interval")
	}
}
