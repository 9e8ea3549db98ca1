package controller

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// mute is a client of brokers that take connections and never answer.
type mute struct {
	Admin
	asked *atomic.Int32
	end   <-chan struct{}
}

func (m mute) DescribeCluster(context.Context) (kafka.Cluster, error) {
	m.asked.Add(1)
	<-m.end
	m.asked.Add(-1)
	return kafka.Cluster{}, context.DeadlineExceeded
}

func (mute) Close() {}

func (mute) Reconfigure(kafka.Config) error { return nil }

// answeringOne has the brokers of one Kafka answer; those of all others are asked as usual.
type answeringOne struct {
	*Clients
	name    string
	brokers *brokers
}

func (a answeringOne) Inspect(ctx context.Context, to Connection) (Found, error) {
	if to.Kafka.Name == a.name {
		return a.brokers.Inspect(ctx, to)
	}
	return a.Clients.Inspect(ctx, to)
}

// TestAKafkaDoesNotWaitForOthers changes a Kafka beside 20 whose brokers never answer, and 20 invalid ones. There is one worker: the change
// would never be carried out if one of these occupied it.
func TestAKafkaDoesNotWaitForOthers(t *testing.T) {
	const others = 20
	w := newWorld(t)
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	var asked atomic.Int32
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	w.brokers.metadata = metadataOf["4.3.1"]
	w.r.Kafka = answeringOne{&Clients{Now: time.Now,
		After:   func(wait time.Duration) <-chan time.Time { return time.After(wait / 20) }, // so that the test takes seconds
		Connect: func(kafka.Config) (Admin, error) { return mute{asked: &asked, end: end}, nil }}, "my-cluster", w.brokers}
	w.r.Now = time.Now
	w.watching()
	named := func(kafka string) []client.Object {
		k, pool := newKafka(), nodePool(kafka, 1, v1.RoleController, v1.RoleBroker)
		k.Name, pool.Labels[v1.LabelCluster] = kafka, kafka
		return []client.Object{k, pool}
	}
	w.create(named("my-cluster")...)
	w.settle()
	for i := range others {
		w.create(named(fmt.Sprint("silent-", i))...)
		wrong := named(fmt.Sprint("invalid-", i))
		wrong[0].(*v1.Kafka).Spec.Kafka.Version = "1.0.0"
		w.create(wrong...)
	}
	w.Eventually(func(g Gomega) {
		w.nodesRun(g)
		g.Expect(asked.Load()).To(BeNumerically(">=", others), "the brokers of each are asked")
	}).Should(Succeed())

	began := time.Now()
	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": {Raw: []byte("1234")}}
	})
	w.Eventually(func(g Gomega) {
		config := &corev1.ConfigMap{}
		g.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-my-cluster-0"}, config)).To(Succeed())
		g.Expect(config.Data["server.config"]).To(ContainSubstring("log.retention.ms=1234"))
	}).Should(Succeed())
	t.Logf("an edit is carried out after %s beside %d Kafkas that hang and %d invalid ones", time.Since(began), others, others)
	w.Expect(asked.Load()).To(BeNumerically(">=", others), "they still hang")
	for i := range others {
		k := &v1.Kafka{}
		w.get(k, fmt.Sprint("invalid-", i))
		w.Expect(readyOf(k)).To(HaveValue(HaveField("Status", "False")))
	}
}

// patient counts the plans that were waited for until a program was ended.
type patient struct {
	*external.Provider
	deadline time.Duration
	waited   *atomic.Int32
}

func (patient) Info(context.Context) (network.Info, error) {
	return network.Info{Name: "faulty", Interface: network.Version}, nil
}

func (p patient) Plan(ctx context.Context, r network.Request) ([]network.Object, error) {
	began := time.Now()
	defer func() {
		if time.Since(began) >= p.deadline {
			p.waited.Add(1)
		}
	}()
	return p.Provider.Plan(ctx, r)
}

// TestAKafkaDoesNotWaitForANetworkProvider changes a Kafka beside 20 stretched ones whose network provider is a program that hangs. There
// is one worker.
func TestAKafkaDoesNotWaitForANetworkProvider(t *testing.T) {
	const others, deadline = 20, time.Second
	w := newStretchedWorld(t)
	program := filepath.Join(t.TempDir(), "hangs")
	w.Expect(assets.Build(t.Context(), program, ".", "../../network/external/testdata/faulty")).To(Succeed())
	hangs, err := external.Start(t.Context(), external.Options{Path: program, Settings: map[string]string{"fault": "hang"}, Deadline: deadline,
		Silence: time.Hour})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(hangs.Close)
	var waited atomic.Int32
	w.r.Stretching.Provider = patient{hangs, deadline, &waited}
	w.brokers.metadata = metadataOf["4.3.1"]
	w.watching()
	w.create(newKafka(), nodePool("my-cluster", 1, v1.RoleController, v1.RoleBroker))
	w.world.settle()
	edit := func(retention string) time.Duration {
		began := time.Now()
		w.edit(func(k *v1.Kafka) {
			k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": {Raw: []byte(retention)}}
		})
		w.Eventually(func() string { return w.setting("central", "my-cluster-my-cluster-0", "log.retention.ms") }).Should(Equal(retention))
		return time.Since(began)
	}
	alone := edit("1234")
	for i := range others {
		k, pool := stretchedKafka(), poolIn("central", fmt.Sprint("hangs-", i), 1, v1.RoleController, v1.RoleBroker)
		k.Name, pool.Labels[v1.LabelCluster] = pool.Name, pool.Name
		w.create(k, pool)
	}
	w.Eventually(func(g Gomega) {
		for i := range others {
			k := &v1.Kafka{}
			g.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: fmt.Sprint("hangs-", i)}, k)).To(Succeed())
			g.Expect(k.Status.Conditions).To(ContainElement(HaveField("Reason", "NetworkProviderFailed")))
		}
	}).Should(Succeed())
	t.Logf("an edit is carried out after %s, and after %s beside %d Kafkas whose provider hangs", alone, edit("5678"), others)
	w.Expect(waited.Load()).To(BeEquivalentTo(1), "calls occupied the worker")
}

// nodesRun updates the statuses of all StrimziPodSets as if their nodes ran.
func (w *world) nodesRun(g Gomega) {
	for _, o := range w.everything() {
		set, is := o.(*core.StrimziPodSet)
		if !is {
			continue
		}
		n := int32(len(set.Spec.Pods))
		next := core.StrimziPodSetStatus{ObservedGeneration: set.Generation, Pods: n, CurrentPods: n, ReadyPods: n}
		if jsonText(set.Status) != jsonText(next) {
			set.Status = next
			g.Expect(client.IgnoreNotFound(w.k8s.Status().Update(w.t.Context(), set))).To(Succeed())
		}
	}
}
