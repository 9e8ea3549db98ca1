package configdef

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTheTablesAreThoseOfTheGeneratorsVersions(t *testing.T) {
	listed, err := os.ReadFile("../../hack/brokerconfig/versions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, table := range Tables() {
		versions = append(versions, table.Version)
	}
	if want := strings.Fields(string(listed)); !slices.Equal(versions, want) {
		t.Errorf("the tables are of %v, want %v", versions, want)
	}
}

func TestATableThatIsNotOne(t *testing.T) {
	const title = "# Kafka 4.3.1. Generated.\n"
	for text, words := range map[string]string{
		"":                            "has no version of Kafka",
		"# Kafka x. Generated.\n":     "has no version of Kafka",
		title:                         "empty",
		title + "a\tint\tread-only\n": "3 columns, want 8",
		title + "a\tfoo\tread-only\t-\tg\t-\tnull\t-\n":                                        "unknown type",
		title + "a\tint\twhenever\t-\tg\t-\tnull\t-\n":                                         "unknown mode",
		title + "a\tint\tread-only\t-\tg\t-\t1\t-\n":                                           "the default of a",
		title + "a\tint\tread-only\t-\tg\t-\tnull\tatmost=7\n":                                 "the values of a: unknown rule atmost=7",
		title + "a\tint\tread-only\t-\tg\t-\t\"1\"\t-\na\tint\tread-only\t-\tg\t-\t\"1\"\t-\n": "line 3: duplicate key a",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %s", text, err, words)
		}
	}
}

// Kafka starts with its own defaults, so none of them is illegal.
func TestDefaultsAreLegal(t *testing.T) {
	for _, table := range Tables() {
		for _, name := range table.Names() {
			key, _ := table.Key(name)
			if key.Default == nil {
				continue
			}
			if wrong := key.Check(*key.Default); len(wrong) > 0 {
				t.Errorf("Kafka %s: %s: %v", table.Version, name, wrong)
			}
		}
	}
}

// The messages are Strimzi's, which users' runbooks contain.
func TestCheck(t *testing.T) {
	for _, tc := range []struct{ key, value, want string }{
		{"auto.create.topics.enable", "yes", "has value 'yes' which is not a boolean"},
		{"auto.create.topics.enable", "TRUE", ""},
		{"num.partitions", "1.5", "has value '1.5' which is not an int"},
		{"num.partitions", "2147483648", "has value '2147483648' which is not an int"},
		{"num.partitions", " 7 ", ""},
		{"num.partitions", "0", "has value 0 which less than the minimum value 1"},
		{"log.retention.ms", "9223372036854775808", "has value '9223372036854775808' which is not a long"},
		{"log.retention.ms", "-1", ""},
		{"offsets.topic.replication.factor", "32768", "has value '32768' which is not a short"},
		{"log.cleaner.io.max.bytes.per.second", "fast", "has value 'fast' which is not a double"},
		{"log.cleaner.io.max.bytes.per.second", "1.5e3d", ""},
		{"log.cleaner.min.cleanable.ratio", "1.5", "has value 1.5 which greater than the maximum value 1"},
		{"log.cleaner.min.cleanable.ratio", "-0.5", "has value -0.5 which less than the minimum value 0"},
		{"compression.type", "brotli",
			"has value 'brotli' which is not one of the allowed values: [uncompressed, zstd, lz4, snappy, gzip, producer]"},
		{"compression.type", "ZSTD",
			"has value 'ZSTD' which is not one of the allowed values: [uncompressed, zstd, lz4, snappy, gzip, producer]"},
		{"group.consumer.migration.policy", "sideways",
			"has value 'sideways' which is not one of the allowed values (case-insensitive): [DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL]"},
		{"group.consumer.migration.policy", "upgrade", ""},
		{"log.cleanup.policy", "compact, delete", ""},
		{"log.cleanup.policy", "compact,forget", "contains values [forget] which are not in the allowed items [compact, delete]"},
		{"log.cleanup.policy", "compact,compact", "contains duplicate values"},
		{"log.cleanup.policy", "compact,", "contains empty values"},
		{"num.partitions", "${env:PARTITIONS}", ""},
		{"compression.type", "${no provider}",
			"has value '${no provider}' which is not one of the allowed values: [uncompressed, zstd, lz4, snappy, gzip, producer]"},
	} {
		t.Run(fmt.Sprintf("%s=%s", tc.key, tc.value), func(t *testing.T) {
			table, _ := For("4.3.1")
			key, known := table.Key(tc.key)
			if !known {
				t.Fatal("Kafka does not know the key")
			}
			if got := strings.Join(key.Check(tc.value), "; "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
