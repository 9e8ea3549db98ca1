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

// fresh is how far a broker may be behind the active controller and still tell of leaders and replicas in sync. It is about as long as the
// controller waits before it takes a broker for gone (broker.session.timeout.ms): what happened in the last moments nobody can know.
const fresh = 10 * time.Second

// listTopics lists all topics as a broker knows them that follows the active controller. One that is cut off from it answers as well, and
// tells of replicas in sync that have long been none.
func (k *Kafka) listTopics(ctx context.Context, q roller.Fact[roller.Quorum], brokers []roller.NodeID) ([]kafka.Topic, error) {
	quorum, known := q.Get()
	if !known {
		return nil, errors.New("it is unknown which brokers follow the active controller: " + q.Why())
	}
	following, told := followers(quorum, brokers)
	if !told {
		return k.Brokers.ListTopics(ctx) // there is no leader, so that no broker is restarted, or it tells no times (before Kafka 3.3)
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

// listTopicsOf asks one broker, for its share of the time where so many are left to be asked: but half of it, as the first ones are likely
// to answer.
func (k *Kafka) listTopicsOf(ctx context.Context, id roller.NodeID, left int) ([]kafka.Topic, error) {
	if end, limited := ctx.Deadline(); limited && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	return k.Brokers.ListTopicsOf(ctx, int32(id))
}

// followers are the brokers that are not far behind the active controller, the closest first; false: no controller reports them.
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
