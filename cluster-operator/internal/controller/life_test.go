package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// kubelet reports all nodes of a pool as ready and up to date, as the StrimziPodSet controller does.
func (w *world) kubelet(pool string) {
	w.t.Helper()
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-"+pool)
	n := int32(len(set.Spec.Pods))
	set.Status = core.StrimziPodSetStatus{ObservedGeneration: set.Generation, Pods: n, CurrentPods: n, ReadyPods: n}
	w.Expect(w.k8s.Status().Update(w.t.Context(), set)).To(Succeed())
}

func (w *world) ready() v1.Condition {
	w.t.Helper()
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.ObservedGeneration).To(Equal(k.Generation))
	ready := readyOf(k)
	if ready == nil {
		w.t.Fatal("there is no condition Ready")
	}
	return *ready
}

// readyOf returns the condition Ready of a Kafka; nil if it has none.
func readyOf(k *v1.Kafka) *v1.Condition {
	i := slices.IndexFunc(k.Status.Conditions, func(c v1.Condition) bool { return c.Type == v1.ConditionReady })
	if i < 0 {
		return nil
	}
	return &k.Status.Conditions[i]
}

func TestReadyNeverSpeaksOfTheGenerationBefore(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	w.create(k, nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "Creating")))
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))

	w.get(k, "my-cluster")
	k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.reconcile() // the status of the set is that of its earlier generation
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "Updating")))
	w.reconcile() // no pod was recreated yet
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "Updating")))
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))
}

// TestReadyWaitsForTheNewTopicOperator changes the topic operator. Ready speaks of the new one in the pass that writes it, and while the
// status of its Deployment still counts the pod of before.
func TestReadyWaitsForTheNewTopicOperator(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.kubelet("pool")
	deployed := func(updated int32) {
		d := &appsv1.Deployment{}
		w.get(d, "my-cluster-entity-operator")
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: updated}
		w.Expect(w.k8s.Status().Update(t.Context(), d)).To(Succeed())
		w.reconcile()
	}
	deployed(1)
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.edit(func(k *v1.Kafka) { k.Spec.EntityOperator.TopicOperator.Image = "topic-operator:2" })
	waits := And(HaveField("Status", "False"), HaveField("Reason", "TopicOperatorNotReady"))
	w.reconcile()
	w.Expect(w.ready()).To(waits)
	deployed(0)
	w.Expect(w.ready()).To(waits)
	deployed(1)
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

// TestATopicOperatorWhoseTemplateNamesOneThingTwice has lists in which Strimzi and Kubernetes take two entries of one name.
func TestATopicOperatorWhoseTemplateNamesOneThingTwice(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}, Template: &v1.EntityOperatorTemplate{
		Pod: &v1.PodTemplate{
			HostAliases:      []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a"}}, {IP: "10.0.0.1", Hostnames: []string{"b"}}},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "a"}, {Name: "a"}},
		},
		TopicOperatorContainer: &v1.ContainerTemplate{Env: []v1.ContainerEnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}},
	}}
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	d := &appsv1.Deployment{}
	w.get(d, "my-cluster-entity-operator")
	w.Expect(d.Spec.Template.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "A", Value: "2"}))
}

