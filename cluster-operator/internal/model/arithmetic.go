package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// EvaluatePort computes a port from a template such as "9000 + {nodeId}": whole numbers, + - *, and parentheses.
func EvaluatePort(template string, id int32) (int32, error) {
	e := expression{rest: strings.ReplaceAll(strings.ReplaceAll(template, "{nodeId}", itoa(id)), " ", "")}
	result, err := e.sum(0)
	if err == nil && e.rest != "" {
		err = fmt.Errorf("unexpected %q", e.rest)
	}
	if err == nil && (result < 1 || result > 65535) {
		err = fmt.Errorf("%d is not a port", result)
	}
	if err != nil {
		return 0, fmt.Errorf("Invalid advertised port template: %s: %w", template, err) //nolint:staticcheck // Strimzi's message
	}
	return int32(result), nil
}

// expression is the unparsed rest of an expression.
type expression struct{ rest string }

// maxDepth bounds parentheses.
const maxDepth = 20

var errDeep = errors.New("too many parentheses")

func (e *expression) take(prefix string) bool {
	rest, found := strings.CutPrefix(e.rest, prefix)
	if found {
		e.rest = rest
	}
	return found
}

func (e *expression) sum(depth int) (int64, error) {
	left, err := e.product(depth)
	for err == nil {
		var right int64
		switch {
		case e.take("+"):
			right, err = e.product(depth)
			left += right
		case e.take("-"):
			right, err = e.product(depth)
			left -= right
		default:
			return left, nil
		}
	}
	return left, err
}

func (e *expression) product(depth int) (int64, error) {
	left, err := e.factor(depth)
	for err == nil && e.take("*") {
		var right int64
		right, err = e.factor(depth)
		left *= right
	}
	return left, err
}

func (e *expression) factor(depth int) (int64, error) {
	if e.take("(") {
		if depth == maxDepth {
			return 0, errDeep
		}
		inner, err := e.sum(depth + 1)
		if err == nil && !e.take(")") {
			err = errors.New("a parenthesis is not closed")
		}
		return inner, err
	}
	digits := len(e.rest) - len(strings.TrimLeft(e.rest, "0123456789"))
	if digits == 0 || digits > 9 {
		return 0, fmt.Errorf("a number is expected at %q", e.rest)
	}
	number, err := strconv.ParseInt(e.rest[:digits], 10, 64)
	e.rest = e.rest[digits:]
	return number, err
}
