package kafka

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The protocol carries strings of at most 32,767 bytes. If one is longer, the broker closes the connection without an answer, and the whole
// request fails. The same happens if the broker's answer quotes a string and exceeds that limit, so strings that a broker would reject
// anyway have lower limits here. See docs/decisions/long-texts.md.
const (
	// MaxText is the length of the longest text that a request may carry, in bytes of UTF-8. Source: the generated protocol classes of Kafka.
	MaxText = 32_767
	// maxKey bounds the keys of configurations. Kafka's longest has about 60 bytes.
	maxKey = 1024
	// maxQuoted bounds values that a broker may quote in its answer. It prints a list with blanks between its elements, up to half as long
	// again.
	maxQuoted = 16 * 1024
)

// throttledReplicas is the form of the lists in leader.replication.throttled.replicas and follower.replication.throttled.replicas: the only
// configurations of topics that are long in practice. No broker rejects such a list. Source: ThrottledReplicaListValidator.
var throttledReplicas = regexp.MustCompile(`^\s*[0-9]+:[0-9]+\s*(,\s*[0-9]+:[0-9]+\s*)*$`)

// CheckConfig returns why a request can't carry a key and value of a configuration (CodeInvalidConfig), or nil. Only Kafka checks whether
// the key exists and the value is valid.
func CheckConfig(key, value string) error {
	if err := CheckConfigKey(key); err != nil {
		return err
	}
	switch {
	case !utf8.ValidString(value):
		return NewError(CodeInvalidConfig, fmt.Sprintf("Invalid value for configuration %s: it is not valid UTF-8", key))
	case len(value) > MaxText:
		return NewError(CodeInvalidConfig,
			fmt.Sprintf("Invalid value %s for configuration %s: it has %d bytes, and Kafka's protocol carries at most %d",
				Excerpt(value), key, len(value), MaxText))
	case len(value) > maxQuoted && !isThrottleList(key, value):
		return NewError(CodeInvalidConfig,
			fmt.Sprintf("Invalid value %s for configuration %s: it has %d bytes; only lists of throttled replicas may have more than %d",
				Excerpt(value), key, len(value), maxQuoted))
	}
	return nil
}

func isThrottleList(key, value string) bool {
	return strings.HasSuffix(key, ".replication.throttled.replicas") && throttledReplicas.MatchString(value)
}

// CheckConfigKey returns why a request can't carry the key of a configuration (CodeInvalidConfig), or nil.
func CheckConfigKey(key string) error {
	if len(key) > maxKey || !utf8.ValidString(key) {
		return NewError(CodeInvalidConfig, "Unknown topic config name: "+Excerpt(key))
	}
	return nil
}

// CheckResource returns why a request can't carry the name of a resource, or nil: CodeInvalidTopic for a topic, CodeInvalidRequest for a
// node.
func CheckResource(r ConfigResource) error {
	if r.Type == ResourceTopic {
		return CheckTopicName(r.Name)
	}
	if len(r.Name) > maxNameLength || !utf8.ValidString(r.Name) {
		return NewError(CodeInvalidRequest, "Unexpected broker id, expected a number, but received "+Excerpt(r.Name))
	}
	return nil
}

// CheckNewTopic returns why a request can't carry a topic to create, or nil.
func CheckNewTopic(t NewTopic) error {
	if err := CheckTopicName(t.Name); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(t.Configs)) {
		value := ""
		if v := t.Configs[key]; v != nil {
			value = *v
		}
		if err := CheckConfig(key, value); err != nil {
			return err
		}
	}
	return nil
}

// CheckConfigChange returns why a request can't carry a change of a configuration, or nil.
func CheckConfigChange(c ConfigChange) error {
	if err := CheckResource(c.Resource); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		if err := CheckConfig(key, c.Set[key]); err != nil {
			return err
		}
	}
	for _, key := range c.Delete {
		if err := CheckConfigKey(key); err != nil {
			return err
		}
	}
	return nil
}

// Excerpt shortens a text for a message. An object of Kubernetes with the whole of a long text in its status could not be stored.
func Excerpt(text string) string {
	const most = 256
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
