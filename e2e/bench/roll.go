//go:build linux

package bench

import (
	"context"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// rollPods measures what a producer with acks=all notices while all nodes of a Kafka are restarted, each with a new pod and a new address,
// on a real Kubernetes cluster. The floor is the same restarts by hand, one at a time, while no roller runs.
//
// Three nodes are also restarted without the elections that make restarted brokers leaders of their partitions again. What the producer
// notices while another Kafka on the same machine is restarted is the machine's share: nodes that start use the same cores.
func rollPods(ctx context.Context, r *Report) error {
	return onMachine(ctx, r, func(m machine, lab *realnodes.Lab, root string) error {
		folder := filepath.Join(root, "e2e", "bench")
		three, six := &rolled{r: r, what: "3_nodes"}, &rolled{r: r, what: "6_brokers", suffix: "_of_6_brokers"}
		if err := m.roll(ctx, lab, three, filepath.Join(folder, "roll.yaml")); err != nil {
			return err
		}
		return m.roll(ctx, lab, six, filepath.Join(folder, "roll-6-brokers.yaml"))
	})
}

// roll measures the rolls of the Kafka in a manifest.
func (m machine) roll(ctx context.Context, lab *realnodes.Lab, k *rolled, manifest string) (err error) {
	if err := m.serve(ctx, k, "roll", manifest); err != nil {
		return err
	}
	admin, options, err := m.connect(ctx, lab, k.namespace)
	if err != nil {
		return err
	}
	defer admin.Close()
	k.admin = admin
	byHand := &way{name: "_by_hand", begin: func(ctx context.Context) error { return m.rollers(ctx, 0, true) }, restart: k.byHand}
	with, without := m.way(k, "", true), m.way(k, "_without_elections", false)
	if k.suffix == "" {
		err = k.measure(ctx, options, func() (*way, error) { return m.another(ctx, k, manifest) }, byHand, with, without)
	} else {
		err = k.measure(ctx, options, nil, byHand, with)
	}
	if err != nil {
		return err
	}
	return m.forget(ctx, k)
}

// serve applies the Kafka in a manifest in a new namespace.
func (m machine) serve(ctx context.Context, k *rolled, namespace, manifest string) (err error) {
	k.namespace = namespace
	if k.k8s, err = client.NewWithWatch(m.RESTConfig(), client.Options{Scheme: m.Client.Scheme()}); err != nil {
		return err
	}
	_, err = m.applied(ctx, namespace, manifest)
	return err
}

// forget deletes a Kafka with its namespace.
func (m machine) forget(ctx context.Context, k *rolled) error {
	_, err := m.Kubectl(ctx, "delete", "namespace", k.namespace, "--timeout=2m")
	return err
}

// way returns rolls by the roller, with or without elections.
func (m machine) way(k *rolled, name string, elect bool) *way {
	return &way{
		name: name, metrics: m.rollerMetrics,
		begin: func(ctx context.Context) error {
			if err := m.rollers(ctx, 2, elect); err != nil {
				return err
			}
			return k.looksAt(ctx, m.rollerMetrics)
		},
		restart: func(ctx context.Context) error {
			return k.byRoller(ctx, func(ctx context.Context) error { return m.outdate(ctx, k.namespace) })
		},
	}
}

// rollers sets the number of the roller's replicas, and whether they elect leaders.
func (m machine) rollers(ctx context.Context, replicas int, elect bool) error {
	for _, args := range [][]string{
		{"set", "env", "-n", deploy.Namespace, "deployment/roller", "STRIMZI_ROLLER_ELECT_LEADERS=" + strconv.FormatBool(elect)},
		{"scale", "-n", deploy.Namespace, "deployment/roller", "--replicas=" + strconv.Itoa(replicas)},
	} {
		if _, err := m.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return m.Ready(ctx)
}

// rollerMetrics reads the metrics of all replicas of the roller.
func (m machine) rollerMetrics(ctx context.Context) ([]operatorproc.Metrics, error) {
	var pods corev1.PodList
	if err := m.Client.List(ctx, &pods, client.InNamespace(deploy.Namespace),
		client.MatchingLabels{"app.kubernetes.io/name": "roller"}); err != nil {
		return nil, err
	}
	var all []operatorproc.Metrics
	for i := range pods.Items {
		metrics, err := m.metrics(ctx, pods.Items[i].Name)
		if err != nil {
			return nil, err
		}
		all = append(all, metrics)
	}
	return all, nil
}

// outdate asks for a restart of all nodes of the namespace's Kafka.
func (m machine) outdate(ctx context.Context, namespace string) error {
	_, err := m.Kubectl(ctx, "annotate", "strimzipodsets", "-n", namespace, "-l", v1.LabelCluster+"="+rolledKafka,
		core.AnnotationManualRollingUpdate+"=true", "--overwrite")
	return err
}

// another creates another Kafka, lets the roller restart all its nodes several times, and deletes it.
func (m machine) another(ctx context.Context, beside *rolled, manifest string) (*way, error) {
	k := &rolled{r: beside.r}
	if err := m.serve(ctx, k, "another", manifest); err != nil {
		return nil, err
	}
	w := m.way(k, "_of_another_kafka", true)
	w.metrics = nil
	for range rolls {
		if err := pause(ctx, calm); err != nil {
			return nil, err
		}
		if err := w.roll(ctx); err != nil {
			return nil, err
		}
	}
	if err := m.forget(ctx, k); err != nil {
		return nil, err
	}
	return w, pause(ctx, settles)
}
