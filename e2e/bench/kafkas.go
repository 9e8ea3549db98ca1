package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/freeport"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

const (
	// watched is how long a converged Kafka is watched: the default interval of the operator's timed passes.
	watched = 2 * time.Minute
	// touches is how often the largest Kafka is reconciled to measure one pass.
	touches = 5
)

// kafkas measures the cluster-operator on a real API server, with a kubelet that only reports pods as ready. No broker responds, so each
// pass over a ready Kafka makes a failing request to one.
func (w *world) kafkas(ctx context.Context, r *Report, sizes []int, many int) (err error) {
	if err := core.AddToScheme(w.scheme); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-kafkas-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := buildProgram(ctx, dir, "cluster-operator")
	if err != nil {
		return err
	}
	for _, n := range sizes {
		measure := func(o *kafkaOperator) error { return o.one(ctx, r, n, n == slices.Max(sizes)) }
		if err := w.withKafkaOperator(ctx, program, fmt.Sprintf("bench-%d-nodes", n), measure); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	if many == 0 {
		return nil
	}
	return w.withKafkaOperator(ctx, program, fmt.Sprintf("bench-%d-kafkas", many),
		func(o *kafkaOperator) error { return o.many(ctx, r, many) })
}

// kafkaOperator is a cluster-operator for one namespace.
type kafkaOperator struct {
	*world
	namespace, address string
	pid                int
}

// withKafkaOperator runs an operator and a kubelet in a new namespace while measure runs.
func (w *world) withKafkaOperator(ctx context.Context, program, namespace string, measure func(*kafkaOperator) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := w.createNamespace(ctx, namespace); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- w.kubelet(ctx, namespace) }()
	log := program + "." + namespace + ".log"
	p, address, err := w.serve(program, log, "--namespace="+namespace, "--operator-namespace="+namespace, "--roller-service-account=none")
	if err != nil {
		return err
	}
	defer p.Kill()
	err = measure(&kafkaOperator{world: w, namespace: namespace, address: address, pid: p.PID()})
	stop()
	err = errors.Join(err, <-failed)
	if err != nil {
		said, _ := os.ReadFile(log) // for the message only
		err = fmt.Errorf("%w; the operator's last words:\n%s", err, said[max(0, len(said)-4000):])
	}
	return err
}

// serve starts a program of ours for the API server, and returns the address of its metrics.
func (w *world) serve(program, log string, args ...string) (*process.Process, string, error) {
	ports, err := freeport.Take(1)
	if err != nil {
		return nil, "", err
	}
	defer freeport.Release(ports)
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p, err := process.Start(process.Options{
		Args: append(append([]string{program}, args...), "--http-address="+address),
		Env:  append(os.Environ(), "KUBECONFIG="+w.plane.Kubeconfig()), Dir: filepath.Dir(program), Output: log,
	})
	return p, address, err
}

// kubelet binds each pod of a namespace to a node, and reports it as ready.
func (w *world) kubelet(ctx context.Context, namespace string) error {
	watcher, err := client.NewWithWatch(w.config, client.Options{Scheme: w.scheme})
	if err != nil {
		return err
	}
	pods, err := watcher.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer pods.Stop()
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}
		if err := w.client.SubResource("binding").Create(ctx, pod, binding); err != nil {
			return client.IgnoreNotFound(err)
		}
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.Now()}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: core.ContainerKafka, Image: "kafka", Ready: true,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			}},
		}
		pod.ResourceVersion = "" // the binding has changed it
		if err := w.client.Status().Update(ctx, pod); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return nil
}

// one measures one Kafka of n nodes.
func (o *kafkaOperator) one(ctx context.Context, r *Report, n int, passes bool) error {
	name := fmt.Sprintf("%d_nodes", n)
	if err := o.created(ctx, r, "kafka_of_"+name, []string{"many"}, n); err != nil {
		return err
	}
	// The remaining work of the creation, Events included, is done in the first half minute.
	if err := pause(ctx, watched/4); err != nil {
		return err
	}
	before, err := o.spent(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, watched); err != nil {
		return err
	}
	after, err := o.spent(ctx)
	if err != nil {
		return err
	}
	r.add("converged_"+name+"_writes", (after.writes-before.writes)/watched.Minutes(), "requests/min")
	r.add("converged_"+name+"_requests", (after.requests-before.requests)/watched.Minutes(), "requests/min")
	r.add("converged_"+name+"_cpu", (after.used.CPU-before.used.CPU).Seconds()/watched.Minutes(), "cpu-s/min")
	r.add("cluster_operator_resident_"+name, float64(after.used.RSS)/1e6, "MB")
	r.add("cluster_operator_resident_peak_"+name, float64(after.used.PeakRSS)/1e6, "MB")
	if !passes {
		return nil
	}
	return o.passes(ctx, r, name)
}

