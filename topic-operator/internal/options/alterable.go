package options

import (
	"strings"
	"unicode"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// AlterableConfig is the set of topic configurations that the operator may alter. The zero value allows all.
type AlterableConfig struct {
	// limited is false if all keys are allowed.
	limited bool
	keys    map[string]bool
}

// The words of STRIMZI_ALTERABLE_TOPIC_CONFIG that are no keys.
const (
	alterableAll  = "ALL"
	alterableNone = "NONE"
)

// ParseAlterableConfig reads ALL, NONE, or keys with commas between; empty means ALL. Nothing is an error: as with Strimzi, an entry that
// is no key of Kafka's just matches nothing.
func ParseAlterableConfig(text string) AlterableConfig {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if text == "" || strings.EqualFold(text, alterableAll) {
		return AlterableConfig{}
	}
	a := AlterableConfig{limited: true, keys: map[string]bool{}}
	if strings.EqualFold(text, alterableNone) {
		return a
	}
	for _, key := range settings.List(text) {
		a.keys[key] = true
	}
	return a
}

// Allows reports whether the key may be altered.
func (a AlterableConfig) Allows(key string) bool { return !a.limited || a.keys[key] }
