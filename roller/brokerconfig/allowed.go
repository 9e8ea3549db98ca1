package brokerconfig

import "github.com/kafka-operators/kafka-operators/kafka/configdef"

// Verdict is the result of checking a value against Kafka's definition of the key.
type Verdict uint8

// The verdicts.
const (
	// Undecided means that the key is unknown, or that only Kafka's code can decide.
	Undecided Verdict = iota
	// Legal values do not prevent a node from starting.
	Legal
	// Illegal values prevent a node from starting.
	Illegal
)

// Judge checks a value against the definition of its key alone: a legal value may still contradict other keys, or be rejected by a running
// node.
func (t *Table) Judge(key, value string) Verdict {
	k, known := t.keys[key]
	switch {
	case !known || configdef.Refers(value):
		return Undecided
	case len(k.Check(value)) > 0:
		return Illegal
	case k.Values.Code:
		return Undecided
	}
	return Legal
}
