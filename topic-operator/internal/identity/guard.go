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
	// firstRetry and lastRetry bound the pauses between two attempts to find out the cluster's id.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Admin is what the guard asks of Kafka.
type Admin interface {
	kafka.ClusterReader
	kafka.ClusterPinner
}

// Options tune a Guard.
type Options struct {
	// CallTimeout bounds one attempt to find out the id. Passes wait for it while the id is unknown.
	CallTimeout time.Duration
	// Interval is how often the guard looks by itself whether the same cluster still answers.
	Interval time.Duration
	// Armed receives whether the id is known, Changed whether another cluster answers, on each change. They must not block.
	Armed, Changed func(bool)
	// Restored is called when the operator's own cluster answers, after another one did, or after its id was unknown for a while. It
	// must not block.
	Restored func()
	// Now returns the current time.
	Now func() time.Time
	Log logr.Logger
}

// Guard knows the operator's own Kafka cluster. Once its id is known, the Kafka client is bound to it for good: no broker of any
// other cluster is asked for anything but its identity, whatever becomes of names and addresses. It implements manager.Runnable.
type Guard struct {
	admin   Admin
	options Options
	// turn is held by whoever asks Kafka, so that many passes ask once.
	turn chan struct{}
	// wake wakes up Start.
	wake chan struct{}

	mu       sync.Mutex
	own      ownership.Cluster
	failures int
	notUntil time.Time
	// began is when the last attempt began that ended in failure.
	began time.Time
}

// New returns a Guard that knows nothing yet.
func New(admin Admin, o Options) *Guard {
	o.Armed(false)
	o.Changed(false)
	return &Guard{admin: admin, options: o, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
}

// Current returns what is known, without asking Kafka.
func (g *Guard) Current() ownership.Cluster {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own
}

// Own returns what is known, and asks Kafka first while that is nothing, unless Kafka has failed to tell a moment ago. It returns by the
// end of ctx or of the call's own limit.
func (g *Guard) Own(ctx context.Context) ownership.Cluster {
	return g.askIf(ctx, func() bool { return !g.options.Now().Before(g.notUntil) })
}

// Ask returns what is known, and asks Kafka first while that is nothing, unless an attempt failed that began after the given time. Whoever
// got another answer from Kafka asks like this before he acts upon it: a Kafka that was away is there by then, and may not be the one
// that was expected. So protection is disabled only where Kafka answers, and does not tell its id.
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

// Answered notes that a call was refused because the broker belongs to another cluster.
func (g *Guard) Answered(as string) {
	g.learned(as)
	g.Look()
}

// Look has the guard ask Kafka at once who it is, such as with new credentials.
func (g *Guard) Look() {
	select {
	case g.wake <- struct{}{}:
	default: // it is awake already
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby knows its cluster when it is elected.
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

// pause is how long the guard waits before it asks again.
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

// ask asks Kafka who it is. Its caller has the turn.
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

// failed notes that the id could not be found out. What is known already stays: a failed read changes nothing.
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

// learned notes the id of the cluster that answers.
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
			g.options.Restored() // what waited for the id goes on at once
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
