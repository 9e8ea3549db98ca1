package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// The roller's exit codes in the story.
const (
	rollerDone    = 0
	rollerPending = 3
	rollerBlocked = 4
)

const records = "records"

func (r *roll) nothing(ctx context.Context) error {
	r.tell.section("Nothing to do")
	if err := r.show(ctx, "get", "pods"); err != nil {
		return err
	}
	return r.roller(ctx, rollerDone, "plan")
}

func (r *roll) planned(ctx context.Context) error {
	r.tell.section("The pods are to be made from another revision: a plan first")
	two := "2"
	topic := kafka.NewTopic{Name: records, Partitions: 6, ReplicationFactor: 3, Configs: map[string]*string{"min.insync.replicas": &two}}
	created, err := r.admin.CreateTopics(ctx, []kafka.NewTopic{topic}, false)
	if err := errors.Join(err, created[records].Err); err != nil {
		return err
	}
	r.pool.Revision = "r2"
	if err := r.pool.Update(ctx, r.k8s); err != nil {
		return err
	}
	return r.roller(ctx, rollerPending, "plan")
}

func (r *roll) held(ctx context.Context) error {
	r.tell.section("One node is not to be touched for now")
	pod := r.pool.PodName(2)
	if err := r.show(ctx, "annotate", "pod", pod, core.AnnotationHold+"=ann replaces a disk"); err != nil {
		return err
	}
	if err := r.roller(ctx, rollerBlocked, "explain", "2"); err != nil {
		return err
	}
	return r.show(ctx, "annotate", "pod", pod, core.AnnotationHold+"-")
}

func (r *roll) unnoticed(ctx context.Context) error {
	r.tell.section("The roll, while records are written with acks=all")
	// The tool does not retry by default, as clients do.
	config := filepath.Join(r.scratch, "producer.properties")
	if err := os.WriteFile(config, []byte("retries=2147483647\n"), 0o600); err != nil {
		return err
	}
	during, stop := context.WithCancel(ctx)
	var output string
	lowest := 3
	var both sync.WaitGroup
	both.Go(func() {
		output, _ = r.kafka.Tool(during, "VerifiableProducer", "--topic", records, "--acks", "-1", "--throughput", "100", "--max-messages", "-1",
			"--producer.config", config)
	})
	both.Go(func() { r.watch(during, &lowest) })
	err := r.roller(ctx, rollerDone, "roll", "--yes", "--limit=5m")
	stop()
	both.Wait()
	if err != nil {
		return err
	}
	acknowledged, refused := strings.Count(output, `"producer_send_success"`), strings.Count(output, `"producer_send_error"`)
	r.tell.say("Meanwhile %d records were acknowledged and %d refused; no partition ever had fewer than %d replicas in sync.\n", acknowledged,
		refused, lowest)
	if acknowledged == 0 || refused > 0 || lowest < 2 {
		return errors.New("that must not be: clients noticed the roll")
	}
	return r.show(ctx, "get", "pods")
}

// watch records the smallest number of in-sync replicas of any partition.
func (r *roll) watch(ctx context.Context, lowest *int) {
	const pause = 100 * time.Millisecond
	for ctx.Err() == nil {
		topics, err := r.admin.DescribeTopics(ctx, []string{records})
		if err == nil && topics[records].Err == nil {
			for _, p := range topics[records].Topic.Partitions {
				*lowest = min(*lowest, len(p.ISR))
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (r *roll) reconfigured(ctx context.Context) error {
	r.tell.section("What Kafka takes up while it runs needs no restart")
	for _, id := range r.pool.Nodes {
		var config corev1.ConfigMap
		if err := r.k8s.Get(ctx, client.ObjectKey{Namespace: rollNamespace, Name: r.pool.PodName(id)}, &config); err != nil {
			return err
		}
		config.Data["server.config"] += "\nlog.cleaner.threads=2\n"
		if err := r.k8s.Update(ctx, &config); err != nil {
			return err
		}
	}
	r.tell.say("Each ConfigMap says log.cleaner.threads=2 now.\n")
	if err := r.roller(ctx, rollerDone, "roll", "--yes", "--limit=2m"); err != nil {
		return err
	}
	live, err := r.admin.DescribeNodeConfigs(ctx, r.pool.Nodes, []string{"log.cleaner.threads"})
	if err != nil {
		return err
	}
	for _, id := range r.pool.Nodes {
		if value := live[id].Entries["log.cleaner.threads"].Value; value != "2" {
			return fmt.Errorf("node %d has log.cleaner.threads=%q: %w", id, value, live[id].Err)
		}
	}
	r.tell.say("All three nodes have it.")
	return nil
}
