package saramakafka_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

// An attempt may come long after the previous one, so the gate has to be asked again.
func TestAGateIsAskedBeforeEachAttempt(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 3})
	a := connect(t, quick(e))
	id := createOne(t, a, "kept").ID
	withdrawn := errors.New("withdrawn")
	asked := 0
	ctx := kafka.WithGate(within(t, patience), func(context.Context, []kafka.TopicID) map[kafka.TopicID]error {
		if asked++; asked == 1 {
			return nil
		}
		return map[kafka.TopicID]error{id: withdrawn}
	})
	lost := e.Inject(kafkatest.Fault{Requests: []string{"DeleteTopics"}, Drop: true})
	deleted, err := a.DeleteTopics(ctx, []kafka.TopicID{id})
	if err != nil || !errors.Is(deleted[id], withdrawn) || asked != 2 || lost.Hits() != 1 {
		t.Errorf("got %v, %v, with %d questions to the gate and %d requests", deleted[id], err, asked, lost.Hits())
	}
	if described, err := a.DescribeTopics(within(t, patience), []string{"kept"}); err != nil || described["kept"].Err != nil {
		t.Errorf("the topic is gone: %v, %v", described, err)
	}
}

// A broker that hangs carries out a written request when it resumes, even if the request is not wanted any more. So it has to respond
// before the request is sent.
func TestAGateIsNotAskedForABrokerThatHangs(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 1})
	a := connect(t, quick(e))
	id := createOne(t, a, "kept").ID
	asked := 0
	gated := kafka.WithGate(t.Context(), func(context.Context, []kafka.TopicID) map[kafka.TopicID]error { asked++; return nil })
	ctx, leave := context.WithCancel(gated)
	hung := e.Inject(kafkatest.Fault{Requests: []string{"ApiVersions"}, Hang: true})
	go func() {
		_ = hung.Wait(t.Context(), 1) // fails only when the test has ended
		leave()
	}()
	deleted, err := a.DeleteTopics(ctx, []kafka.TopicID{id})
	if err == nil {
		err = deleted[id]
	}
	if !errors.Is(err, context.Canceled) || asked != 0 {
		t.Errorf("got %v, with %d questions to the gate", err, asked)
	}
}
