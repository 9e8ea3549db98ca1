package kafka

// maxNameLength is how long a topic's name may be, in bytes.
const maxNameLength = 249

// IsTopicName reports whether Kafka takes the text for a topic's name: 1 to 249 ASCII letters, digits, '.', '_' and '-', and neither "." nor
// "..". No cluster has a topic of any other name. Source: org.apache.kafka.common.internals.Topic.
func IsTopicName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > maxNameLength {
		return false
	}
	for _, c := range []byte(name) {
		if !isNameByte(c) {
			return false
		}
	}
	return true
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}