func TestBrokersLeaveWhenTheyAreEmpty(t *testing.T) {
	w := newWorld(t)
	brokers := nodePool("brokers", 3, v1.RoleBroker)
	w.create(newKafka(), brokers, nodePool("controllers", 1, v1.RoleController))
	w.reconcile()
	w.kubelet("brokers")
	w.kubelet("controllers")
	w.get(brokers, "brokers")
	brokers.Spec.Replicas = 2
	w.Expect(w.k8s.Update(t.Context(), brokers)).To(Succeed())

	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1}
	w.reconcile()
	w.Expect(w.pods("brokers")).To(HaveLen(3))
	w.get(brokers, "brokers")
	w.Expect(brokers.Status.NodeIDs).To(Equal([]int32{0, 1, 2}))

	w.brokers.err = errors.New("no broker answers")
	w.reconcile() // the operator does not know what brokers hold, and keeps them
	w.Expect(w.pods("brokers")).To(HaveLen(3))

	w.brokers.replicas, w.brokers.err = map[int32]int{0: 1, 1: 1, 2: 0}, nil
	w.brokers.registered = []kafka.Node{{ID: 0}, {ID: 1}, {ID: 2, Fenced: true}}
	w.brokers.afterLook = func() { w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1} }
	_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).To(MatchError(ContainSubstring("broker 2 was empty when the reconciliation began, and is kept: broker 2 holds 1 replicas")))
	w.Expect(w.pods("brokers")).To(HaveLen(3))

	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 0}
	w.reconcile()
	w.Expect(w.pods("brokers")).To(HaveLen(2))
	w.Expect(w.brokers.unregistered).To(BeEmpty())
	w.kubelet("brokers")
	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1} // a topic was created while the broker stopped
	w.reconcile()
	w.Expect(w.brokers.unregistered).To(BeEmpty())
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).
		To(ContainElement(And(HaveField("Reason", "UnregistrationWaits"), HaveField("Message", ContainSubstring("broker 2")))))
	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 0}
	w.reconcile()
	w.Expect(w.brokers.unregistered).To(Equal([]int32{2}))
	w.Expect(w.ready().Status).To(Equal("True"))

	// The operator keeps the broker's volume, and deletes its ConfigMap and certificate.
	w.get(&corev1.PersistentVolumeClaim{}, "data-my-cluster-brokers-2")
	for _, o := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}} {
		err := w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-brokers-2"}, o)
		w.Expect(client.IgnoreNotFound(err)).To(Succeed())
		w.Expect(err).To(HaveOccurred())
	}
}

// A broker that goes stays registered, and Kafka refuses a metadata version that it does not support.
func TestABrokerThatBecomesAControllerIsUnregistered(t *testing.T) {
	w := newWorld(t)
	w.createAndStart(newKafka(), nodePool("brokers", 1, v1.RoleBroker), nodePool("both", 1, v1.RoleBroker, v1.RoleController))
	w.Expect(w.ready().Status).To(Equal("True"))
	w.brokers.replicas = map[int32]int{0: 0, 1: 1}
	w.change("both", func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleController} })
	w.reconcile()
	w.brokers.registered = []kafka.Node{{ID: 0, Fenced: true}, {ID: 1}}
	w.kubelet("both")
	w.reconcile()
	w.Expect(w.brokers.unregistered).To(BeEmpty(), "its pod is still the broker's")
	w.start("both")
	w.reconcile()
	w.Expect(w.pods("both")).To(HaveKey("my-cluster-both-0"))
	w.Expect(w.brokers.unregistered).To(Equal([]int32{0}))
	w.Expect(w.ready().Status).To(Equal("True"))
}

// A topic that is made after the last look may get a replica on a broker before it stops. Its volume stays until the replica was moved.
func TestTheVolumeOfABrokerThatLeftWaitsForItsReplicas(t *testing.T) {
	w := newWorld(t)
	brokers := nodePool("brokers", 3, v1.RoleBroker)
	brokers.Spec.Storage.DeleteClaim = new(true)
	w.create(newKafka(), brokers, nodePool("controllers", 1, v1.RoleController))
	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 0}
	w.reconcile()
	w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
	w.reconcile()
	w.Expect(w.pods("brokers")).To(HaveLen(2))
	kept := func(why string) {
		t.Helper()
		w.reconcile()
		w.keepsClaims("brokers", 3)
		w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "VolumesKept"), HaveField("Message", ContainSubstring(why)))))
	}
	w.brokers.replicas[2] = 1
	w.brokers.anew = 0
	kept("The PersistentVolumeClaims of removed node 2 are not deleted yet: broker 2 holds 1 replicas of partitions")
	w.brokers.err = errors.New("no broker answers")
	kept("because Kafka did not answer")
	w.Expect(w.brokers.anew).To(BeZero(), "other Kafkas need the worker")

	w.brokers.replicas[2], w.brokers.err = 0, nil
	w.brokers.afterLook = func() { w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1} }
	kept("broker 2 holds 1 replicas of partitions")

	claim := &corev1.PersistentVolumeClaim{}
	for _, pool := range []string{"another", "other"} { // nodes of both had an id that one of the brokers has now
		w.get(claim, "data-my-cluster-brokers-0")
		claim.Name, claim.ResourceVersion, claim.Labels[core.LabelPoolName] = "data-my-cluster-"+pool+"-0", "", pool
		ownership.MarkName(claim, "PersistentVolumeClaim")
		w.create(claim.DeepCopy())
	}
	kept("broker 0 holds 1 replicas of partitions")
	w.keepsClaims("another", 1)
	w.keepsClaims("other", 1)
	w.brokers.replicas[0] = 0

	w.brokers.replicas[2] = 0
	w.reconcile()
	err := w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "data-my-cluster-brokers-2"}, claim)
	w.Expect(err != nil || claim.DeletionTimestamp != nil).To(BeTrue(), "%v", err)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "VolumesKept")))
}

