package controller

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// The tests in this file play accidents that random histories found.

func (w *stretchedWorld) configure(key, value string) {
	w.t.Helper()
	k := w.kafka()
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{key: {Raw: []byte(strconv.Quote(value))}}
	w.Expect(w.k8s.Update(w.t.Context(), k)).To(Succeed())
}

func TestANodePortThatAUserChangedIsSetBack(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	voters := w.setting("central", "my-cluster-central-0", "controller.quorum.voters")
	service := &corev1.Service{}
	w.in("east", service, "my-cluster-east-1-nodeport")
	before := service.Spec.Ports[0].NodePort
	for service.Spec.Ports[0].NodePort == before { // the API server draws one, which may be the same
		service.Spec.Ports[0].NodePort = 0
		service.Spec.Type = corev1.ServiceTypeClusterIP
		w.Expect(w.members["east"].Update(t.Context(), service)).To(Succeed())
		service.Spec.Type = corev1.ServiceTypeNodePort
		w.Expect(w.members["east"].Update(t.Context(), service)).To(Succeed())
	}
	w.settle()
	w.in("east", service, "my-cluster-east-1-nodeport")
	w.Expect(service.Spec.Ports[0].NodePort).To(Equal(before))
	w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))
}

func TestCredentialsThatLeadToAnotherKubernetesClusterAreNotUsed(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before := w.all()
	voters := w.setting("central", "my-cluster-central-0", "controller.quorum.voters")
	// As after a restart of the operator, module clusters does not know which Kubernetes cluster east was.
	east, west := w.members["east"], w.members["west"]
	exchange := func() { east.Client, west.Client, east.uid, west.uid = west.Client, east.Client, west.uid, east.uid }
	exchange()
	w.configure("log.retention.hours", "1")
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ClusterFailed"),
		HaveField("Message", ContainSubstring("credentials point to a Kubernetes cluster other than"))))
	w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))

	// Without the record, the anchors show which cluster this is.
	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named(model.RecordName("my-cluster"))})).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"),
		HaveField("Message", ContainSubstring("its credentials point to cluster 'west'"))))
	exchange()
	for _, id := range []string{"east", "west"} {
		w.Expect(w.all()[id]).To(Equal(before[id]))
	}
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal("1"))
}

func TestNothingIsForgottenWithoutTheRecord(t *testing.T) {
	for name, lose := range map[string]func(*stretchedWorld, *corev1.ConfigMap){
		"it is deleted": func(w *stretchedWorld, record *corev1.ConfigMap) {
			w.Expect(w.k8s.Delete(t.Context(), record)).To(Succeed())
		},
		"it is emptied": func(w *stretchedWorld, record *corev1.ConfigMap) {
			record.Data[recordKey] = "{}"
			w.Expect(w.k8s.Update(t.Context(), record)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			voters := w.setting("central", "my-cluster-central-0", "controller.quorum.voters")
			record := &corev1.ConfigMap{}
			w.get(record, model.RecordName("my-cluster"))
			lose(w, record)
			w.members["west"].lost = true
			// Without the pool, no object in the central cluster shows that there are nodes in west.
			pool := &v1.KafkaNodePool{}
			w.get(pool, "west")
			w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
			w.configure("log.retention.hours", "1")
			w.pass()
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ConnectivityError")))
			w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))
			w.members["west"].lost = false
			w.create(poolIn("west", "west", 1, v1.RoleBroker, v1.RoleController))
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			w.Expect(w.setting("west", "my-cluster-west-2", "controller.quorum.voters")).To(Equal(voters))
			w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"))
		})
	}
}

func TestAnOwnerIsNotForgottenWithItsAnnotations(t *testing.T) {
	for _, annotation := range []string{ownership.MarkID, v1.AnnotationOwnerEpoch} {
		t.Run(annotation, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			before := w.kafka().Annotations
			for _, away := range []bool{true, false} {
				w.members["east"].lost, w.members["west"].lost = away, away
				k := w.kafka()
				delete(k.Annotations, annotation)
				w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
				w.pass()
				w.Expect(w.kafka().Annotations).To(Equal(before))
			}
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
		})
	}
}

func TestAnAnchorThatLostAMarkGetsItAgain(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	for _, mark := range []string{ownership.MarkID, ownership.MarkTerm} {
		anchor := &corev1.ConfigMap{}
		w.in("west", anchor, "my-cluster-kafka-gc")
		marks := anchor.Annotations
		anchor = anchor.DeepCopy()
		delete(anchor.Annotations, mark)
		w.Expect(w.members["west"].Update(t.Context(), anchor)).To(Succeed())
		w.settle()
		w.Expect(w.ready()).To(HaveField("Status", "True"))
		w.in("west", anchor, "my-cluster-kafka-gc")
		w.Expect(anchor.Annotations).To(Equal(marks))
	}
}

