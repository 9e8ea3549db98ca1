package options

import (
	"fmt"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// SettingError says what is wrong with one setting, and what to do about it.
type SettingError struct {
	// Setting is the variable, or the flag with its dashes, that holds the value.
	Setting string
	// Value is the text as given; asterisks for a secret.
	Value string
	// Problem is what is wrong. It never holds a secret.
	Problem string
	// Remedy is what to do.
	Remedy string
}

// Error returns setting, value, problem and remedy in one line.
func (e *SettingError) Error() string {
	return fmt.Sprintf("%s=%q: %s; %s", e.Setting, e.Value, e.Problem, e.Remedy)
}

// MissingError says that a setting without a default was not given.
type MissingError struct {
	// Setting is the variable, Flag the flag with its dashes; either will do.
	Setting, Flag string
}

// Error starts with Strimzi's text, which users search for.
func (e *MissingError) Error() string {
	return fmt.Sprintf("Config value: %s is mandatory; set the variable or %s", e.Setting, e.Flag)
}

// DuplicateError says that a setting was given twice in one place, so that nobody can tell which one is meant.
type DuplicateError struct {
	// Setting is the variable, or the flag with its dashes.
	Setting string
}

// Error starts with Strimzi's text.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("duplicate key: %s; give it once", e.Setting)
}

// valueError is what a parser knows: the problem and the remedy, but not whose value it is.
type valueError = credentials.Invalid

func invalid(problem, remedy string) error { return &valueError{Problem: problem, Remedy: remedy} }