func TestTheMetadataVersionWaitsForNodesOfARemovedPool(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Version = "4.2.0"
	w.r.Settings.KafkaImages = map[string]string{"4.2.0": "kafka:4.2.0", "4.3.1": "kafka:4.3.1"}
	w.create(k, nodePool("a", 3, v1.RoleBroker, v1.RoleController), nodePool("b", 1, v1.RoleBroker))
	w.brokers.metadata, w.brokers.replicas = kafkaMetadata(t, "4.2"), map[int32]int{0: 1, 1: 1, 2: 1, 3: 1}
	converge := func() {
		w.reconcile()
		w.kubelet("a")
		w.kubelet("b")
		w.reconcile()
	}
	converge()
	b := &v1.KafkaNodePool{}
	w.get(b, "b")
	w.Expect(w.k8s.Delete(t.Context(), b)).To(Succeed())
	w.get(k, "my-cluster")
	k.Spec.Kafka.Version = "4.3.1"
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	converge()
	w.Expect(w.brokers.metadata).To(Equal(kafkaMetadata(t, "4.2")))
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Reason", "MetadataUpdateWaits"), HaveField("Message", HavePrefix(
		`The metadata version stays 4.2-IV1: pod my-cluster-b-3 runs Kafka "4.2.0", which can't read 4.3-IV0.`)))))
	waits := slices.DeleteFunc(slices.Clone(w.events), func(e string) bool { return !strings.HasPrefix(e, "MetadataUpdateWaits: ") })
	w.Expect(waits).To(HaveLen(1))
	told := len(w.events)
	w.reconcile()
	w.Expect(w.events).To(HaveLen(told), "the status shows it already")

	w.create(nodePool("b", 1, v1.RoleBroker))
	converge()
	w.Expect(w.brokers.metadata).To(Equal(kafkaMetadata(t, "4.3")))
}

// A Kafka that came later has a metadata version that the operator does not know.
func TestTheMetadataVersionOfANewerKafka(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Version = "4.3.1"
	w.r.Settings.KafkaImages = map[string]string{"4.3.1": "kafka:4.3.1", "4.9.0": "kafka:4.9.0"}
	w.create(k, nodePool("a", 3, v1.RoleBroker, v1.RoleController))
	w.brokers.metadata = kafkaMetadata(t, "4.3")
	converge := func() {
		w.reconcile()
		w.kubelet("a")
		w.reconcile()
	}
	converge()
	w.get(k, "my-cluster")
	k.Spec.Kafka.Version = "4.9.0"
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	converge()
	unknown := HaveField("Reason", "MetadataVersionUnknown")
	w.Expect(w.conditions()).To(ContainElement(And(unknown, HaveField("Message", "The metadata version stays 4.3-IV0: this operator does not "+
		"know that of Kafka 4.9.0. Set .spec.kafka.metadataVersion, or use an operator that knows this version"))))
	w.brokers.metadata += 3 // as a user or a later operator raised it
	w.reconcile()
	w.Expect(w.conditions()).NotTo(ContainElement(unknown))
}

