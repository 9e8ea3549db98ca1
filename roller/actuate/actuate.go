// Package actuate carries out decided actions, one at a time. It contains no rules: it leaves an object alone that is not the one of the
// decision.
package actuate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Result is the result of an action.
type Result int

const (
	// Done means that the action was accepted.
	Done Result = iota
	// NotDone means that it is certain that nothing was done.
	NotDone
	// Refused means that Kafka rejected a part of the configuration (Outcome.Refusals) and took the rest.
	Refused
	// TooLate means that the action was not started, because its facts are too old (roller.Action.Until), or because another roller may be
	// active now.
	TooLate
	// Unclear means that it is unknown whether the action was carried out.
	Unclear
)

// Outcome is the result of an action, with its errors.
type Outcome struct {
	Action roller.Action
	Result Result
	// Err is nil if the action was done.
	Err error
	// Refusals are Kafka's errors about individual changes, independent of the results of the others.
	Refusals []brokerconfig.Refusal
}

// Actuator acts on one Kafka cluster.
type Actuator struct {
	// Namespace is the namespace of the pods.
	Namespace string
	// Place returns the client of a Kubernetes cluster by its id.
	Place func(id string) (client.Client, error)
	// Brokers changes the configurations of nodes that are brokers, and Controllers those of the other nodes; nil if they can't be reached.
	Brokers, Controllers kafka.ConfigWriter
	// Leaders elects the leaders of partitions. If it is nil, leaders stay.
	Leaders kafka.LeaderElector
	// Held, if set, returns an error unless this process still holds the lock of the Kafka cluster. It is called before each write of a
	// change of a configuration, which may be one of many slow ones.
	Held func(ctx context.Context) error
}

// held is Held, if that is set.
func (a *Actuator) held(ctx context.Context) error {
	if a.Held == nil {
		return nil
	}
	return a.Held(ctx)
}

// Do carries out an action on the node of the decision.
func (a *Actuator) Do(ctx context.Context, action roller.Action, node *roller.Node) Outcome {
	o := Outcome{Action: action}
	switch action.Kind {
	case roller.ActionRestart:
		o.Result, o.Err = a.restart(ctx, action, node)
	case roller.ActionReconfigure:
		o.Result, o.Refusals, o.Err = a.reconfigure(ctx, action, node)
	case roller.ActionElectLeaders:
		o.Result, o.Err = a.elect(ctx, action)
	}
	return o
}

// electionPatience is how long an election may delay the actions that follow it. Kafka continues an election that takes longer.
const electionPatience = 5 * time.Second

// leaderPoll is the pause before each request to a broker whether it leads: a follower with nothing to fetch fetches every half second
// (replica.fetch.wait.max.ms).
const leaderPoll = 500 * time.Millisecond

// elect elects the preferred leaders of partitions. A failure does no harm: the next look reads who leads.
func (a *Actuator) elect(ctx context.Context, action roller.Action) (Result, error) {
	if a.Leaders == nil {
		return NotDone, errors.New("no connection to elect leaders through")
	}
	var partitions []kafka.TopicPartition
	for _, topic := range slices.Sorted(maps.Keys(action.Partitions)) {
		for _, p := range action.Partitions[topic] {
			partitions = append(partitions, kafka.TopicPartition{Topic: topic, Partition: p})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, electionPatience)
	defer cancel()
	elected, err := a.Leaders.ElectPreferredLeaders(ctx, partitions)
	if err != nil {
		return NotDone, err
	}
	failed := 0
	for _, p := range partitions {
		if why := elected[p]; why != nil {
			failed++
			err = cmp.Or(err, fmt.Errorf("partition %s-%d: %w", p.Topic, p.Partition, why))
		}
	}
	if failed > 0 {
		return NotDone, fmt.Errorf("%d of %d partitions failed, the first with: %w", failed, len(partitions), err)
	}
	if action.Await {
		a.awaitLeader(ctx, int32(action.Node), partitions)
	}
	return Done, nil
}

// awaitLeader waits until an elected broker leads, and its followers fetch from it: stopping the next broker moves leaders and followers
// again, and records with acks=all would wait for both. It is not needed for safety.
func (a *Actuator) awaitLeader(ctx context.Context, broker int32, partitions []kafka.TopicPartition) {
	_ = wait.PollUntilContextCancel(ctx, leaderPoll, false, func(ctx context.Context) (bool, error) {
		checked, err := a.Leaders.CheckLeader(ctx, broker, partitions)
		if err != nil {
			return true, nil // the next look detects a broker that does not answer
		}
		partitions = slices.DeleteFunc(slices.Clone(partitions), func(p kafka.TopicPartition) bool {
			return checked[p] == nil || kafka.ClassOf(checked[p]) != kafka.ClassRetriable
		})
		return len(partitions) == 0, nil
	})
}

// restart deletes the pod with this uid, and no other pod with its name.
func (a *Actuator) restart(ctx context.Context, action roller.Action, node *roller.Node) (Result, error) {
	c, err := a.Place(node.Place)
	if err != nil {
		return NotDone, err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: node.Name}}
	uid := types.UID(action.Instance)
	if !action.Until.IsZero() { // a request that waits, such as for a throttled client, is not sent later
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, action.Until)
		defer cancel()
	}
	err = c.Delete(ctx, pod, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return Done, nil // this instance has ended, or is ending
	}
	err = fmt.Errorf("delete pod %s: %w", node.Name, err)
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest && status.Status().Code < http.StatusInternalServerError &&
		!apierrors.IsTimeout(err) && !apierrors.IsTooManyRequests(err) {
		return NotDone, err
	}
	return Unclear, err
}
