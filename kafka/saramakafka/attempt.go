package saramakafka

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/IBM/sarama"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// firstAttempt bounds the first attempt of a request that may be repeated. Later ones get most of the remaining time, so that a slow
	// answer arrives in the end.
	firstAttempt = 10 * time.Second
	// firstRound bounds the first attempt with each controller. It is short because controllers respond from memory, or after one commit to
	// the metadata log.
	firstRound = 2 * time.Second
	// electionTime is how long a question waits for controllers that do not lead to elect a leader. Kafka's followers wait as long for
	// their leader (controller.quorum.fetch.timeout.ms).
	electionTime = 2 * time.Second
	// hungAfter is the silence after which a broker may be hanging.
	hungAfter = time.Second

	minPause = 50 * time.Millisecond
	maxPause = time.Second
)

// repeat describes whether a request may be repeated that was sent and not answered.
type repeat int

const (
	// repeatable requests are sent again, to another broker: reads, and changes that are the same when done twice.
	repeatable repeat = iota //nolint:unused // the zero value: the default of a request
	// once requests are not repeated, because it is unknown whether they were executed.
	once
)

// request describes a request to send.
type request struct {
	// name is the request's name in Kafka's documentation.
	name   string
	repeat repeat
	// changes reports whether the request is a write.
	changes bool
	// anyCluster is true for the request that reads the id of the cluster that answers: the only one that may go to another cluster than
	// the pinned one.
	anyCluster bool
	// mutation requests count against the controller's quota and may have to go to the controller.
	mutation bool
	// leader requests may have to go to the controller, and count against no quota.
	leader bool
	// rounds is how often all brokers that can answer are tried; zero means until the call's end.
	rounds int
	// broker is the id of the only broker that can answer, or anyBroker.
	broker int32
	// admit, if set, is called right before each attempt; false means that no part of the request may be sent any more.
	admit func(ctx context.Context) bool
	// run sends the request and stores the answer. It returns errNotController if the request, or a part of it, must be sent again to
	// another broker; any other error means that there is no answer.
	run func(ctx context.Context, c *conn) error
}

// anyBroker is the target of a request that every broker can answer.
const anyBroker int32 = -1

// errNotController is a rejection by one broker that another broker may not share.
var errNotController = errors.New("the broker is not the controller")

// trial is the state of one request over its attempts.
type trial struct {
	request  *request
	tried    map[*node]bool // in this round
	rounds   int
	attempts int   // number of sent attempts
	last     error // why the last attempt failed
	refused  error // a login or certificate that a broker refused in this round
	aborted  int   // attempts that failed during the login
	failures int
	misses   int     // NOT_CONTROLLER answers
	follow   []*node // the controllers that answered so in this round
	began    time.Time
	round    time.Time // when this round began
	foreign  string    // the id of another cluster of which a broker answered in this round
	unclear  bool      // the request was sent, and not answered
}

// do sends the request until a broker answers, ctx ends, or retries become pointless. The error is a *kafka.Error or errNotController; sent
// reports whether a broker may have received the request.
func (r *router) do(ctx context.Context, req *request) (sent bool, err error) {
	t := &trial{request: req, tried: map[*node]bool{}, began: time.Now(), round: time.Now()}
	if req.broker != anyBroker && !r.knows(req.broker) {
		if err := r.find(ctx, req.broker); err != nil {
			return false, err
		}
	}
	for {
		n, c, err := r.connect(ctx, t)
		if err != nil {
			return t.attempts > 0, err
		}
		outcome, err := r.attempt(ctx, t, n, c)
		switch outcome {
		case answered:
			return true, nil
		case pointless:
			return t.attempts > 0, err
		case unanswered:
			return true, r.gaveUp(ctx, t)
		case refused:
			if !t.missed(ctx, r, n) {
				return true, errNotController
			}
		case failed:
		}
	}
}

// outcome is the result of one attempt.
type outcome int

const (
	answered   outcome = iota // or not to be sent, as the caller decided
	refused                   // NOT_CONTROLLER
	failed                    // try another broker
	unanswered                // sent, no answer, and not to be sent again
	pointless                 // every broker would answer the same
)

