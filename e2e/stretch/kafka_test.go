//go:build linux

package stretch

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

const name = "my-cluster"

// namespace is the namespace of the Kafka that the current specs use.
var namespace = "stretched"

// nodes is the number of its nodes.
var nodes = 3

// deployed returns what the Kafka is to other packages.
func deployed() *deploy.Kafka {
	k := &deploy.Kafka{Namespace: namespace, Name: name}
	for _, p := range places {
		k.Places = append(k.Places, p.Place)
	}
	return k
}

func object(g Gomega) *v1.Kafka {
	found, err := deployed().Object(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

// condition returns the status, reason and message of a condition; empty if there is none.
func condition(k *v1.Kafka, kind string) string {
	for _, c := range k.Status.Conditions {
		if c.Type == kind {
			return strings.TrimSpace(strings.Join([]string{c.Status, c.Reason, c.Message}, " "))
		}
	}
	return ""
}

func whatWasSaid() string { return said(namespace) }

// ready waits until the Kafka is Ready in its current generation, in all Kubernetes clusters.
func ready() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := object(g)
		g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
		g.Expect(condition(found, v1.ConditionReady)).To(HavePrefix("True"))
		g.Expect(readyPods(g)).To(HaveLen(nodes))
	}).Should(Succeed(), whatWasSaid)
}

// operatorPods returns the restarts of the containers of the operators' pods in the central Kubernetes cluster, by pod.
func operatorPods(g Gomega) map[string]int32 {
	var pods corev1.PodList
	g.Expect(places[0].Client.List(ctx, &pods, client.InNamespace(deploy.Namespace))).To(Succeed())
	restarts := map[string]int32{}
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			restarts[pods.Items[i].Name] += c.RestartCount
		}
	}
	return restarts
}

// readyPods returns the uids of the ready nodes' pods in all Kubernetes clusters, by name.
func readyPods(g Gomega) map[string]types.UID {
	uids, err := deployed().ReadyPods(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return uids
}

// outside returns the addresses and the CA with which clients outside of all Kubernetes clusters reach the Kafka.
func outside() (addresses []string, authority []byte) {
	GinkgoHelper()
	addresses, err := deployed().Bootstrap(ctx, "external")
	Expect(err).NotTo(HaveOccurred())
	authority, _, err = deployed().Authority(ctx)
	Expect(err).NotTo(HaveOccurred())
	return addresses, authority
}

func records(topic string) traffic.Options {
	GinkgoHelper()
	addresses, authority := outside()
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(authority)).To(BeTrue())
	return traffic.Options{
		Bootstrap: addresses, Dial: lab.DialContext, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, Topic: topic,
		Group: topic + "-readers",
	}
}

