package settings

import (
	"errors"
	"fmt"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// Error is an error about the value of one setting.
type Error struct {
	// Setting is the variable, or the flag with its dashes, that has the value.
	Setting string
	// Value is the text as given; asterisks for a secret.
	Value string
	// Problem describes what is wrong. It never contains a secret.
	Problem string
	// Remedy describes how to fix it.
	Remedy string
}

// Error returns setting, value, problem and remedy in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("%s=%q: %s; %s", e.Setting, e.Value, e.Problem, e.Remedy)
}

// MissingError is the error of a mandatory setting that was not given.
type MissingError struct {
	// Setting is the variable, Flag the flag with its dashes; either is sufficient.
	Setting, Flag string
}

// Error starts with Strimzi's text, which users search for.
func (e *MissingError) Error() string {
	return fmt.Sprintf("Config value: %s is mandatory; set the variable or %s", e.Setting, e.Flag)
}

// DuplicateError is the error of a setting that was given twice in one place.
type DuplicateError struct {
	// Setting is the variable, or the flag with its dashes.
	Setting string
}

// Error starts with Strimzi's text.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("duplicate key: %s; give it once", e.Setting)
}

// Invalid returns the error of a [Parser]: the problem of a text, and the remedy. Neither may quote a secret.
func Invalid(problem, remedy string) error {
	return &credentials.Invalid{Problem: problem, Remedy: remedy}
}

// Named adds the setting to an error of a parser. shown is the value, or asterisks for a secret.
func Named(setting, shown string, err error) error {
	var v *credentials.Invalid
	if errors.As(err, &v) {
		return &Error{Setting: setting, Value: shown, Problem: v.Problem, Remedy: v.Remedy}
	}
	return fmt.Errorf("%s: %w", setting, err)
}
