package apply

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// whole are the fields of each kind to which nobody may add: what they select, whom they let in, what rights they give, and pods.
// Server-side apply replaces each of them as a whole, whoever set it.
var whole = map[string][][]string{
	"Service":             {{"spec", "selector"}},
	"NetworkPolicy":       {{"spec", "podSelector"}, {"spec", "policyTypes"}, {"spec", "ingress"}, {"spec", "egress"}},
	"PodDisruptionBudget": {{"spec", "selector"}},
	"Role":                {{"rules"}},
	"RoleBinding":         {{"subjects"}},
	"StrimziPodSet":       {{"spec", "selector"}, {"spec", "pods"}},
}

// added returns the path of the first field to which somebody added something, or "". A field that is not wanted at all becomes wanted as
// empty: if it is not applied, server-side apply leaves it to whoever set it.
func added(wanted, live *unstructured.Unstructured) (string, error) {
	for _, path := range whole[wanted.GetKind()] {
		w, is, err := unstructured.NestedFieldNoCopy(wanted.Object, path...)
		if err != nil {
			return "", err
		}
		l, _, err := unstructured.NestedFieldNoCopy(live.Object, path...)
		if err != nil {
			return "", err
		}
		if same(w, l) || isEmpty(w) && isEmpty(l) {
			continue
		}
		if !is {
			if err := unstructured.SetNestedField(wanted.Object, emptied(l), path...); err != nil {
				return "", err
			}
		}
		return "." + strings.Join(path, "."), nil
	}
	return "", nil
}

// isEmpty reports whether a field selects or lists nothing.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

func emptied(v any) any {
	if _, list := v.([]any); list {
		return []any{}
	}
	return map[string]any{}
}

// same reports whether two values of JSON are equal, with nothing more in one of them.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		for key := range y {
			ok = ok && (x[key] != nil || y[key] == nil)
		}
		for key := range x {
			ok = ok && same(x[key], y[key])
		}
		return ok
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, same)
	}
	return equal(a, b)
}

// drifts returns whether a field is wanted that the live object does not have, and the path of the first one. It ignores additions of
// others, except in an atomic list. It builds paths only for differences, which are rare.
func drifts(wanted, live any) (path string, differs bool) {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return "", len(w) > 0 || live != nil
		}
		for key, value := range w {
			if key == "finalizers" && lacksNone(value, l[key]) {
				continue
			}
			if path, differs := drifts(value, l[key]); differs {
				return "." + key + path, true
			}
		}
		return "", false
	case []any:
		l, ok := live.([]any)
		if !ok && len(w) == 0 && live == nil {
			return "", false
		}
		if !ok || len(l) < len(w) {
			return "", true
		}
		return listDrifts(w, l)
	default:
		return "", !equal(wanted, live)
	}
}

// lacksNone reports whether a live list has all that is wanted, in whatever order: finalizers are a set, to which controllers of load
// balancers add their own.
func lacksNone(wanted, live any) bool {
	w, is := wanted.([]any)
	l, _ := live.([]any)
	return is && !slices.ContainsFunc(w, func(v any) bool {
		return !slices.ContainsFunc(l, func(of any) bool { return same(v, of) })
	})
}

// listDrifts compares lists. Others may add elements only to lists whose elements have names, which server-side apply merges.
func listDrifts(wanted, live []any) (path string, differs bool) {
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
			return "", true
		}
		if path, differs := drifts(w, at); differs {
			return fmt.Sprintf("[%d]%s", i, path), true
		}
	}
	return "", len(wanted) == 0 && len(live) > 0
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
	if text, ok := a.(string); ok && b == any(text) {
		return true // as nearly all are
	}
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
	p, errA := v1.ParseQuantity(x)
	q, errB := v1.ParseQuantity(y)
	return errA == nil && errB == nil && p.Cmp(q) == 0
}

// isZero reports whether a value is equivalent to its absence: the API server drops empty strings, false and zero of optional fields.
func isZero(v any) bool {
	return v == "" || v == false || v == int64(0) || v == float64(0)
}

// toUnstructured returns an object as JSON has it, without what only the API server writes.
func toUnstructured(o client.Object) (*unstructured.Unstructured, error) {
	if u, is := o.(*unstructured.Unstructured); is {
		o = u.DeepCopy() // the converter does not copy it
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	return u, nil
}

// smaller reports whether a quantity is less than another one.
func smaller(a, b string) bool {
	p, errA := v1.ParseQuantity(a)
	q, errB := v1.ParseQuantity(b)
	return errA == nil && errB == nil && p.Cmp(q) < 0
}