// passes measures one pass over a converged Kafka.
func (o *kafkaOperator) passes(ctx context.Context, r *Report, name string) error {
	before, err := o.spent(ctx)
	if err != nil {
		return err
	}
	now := before
	for i := range touches {
		kafka := &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "many"}}
		touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"bench/touched":"%d"}}}`, i)
		if err := o.client.Patch(ctx, kafka, client.RawPatch(types.MergePatchType, touch)); err != nil {
			return err
		}
		for last := now.passes; now.passes == last; {
			if err := pause(ctx, 200*time.Millisecond); err != nil {
				return err
			}
			if now, err = o.spent(ctx); err != nil {
				return err
			}
		}
	}
	r.add("reconcile_"+name, (now.used.CPU-before.used.CPU).Seconds()/(now.passes-before.passes), "cpu-s")
	return nil
}

// many measures n Kafkas of three nodes that are applied at once.
func (o *kafkaOperator) many(ctx context.Context, r *Report, n int) error {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("kafka-%d", i))
	}
	if err := o.created(ctx, r, fmt.Sprintf("%d_kafkas_of_3_nodes", n), names, 3); err != nil {
		return err
	}
	used, err := operatorproc.UsageOf(o.pid)
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("cluster_operator_resident_%d_kafkas", n), float64(used.RSS)/1e6, "MB")
	return nil
}

// created measures the time from applying Kafkas until all are ready, and the operator's use of resources meanwhile.
func (o *kafkaOperator) created(ctx context.Context, r *Report, what string, names []string, nodes int) error {
	began := time.Now()
	err := each(ctx, len(names), func(ctx context.Context, i int) error {
		for _, object := range kafkaOf(o.namespace, names[i], nodes) {
			if err := o.client.Create(ctx, object); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.allReady(ctx, len(names)); err != nil {
		return err
	}
	took := time.Since(began)
	now, err := o.spent(ctx)
	if err != nil {
		return err
	}
	r.add(what+"_ready", took.Seconds(), "s")
	r.add(what+"_ready_cpu", now.used.CPU.Seconds(), "cpu-s")
	r.add(what+"_ready_requests", now.requests, "requests")
	return nil
}

// allReady waits until that many Kafkas are ready.
func (o *kafkaOperator) allReady(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	for {
		var list v1.KafkaList
		if err := o.client.List(ctx, &list, client.InNamespace(o.namespace)); err != nil {
			return err
		}
		ready := 0
		for i := range list.Items {
			if slices.ContainsFunc(list.Items[i].Status.Conditions,
				func(c v1.Condition) bool { return c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue }) {
				ready++
			}
		}
		if ready == n {
			return nil
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d Kafkas are ready: %w", ready, n, err)
		}
	}
}

// spending is the operator's requests, writes, passes and use of resources so far.
type spending struct {
	requests, writes, passes float64
	used                     operatorproc.Usage
}

func (o *kafkaOperator) spent(ctx context.Context) (now spending, err error) {
	metrics, err := operatorproc.Scrape(ctx, "http://"+o.address+"/metrics")
	if err != nil {
		return now, err
	}
	now.requests = metrics.Sum("rest_client_requests_total")
	now.writes = now.requests - metrics.Sum("rest_client_requests_total", `method="GET"`)
	now.passes = metrics.Sum("strimzi_reconciliations_total", `kind="Kafka"`)
	now.used, err = operatorproc.UsageOf(o.pid)
	return now, err
}

// kafkaOf returns a Kafka with that many nodes, with its pools: three nodes are controllers.
func kafkaOf(namespace, name string, nodes int) []client.Object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	pool := func(suffix string, replicas int, roles ...v1.ProcessRole) client.Object {
		p := &v1.KafkaNodePool{ObjectMeta: meta(name + "-" + suffix), Spec: &v1.KafkaNodePoolSpec{
			Replicas: int32(replicas), Roles: roles, Storage: v1.Storage{Type: v1.StoragePersistentClaim, Size: "100Gi"},
		}}
		p.Labels = map[string]string{v1.LabelCluster: name}
		return p
	}
	kafka := &v1.Kafka{ObjectMeta: meta(name), Spec: &v1.KafkaSpec{Kafka: v1.KafkaClusterSpec{
		Listeners: []v1.Listener{{Name: "tls", Port: 9093, Type: v1.ListenerInternal, TLS: true}},
		Config: map[string]v1.ConfigValue{"default.replication.factor": {Raw: []byte(`"3"`)},
			"min.insync.replicas": {Raw: []byte(`"2"`)}},
	}}}
	if nodes <= 3 {
		return []client.Object{pool("combined", nodes, v1.RoleController, v1.RoleBroker), kafka}
	}
	return []client.Object{pool("controllers", 3, v1.RoleController), pool("brokers", nodes-3, v1.RoleBroker), kafka}
}
