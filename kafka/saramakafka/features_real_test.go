package saramakafka_test

import (
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

func TestMetadataVersionsAreNamedAsKafkaNamesThem(t *testing.T) {
	c := realCluster(t, realkafka.Options{})
	f, err := connect(t, kafka.Config{Bootstrap: c.Bootstrap()}).DescribeFeatures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	supported := f.Supported[kafka.FeatureMetadataVersion]
	var names []string
	for level := supported.Min; level <= supported.Max; level++ {
		names = append(names, kafka.MetadataVersion(level).String())
	}
	// If Kafka does not know a version, its error lists all versions in order, and after them one in development.
	out, err := c.Tool(t.Context(), "FeatureCommand", "upgrade", "--metadata", "no.such.version")
	if want := "are: " + strings.Join(names, ", "); err == nil || !strings.Contains(out, want) {
		t.Errorf("got %v, %s, want it to list %s", err, out, want)
	}
}

func TestTheMetadataVersionOfRealKafkaIsMoved(t *testing.T) {
	c := realCluster(t, realkafka.Options{Release: "4.0-IV2"})
	a := connect(t, kafka.Config{Bootstrap: c.Bootstrap()})
	move := func(to string, downgrade bool) error {
		t.Helper()
		level, err := kafka.ParseMetadataVersion(to)
		if err != nil {
			t.Fatal(err)
		}
		return a.UpdateFeatures(t.Context(), map[string]kafka.FeatureUpdate{kafka.FeatureMetadataVersion: {Level: int16(level),
			Downgrade: downgrade}}, false)
	}
	at := func(want string) {
		t.Helper()
		until(t, "the metadata.version is "+want, func() bool {
			f, err := a.DescribeFeatures(t.Context())
			return err == nil && kafka.MetadataVersion(f.Finalized[kafka.FeatureMetadataVersion]).String() == want
		})
	}
	at("4.0-IV2")
	// From 4.0-IV1 on, a downgrade loses nothing; 4.0-IV1 itself changed the metadata.
	if err := move("4.0-IV0", true); kafka.ClassOf(err) != kafka.ClassInvalid || err == nil {
		t.Errorf("a downgrade that would lose metadata: %v", err)
	}
	for _, step := range []struct {
		to        string
		downgrade bool
	}{{"4.0-IV1", true}, {"4.2-IV1", false}, {"4.1-IV0", true}, {"4.3", false}} {
		if err := move(step.to, step.downgrade); err != nil {
			t.Fatalf("%s: %v", step.to, err)
		}
		if step.to != "4.3" {
			at(step.to)
		}
	}
	at("4.3-IV0")
	if err := move("4.2-IV1", true); kafka.ClassOf(err) != kafka.ClassInvalid || err == nil {
		t.Errorf("a downgrade that would lose metadata: %v", err)
	}
}
