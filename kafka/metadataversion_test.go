package kafka_test

import (
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
)

func TestMetadataVersionsHaveNames(t *testing.T) {
	for level, name := range map[kafka.MetadataVersion]string{
		6: "6", kafka.OldestMetadataVersion: "3.3-IV3", 17: "3.7-IV2", 21: "3.9-IV0", 25: "4.0-IV3", 30: "4.3-IV0", 31: "31", -1: "-1",
	} {
		if got := level.String(); got != name {
			t.Errorf("%d is %q, want %q", int16(level), got, name)
		}
	}
}

func TestParseMetadataVersion(t *testing.T) {
	for s, want := range map[string]kafka.MetadataVersion{
		"3.3": 7, "3.3-IV3": 7, "3.7": 19, "3.7-IV2": 17, "3.9.1": 21, "4.0": 25, "4.2-IV1": 29, "4.2-IV0": 28, "4.3": 30, "4.3.0": 30,
		"4.3.1": 30,
	} {
		if got, err := kafka.ParseMetadataVersion(s); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "4", "4.", "4.3.", "4.3.x", "4.3-IV1", "4.3.1-IV0", "3.2", "3.3-IV2", "4.9", "30", "-", "IV0", "4.3-"} {
		if got, err := kafka.ParseMetadataVersion(s); err == nil {
			t.Errorf("%q was read as %s", s, got)
		}
	}
}
