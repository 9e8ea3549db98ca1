package apply

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drifts returns the path of the first field that is wanted and that the live object does not have, or "". What others added is not
// looked at, unless it is in a list that is wanted as a whole.
func drifts(wanted, live any, path string) string {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			if len(w) == 0 && live == nil {
				return ""
			}
			return path
		}
		for key, value := range w {
			if d := drifts(value, l[key], path+"."+key); d != "" {
				return d
			}
		}
		return ""
	case []any:
		l, ok := live.([]any)
		if !ok && len(w) == 0 && live == nil {
			return ""
		}
		if !ok || len(l) < len(w) {
			return path
		}
		return listDrifts(w, l, path)
	default:
		if equal(wanted, live) {
			return ""
		}
		return path
	}
}

// listDrifts compares lists. Others may add elements only to lists whose elements have names, which server-side apply merges.
func listDrifts(wanted, live []any, path string) string {
	for i, w := range wanted {
		element, _ := w.(map[string]any)
		at := live[min(i, len(live)-1)]
		key := mergeKey(element)
		if key != "" {
			at = nil
			for _, l := range live {
				if m, ok := l.(map[string]any); ok && equal(m[key], element[key]) {
					at = m
				}
			}
		} else if len(live) != len(wanted) {
			return path
		}
		if d := drifts(w, at, fmt.Sprintf("%s[%d]", path, i)); d != "" {
			return d
		}
	}
	if len(wanted) == 0 && len(live) > 0 {
		return path
	}
	return ""
}

// mergeKey returns the key that server-side apply identifies an element of a list by, as far as the lists that are wanted here have one.
func mergeKey(element map[string]any) string {
	for _, key := range []string{"uid", "name"} {
		if _, has := element[key]; has {
			return key
		}
	}
	return ""
}

// equal compares two values of JSON. Quantities are equal if they are the same number.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	if x == y {
		return a != nil && b != nil
	}
	if isZero(a) && b == nil {
		return true
	}
	p, errA := resource.ParseQuantity(x)
	q, errB := resource.ParseQuantity(y)
	return errA == nil && errB == nil && p.Cmp(q) == 0
}

// isZero reports whether a value says as much as its absence: the API server drops empty texts, false and zero of optional fields.
func isZero(v any) bool {
	return v == "" || v == false || v == int64(0) || v == float64(0)
}

// toUnstructured returns an object as JSON has it, without what only the API server writes.
func toUnstructured(o client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	// Through JSON, so that numbers have the same types everywhere.
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		return nil, err
	}
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	return u, nil
}

// smaller reports whether a quantity is less than another one.
func smaller(a, b string) bool {
	p, errA := resource.ParseQuantity(a)
	q, errB := resource.ParseQuantity(b)
	return errA == nil && errB == nil && p.Cmp(q) < 0
}