// attempt sends the request over one connection, after the setup of the connection.
func (r *router) attempt(ctx context.Context, t *trial, n *node, c *conn) (outcome, error) {
	defer r.release(n, c, t.request.mutation)
	if err := r.prepare(ctx, t, n, c); err != nil {
		r.lost(ctx, t, n, c, err)
		return failed, nil
	}
	attemptCtx, cancel := r.attemptContext(ctx, t)
	defer cancel()
	if t.request.admit != nil && !t.request.admit(attemptCtx) {
		return answered, nil
	}
	t.attempts++
	start := time.Now()
	err := t.request.run(attemptCtx, c)
	transport := err
	if errors.Is(err, errNotController) {
		transport = nil
	}
	if !unsent(err) {
		r.settings.observe(t.request.name, time.Since(start), transport)
	}
	switch {
	case err == nil:
		r.worked(n)
		return answered, nil
	case transport == nil:
		r.worked(n)
		r.notController()
		t.last = err
		return refused, nil
	case unsent(err):
		return pointless, unsupported(t.request.name, err)
	}
	r.lost(ctx, t, n, c, err)
	var login *loginRefused
	if errors.As(err, &login) {
		t.attempts-- // the login failed before the request was sent
		return failed, nil
	}
	t.unclear = true
	if t.request.repeat == once {
		if time.Since(start) > hungAfter {
			r.failed(n) // even though the caller's deadline ended the wait
		}
		return unanswered, nil
	}
	return failed, nil
}

// prepare prepares a connection for a request. It updates the table of brokers if it is outdated, and checks that the connection ends at
// the right cluster, and before a request that can't be repeated, that it is alive. Before a request with admit it always sends a probe,
// because a request in the buffers of a broker that hangs can't be taken back.
func (r *router) prepare(ctx context.Context, t *trial, n *node, c *conn) error {
	ctx, cancel := r.probeContext(ctx)
	defer cancel()
	fresh := c.fresh
	if t.request.name != requestDescribeCluster && r.startLearning(n) {
		start := time.Now()
		_, err := r.describeCluster(ctx, c)
		r.stopLearning(err == nil && !r.pin.refuses(c.cluster) || unsent(err))
		r.settings.observe(requestDescribeCluster, time.Since(start), err)
		if err != nil && !unsent(err) {
			r.wasSilent(ctx, n, c)
			return err
		}
		fresh = true
	}
	if !t.request.anyCluster && r.pin.refuses(c.cluster) {
		if err := r.prove(ctx, n, c); err != nil {
			return err
		}
		fresh = true
	}
	c.fresh = fresh
	if t.request.admit != nil || t.request.repeat == once && !c.fresh {
		err := c.probe(ctx)
		c.probed = err == nil
		return err
	}
	return nil
}

// lost handles a connection that failed before an answer came.
func (r *router) lost(ctx context.Context, t *trial, n *node, c *conn, err error) {
	stale := !c.fresh && !isTimeout(err)
	c.broken = true
	var foreign *wrongCluster
	if errors.As(err, &foreign) {
		r.strayed(t, n, c, foreign)
		return
	}
	if ctx.Err() != nil && t.known(err) {
		return // the caller's deadline, not the broker's fault
	}
	if stale {
		// The broker, or something in between, closed an idle connection. The other idle connections to this broker may be stale too.
		r.purge(n)
		t.last = err
		return
	}
	r.failed(n)
	t.failed(n, err)
}

// known keeps the first cause of a failure, which ctx's error would otherwise hide; it reports whether err is ctx's error.
func (t *trial) known(err error) bool {
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !ended || t.last == nil {
		t.last = err
	}
	return ended
}

// failed records a broker's failure.
func (t *trial) failed(n *node, err error) {
	var (
		login   *loginRefused
		aborted *loginAborted
	)
	t.tried[n] = true
	t.failures++
	t.last = err
	switch {
	case errors.As(err, &login), isTLSRefusal(err), explained(err) != nil && !kafka.IsRetriable(explained(err)):
		t.refused = err
	case errors.As(err, &aborted):
		t.aborted++
	}
}

// missed counts a NOT_CONTROLLER answer and pauses; it reports whether to continue. Without forwarding, it tries all other nodes before it
// asks the same node again, which may never be the leader.
func (t *trial) missed(ctx context.Context, r *router, n *node) bool {
	t.misses++
	if r.kind == controllers {
		t.tried[n] = true
		if t.request.leader {
			t.follow = append(t.follow, n)
		}
		return ctx.Err() == nil
	}
	clear(t.tried)
	t.tried[n] = true
	return sleep(ctx, pause(t.misses-1))
}

// connect returns a connection for the next attempt, and opens one if necessary.
func (r *router) connect(ctx context.Context, t *trial) (*node, *conn, error) {
	for {
		if ctx.Err() != nil {
			return nil, nil, r.gaveUp(ctx, t)
		}
		choice := r.pick(t)
		if choice.evicted != nil {
			choice.evicted.close()
		}
		switch {
		case choice.node != nil && choice.conn != nil:
			return choice.node, choice.conn, nil
		case choice.node != nil:
			c, err := r.openOn(ctx, choice.node)
			if err == nil {
				return choice.node, c, nil
			}
			r.unreachable(ctx, t, choice.node, err)
		case choice.none:
			if err := r.nextRound(ctx, t); err != nil {
				return nil, nil, err
			}
		default:
			if err := await(ctx, t, choice); err != nil {
				return nil, nil, err
			}
		}
	}
}

