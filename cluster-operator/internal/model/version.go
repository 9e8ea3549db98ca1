package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// MetadataVersionOf returns the metadata.version that a version of Kafka formats its storage with by default, "" for an unknown one.
func MetadataVersionOf(version string) string {
	own, err := kafka.ParseMetadataVersion(version)
	if err != nil {
		return ""
	}
	return own.String()
}

// NewerVersion reports whether version a of Kafka is newer than b; versions that are unknown are not.
func NewerVersion(a, b string) bool {
	return slices.Compare(numbers(a), numbers(b)) > 0
}

// numbers returns the leading numbers of a version.
func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		list = append(list, n)
	}
	return list
}
