package options

import (
	"fmt"
	"io"
)

// mask stands for a secret in everything that is printed.
const mask = "********"

// Masked is a secret text. It prints as asterisks, however it is printed; string(m) is the secret itself.
type Masked string

// String returns asterisks, or nothing if there is no secret.
func (m Masked) String() string {
	if m == "" {
		return ""
	}
	return mask
}

// Format prints asterisks for every verb: fmt would show the secret for verbs that don't fit, such as %d.
func (m Masked) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.String()) }

// MarshalText returns asterisks, for JSON, YAML and structured logs.
func (m Masked) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
