package roller

import "encoding/json"

// Fact is a value that was observed, or the reason why it is unknown. The zero Fact is unknown. Unknown is never treated as "no": a
// decision that needs the fact waits.
type Fact[T any] struct {
	value T
	known bool
	why   string
}

// Known returns a fact with a value.
func Known[T any](value T) Fact[T] { return Fact[T]{value: value, known: true} }

// Unknown returns a fact without a value. why is the reason why it could not be read.
func Unknown[T any](why string) Fact[T] { return Fact[T]{why: why} }

// Get returns the value, and whether there is one.
func (f Fact[T]) Get() (T, bool) { return f.value, f.known }

// Or returns the value, or other if it is unknown.
func (f Fact[T]) Or(other T) T {
	if f.known {
		return f.value
	}
	return other
}

// IsKnown reports whether there is a value.
func (f Fact[T]) IsKnown() bool { return f.known }

// Why explains why there is no value; it is never empty for an unknown fact.
func (f Fact[T]) Why() string {
	switch {
	case f.known:
		return ""
	case f.why == "":
		return "not observed yet"
	}
	return f.why
}

// unknownFact is the JSON form of an unknown fact.
type unknownFact struct {
	Unknown *string `json:"unknown"`
}

// MarshalJSON encodes the value itself, or an object with the single key "unknown" and the reason.
func (f Fact[T]) MarshalJSON() ([]byte, error) {
	if f.known {
		return json.Marshal(f.value)
	}
	why := f.Why()
	return json.Marshal(unknownFact{&why})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Fact[T]) UnmarshalJSON(data []byte) error {
	var u unknownFact
	if json.Unmarshal(data, &u) == nil && u.Unknown != nil {
		*f = Unknown[T](*u.Unknown)
		return nil
	}
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	*f = Known(value)
	return nil
}