// Kafka can't go back to each earlier metadata version, so a change that the API server accepted before the request counts.
// TestAnUpgradeThatNeverStartedIsTakenBack has the only node not start with a new version. No broker can be asked for the metadata version
// then, so that the one in the status counts, unless a node may serve clients, or all nodes ran the new version before.
func TestAnUpgradeThatNeverStartedIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*world)
		waits  bool
	}{
		"no pod is ready":           {before: func(*world) {}},
		"a pod is ready":            {func(w *world) { w.start("pool") }, true},
		"the new version ran":       {func(w *world) { w.editStatus(func(k *v1.Kafka) { k.Status.KafkaVersion = "4.3.1" }) }, true},
		"its metadata is in use":    {func(w *world) { w.editStatus(func(k *v1.Kafka) { k.Status.KafkaMetadataVersion = "4.3-IV0" }) }, true},
		"the metadata is not known": {func(w *world) { w.editStatus(func(k *v1.Kafka) { k.Status.KafkaMetadataVersion = "" }) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.r.Settings.KafkaImages = map[string]string{"4.2.1": "kafka:4.2.1", "4.3.1": "kafka:4.3.1"}
			w.brokers.metadata = 29
			k := newKafka()
			k.Spec.Kafka.Version = "4.2.1"
			w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.kubelet("pool")
			w.reconcile()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			image := func() string { return w.pods("pool")["my-cluster-pool-0"].Spec.Containers[0].Image }
			w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "4.3.1" })
			w.reconcile()
			w.Expect(image()).To(Equal("kafka:4.3.1"))

			w.brokers.err = errors.New("no broker answers")
			c.before(w)
			w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "4.2.1" })
			w.reconcile()
			if c.waits {
				w.Expect(image()).To(Equal("kafka:4.3.1"))
				w.Expect(w.ready()).To(HaveField("Reason", v1.ReasonKafkaUpgrade))
				return
			}
			w.Expect(image()).To(Equal("kafka:4.2.1"))
			w.Expect(w.ready()).To(HaveField("Reason", "Updating"))
		})
	}
}

// TestTheStatusSaysTheVersionBeforeTheMetadataIsRaised ends the pass that raises the metadata version before it reports anything.
func TestTheStatusSaysTheVersionBeforeTheMetadataIsRaised(t *testing.T) {
	w := newWorld(t)
	w.r.Settings.KafkaImages = map[string]string{"4.2.1": "kafka:4.2.1", "4.3.1": "kafka:4.3.1"}
	w.brokers.metadata = 29
	k := newKafka()
	k.Spec.Kafka.Version = "4.2.1"
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.kubelet("pool")
	w.reconcile()
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "4.3.1" })
	w.reconcile()
	w.kubelet("pool")
	w.r.Kafka = raising{w.brokers, func() {
		w.get(k, "my-cluster")
		w.Expect(k.Status.KafkaVersion).To(Equal("4.3.1"))
	}}
	w.reconcile()
	w.Expect(w.brokers.metadata.String()).To(Equal("4.3-IV0"))
}

// raising calls before before it raises the metadata version.
type raising struct {
	*brokers
	before func()
}

func (r raising) RaiseMetadataVersion(ctx context.Context, c Connection, level int16) error {
	r.before()
	return r.brokers.RaiseMetadataVersion(ctx, c, level)
}

func TestTheMetadataVersionIsNotRaisedForAKafkaThatChanged(t *testing.T) {
	for name, change := range map[string]func(*v1.Kafka){
		"pinned": func(k *v1.Kafka) { k.Spec.Kafka.MetadataVersion = "4.2-IV1" },
		"paused": func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.kubelet("pool")
			w.brokers.metadata = kafkaMetadata(t, "4.2")
			w.brokers.inspecting = func() {
				w.brokers.inspecting = nil
				w.edit(change)
			}
			w.reconcile()
			w.Expect(w.brokers.metadata).To(Equal(kafkaMetadata(t, "4.2")))
			w.reconcile()
			w.Expect(w.brokers.metadata).To(Equal(kafkaMetadata(t, "4.2")))
		})
	}
}

// A user who finishes an upgrade would take the warning for a failure.
func TestTheWarningOfOldMetadataGoesWithTheMetadata(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	converge := func(metadata string) {
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.MetadataVersion = metadata })
		w.reconcile()
		w.kubelet("pool")
		w.reconcile()
	}
	old := HaveField("Reason", v1.ReasonMetadataVersion)
	w.brokers.metadata = kafkaMetadata(t, "4.2")
	converge("4.2-IV1")
	w.Expect(w.conditions()).To(ContainElement(old))
	converge("")
	w.Expect(w.brokers.metadata).To(Equal(kafkaMetadata(t, "4.3")))
	w.Expect(w.conditions()).NotTo(ContainElement(old))
}

