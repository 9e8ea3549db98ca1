package v1

import "strings"

// IsTrue reports whether the user set an annotation to "true". Case does not matter, as in Strimzi, which parses a boolean.
func IsTrue(annotations map[string]string, key string) bool {
	return strings.EqualFold(annotations[key], "true")
}
