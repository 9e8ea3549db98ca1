package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// UnknownFields names the fields of an object, as the API server gave it (JSON), that the Go type of its spec does not have: there are some
// only where another CRD than ours is installed, because ours lets the API server drop them.
func UnknownFields[Spec any](kind string, raw []byte) ([]Problem, error) {
	var object struct { // without the decoder of the object's type, which is not strict
		metav1.ObjectMeta `json:"metadata"`
		Spec              Spec `json:"spec"`
	}
	wrong, err := kjson.UnmarshalStrict(raw, &object, kjson.DisallowUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
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
		pool = object.Name
	}
	var problems []Problem
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		names := slices.Sorted(slices.Values(byPath[path]))
		problems = append(problems, Problem{Code: "UnknownFields", Pool: pool, Reason: v1.ReasonUnknownFields,
			Message: unknownFields(kind, object.Namespace, object.Name, path, names)})
	}
	return problems, nil
}