// admin returns a client of the brokers from outside.
func admin() *saramakafka.Admin {
	GinkgoHelper()
	addresses, authority := outside()
	a, err := saramakafka.New(kafka.Config{
		Bootstrap: addresses, ClientID: "e2e", RequestTimeout: 10 * time.Second, Dial: lab.DialContext,
		TLS: &kafka.TLS{TrustedCertificates: authority},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(a.Close)
	return a
}

// inSync waits until all replicas of all partitions are in sync.
func inSync(a *saramakafka.Admin) {
	GinkgoHelper()
	Eventually(func() error { return deploy.InSync(ctx, a) }).Should(Succeed(), whatWasSaid)
}

// write writes with acks=all and reads while during runs. No record may be lost or rejected.
func write(topic string, during func(flow *traffic.Traffic)) {
	GinkgoHelper()
	writeAs(records(topic), during)
}

// writeAs does what write does, as a client with these options.
func writeAs(o traffic.Options, during func(flow *traffic.Traffic)) {
	GinkgoHelper()
	topic, a := o.Topic, admin()
	Eventually(func(g Gomega) {
		made, err := a.CreateTopics(ctx, []kafka.NewTopic{{Name: topic, Partitions: 6, ReplicationFactor: 3}}, false)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(made[topic].Err == nil || kafka.IsExists(made[topic].Err)).To(BeTrue(), "%v", made[topic].Err)
	}).Should(Succeed(), whatWasSaid)
	r, err := traffic.Through(ctx, o, 300, patience, during)
	Expect(err).NotTo(HaveOccurred())
	acknowledged += len(r.Acknowledged)
	AddReportEntry("records to "+topic, ReportEntryVisibilityAlways,
		fmt.Sprintf("%d acknowledged, the slowest after %s; none refused, lost or doubled",
			len(r.Acknowledged), r.Longest.Round(time.Millisecond)))
}

// longOutage is how long a Kubernetes cluster is unreachable in the full tests (make prove): longer than a producer waits for an
// acknowledgement by default.
var longOutage = map[bool]time.Duration{true: 150 * time.Second}[full]

// goesOn waits until the unreachable node leads no partition of a topic, and later records are acknowledged. The client was connected
// before the outage.
func goesOn(a *saramakafka.Admin, topic string, away int32, flow *traffic.Traffic) {
	GinkgoHelper()
	began := time.Now()
	Eventually(func(g Gomega) {
		topics, err := a.ListTopics(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for _, t := range topics {
			for _, p := range t.Partitions {
				g.Expect(t.Name != topic || p.Leader != away && p.Leader >= 0).To(BeTrue(), "%s-%d is led by %d", t.Name, p.Index, p.Leader)
			}
		}
	}).Should(Succeed(), whatWasSaid)
	sofar := flow.Progress().Acknowledged
	Eventually(func() int { return flow.Progress().Acknowledged }).Should(BeNumerically(">", sofar+300))
	Eventually(func() time.Duration { return time.Since(began) }).Should(BeNumerically(">=", longOutage))
}

// makesPodsAgain kills the pod with that uid in a remote Kubernetes cluster, waits until the operator there has created it again, and
// returns its name.
func makesPodsAgain(remote *place, uid types.UID) string {
	GinkgoHelper()
	killed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-east-1"}}
	Expect(remote.Client.Delete(ctx, killed, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid})).To(Succeed())
	Eventually(func(g Gomega) {
		again := &corev1.Pod{}
		g.Expect(remote.Client.Get(ctx, client.ObjectKeyFromObject(killed), again)).To(Succeed())
		g.Expect(again.UID).NotTo(Equal(uid))
		g.Expect(core.IsReady(again)).To(BeTrue())
	}).Should(Succeed(), whatWasSaid)
	return killed.Name
}

// made returns the objects that operators made for the Kafka in each Kubernetes cluster, except pods: their uids, and the generations of
// those that have one.
func made(g Gomega) map[string]string {
	found := map[string]string{}
	for _, p := range places {
		for _, list := range []client.ObjectList{&core.StrimziPodSetList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{},
			&corev1.SecretList{}, &corev1.ServiceAccountList{}, &corev1.PersistentVolumeClaimList{}, &networkingv1.NetworkPolicyList{},
			&policyv1.PodDisruptionBudgetList{}} {
			g.Expect(p.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{v1.LabelCluster: name})).To(Succeed())
			g.Expect(meta.EachListItem(list, func(o runtime.Object) error {
				m, err := meta.Accessor(o)
				if err == nil {
					found[fmt.Sprintf("%s: %T %s", p.ID, o, m.GetName())] = fmt.Sprintf("%s, generation %d", m.GetUID(), m.GetGeneration())
				}
				return err
			})).To(Succeed())
		}
	}
	return found
}

// misplaced is a pool that its user created in a remote Kubernetes cluster instead of the central one.
var misplaced = &v1.KafkaNodePool{
	ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "misplaced", Labels: map[string]string{v1.LabelCluster: name}},
	Spec:       &v1.KafkaNodePoolSpec{Replicas: 1, Roles: []v1.ProcessRole{v1.RoleBroker}, Storage: v1.Storage{Type: v1.StorageEphemeral}},
}

// loseWest cuts off a Kubernetes cluster while records are written, until the status shows it, and heals that. No pod is restarted.
func loseWest() {
	GinkgoHelper()
	west, before := places[2], readyPods(Default)
	write("cut-off", func(flow *traffic.Traffic) {
		began := time.Now()
		Expect(lab.Isolate(west.Cluster)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(condition(object(g), "Degraded")).To(ContainSubstring("cluster-west")) }).
			Should(Succeed(), whatWasSaid)
		report("a lost Kubernetes cluster shows in the status", time.Since(began))
		found := object(Default)
		Expect(condition(found, v1.ConditionReady)).To(HavePrefix("False"))
		goesOn(admin(), "cut-off", 2, flow)
		Expect(found.Status.StretchClusters[2]).
			To(And(HaveField("Name", "cluster-west"), HaveField("State", v1.StretchClusterUnknown), HaveField("NodeIDs", []int32{2})))
		began = time.Now()
		Expect(lab.HealAll()).To(Succeed())
		ready()
		report("it is Ready again after its return", time.Since(began))
	})
	inSync(admin())
	Expect(readyPods(Default)).To(Equal(before), "no pod was restarted because of it")
}

