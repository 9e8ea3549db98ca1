package validate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// UnknownFields names the fields of an object, as the API server gave it (JSON), that its Go type does not have: there are some only where
// another CRD than ours is installed, because ours lets the API server drop them. The object is of its Go type, and is overwritten.
func UnknownFields(kind string, raw []byte, object runtime.Object) ([]Problem, error) {
	wrong, err := kjson.UnmarshalStrict(raw, object, kjson.DisallowUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	named, ok := object.(interface {
		GetNamespace() string
		GetName() string
	})
	if !ok {
		return nil, errors.New(kind + " has no name")
	}
	byPath := map[string][]string{}
	for _, w := range wrong {
		if field, found := strings.CutPrefix(w.Error(), `unknown field "`); found {
			field = strings.TrimSuffix(field, `"`)
			dot := strings.LastIndexByte(field, '.')
			byPath[field[:max(dot, 0)]] = append(byPath[field[:max(dot, 0)]], field[dot+1:])
		}
	}
	pool := ""
	if kind == "KafkaNodePool" {
		pool = named.GetName()
	}
	var problems []Problem
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		names := slices.Sorted(slices.Values(byPath[path]))
		problems = append(problems, Problem{Code: "UnknownFields", Pool: pool, Reason: v1.ReasonUnknownFields,
			Message: unknownFields(kind, named.GetNamespace(), named.GetName(), path, names)})
	}
	return problems, nil
}
