package validate

import (
	"math"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// topicOperator checks what the topic operator would reject at its start, when the one before it has ended.
func (f *findings) topicOperator() {
	to := or(or(f.Kafka.Spec.EntityOperator, v1.EntityOperatorSpec{}).TopicOperator, v1.EntityTopicOperatorSpec{})
	for _, interval := range []struct {
		field string
		value *int64
		unit  time.Duration
	}{
		{"reconciliationIntervalMs", to.ReconciliationIntervalMs, time.Millisecond},
		{"reconciliationIntervalSeconds", to.ReconciliationIntervalSeconds, time.Second},
	} {
		if most := math.MaxInt64 / int64(interval.unit); interval.value != nil && (*interval.value < 1 || *interval.value > most) {
			f.invalid("IntervalInvalid", ".spec.entityOperator.topicOperator.%s is %d: it must be from 1 to %d", interval.field, *interval.value,
				most)
		}
	}
}
