package identity

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// unknownWarning is the literal text that alerts match.
const unknownWarning = "Unable to retrieve Kafka cluster ID. Cluster ID protection will be disabled"

const (
	// firstRetry and lastRetry bound the pauses between two attempts to read the cluster's id.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Admin contains the requests of the guard to Kafka.
type Admin interface {
	kafka.ClusterReader
	kafka.ClusterPinner
}

// Options tune a Guard.
type Options struct {
	// CallTimeout bounds one attempt to read the id. Passes wait for it while the id is unknown.
	CallTimeout time.Duration
	// Interval is how often the guard checks whether the same cluster still answers.
	Interval time.Duration
	// On each change, Armed receives whether the id is known, and Changed whether another cluster answers. They must not block.
	Armed, Changed func(bool)
	// Restored is called when the operator's own cluster answers after another one did, or after its id was unknown for a while. It must
	// not block.
	Restored func()
	// Now returns the current time.
	Now func() time.Time
	Log logr.Logger
}

// Guard holds the id of the operator's Kafka cluster. Once the id is known, the Kafka client is bound to it for good: it asks brokers of
// any other cluster only for their identity, even if names and addresses change. It implements manager.Runnable.
type Guard struct {
	admin   Admin
	options Options
	// turn is held by the goroutine that asks Kafka, so that one request serves many passes.
	turn chan struct{}
	// wake wakes up Start.
	wake chan struct{}

	mu       sync.Mutex
	own      ownership.Cluster
	failures int
	notUntil time.Time
	// began is the start of the last failed attempt.
	began time.Time
}

// New returns a Guard that does not have the id yet.
func New(admin Admin, o Options) *Guard {
	o.Armed(false)
	o.Changed(false)
	return &Guard{admin: admin, options: o, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
}

// Current returns the cluster as far as it is known, without asking Kafka.
func (g *Guard) Current() ownership.Cluster {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own
}

// Own returns the cluster. It asks Kafka first while the id is unknown, unless an attempt failed a moment ago. It returns by the end of ctx
// or of the call's own limit.
func (g *Guard) Own(ctx context.Context) ownership.Cluster {
	return g.askIf(ctx, func() bool { return !g.options.Now().Before(g.notUntil) })
}

// Ask returns the cluster. It asks Kafka first while the id is unknown, unless an attempt failed that began after since. A caller that got
// another answer from Kafka has to call Ask before it acts upon that answer: a Kafka that was unavailable answers by then, and may not be
// the expected one. So protection is disabled only if Kafka answers without its id.
func (g *Guard) Ask(ctx context.Context, since time.Time) ownership.Cluster {
	return g.askIf(ctx, func() bool { return !g.began.After(since) })
}

func (g *Guard) askIf(ctx context.Context, due func() bool) ownership.Cluster {
	if own := g.Current(); own.ID != "" {
		return own
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return g.Current()
	}
	g.mu.Lock()
	ask := g.own.ID == "" && due()
	g.mu.Unlock()
	if ask {
		g.ask(ctx)
	}
	return g.Current()
}

// Answered records that a call was refused because the broker belongs to another cluster.
func (g *Guard) Answered(as string) {
	g.learned(as)
	g.Look()
}

// Look makes the guard ask Kafka for its id at once, for example with new credentials.
func (g *Guard) Look() {
	select {
	case g.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby has the id when it is elected.
func (g *Guard) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (g *Guard) Start(ctx context.Context) error {
	for {
		select {
		case g.turn <- struct{}{}:
			g.ask(ctx)
			<-g.turn
		case <-ctx.Done():
			return nil
		}
		timer := time.NewTimer(g.pause())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-g.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// pause returns the delay before the guard asks again.
func (g *Guard) pause() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.own.ID == "":
		return backoff(g.failures)
	case g.own.Answering != "":
		return min(firstRetry*5, g.options.Interval)
	}
	return g.options.Interval
}

func backoff(failures int) time.Duration {
	return min(firstRetry<<min(max(failures-1, 0), 10), lastRetry)
}

// ask asks Kafka for its cluster id. The caller holds turn.
func (g *Guard) ask(ctx context.Context) {
	began := g.options.Now()
	call, cancel := context.WithTimeout(ctx, g.options.CallTimeout)
	defer cancel()
	cluster, err := g.admin.DescribeCluster(call)
	if err == nil && cluster.ID == "" {
		err = errors.New("the broker did not report a cluster id")
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		g.failed(began, err)
	default:
		g.learned(cluster.ID)
	}
}

// failed records that the id could not be read. An id that is already known stays.
func (g *Guard) failed(began time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.own.ID != "" {
		return
	}
	g.began = began
	g.failures++
	g.notUntil = g.options.Now().Add(backoff(g.failures))
	if g.failures == 1 {
		logging.Warn(g.options.Log, unknownWarning, "error", err.Error())
		return
	}
	g.options.Log.V(1).Info("The id of the Kafka cluster is still unknown", "error", err.Error(), "attempts", g.failures)
}

// learned records the id of the cluster that answers.
func (g *Guard) learned(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	log := g.options.Log
	switch {
	case g.own.ID == "":
		if err := g.admin.Pin(id); err != nil {
			log.Error(err, "Failed to bind the Kafka client to its cluster; protection stays disabled", "clusterId", id)
			return
		}
		g.own.ID = id
		g.options.Armed(true)
		log.Info("Cluster id protection is armed", "clusterId", id, "afterFailures", g.failures)
		if g.failures > 0 {
			g.options.Restored() // the passes that waited for the id continue at once
		}
	case id == g.own.ID && g.own.Answering != "":
		log.Info("The operator's own Kafka cluster answers again", "clusterId", id, "insteadOf", g.own.Answering)
		g.own.Answering = ""
		g.options.Changed(false)
		g.options.Restored()
	case id != g.own.ID && id != g.own.Answering:
		g.own.Answering = id
		log.Error(fmt.Errorf("the brokers answer as cluster '%s', not as '%s'", id, g.own.ID),
			"The Kafka cluster changed while the operator was running: nothing is changed in Kafka until the operator's own cluster answers "+
				"again, or the operator is restarted. Check the bootstrap address")
		g.options.Changed(true)
	}
}
