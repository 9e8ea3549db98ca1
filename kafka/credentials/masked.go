package credentials

import (
	"fmt"
	"io"
)

// Mask replaces a secret in all output.
const Mask = "********"

// Masked is a secret text that prints as asterisks. The zero value is the empty text.
//
// The text is behind a pointer because fmt prints a value without calling its methods if a verb does not fit or a field is not exported; it
// prints a pointer as an address.
type Masked struct{ text *string }

// Conceal returns a secret as a Masked.
func Conceal(text string) Masked {
	if text == "" {
		return Masked{}
	}
	return Masked{&text}
}

// Reveal returns the secret itself.
func (m Masked) Reveal() string {
	if m.text == nil {
		return ""
	}
	return *m.text
}

// IsEmpty reports whether there is no secret.
func (m Masked) IsEmpty() bool { return m.text == nil }

// String returns asterisks, or nothing if there is no secret.
func (m Masked) String() string {
	if m.IsEmpty() {
		return ""
	}
	return Mask
}

// Format prints asterisks for every verb.
func (m Masked) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.String()) }

// MarshalText returns asterisks, for JSON, YAML and structured logs.
func (m Masked) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
