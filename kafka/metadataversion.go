package kafka

import (
	"fmt"
	"slices"
	"strings"
)

// MetadataVersion is a level of the feature metadata.version: the types of records that the nodes of a cluster write to the metadata log.
// It is raised when all nodes run a new version of Kafka; after that, an older version may no longer start.
type MetadataVersion int16

// OldestMetadataVersion is the first production version without ZooKeeper, and the oldest that Kafka 4 supports.
const OldestMetadataVersion MetadataVersion = 7

// metadataVersions are the names of the versions from OldestMetadataVersion on, without gaps: those of
// org.apache.kafka.server.common.MetadataVersion of Kafka 4.3 that are meant for production.
var metadataVersions = []string{
	"3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
	"3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0",
	"4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0",
}

// String returns Kafka's name of the version, such as 4.3-IV0, or the number of an unknown one.
func (v MetadataVersion) String() string {
	if i := int(v - OldestMetadataVersion); i >= 0 && i < len(metadataVersions) {
		return metadataVersions[i]
	}
	return fmt.Sprint(int16(v))
}

// ParseMetadataVersion parses the name of a version, such as 4.2-IV1, or of a release of Kafka, such as 4.2 or 4.2.1, which means the
// latest version of that release. Versions before OldestMetadataVersion are unknown.
func ParseMetadataVersion(s string) (MetadataVersion, error) {
	name := s
	if parts := strings.SplitN(s, ".", 3); len(parts) == 3 && digits(parts[2]) {
		name = parts[0] + "." + parts[1]
	}
	for i, known := range slices.Backward(metadataVersions) {
		if release, _, _ := strings.Cut(known, "-"); name == known || name == release {
			return OldestMetadataVersion + MetadataVersion(i), nil
		}
	}
	return 0, fmt.Errorf("metadata version %q is not known: want one from %s to %s, or a release of Kafka such as 4.2",
		s, metadataVersions[0], metadataVersions[len(metadataVersions)-1])
}

// digits reports whether s is a number.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
