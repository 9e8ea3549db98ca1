package saramakafka_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// TestACordonedDirectoryOnRealKafka checks the assumptions of the removal of a volume: a broker puts no new replicas into a cordoned
// directory, reports the directory as cordoned, and starts without the directory even though the key still names it.
func TestACordonedDirectoryOnRealKafka(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	both := first + "," + second
	c := realCluster(t, realkafka.Options{Config: map[string]string{"log.dirs": both, "metadata.log.dir": first}})
	admin := connect(t, kafka.Config{Bootstrap: c.Bootstrap()})
	const id = 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	await := func(what string, holds func([]kafka.LogDir) bool) []kafka.LogDir {
		t.Helper()
		for {
			dirs, err := admin.DescribeLogDirs(ctx, id)
			if err == nil && holds(dirs) {
				return dirs
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s: %+v, %v", what, dirs, err)
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	alter := func(change kafka.ConfigChange) {
		t.Helper()
		results, err := admin.AlterConfigs(ctx, []kafka.ConfigChange{change}, false)
		if err != nil || results[change.Resource] != nil {
			t.Fatal(err, results)
		}
	}
	create := func(name string, partitions int32) {
		t.Helper()
		results, err := admin.CreateTopics(ctx, []kafka.NewTopic{{Name: name, Partitions: partitions, ReplicationFactor: 1}}, false)
		if err != nil || results[name].Err != nil {
			t.Fatal(err, results)
		}
	}
	held := func(dirs []kafka.LogDir, path string) int {
		i := slices.IndexFunc(dirs, func(d kafka.LogDir) bool { return d.Path == path })
		if i < 0 {
			return -1
		}
		return dirs[i].Replicas
	}

	create("spread", 4)
	await("both directories get replicas", func(d []kafka.LogDir) bool { return held(d, first) == 2 && held(d, second) == 2 })
	alter(kafka.ConfigChange{Resource: kafka.BrokerResource(id), Set: map[string]string{"cordoned.log.dirs": second}})
	await("the second one is cordoned", func(d []kafka.LogDir) bool {
		return len(d) == 2 && !d[0].Cordoned && d[1].Cordoned && held(d, second) == 2
	})
	create("beside", 4)
	await("new replicas are in the first", func(d []kafka.LogDir) bool { return held(d, first) == 6 && held(d, second) == 2 })

	if err := c.Stop(id); err != nil {
		t.Fatal(err)
	}
	properties := filepath.Join(filepath.Dir(c.LogFile(id)), "server.properties")
	text, err := os.ReadFile(properties)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(properties, []byte(strings.Replace(string(text), both, first, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.StartNode(ctx, id); err != nil {
		t.Fatal(err)
	}
	await("the broker runs without it", func(d []kafka.LogDir) bool { return len(d) == 1 && d[0].Path == first })
	alter(kafka.ConfigChange{Resource: kafka.BrokerResource(id), Delete: []string{"cordoned.log.dirs"}})
}