func TestAWaitingMetadataVersionIsNotTriedConstantly(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	k8s, ok := w.k8s.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	w.r.Live = interceptor.NewClient(k8s, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			if k, is := o.(*v1.Kafka); is {
				k.Generation++
			}
			return err
		}})
	w.brokers.metadata = kafkaMetadata(t, "4.2")
	w.reconcile()
	w.now = w.now.Add(conflictTimeout)
	w.pass("read Kafka " + w.namespace + "/my-cluster: the cache is behind")
	w.Expect(w.brokers.metadata).To(Equal(kafkaMetadata(t, "4.2")))
}

func kafkaMetadata(t *testing.T, release string) kafka.MetadataVersion {
	t.Helper()
	version, err := kafka.ParseMetadataVersion(release)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return version
}

func TestVolumesOutliveTheirKafkaAndGiveItTheirID(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	pool := nodePool("pool", 3, v1.RoleBroker, v1.RoleController)
	pool.Annotations = map[string]string{v1.AnnotationNextNodeIDs: "[10-12]"}
	w.create(k, pool)
	w.reconcile()
	w.get(k, "my-cluster")
	id := k.Status.ClusterID
	w.Expect(id).To(HaveLen(22))
	w.Expect(w.k8s.Delete(t.Context(), k)).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	// There is no garbage collector here: the test deletes what the Kafka owned. The volumes have no owner.
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, "data-my-cluster-pool-10")
	w.Expect(claim.OwnerReferences).To(BeEmpty())
	for _, o := range []client.Object{&corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.ServiceAccount{},
		&core.StrimziPodSet{}} {
		w.Expect(w.k8s.DeleteAllOf(t.Context(), o, client.InNamespace(w.namespace), client.MatchingLabels{v1.LabelCluster: "my-cluster"})).
			To(Succeed())
	}
	w.Expect(w.k8s.DeleteAllOf(t.Context(), &networkingv1.NetworkPolicy{}, client.InNamespace(w.namespace))).To(Succeed())
	w.Expect(w.k8s.DeleteAllOf(t.Context(), &policyv1.PodDisruptionBudget{}, client.InNamespace(w.namespace))).To(Succeed())

	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.get(k, "my-cluster")
	w.Expect(k.Status.ClusterID).To(Equal(id))
	w.Expect(w.pods("pool")).To(And(HaveKey("my-cluster-pool-10"), HaveKey("my-cluster-pool-11"), HaveKey("my-cluster-pool-12")))
}

func TestThatCertificatesExpireIsToldWhateverBecomesOfThePass(t *testing.T) {
	for name, change := range map[string]func(*v1.Kafka){
		"paused":  func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} },
		"invalid": func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			registry := prometheus.NewRegistry()
			w.r.Metrics = metrics.New(registry, "")
			k := newKafka()
			w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			expiry := func() map[string]float64 {
				families, err := registry.Gather()
				w.Expect(err).NotTo(HaveOccurred())
				found := map[string]float64{}
				for _, family := range families {
					if slices.Contains([]string{"strimzi_certificate_expiration_timestamp_ms",
						"kafka_operators_certificate_renewal_timestamp_seconds"}, family.GetName()) {
						for _, m := range family.GetMetric() {
							found[family.GetName()+m.String()] = m.GetGauge().GetValue()
						}
					}
				}
				return found
			}
			before := expiry()
			w.Expect(before).To(HaveLen(6))
			w.get(k, "my-cluster")
			change(k)
			w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
			w.r.Metrics.Forget(client.ObjectKeyFromObject(k)) // as after a restart of the operator
			w.reconcile()
			w.Expect(expiry()).To(Equal(before))
		})
	}
}

