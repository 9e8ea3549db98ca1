package validate

import (
	"testing"

	. "github.com/onsi/gomega"
)

func running(metadata string, versions ...string) func(*Input) {
	return func(in *Input) { in.Running = &Running{Versions: versions, MetadataVersion: metadata} }
}

// withStreams has the cluster use a level of streams.version.
func withStreams(level int16, facts func(*Input)) func(*Input) {
	return func(in *Input) {
		facts(in)
		in.Versions, in.Running.Features = append(in.Versions, "4.1.1"), map[string]int16{"streams.version": level}
	}
}

func TestWrongVersions(t *testing.T) {
	expectErrors(t, []wrong{
		{name: "version unsupported", changes: `kafka: {spec: {kafka: {version: 3.8.0}}}`, code: "VersionUnsupported",
			reason:  "UnsupportedKafkaVersionException",
			message: "Unsupported Kafka.spec.kafka.version: 3.8.0. Supported versions are: [3.9.1, 4.2.0, 4.2.1, 4.3.0, 4.3.1]"},
		{name: "version garbage", changes: `kafka: {spec: {kafka: {version: latest}}}`, code: "VersionUnsupported",
			reason:  "UnsupportedKafkaVersionException",
			message: "Unsupported Kafka.spec.kafka.version: latest. Supported versions are: [3.9.1, 4.2.0, 4.2.1, 4.3.0, 4.3.1]"},
		{name: "no image for the default version", changes: `kafka: {spec: {kafka: {version: null}}}`,
			facts: func(in *Input) { in.Versions = []string{"4.2.0"} },
			code:  "VersionUnsupported", reason: "UnsupportedKafkaVersionException",
			message: "Unsupported Kafka.spec.kafka.version: 4.3.1. Supported versions are: [4.2.0]"},
		{name: "metadataVersion garbage", changes: `kafka: {spec: {kafka: {metadataVersion: newest}}}`, code: "MetadataVersionInvalid",
			message: "Metadata version newest is invalid"},
		{name: "metadataVersion that never was", changes: `kafka: {spec: {kafka: {metadataVersion: "3.10"}}}`, code: "MetadataVersionInvalid",
			message: "Metadata version 3.10 is invalid"},
		{name: "metadataVersion with an IV that never was", changes: `kafka: {spec: {kafka: {metadataVersion: 4.2-IV7}}}`,
			code: "MetadataVersionInvalid", message: "Metadata version 4.2-IV7 is invalid"},
		{name: "metadataVersion with half an IV", changes: `kafka: {spec: {kafka: {metadataVersion: 4.2-IV}}}`, code: "MetadataVersionInvalid",
			message: "Metadata version 4.2-IV is invalid"},
		{name: "metadataVersion too old", changes: `kafka: {spec: {kafka: {metadataVersion: 3.3-IV2}}}`, code: "MetadataVersionTooOld",
			message: "The oldest supported metadata version is 3.3-IV3"},
		{name: "metadataVersion much too old", changes: `kafka: {spec: {kafka: {metadataVersion: "2.8"}}}`, code: "MetadataVersionTooOld",
			message: "The oldest supported metadata version is 3.3-IV3"},
		{name: "metadataVersion too new", changes: `kafka: {spec: {kafka: {version: 4.2.1}}}`, code: "MetadataVersionTooNew",
			message: "Metadata version 4.3-IV0 is newer than Kafka 4.2.1, which supports metadata versions up to 4.2-IV1: use a newer " +
				".spec.kafka.version first"},
		{name: "metadataVersion of a Kafka to come", changes: `kafka: {spec: {kafka: {metadataVersion: "9.9"}}}`, code: "MetadataVersionInvalid",
			message: "Metadata version 9.9 is invalid"},
		{name: "upgrade, metadata ahead", facts: running("4.3-IV0", "4.2.1"), code: "UpgradeMetadataAhead", reason: upgrade,
			message: "The current metadata version (4.3-IV0) has to be lower or equal to the Kafka broker version we upgrade from (4.2.1)"},
		{name: "upgrade in the middle", facts: running("4.2-IV1", "4.3.1", "3.9.1"), code: "UpgradeMetadataAhead", reason: upgrade,
			message: "The current metadata version (4.2-IV1) has to be lower or equal to the Kafka broker version we upgrade from (3.9.1)"},
		{name: "downgrade below the metadata", changes: `kafka: {spec: {kafka: {version: 4.2.0, metadataVersion: 4.2-IV1}}}`,
			facts: running("4.3-IV0", "4.3.1"),
			code:  "DowngradeBelowMetadata", reason: upgrade,
			message: "The current metadata version (4.3-IV0) has to be lower or equal to the Kafka broker version we are downgrading to (4.2.0)"},
		{name: "downgrade while the metadata version is not known", changes: `kafka: {spec: {kafka: {version: 4.2.0, metadataVersion: 4.2-IV1}}}`,
			facts: running("", "4.3.1"),
			code:  "DowngradeOfUnknownMetadata", reason: upgrade,
			message: `The current metadata version is unknown (""), so Kafka can't be downgraded from 4.3.1 to 4.2.0. The operator reads it from ` +
				"the brokers: make sure that it can reach them. If they can't start, set .spec.kafka.image to the image of Kafka 4.2.0, and " +
				".spec.kafka.version to 4.3.1"},
		{name: "downgrade below a feature", changes: `kafka: {spec: {kafka: {version: 4.1.1, metadataVersion: 4.1-IV1}}}`,
			facts: withStreams(1, running("4.1-IV1", "4.2.1")), code: "DowngradeBelowFeature", reason: upgrade,
			message: "The cluster uses streams.version 1, which Kafka 4.1.1 does not support, so its nodes would not start. Before the " +
				"downgrade, run kafka-features.sh downgrade --feature streams.version=0"},
		{name: "pods without annotation", facts: func(in *Input) { in.Running = &Running{Unannotated: true} }, code: "VersionUnknown",
			reason: upgrade,
			message: "Kafka Pods exist, but do not contain the strimzi.io/kafka-version annotation to detect their version. Kafka upgrade cannot " +
				"be detected."},
	})
}

