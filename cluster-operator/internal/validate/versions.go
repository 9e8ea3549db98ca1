package validate

import (
	"slices"
	"strconv"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// jbodMetadata is the oldest metadata version with which brokers can have several volumes (KIP-858).
const jbodMetadata = "3.7-IV2"

// Kafka before 4.2 supports level 0 of streams.version alone (KIP-1071). New clusters of 4.2 have level 1, which a lower metadata version
// keeps.
const (
	featureStreams = "streams.version"
	streamsSince   = "4.2"
)

// versions checks the versions of Kafka and of the metadata, and the change from those that run.
func (f *findings) versions() {
	version := f.version()
	if !slices.Contains(f.Versions, version) {
		f.fail("VersionUnsupported", v1.ReasonUnsupportedKafkaVersion, "Unsupported Kafka.spec.kafka.version: %s. Supported versions are: [%s]",
			version, strings.Join(f.Versions, ", "))
		return
	}
	if text := f.cluster().MetadataVersion; text != "" {
		f.metadataVersion(version, text)
	}
	if f.Running != nil {
		f.versionChange(version)
	}
}

func (f *findings) metadataVersion(version, text string) {
	metadata, err := kafka.ParseMetadataVersion(text)
	own, ownErr := kafka.ParseMetadataVersion(version)
	switch {
	case err != nil && tooOld(text):
		f.invalid("MetadataVersionTooOld", "The oldest supported metadata version is %s", kafka.OldestMetadataVersion)
	case err != nil:
		f.invalid("MetadataVersionInvalid", "Metadata version %s is invalid", text)
	case ownErr == nil && metadata > own:
		f.invalid("MetadataVersionTooNew",
			"Metadata version %s is newer than Kafka %s, which supports metadata versions up to %s: use a newer .spec.kafka.version first",
			text, version, own)
	}
}

// tooOld reports whether a metadata version came before the oldest that a cluster can have.
func tooOld(text string) bool {
	oldest, _, _ := strings.Cut(kafka.OldestMetadataVersion.String(), "-")
	release, _, _ := strings.Cut(text, "-IV")
	numbers := parseVersion(release)
	return numbers != nil && slices.Compare(numbers, parseVersion(oldest)) <= 0
}

// versionChange checks that the version of Kafka that runs can become the wanted one.
func (f *findings) versionChange(version string) {
	if f.Running.Unannotated {
		f.fail("VersionUnknown", v1.ReasonKafkaUpgrade,
			"Kafka Pods exist, but do not contain the strimzi.io/kafka-version annotation to detect their version. Kafka upgrade cannot be "+
				"detected.")
		return
	}
	if len(f.Running.Versions) == 0 {
		return
	}
	running := slices.SortedFunc(slices.Values(f.Running.Versions), compareVersions)
	lowest, highest := running[0], running[len(running)-1]
	current, err := kafka.ParseMetadataVersion(f.Running.MetadataVersion)
	switch {
	case err != nil && below(version, highest):
		f.fail("DowngradeOfUnknownMetadata", v1.ReasonKafkaUpgrade,
			"The current metadata version is unknown (%q), so Kafka can't be downgraded from %s to %s. "+
				"The operator reads it from the brokers: make sure that it can reach them. If they can't start, set .spec.kafka.image to the image "+
				"of Kafka %[3]s, and .spec.kafka.version to %[2]s", f.Running.MetadataVersion, highest, version)
	case err != nil:
	case compareVersions(highest, version) > 0 && above(current, version):
		f.fail("DowngradeBelowMetadata", v1.ReasonKafkaUpgrade,
			"The current metadata version (%s) has to be lower or equal to the Kafka broker version we are downgrading to (%s)",
			f.Running.MetadataVersion, version)
	case compareVersions(version, streamsSince) < 0 && compareVersions(highest, version) > 0 && f.Running.Features[featureStreams] > 0:
		f.fail("DowngradeBelowFeature", v1.ReasonKafkaUpgrade,
			"The cluster uses %s %d, which Kafka %s does not support, so its nodes would not start. Before the downgrade, run "+
				"kafka-features.sh downgrade --feature %[1]s=0", featureStreams, f.Running.Features[featureStreams], version)
	case compareVersions(highest, version) <= 0 && compareVersions(lowest, version) < 0 && above(current, lowest):
		f.fail("UpgradeMetadataAhead", v1.ReasonKafkaUpgrade,
			"The current metadata version (%s) has to be lower or equal to the Kafka broker version we upgrade from (%s)",
			f.Running.MetadataVersion, lowest)
	}
}

// below reports whether a version of Kafka supports fewer metadata versions than another one.
func below(version, than string) bool {
	most, err := kafka.ParseMetadataVersion(than)
	return compareVersions(version, than) < 0 && (err != nil || above(most, version))
}

// above reports whether a metadata version is newer than what a version of Kafka supports.
func above(metadata kafka.MetadataVersion, version string) bool {
	own, err := kafka.ParseMetadataVersion(version)
	return err == nil && metadata > own
}

// metadataWanted returns the current or desired metadata version of the cluster; false if there is none.
func (f *findings) metadataWanted() (kafka.MetadataVersion, bool) {
	text := f.cluster().MetadataVersion
	if text == "" && f.Running != nil {
		text = f.Running.MetadataVersion
	}
	metadata, err := kafka.ParseMetadataVersion(text)
	return metadata, err == nil
}

// compareVersions compares number by number. What is no version comes first.
func compareVersions(a, b string) int { return slices.Compare(parseVersion(a), parseVersion(b)) }

// parseVersion returns the numbers of a version; nil if there is something else in it.
func parseVersion(text string) []int {
	var numbers []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}