func TestStorageChangesThatWouldLoseDataAreRefused(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	w.create(newKafka(), pool)
	w.reconcile()
	before := w.pods("pool")
	w.get(pool, "pool")
	pool.Spec.Storage = v1.Storage{Type: v1.StorageEphemeral}
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).
		To(ContainElement(And(HaveField("Reason", "KafkaStorage"), HaveField("Message", ContainSubstring("the type can't change")))))

	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, "data-my-cluster-pool-0")
	w.get(pool, "pool")
	pool.Spec.Storage = v1.Storage{Type: v1.StoragePersistentClaim, Size: "2Gi"}
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Reason", "KafkaStorage")))
	w.Expect(w.pods("pool")["my-cluster-pool-0"].Annotations[core.AnnotationRevision]).
		To(Equal(before["my-cluster-pool-0"].Annotations[core.AnnotationRevision]))
}

func TestAPausedKafkaIsHeldAndLetGo(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	w.create(k, nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	before := w.pods("pool")
	w.get(k, "my-cluster")
	k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "True"}
	k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.reconcile()
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-pool")
	w.Expect(set.Annotations).To(HaveKeyWithValue(core.AnnotationHold, "reconciliation of the Kafka is paused"))
	w.Expect(w.pods("pool")).To(Equal(before))
	w.get(k, "my-cluster")
	paused := And(ContainElement(And(HaveField("Type", "ReconciliationPaused"), HaveField("Status", "True"))),
		HaveEach(HaveField("Type", Or(Equal("ReconciliationPaused"), Equal("Warning")))))
	w.Expect(k.Status.Conditions).To(paused)
	w.Expect(w.pool("pool").Status.Conditions).To(paused)

	k.Annotations = nil
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.reconcile()
	w.get(set, "my-cluster-pool")
	w.Expect(set.Annotations).NotTo(HaveKey(core.AnnotationHold))
	w.Expect(w.pods("pool")).NotTo(Equal(before))
}

func TestAnInvalidKafkaChangesNothing(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	w.create(k, nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.get(k, "my-cluster")
	k.Spec.Kafka.Version = "1.0.0"
	k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	before := w.pods("pool")
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message",
		ContainSubstring("Unsupported Kafka.spec.kafka.version: 1.0.0"))))
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Type", "Stalled"), HaveField("Status", "True"))))
}

func TestAKafkaWithoutSpecSaysSo(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec = nil
	w.create(k)
	w.reconcile()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "InvalidResourceException"),
		HaveField("Message", "The required field .spec is missing")))
}

// What runs is looked after as that of an invalid Kafka: TestCertificatesAreRenewedThoughAKafkaCannotBeReconciled renews its certificates.
func TestAKafkaThatLosesItsSpecIsToldOf(t *testing.T) {
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	w.r.Metrics = metrics.New(registry, "")
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_ready")).To(Equal(1.0))
	pause := func(paused string) {
		w.edit(func(k *v1.Kafka) {
			k.Spec, k.Annotations = nil, map[string]string{v1.AnnotationPauseReconciliation: paused}
		})
		w.reconcile()
	}
	pause("true")
	w.Expect(w.hold("pool")).NotTo(BeEmpty())
	before := w.pods("pool")

	pause("false")
	w.Expect(w.hold("pool")).To(BeEmpty())
	w.Expect(w.pods("pool")).To(Equal(before))
	const missing = "The required field .spec is missing"
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message", missing)))
	w.Expect(w.pool("pool").Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "False"),
		HaveField("Message", missing))))
	w.Expect(w.events).To(ContainElement("InvalidResourceException: " + missing))
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_ready")).To(Equal(0.0))
}

func TestTheMetricsSayWhetherAKafkaIsToHaveATopicOperator(t *testing.T) {
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	w.r.Metrics = metrics.New(registry, "")
	k := newKafka()
	k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_topic_operator")).To(Equal(1.0))
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_created_timestamp_seconds")).To(BeNumerically(">", 0))
	w.edit(func(k *v1.Kafka) { k.Spec.EntityOperator = nil })
	w.reconcile()
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_topic_operator")).To(BeZero())
}

// A CA that its user supplies is only read, also while nothing says that it is one.
func TestAKafkaThatLosesItsSpecKeepsItsCA(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	ca := &corev1.Secret{}
	w.get(ca, pki.ClusterCACertSecret("my-cluster"))
	delete(ca.Labels, "app.kubernetes.io/managed-by")
	w.Expect(w.k8s.Update(t.Context(), ca)).To(Succeed())
	before := ca.Data
	w.edit(func(k *v1.Kafka) { k.Spec = nil })
	w.now = w.now.AddDate(0, 0, 350)
	w.reconcile()
	w.get(ca, ca.Name)
	w.Expect(ca.Data).To(Equal(before))
}

