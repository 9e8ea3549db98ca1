package configdef

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a key's values, by Kafka's names in lower case (ConfigDef.Type).
type Type string

// Kafka's types.
const (
	String   Type = "string"
	Class    Type = "class"
	Boolean  Type = "boolean"
	Short    Type = "short"
	Int      Type = "int"
	Long     Type = "long"
	Double   Type = "double"
	List     Type = "list"
	Password Type = "password"
)

var types = []Type{String, Class, Boolean, Short, Int, Long, Double, List, Password}

// bits are the sizes of the integer types.
var bits = map[Type]int{Short: 16, Int: 32, Long: 64}

// articles are the names of the types with their articles, for errors.
var articles = map[Type]string{Boolean: "a boolean", Short: "a short", Int: "an int", Long: "a long", Double: "a double"}

// Check reports what makes a value illegal, in Strimzi's words, which start with "has" or "contains" and lack the name of the key. It
// returns nothing for a legal value. Values that a configuration provider resolves (${file:/a:key}) are not checked.
func (k Key) Check(value string) []string {
	if Refers(value) {
		return nil
	}
	switch trimmed := strings.TrimSpace(value); k.Type {
	case Boolean:
		if lower := strings.ToLower(trimmed); lower != "true" && lower != "false" {
			return []string{k.mistyped(value)}
		}
	case Short, Int, Long:
		if _, err := strconv.ParseInt(trimmed, 10, bits[k.Type]); err != nil {
			return []string{k.mistyped(value)}
		}
		return k.checkRange(trimmed)
	case Double:
		if !javaDouble.MatchString(trimmed) {
			return []string{k.mistyped(value)}
		}
		return k.checkRange(strings.TrimRight(trimmed, "dDfF"))
	case String:
		return k.checkOneOf(trimmed)
	case List:
		return k.checkList(trimmed)
	}
	return nil
}

// javaDouble matches what Java parses as a decimal floating point number.
var javaDouble = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$`)

func (k Key) mistyped(value string) string {
	return fmt.Sprintf("has value '%s' which is not %s", value, articles[k.Type])
}

func (k Key) checkRange(value string) []string {
	if k.Values.Min != "" && compare(value, k.Values.Min) < 0 {
		return []string{fmt.Sprintf("has value %s which less than the minimum value %s", value, k.Values.Min)}
	}
	if k.Values.Max != "" && compare(value, k.Values.Max) > 0 {
		return []string{fmt.Sprintf("has value %s which greater than the maximum value %s", value, k.Values.Max)}
	}
	return nil
}

// compare compares two decimal numbers: integers exactly, because a float64 does not hold all of 64 bits.
func compare(a, b string) int {
	x, okX := new(big.Int).SetString(a, 10)
	y, okY := new(big.Int).SetString(b, 10)
	if okX && okY {
		return x.Cmp(y)
	}
	return big.NewFloat(number(a)).Cmp(big.NewFloat(number(b)))
}

// number parses a decimal number as Java does: infinite if it is too large.
func number(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsNaN(f) {
		return 0 // never happens: the text matches a number
	}
	return f
}

func (k Key) checkOneOf(value string) []string {
	switch {
	case len(k.Values.OneOf) == 0:
		return nil
	case k.Values.AnyCase && !slices.ContainsFunc(k.Values.OneOf, func(legal string) bool { return strings.EqualFold(legal, value) }):
		return []string{fmt.Sprintf("has value '%s' which is not one of the allowed values (case-insensitive): [%s]", value,
			strings.Join(k.Values.OneOf, ", "))}
	case !k.Values.AnyCase && !slices.Contains(k.Values.OneOf, value):
		return []string{fmt.Sprintf("has value '%s' which is not one of the allowed values: [%s]", value, strings.Join(k.Values.OneOf, ", "))}
	}
	return nil
}

func (k Key) checkList(value string) []string {
	var items []string
	if value != "" {
		for item := range strings.SplitSeq(value, ",") {
			items = append(items, strings.TrimSpace(item))
		}
	}
	var wrong []string
	if k.Values.NonEmpty && len(items) == 0 || k.Values.Distinct && slices.Contains(items, "") {
		wrong = append(wrong, "contains empty values")
	}
	if k.Values.Distinct && len(slices.Compact(slices.Sorted(slices.Values(items)))) < len(items) {
		wrong = append(wrong, "contains duplicate values")
	}
	if len(k.Values.Items) > 0 {
		if others := slices.DeleteFunc(slices.Clone(items), func(item string) bool {
			return item == "" ||
				slices.Contains(k.Values.Items, item)
		}); len(others) > 0 {
			wrong = append(wrong, fmt.Sprintf("contains values [%s] which are not in the allowed items [%s]", strings.Join(others, ", "),
				strings.Join(k.Values.Items, ", ")))
		}
	}
	return wrong
}

// Refers reports whether a configuration provider resolves the value (KIP-297): ${file:/a:key}. Only the node has the resolved value.
func Refers(value string) bool {
	_, rest, found := strings.Cut(value, "${")
	if !found {
		return false
	}
	inside, _, closed := strings.Cut(rest, "}")
	return closed && strings.Contains(inside, ":")
}
