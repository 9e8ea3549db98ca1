//go:build linux

package bench

import (
	"context"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// rolls is how often all nodes are restarted.
const rolls = 3

// settles is how long records are written before they count: the first ones of a new topic wait for new connections between all brokers.
const settles = 15 * time.Second

// roll measures what a producer with acks=all notices while all nodes of a Kafka are restarted, each with a new pod and a new address, on a
// real Kubernetes cluster: with and without the elections that make restarted brokers leaders of their partitions again. The floor is the
// same producer in a minute without restarts. What it notices while another Kafka on the same machine is restarted is the machine's share:
// nodes that start use the same cores.
func roll(ctx context.Context, r *Report) error {
	return onMachine(ctx, r, func(m machine, lab *realnodes.Lab, root string) (err error) {
		const namespace = "roll"
		manifest := filepath.Join(root, "e2e", "bench", "roll.yaml")
		if _, err := m.applied(ctx, namespace, manifest); err != nil {
			return err
		}
		flow, err := m.records(ctx, lab, namespace, "records")
		if err != nil {
			return err
		}
		over, end := context.WithCancel(ctx)
		end()
		defer flow.Stop(over)
		if err := pause(ctx, settles); err != nil {
			return err
		}
		before := time.Now()
		if err := pause(ctx, quiet); err != nil {
			return err
		}
		after := time.Now()
		another, err := m.restartsOfAnother(ctx, r, manifest)
		if err != nil {
			return err
		}
		with, err := m.restarts(ctx, r, namespace)
		if err != nil {
			return err
		}
		if _, err := m.Kubectl(ctx, "set", "env", "-n", deploy.Namespace, "deployment/roller", "STRIMZI_ROLLER_ELECT_LEADERS=false"); err != nil {
			return err
		}
		if err := m.Ready(ctx); err != nil {
			return err
		}
		without, err := m.restarts(ctx, r, namespace)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		report := flow.Stop(limited)
		for name, marks := range map[string][]time.Time{"": with, "_without_elections": without, "_of_another_kafka": another} {
			var p99, longest time.Duration
			for i, from := range marks[:rolls] {
				of99, most := report.Percentile(99, from, marks[i+1]), report.Percentile(100, from, marks[i+1])
				p99, longest = max(p99, of99), max(longest, most)
				r.logf("  roll %d%s: p99 %s, longest %s", i+1, name, of99, most)
			}
			r.add("kafka_of_3_nodes_roll"+name, marks[rolls].Sub(marks[0]).Seconds()/rolls, "s")
			r.addBeside("produce_p99_in_the_worst_of_3_rolls"+name, millis(p99), millis(report.Percentile(99, before, after)), "ms")
			r.addBeside("longest_produce_in_3_rolls"+name, millis(longest), millis(report.Percentile(100, before, after)), "ms")
		}
		return report.Err()
	})
}

// restartsOfAnother creates a Kafka in a namespace of its own, restarts all its nodes several times, and deletes it. It returns when each
// roll began, and when the last one ended.
func (m machine) restartsOfAnother(ctx context.Context, r *Report, manifest string) ([]time.Time, error) {
	const namespace = "another"
	if _, err := m.applied(ctx, namespace, manifest); err != nil {
		return nil, err
	}
	marks, err := m.restarts(ctx, r, namespace)
	if err != nil {
		return nil, err
	}
	if _, err := m.Kubectl(ctx, "delete", "namespace", namespace, "--timeout=2m"); err != nil {
		return nil, err
	}
	return marks, pause(ctx, settles)
}

// restarts restarts all nodes several times, and returns when each roll began, and when the last one ended.
func (m machine) restarts(ctx context.Context, r *Report, namespace string) ([]time.Time, error) {
	marks := []time.Time{time.Now()}
	for range rolls {
		if err := m.restart(ctx, r, namespace); err != nil {
			return nil, err
		}
		marks = append(marks, time.Now())
	}
	return marks, nil
}

// restart restarts all nodes of the namespace's Kafka, and waits until they are ready.
func (m machine) restart(ctx context.Context, r *Report, namespace string) error {
	before, _, err := m.nodes(ctx, namespace)
	if err != nil {
		return err
	}
	old := map[types.UID]bool{}
	for i := range before {
		old[before[i].UID] = true
	}
	set := &core.StrimziPodSet{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "my-cluster-combined"}, set); err != nil {
		return err
	}
	marked := set.DeepCopy()
	if marked.Annotations == nil {
		marked.Annotations = map[string]string{}
	}
	marked.Annotations["strimzi.io/manual-rolling-update"] = "true"
	if err := m.Client.Patch(ctx, marked, client.MergeFrom(set)); err != nil {
		return err
	}
	seen := map[types.UID]bool{}
	return until(ctx, "all nodes are restarted", func() (bool, error) {
		pods, _, err := m.nodes(ctx, namespace)
		if err != nil || len(pods) < len(before) {
			return false, err
		}
		for i := range pods {
			if old[pods[i].UID] || !core.IsReady(&pods[i]) {
				continue
			}
			if !seen[pods[i].UID] {
				seen[pods[i].UID] = true
				r.logf("  %s ready %s at %s", time.Now().Format("15:04:05.000"), pods[i].Name, pods[i].Status.PodIP)
			}
		}
		k, err := m.kafka(ctx, namespace)
		return len(seen) == len(before) && err == nil && state(k, v1.ConditionReady) == "True", err
	})
}