func TestNodesAreKnownThoughTheirAnchorIsGone(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.create(poolIn("east", "a", 2, v1.RoleBroker))
	w.settle()
	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
	w.Expect(w.members["east"].Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-kafka-gc")})).To(Succeed())
	pool := &v1.KafkaNodePool{}
	w.get(pool, "a")
	pool.Spec.Replicas = 1
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.settle() // the garbage collector has not run yet
	set, anchor := &core.StrimziPodSet{}, &corev1.ConfigMap{}
	w.in("east", set, "my-cluster-a")
	w.Expect(set.Spec.Pods).To(HaveLen(2), "its brokers hold replicas")
	w.in("east", anchor, "my-cluster-kafka-gc")
	w.Expect(set.OwnerReferences).To(ConsistOf(HaveField("UID", anchor.UID)))
}

func TestAPoolKeepsItsVolumesInAClusterThatIsAway(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.create(poolIn("east", "a", 1, v1.RoleBroker))
	w.settle()
	pool := &v1.KafkaNodePool{}
	w.get(pool, "a")
	pool.Spec.Replicas = 0
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1, 3: 0}
	w.settle()
	w.members["east"].lost = true
	w.get(pool, "a")
	pool.Annotations[v1.AnnotationTargetCluster] = "west"
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(HaveField("Reason", "TargetClusterChangeForbidden"))
}

func TestAKafkaThatWasMadeAgainIsDeletedEverywhere(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.deleteWithoutFinalizer()
	// The new Kafka is deleted before the operator has marked any object for it.
	again := stretchedKafka()
	again.Finalizers = []string{v1.FinalizerStretch}
	w.create(again)
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.now = w.now.Add(time.Minute)
	w.collected()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(again), again)).To(MatchError(apierrors.IsNotFound, "NotFound"))
	for _, id := range []string{"east", "west"} {
		w.Expect(w.members[id].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, &corev1.ConfigMap{})).
			To(MatchError(apierrors.IsNotFound, "NotFound"))
	}
}

func TestNodesThatAnEarlierKafkaLeftElsewhereAreNotForgotten(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.deleteWithoutFinalizer()
	// The garbage collector deletes the record with the Kafka. The new Kafka has its pool east in another Kubernetes cluster.
	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named(model.RecordName("my-cluster"))})).To(Succeed())
	pool := &v1.KafkaNodePool{}
	w.get(pool, "east")
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.create(stretchedKafka(), poolIn("west", "east", 1, v1.RoleBroker, v1.RoleController))
	w.members["east"].lost = true
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "ConnectivityError"), HaveField("Message", ContainSubstring("'east'"))))
	w.members["east"].lost = false
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "TargetClusterChangeForbidden"),
		HaveField("Message", ContainSubstring("nodes or volumes in cluster 'east'"))))
}

// forget removes the annotation and the finalizer that show that a Kafka is stretched.
func (w *stretchedWorld) forget() {
	w.t.Helper()
	k := w.kafka()
	k.Finalizers = nil
	delete(k.Annotations, v1.AnnotationStretch)
	w.Expect(w.k8s.Update(w.t.Context(), k)).To(Succeed())
}

// unplace removes the target cluster from a pool.
func (w *stretchedWorld) unplace(name string) {
	w.t.Helper()
	pool := &v1.KafkaNodePool{}
	w.get(pool, name)
	delete(pool.Annotations, v1.AnnotationTargetCluster)
	w.Expect(w.k8s.Update(w.t.Context(), pool)).To(Succeed())
}

func TestNodesElsewhereOutlastAnnotationAndFinalizer(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	voters := w.setting("central", "my-cluster-central-0", "controller.quorum.voters")
	before := w.all()
	elsewhere := ContainElement(And(HaveField("Type", "Warning"), HaveField("Reason", "NodesElsewhere"),
		HaveField("Message", ContainSubstring("has nodes in clusters 'east', 'west'"))))
	kept := func() {
		t.Helper()
		w.Expect(w.kafka().Finalizers).To(ContainElement(v1.FinalizerStretch))
		w.Expect(w.kafka().Status.Conditions).To(elsewhere)
		w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))
		for _, id := range []string{"east", "west"} {
			w.Expect(w.all()[id]).To(Equal(before[id]))
		}
	}
	w.forget()
	w.pass()
	kept()
	w.Expect(w.ready()).To(HaveField("Reason", "MissingStretchAnnotation"))

	w.forget()
	for _, name := range []string{"central", "east", "west"} {
		w.unplace(name)
	}
	w.pass()
	kept()
	w.Expect(w.ready()).To(HaveField("Reason", "TargetClusterChangeForbidden"))

	// Even without the pools, the nodes stay voters, and the operator keeps what it knows of a cluster that is unreachable.
	w.forget()
	for _, name := range []string{"east", "west"} {
		pool := &v1.KafkaNodePool{}
		w.get(pool, name)
		w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	}
	w.members["west"].lost = true
	for range 3 {
		w.pass()
	}
	w.members["west"].lost = false
	w.settle()
	w.Expect(w.kafka().Finalizers).To(ContainElement(v1.FinalizerStretch))
	w.Expect(w.kafka().Status.Conditions).To(elsewhere)
	w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))
	for id, name := range map[string]string{"east": "my-cluster-east", "west": "my-cluster-west"} {
		set := &core.StrimziPodSet{}
		w.in(id, set, name)
		w.Expect(set.Spec.Pods).To(HaveLen(1))
	}
}