func TestARestartIsAskedForOnce(t *testing.T) {
	for name, removed := range map[string]bool{"of a pool": false, "of a removed pool": true} {
		t.Run(name, func(t *testing.T) { restartIsAskedForOnce(t, removed) })
	}
}

func restartIsAskedForOnce(t *testing.T, removed bool) {
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker)
	w.create(newKafka(), pool, nodePool("other", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	if removed {
		w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
		w.reconcile()
	}
	const name = "my-cluster-pool-1" // the other pool has id 0
	before := w.pods("pool")[name]
	running := before.DeepCopy()
	w.Expect(w.k8s.Create(t.Context(), running)).To(Succeed())
	w.request("pool")
	w.reconcile()
	after := w.pods("pool")[name]
	w.Expect(after.Annotations[core.AnnotationRevision]).NotTo(Equal(before.Annotations[core.AnnotationRevision]))
	w.reconcile()
	w.Expect(w.set("pool").Annotations).NotTo(HaveKey(core.AnnotationManualRollingUpdate))
	w.Expect(w.pods("pool")[name]).To(Equal(after))
	if removed {
		w.create(nodePool("pool", 1, v1.RoleBroker))
		w.reconcile()
		w.Expect(w.pods("pool")[name].Annotations).To(HaveKeyWithValue(core.AnnotationRevision,
			after.Annotations[core.AnnotationRevision]), "nothing is restarted once more")
	}
}

// A request is one also if the StrimziPodSet of another pool can't be applied.
func TestARestartIsAskedForOnceBesideASetThatCannotBeApplied(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.start("pool")
	w.create(&core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-taken"},
		Spec: &core.StrimziPodSetSpec{Pods: []runtime.RawExtension{}}}, nodePool("taken", 1, v1.RoleBroker))
	before := w.pods("pool")
	w.request("pool")
	pass := func() {
		t.Helper()
		_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
		w.Expect(err).To(MatchError(ContainSubstring("my-cluster-taken")))
	}
	pass()
	after := w.pods("pool")
	w.Expect(after).NotTo(Equal(before))
	w.start("pool")
	pass()
	w.Expect(w.set("pool").Annotations).NotTo(HaveKey(core.AnnotationManualRollingUpdate))
	w.Expect(w.pods("pool")).To(Equal(after))
}

// The operator ends after the first write to the StrimziPodSet, and the roller restarts its pods before another one comes.
func TestARestartIsAskedForOnceThoughTheOperatorEnds(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.start("pool")
	before := w.pods("pool")
	w.request("pool")
	live, version := w.r.Live, w.set("pool").ResourceVersion
	ended := func() error {
		if w.set("pool").ResourceVersion != version {
			return errors.New("the operator ended")
		}
		return nil
	}
	w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := ended(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := ended(); err != nil {
				return err
			}
			return c.Apply(ctx, o, opts...)
		}})
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}}
	_, _ = w.r.Reconcile(t.Context(), request) // a pass that needs one write does not fail
	w.r.Live = live
	after := w.pods("pool")
	w.Expect(after).NotTo(Equal(before))
	for range 2 {
		w.start("pool")
		w.reconcile()
		w.Expect(w.pods("pool")).To(Equal(after))
	}
}

// request asks for a restart of the nodes of a pool, as a user does.
func (w *world) request(pool string) {
	w.t.Helper()
	set := w.set(pool)
	set.Annotations[core.AnnotationManualRollingUpdate] = "true"
	w.Expect(w.k8s.Update(w.t.Context(), set)).To(Succeed())
}

