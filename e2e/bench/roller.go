package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// roller copies the figures of the roller's core from the roller's own benchmark program, because its packages are internal. Before that,
// it measures a look at a large Kafka, and the memory of the whole program.
func (w *world) roller(ctx context.Context, r *Report) error {
	if err := reading(ctx, r); err != nil {
		return err
	}
	if err := w.rollerMemory(ctx, r); err != nil {
		return err
	}
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "run", "./roller/internal/proofs/figures")
	c.Dir = root
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	return take(out, r)
}

// reading reads 200,000 partitions from an embedded Kafka, as each look of the roller does. It includes the work of the server, which runs
// in this process.
func reading(ctx context.Context, r *Report) error {
	const batches, topics, partitions = 40, 50, 100
	cluster, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 3})
	if err != nil {
		return err
	}
	defer cluster.Close()
	admin, err := saramakafka.New(kafka.Config{Bootstrap: cluster.Bootstrap(), RequestTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer admin.Close()
	var all []kafka.ConfigResource
	for b := range batches {
		var batch []kafka.NewTopic
		for i := range topics {
			name := fmt.Sprintf("topic-%d", b*topics+i)
			batch = append(batch, kafka.NewTopic{Name: name, Partitions: partitions, ReplicationFactor: 3})
			all = append(all, kafka.TopicResource(name))
		}
		created, err := admin.CreateTopics(ctx, batch, false)
		for _, c := range created {
			err = errors.Join(err, c.Err)
		}
		if err != nil {
			return err
		}
	}
	var lists, configs []time.Duration
	for range 5 {
		began := time.Now()
		list, err := admin.ListTopics(ctx)
		lists = append(lists, time.Since(began))
		if err != nil || len(list) != len(all) {
			return fmt.Errorf("%d topics of %d: %w", len(list), len(all), err)
		}
		began = time.Now()
		if _, err := admin.DescribeConfigs(ctx, all, []string{"min.insync.replicas"}); err != nil {
			return err
		}
		configs = append(configs, time.Since(began))
	}
	slices.Sort(lists)
	slices.Sort(configs)
	r.add("roller_reading_200000_partitions", float64(lists[len(lists)/2].Milliseconds()), "ms")
	r.add("roller_reading_2000_topic_configurations", float64(configs[len(configs)/2].Milliseconds()), "ms")
	return nil
}

// take copies figures, one JSON object per line.
func take(out []byte, r *Report) error {
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var f Figure
		if err := d.Decode(&f); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if f.Floor != 0 {
			r.addBeside(f.Name, f.Value, f.Floor, f.Unit)
		} else {
			r.add(f.Name, f.Value, f.Unit)
		}
	}
}