func TestGoodVersions(t *testing.T) {
	for name, c := range map[string]struct {
		changes string
		facts   func(*Input)
	}{
		"metadataVersion without an IV": {changes: `kafka: {spec: {kafka: {metadataVersion: "4.3"}}}`},
		"no metadataVersion":            {changes: `kafka: {spec: {kafka: {metadataVersion: null}}}`},
		"upgrade":                       {changes: `kafka: {spec: {kafka: {metadataVersion: null}}}`, facts: running("", "4.2.1", "4.3.1")},
		"same version":                  {facts: running("4.3-IV0", "4.3.1")},
		"downgrade of a patch":          {changes: `kafka: {spec: {kafka: {version: 4.3.0}}}`, facts: running("", "4.3.1")},
		"downgrade without a feature": {changes: `kafka: {spec: {kafka: {version: 4.1.1, metadataVersion: 4.1-IV1}}}`,
			facts: withStreams(0, running("4.1-IV1", "4.2.1"))},
		"downgrade to a version with the feature": {changes: `kafka: {spec: {kafka: {version: 4.2.0, metadataVersion: 4.2-IV1}}}`,
			facts: withStreams(1, running("4.2-IV1", "4.3.1"))},
		"upgrade of a patch":         {facts: running("4.3-IV0", "4.3.0")},
		"metadataVersion of a patch": {changes: `kafka: {spec: {kafka: {metadataVersion: 4.3.1}}}`},
		"a Kafka that came later": {changes: `kafka: {spec: {kafka: {version: 4.9.0, metadataVersion: null}}}`,
			facts: func(in *Input) { in.Versions = []string{"4.9.0"} }},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.changes)
			if c.facts != nil {
				c.facts(&in)
			}
			got := Validate(in)
			NewWithT(t).Expect(append(got.Errors, got.Warnings...)).To(BeEmpty())
		})
	}
}
