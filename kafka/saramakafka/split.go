package saramakafka

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// maxRecords is the maximum weight of a changing request. A KRaft controller writes the records of one request as one batch of at most
	// 10,000 (KAFKA-17870), and rejects more or, before 3.9, crashes. The margin is for records that we don't foresee.
	maxRecords = 2000
	// maxChanges bounds the items of such a request.
	maxChanges = 500
	// unknownPartitions is the weight of a topic with the broker's default number of partitions.
	unknownPartitions = 50
	// maxNames and maxConfigs bound the answers to reads: about 1 MB each.
	maxNames   = 1000
	maxConfigs = 500
	// longText is the size of texts from which an item gets a request of its own, after all others: a broker that can't process them drops
	// the connection, with everything in the request.
	longText = 8 * 1024
	// maxThrown is how many items of one request the controller may fail to process one by one, until the others are left for later.
	maxThrown = 8
)

// batch describes a request with many items of type I, each of which has its own answer R. K identifies an item.
type batch[K comparable, I, R any] struct {
	name     string
	repeat   repeat
	mutation bool
	leader   bool
	// thrown means that an item which the controller can't process may fail the others of its request with it.
	thrown    bool
	maxItems  int
	maxWeight int // zero for reads: unlimited

	key    func(I) K
	weight func(I) int
	// text, if set, returns the number of bytes of text in an item.
	text func(I) int
	// equal reports whether two items with one key request the same. If not, neither is sent.
	equal func(a, b I) bool
	// refuse, if set, returns why an item can't be sent.
	refuse func(I) error
	// broker, if set, returns the only broker that can answer for an item, or anyBroker.
	broker func(I) int32
	// send sends one request and returns the answers.
	send func(ctx context.Context, c *conn, items []I) (map[K]R, error)
	// failure converts an error to an answer, and reason converts it back.
	failure func(error) R
	reason  func(R) error
}

// run sends all items, in as many requests as it takes, and returns one answer for each key.
func (b *batch[K, I, R]) run(ctx context.Context, c *client, items []I) (map[K]R, error) {
	out := make(map[K]R, len(items))
	pending := b.distinct(items, out)
	if len(pending) == 0 {
		return out, nil
	}
	ctx, r, done, err := c.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	asked := false
	var first error
	for _, s := range b.sendAll(ctx, r, b.parts(pending)) {
		maps.Copy(out, s.answers)
		asked = asked || s.err == nil || s.sent && b.changes()
		if s.err != nil && first == nil {
			first = s.err
		}
	}
	if first != nil && !asked && len(pending) == len(out) {
		return nil, first
	}
	return out, nil
}

// sending is the result of one part of a batch.
type sending[K comparable, R any] struct {
	answers map[K]R
	sent    bool
	err     error
}

// sendAll sends all parts. Parts for single brokers are sent concurrently, each with its own timeout, so that a broker that hangs delays no
// other part; the other parts are sent one after the other.
func (b *batch[K, I, R]) sendAll(ctx context.Context, r *router, parts [][]I) []sending[K, R] {
	out := make([]sending[K, R], len(parts))
	var single, others []func()
	for i, part := range parts {
		out[i].answers = make(map[K]R, len(part))
		send := func(ctx context.Context) { out[i].sent, out[i].err = b.part(ctx, r, part, out[i].answers) }
		if b.brokerOf(part[0]) == anyBroker {
			others = append(others, func() { send(ctx) })
			continue
		}
		single = append(single, func() {
			ctx, cancel := context.WithTimeout(ctx, r.settings.nodeTimeout)
			defer cancel()
			send(ctx)
		})
	}
	inParallel(maxNodesAtOnce, append([]func(){func() { inOrder(others) }}, single...))
	return out
}

// inOrder runs functions one after the other.
func inOrder(functions []func()) {
	for _, f := range functions {
		f()
	}
}

// brokerOf returns the only broker that can answer for an item, or anyBroker.
func (b *batch[K, I, R]) brokerOf(item I) int32 {
	if b.broker == nil {
		return anyBroker
	}
	return b.broker(item)
}

// changes reports whether the request is a write. For a read, it does not matter whether it was executed.
func (b *batch[K, I, R]) changes() bool { return b.maxWeight > 0 }

// distinct returns the items to send: each key once, and only valid ones. It answers the others in out.
func (b *batch[K, I, R]) distinct(items []I, out map[K]R) []I {
	at := make(map[K]int, len(items))
	kept := make([]I, 0, len(items))
	conflicts := false
	for _, item := range items {
		key := b.key(item)
		if i, ok := at[key]; ok {
			if b.equal != nil && !b.equal(kept[i], item) {
				conflicts = true
				out[key] = b.failure(kafka.NewError(kafka.CodeInvalidRequest,
					"The batch contains this item twice, with different values; neither was executed."))
			}
			continue
		}
		at[key] = len(kept)
		kept = append(kept, item)
		if b.refuse != nil {
			if err := b.refuse(item); err != nil {
				conflicts = true
				out[key] = b.failure(err)
			}
		}
	}
	if !conflicts {
		return kept
	}
	pending := kept[:0]
	for _, item := range kept {
		if _, answered := out[b.key(item)]; !answered {
			pending = append(pending, item)
		}
	}
	return pending
}

// parts splits items into requests, each of which goes to one broker.
func (b *batch[K, I, R]) parts(items []I) [][]I {
	groups := map[int32][]I{}
	var alone [][]I
	for _, item := range items {
		if b.text != nil && b.text(item) > longText {
			alone = append(alone, []I{item})
			continue
		}
		id := b.brokerOf(item)
		groups[id] = append(groups[id], item)
	}
	var parts [][]I
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		parts = append(parts, b.split(groups[id])...)
	}
	return append(parts, alone...)
}

