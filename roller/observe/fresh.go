package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
)

// fresh is how far a broker may lag behind the active controller and still be asked for leaders and replicas in sync. It is about the time
// after which the controller fences a broker (broker.session.timeout.ms): changes of the last moments can't be known anyway.
const fresh = 10 * time.Second

// listTopics lists all topics from a broker that follows the active controller. A broker that is cut off from the controller answers as
// well, and reports replicas as in sync that have not been for long.
func (k *Kafka) listTopics(ctx context.Context, q roller.Fact[roller.Quorum], brokers []roller.NodeID) ([]kafka.Topic, error) {
	quorum, known := q.Get()
	if !known {
		return nil, errors.New("it is unknown which brokers follow the active controller: " + q.Why())
	}
	following, told := followers(quorum, brokers)
	if !told {
		return k.Brokers.ListTopics(ctx) // no leader exists, so that no broker is restarted, or it reports no times (before Kafka 3.3)
	}
	if len(following) == 0 {
		return nil, fmt.Errorf("no broker is known to have followed the active controller, node %d, within %s", quorum.Leader, fresh)
	}
	var errs []error
	for at, id := range following {
		topics, err := k.listTopicsOf(ctx, id, len(following)-at)
		if err == nil {
			return topics, nil
		}
		errs = append(errs, fmt.Errorf("broker %d: %w", id, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// listTopicsOf asks one broker, with a timeout of half of the time if others are left to be asked, because the first ones are likely to
// answer.
func (k *Kafka) listTopicsOf(ctx context.Context, id roller.NodeID, left int) ([]kafka.Topic, error) {
	if end, limited := ctx.Deadline(); limited && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	return k.Brokers.ListTopicsOf(ctx, int32(id))
}

// followers returns the brokers that do not lag far behind the active controller, the closest first; false if no controller reports them.
func followers(q roller.Quorum, brokers []roller.NodeID) ([]roller.NodeID, bool) {
	behind := map[roller.NodeID]int64{}
	leader := int64(-1)
	for _, r := range slices.Concat(q.Voters, q.Observers) {
		if r.ID == q.Leader {
			leader = r.LastCaughtUp
		}
	}
	if leader < 0 {
		return nil, false
	}
	for _, r := range slices.Concat(q.Voters, q.Observers) {
		if lag := leader - r.LastCaughtUp; r.LastCaughtUp >= 0 && lag < fresh.Milliseconds() {
			if other, twice := behind[r.ID]; !twice || lag < other { // KIP-853: a node that lost its disk may be listed twice
				behind[r.ID] = lag
			}
		}
	}
	var following []roller.NodeID
	for _, id := range brokers {
		if _, is := behind[id]; is {
			following = append(following, id)
		}
	}
	slices.SortStableFunc(following, func(a, b roller.NodeID) int { return cmp.Or(cmp.Compare(behind[a], behind[b]), cmp.Compare(a, b)) })
	return following, true
}
