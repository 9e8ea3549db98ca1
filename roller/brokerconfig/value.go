package brokerconfig

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

// Type is the type of a key's values.
type Type uint8

// Kafka's types (ConfigDef.Type).
const (
	String Type = iota
	Boolean
	Integer
	Double
	List
	Password
	// Map is a string that Kafka reads as an unordered list of key-value pairs.
	Map
)

var types = map[configdef.Type]Type{
	configdef.String: String, configdef.Class: String, configdef.Boolean: Boolean, configdef.Short: Integer, configdef.Int: Integer,
	configdef.Long:   Integer,
	configdef.Double: Double, configdef.List: List, configdef.Password: Password,
}

// pairs are the keys that Kafka defines as strings and parses as maps (AbstractKafkaConfig.getMap).
var pairs = map[string]bool{"listener.security.protocol.map": true, "max.connections.per.ip.overrides": true}

// Same reports whether two values mean the same to Kafka: 1.50 and 1.5 for a double, "a, b" and "a,b" for a list, TRUE and true for a
// boolean. Values that Kafka could not parse are compared as text. It is an equivalence.
func (t Type) Same(a, b string) bool {
	return a == b || t.canonical(a) == t.canonical(b)
}

// same is Same for values that may be nil. Nil and an empty value are the same: a node reports both as empty.
func (t Type) same(a, b *string) bool {
	return t.Same(text(a), text(b))
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// javaDouble matches what Java parses as a decimal floating point number.
var javaDouble = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$`)

// canonical returns the same text for all texts that mean the same value.
func (t Type) canonical(value string) string {
	value = strings.TrimSpace(value)
	switch t {
	case Boolean:
		if lower := strings.ToLower(value); lower == "true" || lower == "false" {
			return lower
		}
	case Integer:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case Double:
		return canonicalDouble(value)
	case List, Map:
		return canonicalList(value, t == Map)
	}
	return value
}

func canonicalDouble(value string) string {
	if !javaDouble.MatchString(value) {
		return value
	}
	f, err := strconv.ParseFloat(strings.TrimRight(value, "dDfF"), 64)
	if err != nil {
		return value
	}
	if f == 0 {
		f = 0 // -0 is 0
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func canonicalList(value string, unordered bool) string {
	if value == "" {
		return ""
	}
	parts := strings.Split(value, ",")
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
	}
	if unordered {
		slices.Sort(parts)
	}
	return strings.Join(parts, ",")
}