// unreachable records that a connection could not be opened.
func (r *router) unreachable(ctx context.Context, t *trial, n *node, err error) {
	if ctx.Err() != nil && t.known(err) {
		return
	}
	r.failed(n)
	t.failed(n, err)
}

// await waits for a connection to be released or a throttle to end. A throttle that outlasts the call ends it at once.
func await(ctx context.Context, t *trial, c choice) error {
	if c.wait <= 0 {
		select {
		case <-c.released:
		case <-ctx.Done():
		}
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < c.wait {
		return throttled(t.request.name)
	}
	sleep(ctx, c.wait)
	return nil
}

// nextRound is called when all brokers were tried. It ends the call if a login was refused: more attempts would only lock the account.
func (r *router) nextRound(ctx context.Context, t *trial) error {
	t.rounds++
	if t.foreign != "" && t.misses == 0 {
		return r.foreignOnly(ctx, t)
	}
	// One that hangs may be the last leader, so that the others are about to elect another one.
	if len(t.follow) > 0 && time.Since(t.began) >= electionTime && time.Since(t.round) < hungAfter {
		return r.noLeader(t.follow)
	}
	t.follow = nil
	defer func() { t.round = time.Now() }()
	if t.refused != nil {
		return r.notLoggedIn(t.refused)
	}
	if t.rounds > 1 && t.aborted > 0 && t.aborted == t.failures {
		return r.notLoggedIn(t.last)
	}
	if t.request.rounds > 0 && t.rounds >= t.request.rounds {
		return r.gaveUp(ctx, t)
	}
	clear(t.tried)
	sleep(ctx, pause(t.rounds-1))
	if t.request.broker == anyBroker {
		return nil
	}
	// Its address may have changed. If nobody reports addresses, its own failure says more than theirs.
	if err := r.find(ctx, t.request.broker); !r.knows(t.request.broker) {
		return err
	}
	return nil
}

// find reads the address of the broker with this id from any broker.
func (r *router) find(ctx context.Context, id int32) error {
	err := r.relearn(ctx)
	if err == nil && !r.knows(id) {
		return r.unregistered(id)
	}
	return err
}

// relearn reads the list of all brokers from any broker.
func (r *router) relearn(ctx context.Context) error {
	var refused error
	_, err := r.do(ctx, &request{name: requestDescribeCluster, broker: anyBroker, run: func(ctx context.Context, c *conn) error {
		resp, err := r.describeCluster(ctx, c)
		if err == nil {
			refused = codeError(int16(resp.Err), text(resp.ErrorMessage))
		}
		return err
	}})
	if err != nil {
		return err
	}
	return refused
}

// attemptContext bounds one attempt so that a broker that hangs leaves time for others.
func (r *router) attemptContext(ctx context.Context, t *trial) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok || t.request.repeat == once || t.request.broker != anyBroker || r.known() < 2 {
		return context.WithCancel(ctx)
	}
	left := time.Until(deadline)
	switch {
	case r.kind == controllers && t.rounds == 0:
		return context.WithTimeout(ctx, min(firstRound, left/2))
	case t.attempts == 0:
		return context.WithTimeout(ctx, min(firstAttempt, left/2))
	}
	return context.WithTimeout(ctx, left*3/4)
}

// probeContext bounds the cheap requests that precede others.
func (r *router) probeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := r.settings.dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, limit)
}

// brokerTimeout is the timeout for the broker: a little less than ours, so that its answer arrives.
func brokerTimeout(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return defaultRequestTimeout
	}
	return max(time.Until(deadline)*9/10, time.Millisecond)
}

// isTimeout reports whether err is a timeout, rather than a closed connection.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &timeout) && timeout.Timeout()
}

// pause returns the delay after the given number of pauses, with jitter.
func pause(before int) time.Duration {
	d := min(maxPause, minPause<<min(before, 10))
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d, and returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// authenticationFailed reports whether sarama's error is a refused renewal of the login.
func authenticationFailed(err error) bool {
	return errors.Is(err, sarama.ErrSASLAuthenticationFailed) || errors.Is(err, sarama.ErrUnsupportedSASLMechanism) ||
		errors.Is(err, sarama.ErrIllegalSASLState)
}
