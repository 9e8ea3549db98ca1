// Package decode reads custom resources of which an API server has stored more than their Go types can hold, such as a number beyond 32
// bits, or a text in place of a number: Strimzi's CustomResourceDefinitions allow that. One such object must not keep its whole list from
// being read.
package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Object decodes data into object, as a Kubernetes client does; spec and status are its fields. What of these two can't be decoded is left
// empty, except for the conditions of the status, and invalid names the field and its value. object must not have an UnmarshalJSON that
// calls Object.
func Object[Spec, Status any](data []byte, object any, spec **Spec, status *Status) (invalid string, err error) {
	endless := endlessIn(data)
	if endless == "" && kjson.UnmarshalCaseSensitivePreserveInts(data, object) == nil {
		return "", nil
	}
	parts := map[string]json.RawMessage{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &parts); err != nil {
		return "", err
	}
	rest := map[string]json.RawMessage{}
	for name, part := range parts {
		if name != "spec" && name != "status" {
			rest[name] = part
		}
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return "", err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, object); err != nil {
		return "", err
	}
	var reasons []string
	var why string
	if why = endless; why != "" {
		*spec = nil
	} else {
		*spec, why = part[*Spec]("spec", parts)
	}
	if why != "" {
		reasons = append(reasons, why)
	}
	if *status, why = part[Status]("status", parts); why != "" {
		reasons = append(reasons, why+" (kubectl edit --subresource=status corrects it)")
		*status = conditions[Status](parts["status"])
	}
	return strings.Join(reasons, "; "), nil
}

// part decodes a field of an object. If that fails, it returns the zero value, and why.
func part[T any](name string, parts map[string]json.RawMessage) (T, string) {
	var value, none T
	if parts[name] == nil {
		return none, ""
	}
	err := kjson.UnmarshalCaseSensitivePreserveInts(parts[name], &value)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		path := name
		if wrong.Field != "" {
			path += "." + wrong.Field
		}
		return none, fmt.Sprintf(".%s is not a value of type %s: %s", path, wrong.Type, wrong.Value)
	}
	if err != nil {
		return none, fmt.Sprintf(".%s: %v", name, err)
	}
	return value, ""
}

// conditions decodes the conditions of a status alone: who reports that the rest can't be decoded sees there that it did.
func conditions[Status any](status json.RawMessage) (value Status) {
	var only struct {
		Conditions json.RawMessage `json:"conditions,omitempty"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(status, &only) != nil {
		return value
	}
	text, err := json.Marshal(only)
	if err != nil {
		return value
	}
	value, _ = part[Status]("status", map[string]json.RawMessage{"status": text})
	return value
}