// losePower takes the power from the only machine of a Kubernetes cluster while records are written, until the status shows it, and gives
// it back.
func losePower() {
	GinkgoHelper()
	machine := places[1].Nodes()[0]
	write("without-power", func(flow *traffic.Traffic) {
		began := time.Now()
		Expect(machine.PowerOff(ctx)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(condition(object(g), "Degraded")).To(ContainSubstring("cluster-east")) }).
			Should(Succeed(), whatWasSaid)
		report("a Kubernetes cluster without power shows in the status", time.Since(began))
		goesOn(admin(), "without-power", 1, flow)
		began = time.Now()
		Expect(machine.PowerOn()).To(Succeed())
		ready()
		report("it is Ready again after its power came back", time.Since(began))
	})
	inSync(admin())
}

var _ = Describe("a Kafka with a node in each of three Kubernetes clusters", Ordered, func() {
	BeforeAll(func() {
		for _, p := range places {
			Expect(p.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		}
		DeferCleanup(func() { Expect(lab.HealAll()).To(Succeed()) })
		Expect(places[1].Client.Create(ctx, misplaced.DeepCopy())).To(Succeed())
	})

	It("is Ready, and written from outside with acks=all", func() {
		began := time.Now()
		places[0].kubectl("apply", "--server-side", "-n", namespace, "-f", filepath.Join("testdata", "kafka.yaml"))
		ready()
		report("from apply to Ready", time.Since(began))
		Expect(condition(object(Default), "StretchCluster")).To(Equal("True StretchClusterActive " +
			"Stretch cluster active: provider=nodeport, central=cluster-central, clusters=cluster-central,cluster-east,cluster-west"))
		addresses, _ := outside()
		Expect(addresses).To(HaveLen(3), "one in each Kubernetes cluster")
		write("formed", func(*traffic.Traffic) {})
		for i, p := range places {
			pod := fmt.Sprintf("%s-%s-%d", name, strings.TrimPrefix(p.ID, "cluster-"), i)
			Expect(p.kubectl("get", "pod", "-n", namespace, pod, "-o", "jsonpath={.metadata.annotations.strimzi\\.io/stretch-cluster-alias}")).
				To(Equal(p.ID))
		}
		for _, remote := range places[1:] {
			Expect(remote.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-cluster-ca"}, &corev1.Secret{})).
				To(MatchError(apierrors.IsNotFound, "the key of the CA stays in the central cluster"))
		}
	})

	It("is rolled over all of them, each node once, and nobody who writes notices", func() {
		before := readyPods(Default)
		began := time.Now()
		write("rolled", func(*traffic.Traffic) {
			places[0].kubectl("patch", "kafka", name, "-n", namespace, "--type=merge", "-p",
				`{"spec":{"kafka":{"config":{"auto.create.topics.enable":false}}}}`)
			Eventually(func(g Gomega) {
				now := readyPods(g)
				g.Expect(now).To(HaveLen(3))
				for pod, uid := range before {
					g.Expect(now).To(HaveKeyWithValue(pod, Not(Equal(uid))))
				}
			}).WithTimeout(8*time.Minute).Should(Succeed(), whatWasSaid)
			ready()
		})
		inSync(admin())
		report("a roll over three Kubernetes clusters", time.Since(began))
	})

	It("goes on without a Kubernetes cluster that is cut off, and has it back by itself", loseWest)

	It("goes on when a machine of a Kubernetes cluster loses its power", losePower)

	It("goes on when the central Kubernetes cluster loses its power, with all operators that decide, and makes pods again elsewhere", func() {
		central, a := places[0].Nodes()[0], admin()
		before := readyPods(Default)
		write("without-central", func(flow *traffic.Traffic) {
			Expect(central.PowerOff(ctx)).To(Succeed())
			goesOn(a, "without-central", 0, flow)
			delete(before, makesPodsAgain(places[1], before[name+"-east-1"]))
			began := time.Now()
			Expect(central.PowerOn()).To(Succeed())
			ready()
			report("it is Ready again after the central cluster's power came back", time.Since(began))
		})
		inSync(a)
		// The status may be from before the loss of power, and kubelet's probes run after the replicas are in sync.
		Eventually(readyPods).Should(HaveLen(3), whatWasSaid)
		for pod, uid := range readyPods(Default) {
			if was, there := before[pod]; there && !strings.HasPrefix(pod, name+"-central-") {
				Expect(uid).To(Equal(was), "no pod elsewhere was restarted because of it")
			}
		}
	})

	itInFull("goes on when the central Kubernetes cluster is cut off, with all operators that decide, and has it back by itself", func() {
		central, a := places[0], admin()
		pods, objects := readyPods(Default), made(Default)
		write("central-cut-off", func(flow *traffic.Traffic) {
			began := time.Now()
			Expect(lab.Isolate(central.Cluster)).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(condition(object(g), "Degraded")).To(And(ContainSubstring("cluster-east"), ContainSubstring("cluster-west")))
			}).Should(Succeed(), whatWasSaid)
			report("the central cluster says that it is alone", time.Since(began))
			goesOn(a, "central-cut-off", 0, flow)
			killed := makesPodsAgain(places[1], pods[name+"-east-1"])
			delete(pods, killed)
			Expect(made(Default)).To(Equal(objects), "nothing was deleted, scaled or made anew while the central cluster was alone")
			began = time.Now()
			Expect(lab.HealAll()).To(Succeed())
			ready()
			report("it is Ready again after the central cluster's return", time.Since(began))
		})
		inSync(a)
		Eventually(readyPods).Should(HaveLen(3), whatWasSaid)
		now := readyPods(Default)
		for pod, uid := range pods {
			Expect(now).To(HaveKeyWithValue(pod, uid), "no pod was restarted because of it")
		}
		Expect(made(Default)).To(Equal(objects))
	})

	itInFull("says what is wrong with new credentials, goes on with the old ones, and takes up better ones at once", func() {
		before := readyPods(Default)
		write("credentials", func(*traffic.Traffic) { exchangeCredentials(places[2]) })
		Expect(readyPods(Default)).To(Equal(before), "no pod was restarted because of it")
	})

	It("has a Kubernetes cluster leave and join again without a restart of anything", func() {
		before, operators := readyPods(Default), operatorPods(Default)
		leaveAndJoin(places[2], places[1])
		Expect(readyPods(Default)).To(Equal(before))
		Expect(operatorPods(Default)).To(Equal(operators))
	})

	It("says so to who made a pool in a Kubernetes cluster where nobody looks after it", func() {
		found := misplaced.DeepCopy()
		Eventually(func(g Gomega) {
			g.Expect(places[1].Client.Get(ctx, client.ObjectKeyFromObject(misplaced), found)).To(Succeed())
			g.Expect(found.Status.Conditions).To(ConsistOf(And(HaveField("Type", v1.ConditionReady), HaveField("Status", "False"),
				HaveField("Reason", "RemoteClusterNotSupported"), HaveField("Message", ContainSubstring("central cluster 'cluster-central'")))))
		}).Should(Succeed(), whatWasSaid)
		Expect(found.Status.NodeIDs).To(BeEmpty())
		Expect(places[1].Client.Delete(ctx, found)).To(Succeed())
	})

	itInFull("gets a new key of its CA in all of them, by no more than a roll for each phase, and nobody who writes notices", func() {
		o, began := records("new-key"), time.Now()
		o.Authorities = authorities
		writeAs(o, func(*traffic.Traffic) { replaceCAKey() })
		report("a new key of the CA over three Kubernetes clusters", time.Since(began))
	})

	itInFull("has a pod of another Kubernetes cluster moved by the roller alone", func() {
		write("drained", func(*traffic.Traffic) { drain(places[1]) })
		inSync(admin())
	})

	itInFull("has pools scaled in each of them", func() {
		DeferCleanup(func() { nodes = 3 })
		write("scaled", func(*traffic.Traffic) { scalePools() })
		inSync(admin())
	})

	It("leaves nothing but its volumes in any Kubernetes cluster when it is deleted", func() {
		began := time.Now()
		places[0].kubectl("delete", "-n", namespace, "-f", filepath.Join("testdata", "kafka.yaml"), "--timeout=120s")
		for _, p := range places {
			Eventually(func() string {
				return p.kubectl("get", "strimzipodsets,pods,services,configmaps,secrets,serviceaccounts,networkpolicies,poddisruptionbudgets", "-n",
					namespace,
					"-l", v1.LabelCluster+"="+name, "-o", "name")
			}).Should(BeEmpty())
			var claims corev1.PersistentVolumeClaimList
			Expect(p.Client.List(ctx, &claims, client.InNamespace(namespace))).To(Succeed())
			Expect(claims.Items).To(HaveLen(1), "its data is kept, as its deleteClaim says")
		}
		report("it is gone everywhere", time.Since(began))
	})
})
