package decode

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// endless matches a quantity with an exponent of more than two digits: no machine has that much, and to compute it takes hours. API servers
// store such a text in a custom resource, because it looks like a quantity.
var endless = regexp.MustCompile(`^[+-]?[0-9.]+[eE][+-]?0*[1-9][0-9]{2,}$`)

// endlessQuantity describes the first such quantity below a value at a path; empty if there is none.
func endlessQuantity(path string, value any) string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at, inner := path+"."+key, value[key]
			switch key {
			case "limits", "requests":
				if all, is := inner.(map[string]any); is {
					for _, name := range slices.Sorted(maps.Keys(all)) {
						if why := notComputed(at+"."+name, all[name]); why != "" {
							return why
						}
					}
				}
			case "sizeLimit", "divisor":
				if why := notComputed(at, inner); why != "" {
					return why
				}
			}
			if why := endlessQuantity(at, inner); why != "" {
				return why
			}
		}
	case []any:
		for i, inner := range value {
			if why := endlessQuantity(fmt.Sprintf("%s[%d]", path, i), inner); why != "" {
				return why
			}
		}
	}
	return ""
}

func notComputed(path string, value any) string {
	if text, is := value.(string); is && endless.MatchString(text) {
		return fmt.Sprintf("%s is not a quantity: %s", path, text)
	}
	return ""
}

// endlessIn describes the first quantity of an object's specification that takes too long to compute; empty if there is none.
func endlessIn(data []byte) string {
	if !exponent(data) {
		return ""
	}
	var object struct {
		Spec any `json:"spec"`
	}
	if json.Unmarshal(data, &object) != nil {
		return "" // whoever decodes it reports that
	}
	return endlessQuantity(".spec", object.Spec)
}

// exponent reports whether there is a text that ends like a number with an exponent of at least three digits. Objects are large, and most
// have none.
func exponent(data []byte) bool {
	for i := 1; i < len(data); i++ {
		if data[i] != 'e' && data[i] != 'E' || data[i-1] != '.' && !digit(data[i-1]) {
			continue
		}
		end := i + 1
		for end < len(data) && (digit(data[end]) || data[end] == '+' || data[end] == '-') {
			end++
		}
		if end-i > 3 && end < len(data) && data[end] == '"' {
			return true
		}
	}
	return false
}

func digit(b byte) bool { return '0' <= b && b <= '9' }
