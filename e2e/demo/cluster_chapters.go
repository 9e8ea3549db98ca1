package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func (o *onNodes) applied(ctx context.Context) error {
	o.tell.section("A Kafka of three nodes, each broker and controller, with TLS and volumes")
	if err := o.makeKafka(ctx); err != nil {
		return err
	}
	return o.show(ctx, "get", "kafka,kafkanodepool,strimzipodset,pods,pvc", "-n", clusterNamespace)
}

// makeKafka applies the Kafka, and shows its way to Ready.
func (o *onNodes) makeKafka(ctx context.Context) error {
	began := time.Now()
	if err := o.show(ctx, "apply", "--server-side", "-n", clusterNamespace, "-f", o.manifest("kafka.yaml")); err != nil {
		return err
	}
	if err := o.awaitReady(ctx, began, "True"); err != nil {
		return err
	}
	o.tell.say("")
	return nil
}

// awaitReady shows the condition Ready whenever it changes, until it has a status.
func (o *onNodes) awaitReady(ctx context.Context, began time.Time, status string) error {
	shown := ""
	return o.await(ctx, "the Kafka's condition Ready is "+status, func(ctx context.Context) (bool, error) {
		var kafka v1.Kafka
		if err := o.k8s.Get(ctx, client.ObjectKey{Namespace: clusterNamespace, Name: clusterName}, &kafka); err != nil {
			return false, err
		}
		for _, c := range kafka.Status.Conditions {
			if c.Type != v1.ConditionReady {
				continue
			}
			if text := strings.TrimSpace("Ready=" + c.Status + " " + c.Message); text != shown {
				shown = text
				o.event(began, text)
			}
			return c.Status == status && kafka.Status.ObservedGeneration == kafka.Generation, nil
		}
		return false, nil
	})
}

func (o *onNodes) topics(ctx context.Context) error {
	o.tell.section("Topics, which the Kafka's own topic operator makes")
	if err := o.show(ctx, "apply", "--server-side", "-n", clusterNamespace, "-f", o.manifest("topics.yaml")); err != nil {
		return err
	}
	if _, err := o.quiet(ctx, "wait", "--for=condition=Ready", "kafkatopic", "--all", "-n", clusterNamespace, "--timeout=2m"); err != nil {
		return err
	}
	return o.show(ctx, "get", "kafkatopic", "-n", clusterNamespace)
}

func (o *onNodes) used(ctx context.Context) error {
	o.tell.section("A producer and a consumer, over TLS")
	if err := o.show(ctx, "apply", "--server-side", "-n", clusterNamespace, "-f", o.manifest("records.yaml")); err != nil {
		return err
	}
	err := o.await(ctx, "records are read", func(ctx context.Context) (bool, error) {
		read, err := o.read(ctx)
		return read > 0, err
	})
	if err != nil {
		return err
	}
	return o.show(ctx, "logs", "-n", clusterNamespace, "deploy/records", "--tail=1")
}

// read returns the number of records that were read, from the last line of the log. A refused record is an error.
func (o *onNodes) read(ctx context.Context) (int, error) {
	out, err := o.quiet(ctx, "logs", "-n", clusterNamespace, "deploy/records", "--tail=1")
	if err != nil {
		return 0, err
	}
	var acknowledged, refused, read int
	if _, err := fmt.Sscanf(out, "%d records acknowledged by all replicas, %d refused, %d read", &acknowledged, &refused, &read); err != nil {
		return 0, fmt.Errorf("%q: %w", out, err)
	}
	if refused > 0 {
		return read, fmt.Errorf("%d records were refused", refused)
	}
	return read, nil
}

func (o *onNodes) rolled(ctx context.Context) error {
	o.tell.section("A change that needs restarts: the roller takes one node at a time")
	return o.watched(ctx, 3, func() error {
		return o.show(ctx, "patch", "kafka", clusterName, "-n", clusterNamespace, "--type=merge", "-p",
			`{"spec":{"kafka":{"config":{"auto.create.topics.enable":false}}}}`)
	})
}

func (o *onNodes) killed(ctx context.Context) error {
	o.tell.section("A pod is killed")
	return o.watched(ctx, 1, func() error {
		return o.show(ctx, "delete", "pod", clusterName+"-combined-1", "-n", clusterNamespace, "--grace-period=0", "--force", "--wait=false")
	})
}

// node is the state of a node that the story shows.
type node struct {
	uid   string
	state string
}

// watched calls do, and shows the nodes until that many of them were recreated and all are ready, and that records still flow.
func (o *onNodes) watched(ctx context.Context, anew int, do func() error) error {
	before, err := o.pods(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	began, seen := time.Now(), maps.Clone(before)
	err = o.await(ctx, "all nodes are ready again", func(ctx context.Context) (bool, error) {
		now, err := o.pods(ctx)
		if err != nil {
			return false, err
		}
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if now[name] != seen[name] {
				o.event(began, name+" is "+now[name].state)
			}
		}
		seen = now
		again := 0
		for name, n := range before {
			if now[name].state != ready {
				return false, nil
			}
			if now[name].uid != n.uid {
				again++
			}
		}
		return again >= anew, nil
	})
	if err != nil {
		return err
	}
	o.tell.say("")
	return o.flows(ctx)
}

// flows shows that records are still written and read, and none is refused.
func (o *onNodes) flows(ctx context.Context) error {
	read, err := o.read(ctx)
	if err != nil {
		return err
	}
	err = o.await(ctx, "records flow on", func(ctx context.Context) (bool, error) {
		later, err := o.read(ctx)
		return later > read, err
	})
	if err != nil {
		return err
	}
	return o.show(ctx, "logs", "-n", clusterNamespace, "deploy/records", "--tail=1")
}

// ready is the state of a node that serves clients.
const ready = "ready"

// pods returns the state of each existing node, by name.
func (o *onNodes) pods(ctx context.Context) (map[string]node, error) {
	var pods corev1.PodList
	err := o.k8s.List(ctx, &pods, client.InNamespace(clusterNamespace), client.MatchingLabels{v1.LabelCluster: clusterName},
		client.HasLabels{core.LabelPoolName})
	if err != nil {
		return nil, err
	}
	all := map[string]node{}
	for id := range 3 {
		all[fmt.Sprintf("%s-combined-%d", clusterName, id)] = node{state: "away"}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		state := "starting"
		if core.IsReady(pod) {
			state = ready
		}
		if pod.DeletionTimestamp != nil {
			state = "stopping"
		}
		all[pod.Name] = node{uid: string(pod.UID), state: state}
	}
	return all, nil
}

// event shows a text with the time since the start.
func (o *onNodes) event(began time.Time, text string) {
	o.tell.say("    after %5.1f s  %s", time.Since(began).Seconds(), text)
}

// await polls until a condition holds. It shows an error only if the condition never does.
func (o *onNodes) await(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	const pause = 200 * time.Millisecond
	limited, cancel := context.WithTimeout(ctx, clusterPatience)
	defer cancel()
	for {
		ok, err := condition(limited)
		if err == nil && ok {
			return nil
		}
		select {
		case <-limited.Done():
			return errors.Join(fmt.Errorf("not within %v: %s", clusterPatience, what), err, ctx.Err())
		case <-time.After(pause):
		}
	}
}