// split splits items into parts that fit into one request.
func (b *batch[K, I, R]) split(items []I) [][]I {
	var parts [][]I
	start, weight := 0, 0
	for i, item := range items {
		w := 0
		if b.weight != nil {
			w = b.weight(item)
		}
		if i > start && (i-start >= b.maxItems || b.maxWeight > 0 && weight+w > b.maxWeight) {
			parts = append(parts, items[start:i])
			start, weight = i, 0
		}
		weight += w
	}
	return append(parts, items[start:])
}

// part sends one part and stores the answers in out, including the error, if any.
func (b *batch[K, I, R]) part(ctx context.Context, r *router, items []I, out map[K]R) (sent bool, err error) {
	pending := items
	var notController map[K]R
	req := &request{name: b.name, repeat: b.repeat, changes: b.changes(), mutation: b.mutation, leader: b.leader, broker: b.brokerOf(items[0]),
		run: func(ctx context.Context, c *conn) error {
			answers, err := b.send(ctx, c, pending)
			if err != nil {
				return err
			}
			notController = answers
			pending = b.accept(pending, answers, out)
			if len(pending) > 0 {
				return errNotController
			}
			return nil
		}}
	if gate := kafka.GateOf[K](ctx); gate != nil && b.changes() {
		req.admit = func(ctx context.Context) bool {
			refused := gate(ctx, b.keys(pending))
			for key, why := range refused {
				out[key] = b.failure(why)
			}
			items, pending = b.without(items, refused), b.without(pending, refused)
			return len(pending) > 0
		}
	}
	sent, err = r.do(ctx, req)
	if err != nil {
		for _, item := range pending {
			key := b.key(item)
			answer, ok := notController[key]
			if !ok || !errors.Is(err, errNotController) {
				answer = b.failure(err)
			}
			out[key] = answer
		}
		return sent, err
	}
	if b.tooLarge(items, out) {
		half := len(items) / 2
		_, err1 := b.part(ctx, r, items[:half], out)
		_, err2 := b.part(ctx, r, items[half:], out)
		return true, errors.Join(err1, err2)
	}
	if b.thrown && len(items) > 1 && b.all(items, out, isThrown) {
		return true, b.alone(ctx, r, items, out)
	}
	return sent, nil
}

// alone sends each item in a request of its own, after the controller failed to process all of them: up to Kafka 4.1, a CreateTopicPolicy
// that throws fails the whole request. Each such request makes the controller resign, so that halves would cost more elections, and the
// rest keeps its answer after maxThrown of them. The order is random, so that the rest is not always the same.
func (b *batch[K, I, R]) alone(ctx context.Context, r *router, items []I, out map[K]R) error {
	thrown := 0
	for _, i := range rand.Perm(len(items)) {
		if _, err := b.part(ctx, r, items[i:i+1], out); err != nil {
			return err
		}
		if b.all(items[i:i+1], out, isThrown) {
			thrown++
		}
		if thrown == maxThrown {
			return nil
		}
	}
	return nil
}

func (b *batch[K, I, R]) keys(items []I) []K {
	keys := make([]K, len(items))
	for i, item := range items {
		keys[i] = b.key(item)
	}
	return keys
}

// without returns the items that were not refused.
func (b *batch[K, I, R]) without(items []I, refused map[K]error) []I {
	if len(refused) == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(item I) bool {
		_, gone := refused[b.key(item)]
		return gone
	})
}

// accept moves answers to out, and returns the items that must be sent again because the broker was not the controller.
func (b *batch[K, I, R]) accept(items []I, answers, out map[K]R) []I {
	var again []I
	for _, item := range items {
		key := b.key(item)
		answer, ok := answers[key]
		if !ok {
			answer = b.failure(kafka.NewError(kafka.CodeUnknownServer, "The broker's response does not contain this item."))
		}
		var kafkaErr *kafka.Error
		if errors.As(b.reason(answer), &kafkaErr) && kafkaErr.Code == kafka.CodeNotController {
			again = append(again, item)
			continue
		}
		out[key] = answer
	}
	return again
}

// tooLarge reports whether the controller rejected all items because there were too many. A policy may use the same code, so it checks the
// text.
func (b *batch[K, I, R]) tooLarge(items []I, out map[K]R) bool {
	return b.changes() && len(items) > 1 && b.all(items, out, isTooLarge)
}

// all reports whether the answers to all items are errors of a kind.
func (b *batch[K, I, R]) all(items []I, out map[K]R, kind func(*kafka.Error) bool) bool {
	for _, item := range items {
		var err *kafka.Error
		if !errors.As(b.reason(out[b.key(item)]), &err) || !kind(err) {
			return false
		}
	}
	return true
}

// isThrown reports whether the controller failed to process a request.
func isThrown(err *kafka.Error) bool { return err.Code == kafka.CodeUnknownServer }

// isTooLarge detects the controller's messages: "Excessively large number of partitions per request." (ReplicationControlManager), "Unable
// to perform excessively large batch operation." (ReplicationControlManager, ConfigurationControlManager), and "Attempted to atomically
// commit 12345 records, but maxRecordsPerBatch is 10000" (QuorumController).
func isTooLarge(err *kafka.Error) bool {
	text := strings.ToLower(err.Message)
	switch err.Code {
	case kafka.CodePolicyViolation, kafka.CodeInvalidRequest, kafka.CodeUnknownServer:
		return strings.Contains(text, "excessively large") || strings.Contains(text, "maxrecordsperbatch")
	}
	return false
}
