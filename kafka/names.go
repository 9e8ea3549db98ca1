package kafka

import "fmt"

// maxNameLength is the maximum length of a topic's name, in bytes.
const maxNameLength = 249

// IsTopicName reports whether Kafka accepts the text as a topic's name. No cluster has a topic with any other name. See [CheckTopicName].
func IsTopicName(name string) bool { return CheckTopicName(name) == nil }

// CheckTopicName returns why a text is not the name of a topic, in Kafka's words (CodeInvalidTopic), or nil. A name is 1 to 249 ASCII
// letters, digits, '.', '_' and '-', and neither "." nor "..". Source: org.apache.kafka.common.internals.Topic.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return invalidName("the empty string is not allowed")
	case name == "." || name == "..":
		return invalidName("'%s' is not allowed", name)
	case len(name) > maxNameLength:
		return invalidName("the length of '%s' is longer than the max allowed length %d", Excerpt(name), maxNameLength)
	}
	for _, c := range []byte(name) {
		if !isNameByte(c) {
			return invalidName("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

func invalidName(format string, args ...any) error {
	return NewError(CodeInvalidTopic, "Topic name is invalid: "+fmt.Sprintf(format, args...))
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}
