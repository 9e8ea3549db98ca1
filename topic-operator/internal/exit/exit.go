// Package exit has the way in which commands end.
package exit

import "strconv"

// Status is the exit status of a command that did not succeed and has printed why. It is an error, as which cobra's commands return it.
type Status int

// Usage is the status of a wrong command line.
const Usage Status = 2

// Error implements error.
func (s Status) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// With returns the error of a command that ends with the status; nil for 0.
func With(status Status) error {
	if status == 0 {
		return nil
	}
	return status
}