func TestAnIngressListenerIsServedAndTakenAway(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "web", Port: 9094, Type: v1.ListenerIngress, TLS: true,
		Configuration: &v1.ListenerConfiguration{
			HostTemplate: "broker-{nodeId}.example.com", Bootstrap: &v1.ListenerBootstrap{Host: "kafka.example.com"}}})
	w.create(k, nodePool("pool", 2, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	ingress := &networkingv1.Ingress{}
	w.get(ingress, "my-cluster-pool-web-1")
	w.Expect(ingress.Spec.Rules[0].Host).To(Equal("broker-1.example.com"))
	w.get(k, "my-cluster")
	w.Expect(k.Status.Listeners).To(ContainElement(And(HaveField("Name", "web"), HaveField("BootstrapServers", "kafka.example.com:443"))))
	version := ingress.ResourceVersion
	w.reconcile()
	w.get(ingress, "my-cluster-pool-web-1")
	w.Expect(ingress.ResourceVersion).To(Equal(version))

	k.Spec.Kafka.Listeners = k.Spec.Kafka.Listeners[:2]
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.reconcile()
	left := &networkingv1.IngressList{}
	w.Expect(w.k8s.List(t.Context(), left, client.InNamespace(w.namespace))).To(Succeed())
	w.Expect(left.Items).To(BeEmpty())
}

// lateCache is a cache that lacks one pool, and the objects that the operator makes for it.
type lateCache struct {
	client.Reader
	pool string
}

func (c lateCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(items, func(o runtime.Object) bool {
		named, err := meta.Accessor(o)
		return err != nil || strings.Contains(named.GetName(), c.pool)
	}))
}

func TestABrokerThatTheCacheDoesNotKnowYetIsNotUnregistered(t *testing.T) {
	w := newReadyWorld(t, "a", 3)
	w.create(nodePool("more", 1, v1.RoleBroker))
	w.reconcile()
	w.brokers.registered = []kafka.Node{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3, Fenced: true}}
	w.r.Cache = lateCache{w.r.Cache, "more"}
	w.reconcile()
	w.Expect(w.brokers.unregistered).To(BeEmpty())
	more := &v1.KafkaNodePool{}
	w.get(more, "more")
	w.Expect(more.Status.NodeIDs).To(Equal([]int32{3}))
}

// The roller restarts nothing beside a broker that it does not see, so its user has to know also while a change waits for that.
func TestABrokerThatRunsAndIsNoNodeIsTold(t *testing.T) {
	w := newReadyWorld(t, "a", 3)
	told := ContainElement(And(HaveField("Reason", "StrayBroker"), HaveField("Message",
		And(HavePrefix("Broker 7 at 10.102.0.1:30092 runs and is no node of this Kafka: "),
			HaveSuffix(". Unless it has just stopped, look for what runs there, such as a pod without the label strimzi.io/cluster: move its "+
				"replicas to other brokers, and stop it")))))
	w.brokers.replicas = map[int32]int{7: 0}
	w.brokers.registered = []kafka.Node{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 7, Host: "10.102.0.1", Port: 30092}}
	result, err := w.r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(BeNumerically("<=", time.Minute))
	w.Expect(w.conditions()).To(told)
	w.Expect(w.ready().Status).To(Equal("True"))

	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": {Raw: []byte("1234")}}
	})
	w.reconcile()
	w.Expect(w.ready().Reason).To(Equal("Updating"))
	w.Expect(w.conditions()).To(told)
	w.brokers.err = errors.New("no broker answers")
	w.reconcile()
	w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "KafkaUnreachable")), "it is being updated")
	w.brokers.err = nil
	w.Expect(w.brokers.unregistered).To(BeEmpty())

	w.create(nodePool("more", 5, v1.RoleBroker))
	w.reconcile()
	more := &v1.KafkaNodePool{}
	w.get(more, "more")
	w.Expect(more.Status.NodeIDs).To(Equal([]int32{3, 4, 5, 6, 8}), "Kafka refuses a second broker of an id")

	w.kubelet("a")
	w.kubelet("more")
	w.brokers.registered[3].Fenced = true
	w.reconcile()
	w.Expect(w.conditions()).NotTo(told)
	w.Expect(w.brokers.unregistered).To(Equal([]int32{7}))
}

func TestASetThatTheCacheDoesNotKnowYetIsNotChanged(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	before, after := &core.StrimziPodSet{}, &core.StrimziPodSet{}
	w.get(before, "my-cluster-a")
	w.r.Cache = lateCache{w.r.Cache, "my-cluster-a"}
	result, err := w.r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(conflictDelay))
	w.get(after, "my-cluster-a")
	w.Expect(after.ResourceVersion).To(Equal(before.ResourceVersion))
}
