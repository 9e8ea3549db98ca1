package brokerconfig

import "github.com/kafka-operators/kafka-operators/kafka/configdef"

// Verdict is whether a key may have a value, by Kafka's own definition of the key.
type Verdict uint8

// The verdicts.
const (
	// Undecided: the key is unknown, or only Kafka's code can decide.
	Undecided Verdict = iota
	// Legal values are taken by a node that starts.
	Legal
	// Illegal values keep a node from starting.
	Illegal
)

// Judge reports whether a key may have a value, by its definition alone: a legal value may still not fit to other keys, or to a node that
// runs.
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