// made removes the users' objects from all, and returns it.
func made(all map[string]map[string]string) map[string]map[string]string {
	maps.DeleteFunc(all["central"], func(name, _ string) bool { return strings.Contains(name, "v1.Kafka") })
	return all
}

func TestAKafkaThatIsMadeAgainUnstretchedIsNoSecondLife(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.forget()
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	for _, name := range []string{"east", "west"} {
		pool := &v1.KafkaNodePool{}
		w.get(pool, name)
		w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	}
	w.unplace("central")
	w.create(newKafka())
	before := w.all()
	conflict := func(in string) {
		t.Helper()
		w.pass()
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict"), HaveField("Message",
			And(ContainSubstring("left nodes or volumes in "+in), ContainSubstring("my-cluster-kafka-gc"),
				ContainSubstring("annotate this Kafka")))))
		w.Expect(w.kafka().Finalizers).To(BeEmpty())
		w.Expect(made(w.all())).To(Equal(made(before)))
	}
	conflict("clusters 'east', 'west'")

	// The garbage collector deletes the record with its Kafka, and all objects in a Kubernetes cluster with their anchor.
	record := &corev1.ConfigMap{ObjectMeta: w.named(model.RecordName("my-cluster"))}
	w.Expect(w.k8s.Delete(t.Context(), record)).To(Succeed())
	before = w.all()
	conflict("clusters 'east', 'west'")
	anchor := &corev1.ConfigMap{ObjectMeta: w.named(model.AnchorName("my-cluster"))}
	w.Expect(w.members["east"].Delete(t.Context(), anchor)).To(Succeed())
	w.Expect(w.members["west"].Delete(t.Context(), anchor.DeepCopy())).To(Succeed())
	before = w.all()
	w.members["west"].lost = true
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "ConnectivityError"),
		HaveField("Message", ContainSubstring("whether an earlier Kafka "+w.namespace+"/my-cluster left nodes in cluster 'west'"))))
	w.members["west"].lost = false
	w.pass()
	w.Expect(w.kafka().Status.ClusterID).NotTo(BeEmpty())
}

// goesOnAlone checks that a change is made and shows as Ready while all other Kubernetes clusters are away.
func (w *stretchedWorld) goesOnAlone() {
	w.t.Helper()
	w.members["east"].lost, w.members["west"].lost = true, true
	w.configure("log.retention.hours", "1")
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("central", "my-cluster-a-0", "log.retention.hours")).To(Equal("1"))
}

func TestAKafkaInOneKubernetesClusterDoesNotNeedTheOthers(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(newKafka(), nodePool("a", 1, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.goesOnAlone()
}

func TestTheRecordOfAnEarlierKafkaIsNotANewOnes(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.deleteWithoutFinalizer()
	w.create(stretchedKafka())
	w.members["west"].lost = true
	before := w.all()
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "ConnectivityError"), HaveField("Message", ContainSubstring("'west'"))))
	w.Expect(made(w.all())).To(Equal(made(before)), "west may have another Kafka of this name, or nodes of a third one")
}

func TestAKafkaInTheCentralClusterNeedsNoOther(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.goesOnAlone()
}

func TestTheStrimziPodSetOfARemovedPoolOfAStretchedKafkaIsLost(t *testing.T) {
	for _, id := range []string{"central", "east"} {
		t.Run(id, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1}
			voters := w.setting("west", "my-cluster-west-2", "controller.quorum.voters")
			w.Expect(strings.Split(voters, ",")).To(HaveLen(3))
			w.Expect(w.k8s.Delete(t.Context(), w.pool(id))).To(Succeed())
			w.settle()
			set := &core.StrimziPodSet{}
			w.in(id, set, "my-cluster-"+id)
			w.Expect(w.members[id].Delete(t.Context(), set)).To(Succeed())
			w.pass()
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message", ContainSubstring("create the KafkaNodePool again"))))
			w.Expect(w.setting("west", "my-cluster-west-2", "controller.quorum.voters")).To(Equal(voters))

			w.create(poolIn(id, id, 1, v1.RoleBroker, v1.RoleController))
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			w.in(id, set, "my-cluster-"+id)
			w.Expect(w.setting("west", "my-cluster-west-2", "controller.quorum.voters")).To(Equal(voters))
		})
	}
}
