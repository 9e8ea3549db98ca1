package app

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/controller"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/identity"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// identityTimeout bounds one attempt to find out the Kafka cluster's id. Passes wait for it while the id is unknown.
const identityTimeout = 5 * time.Second

// newGuard makes the guard of the operator's cluster. It calls restored when the operator's own cluster answers again after another one did.
func newGuard(admin kafka.Admin, o options.Options, m *metrics.Metrics, restored func(), log logr.Logger) *identity.Guard {
	return identity.New(admin, identity.Options{
		CallTimeout: identityTimeout,
		Interval:    o.ReconciliationInterval,
		Armed:       m.ProtectionArmed,
		Changed:     m.ClusterChanged,
		Restored:    func() { go restored() },
		Now:         time.Now,
		Log:         log.WithName("identity"),
	})
}

func ownershipRules(o options.Options) ownership.Rules {
	return ownership.Rules{OldestWins: o.ConflictPolicy == options.ConflictOldestWins, BlockUnknown: o.ClusterIDUnknown == options.ClusterIDUnknownBlock}
}

func everything(*v1.KafkaTopic) bool { return true }

// lookAgain asks for passes because something outside of the objects has changed.
func lookAgain(ctx context.Context, r *controller.Reconciler, which func(*v1.KafkaTopic) bool, log logr.Logger) {
	if err := r.LookAgain(ctx, which); err != nil && !errors.Is(err, context.Canceled) {
		log.Error(err, "The KafkaTopics are looked at again by the timer only")
	}
}
