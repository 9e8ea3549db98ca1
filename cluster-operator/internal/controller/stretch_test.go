package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
)

func TestAKafkaIsStretchedOverThreeKubernetesClusters(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	k := w.kafka()
	w.Expect(k.Finalizers).To(ContainElement(v1.FinalizerStretch))
	w.Expect(k.Status.Conditions).
		To(ContainElement(And(HaveField("Type", "StretchCluster"), HaveField("Status", "True"), HaveField("Reason", "StretchClusterActive"),
			HaveField("Message", "Stretch cluster active: provider=nodeport, central=central, clusters=central,east,west"))))
	w.Expect(k.Status.StretchClusters).To(HaveLen(3))
	w.Expect(k.Status.KafkaNodePools).To(HaveExactElements(HaveField("Name", "central"), HaveField("Name", "east"), HaveField("Name", "west")))

	voters := w.setting("central", "my-cluster-central-0", "controller.quorum.voters")
	w.Expect(voters).To(MatchRegexp(`^0@192\.0\.2\.1:3\d{4},1@192\.0\.2\.2:3\d{4},2@192\.0\.2\.3:3\d{4}$`))
	for i, id := range []string{"central", "east", "west"} {
		pod := fmt.Sprintf("my-cluster-%s-%d", id, i)
		w.Expect(w.setting(id, pod, "controller.quorum.voters")).To(Equal(voters))
		w.Expect(w.setting(id, pod, "broker.rack")).To(Equal(id))
		w.Expect(w.setting(id, pod, "advertised.listeners")).To(ContainSubstring(fmt.Sprintf("REPLICATION-9091://192.0.2.%d:3", i+1)))
		set := &core.StrimziPodSet{}
		w.in(id, set, "my-cluster-"+id)
		w.Expect(set.Annotations).To(HaveKeyWithValue(v1.AnnotationTargetCluster, id))
		secret := &corev1.Secret{}
		w.in(id, secret, pod)
		w.Expect(secret.Data).To(HaveKey(pod + ".key"))
		w.in(id, secret, "my-cluster-cluster-ca-cert")
		if id == "central" {
			continue
		}
		w.Expect(w.members[id].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-cluster-ca"}, secret)).
			To(MatchError(apierrors.IsNotFound, "the key of the CA stays in the central cluster"))
		anchor := &corev1.ConfigMap{}
		w.in(id, anchor, "my-cluster-kafka-gc")
		w.Expect(anchor.OwnerReferences).To(BeEmpty())
		w.Expect(anchor.Labels).
			To(And(HaveKeyWithValue("strimzi.io/component-type", "garbage-collector"), HaveKeyWithValue("app.kubernetes.io/name", "kafka"),
				HaveKeyWithValue("app.kubernetes.io/instance", "my-cluster"), HaveKeyWithValue("strimzi.io/kind", "Kafka")))
		w.Expect(anchor.Data).
			To(And(HaveKeyWithValue("cluster-id", id), HaveKeyWithValue("kafka-cluster", "my-cluster"), HaveKeyWithValue("namespace", w.namespace),
				HaveKeyWithValue("kafka-uid", string(k.UID)), HaveKeyWithValue("purpose", "Garbage collection anchor for remote cluster resources"),
				HaveKeyWithValue("managed-resources", "StrimziPodSet,ServiceAccount,Secret,ConfigMap,Service,ServiceExport,PersistentVolumeClaim")))
		has, err := facts.Read(t.Context(), w.members[id], w.request().NamespacedName)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(len(has.Objects)).To(BeNumerically(">", 8))
		for key, o := range has.Objects {
			if key.Name == anchor.Name || key.Kind == "PersistentVolumeClaim" { // which is kept
				w.Expect(o.GetOwnerReferences()).To(BeEmpty())
				continue
			}
			w.Expect(o.GetOwnerReferences()).To(Equal([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: anchor.Name,
				UID: anchor.UID, Controller: new(false), BlockOwnerDeletion: new(false)}}), "%s %s in %s", key.Kind, key.Name, id)
		}
	}
	before := w.all()
	w.pass()
	w.Expect(w.all()).To(Equal(before))

	w.members["east"].expire = w.now.Add(6 * 24 * time.Hour)
	w.pass()
	w.Expect(w.kafka().Status.Conditions).
		To(ContainElement(And(HaveField("Reason", "CredentialsExpire"), HaveField("Message", ContainSubstring("cluster 'east'")))))
	w.members["east"].refused = "the Secret has changed, but the previous credentials stay in use"
	w.pass()
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(And(HaveField("Reason", "CredentialsRefused"),
		HaveField("Message", "cluster 'east': the Secret has changed, but the previous credentials stay in use"))))
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAKubernetesClusterThatIsAwayIsLeftAsItIs(t *testing.T) {
	w := newStretchedWorld(t)
	w.form(v1.Listener{Name: "lb", Port: 9094, Type: v1.ListenerLoadBalancer, TLS: true})
	before := w.all()
	voters := w.setting("east", "my-cluster-east-1", "controller.quorum.voters")
	var known []string
	for _, l := range w.kafka().Status.Listeners {
		known = append(known, l.BootstrapServers)
	}
	w.Expect(known).To(ContainElement(ContainSubstring("west.example.com:9094")))
	secret := &corev1.Secret{}
	w.get(secret, "my-cluster-west-2")
	certificate := secret.ResourceVersion
	w.members["west"].lost = true
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ConnectivityError"),
		HaveField("Message", ContainSubstring("Cannot connect to cluster 'west': connection refused. Please check kubeconfig and network "+
			"connectivity."))))
	k := w.kafka()
	w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Type", "Degraded"), HaveField("Reason", "RemoteClusterUnreachable"))))
	w.Expect(k.Status.StretchClusters[2]).
		To(And(HaveField("Name", "west"), HaveField("State", v1.StretchClusterUnknown), HaveField("NodeIDs", []int32{2}),
			HaveField("ReadyNodes", BeNil()), HaveField("LastSeenTime", Not(BeNil()))))

	poolReady := func() []v1.Condition {
		pool := &v1.KafkaNodePool{}
		w.get(pool, "west")
		return pool.Status.Conditions
	}
	w.Expect(poolReady()).To(ConsistOf(And(HaveField("Type", "Ready"), HaveField("Status", "False"),
		HaveField("Reason", "ConnectivityError"))))
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Reason", "ListenerNotReady")))

	// Clients may still reach west, and no node gets another certificate.
	addresses := func() (all []string) {
		for _, l := range w.kafka().Status.Listeners {
			all = append(all, l.BootstrapServers)
		}
		return all
	}
	w.Expect(addresses()).To(Equal(known))
	w.get(secret, "my-cluster-west-2")
	w.Expect(secret.ResourceVersion).To(Equal(certificate))

	// The operator still applies a user's change to the other clusters. All nodes keep west's controller as a voter.
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.pass()
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal("1"))
	w.Expect(w.setting("east", "my-cluster-east-1", "controller.quorum.voters")).To(Equal(voters))
	w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))

	// The user deletes west's pool: the operator changes nothing for that while west is unreachable.
	pool := &v1.KafkaNodePool{}
	w.get(pool, "west")
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.pass()
	w.Expect(w.setting("east", "my-cluster-east-1", "controller.quorum.voters")).To(Equal(voters))
	w.create(poolIn("west", "west", 1, v1.RoleBroker, v1.RoleController))

	w.members["west"].lost = false
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(poolReady()).To(ConsistOf(And(HaveField("Type", "Ready"), HaveField("Status", "True"))))
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"))
	w.Expect(w.setting("west", "my-cluster-west-2", "controller.quorum.voters")).To(Equal(voters))
}

func TestTheLossOfAKubernetesClusterAndItsReturnAreEvents(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.OperatorVersion = "1"
	w.form()
	events := func() []string {
		w.events = nil
		w.pass()
		w.pass()
		return w.events
	}
	const lost = "ConnectivityError: Cannot connect to cluster 'west': connection refused. Please check kubeconfig and network connectivity."
	w.members["west"].lost = true
	w.Expect(events()).To(ConsistOf(lost))
	w.members["west"].lost = false
	w.Expect(events()).To(ConsistOf("RemoteClusterConnected: Cluster 'west' is connected again"))
	w.Expect(events()).To(BeEmpty())
}

func TestAClusterThatHoldsUpTheFirstPassIsOneEvent(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.OperatorVersion = "1"
	w.members["east"].lost = true
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.pass()
	w.pass()
	w.Expect(w.events).To(ConsistOf(HavePrefix("ConnectivityError: Cannot connect to cluster 'east'")))
}

func TestAnUnlistedClusterCountsAsUnreachable(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	west, before := w.members["west"], w.all()
	voters := w.setting("east", "my-cluster-east-1", "controller.quorum.voters")
	delete(w.members, "west")
	w.configure("log.retention.hours", "1")
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "ConnectivityError"), HaveField("Message", ContainSubstring(
		"Cannot connect to cluster 'west': the cluster is no longer configured in STRIMZI_REMOTE_KUBE_CONFIG"))))
	for id, pod := range map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1"} {
		w.Expect(w.setting(id, pod, "log.retention.hours")).To(Equal("1"), "the others go on")
		w.Expect(w.setting(id, pod, "controller.quorum.voters")).To(Equal(voters))
	}
	pool := &v1.KafkaNodePool{}
	w.get(pool, "east")
	pool.Annotations[v1.AnnotationTargetCluster] = "west"
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(HaveField("Reason", "TargetClusterChangeForbidden"))
	w.get(pool, "east")
	pool.Annotations[v1.AnnotationTargetCluster] = "east"
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())

	w.members["west"] = west
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"))
}

func TestAPausedKafkaIsHeldInEachKubernetesCluster(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	held := func() (ids []string) {
		for _, id := range []string{"central", "east", "west"} {
			set := &core.StrimziPodSet{}
			w.in(id, set, "my-cluster-"+id)
			if set.Annotations[core.AnnotationHold] == model.HoldPaused {
				ids = append(ids, id)
			}
		}
		return ids
	}
	pause := func(value string) {
		k := w.kafka()
		k.Annotations[v1.AnnotationPauseReconciliation] = value
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	}
	w.members["west"].lost = true
	pause("true")
	w.pass()
	w.Expect(held()).To(Equal([]string{"central", "east"}))
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(HaveField("Type", "ReconciliationPaused")))
	w.members["west"].lost = false
	w.pass()
	w.Expect(held()).To(Equal([]string{"central", "east", "west"}))
	pause("false")
	w.settle()
	w.Expect(held()).To(BeEmpty())
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAnOperatorOfAnotherVersionElsewhereGetsNothingToDo(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before := w.all()
	lease := &coordinationv1.Lease{}
	w.in("east", lease, heartbeat.LeaseName)
	lease.Annotations["kafka-operators.io/contract"] = "0"
	w.Expect(w.members["east"].Update(t.Context(), lease)).To(Succeed())
	k := w.kafka()
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	var logged []string
	_, err := w.r.Reconcile(log.IntoContext(t.Context(), funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})),
		w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(logged).To(ContainElement(And(ContainSubstring("contract 0"), Not(ContainSubstring(`"level"=`)))), "it is logged as an error")
	w.Expect(w.ready()).To(And(HaveField("Reason", "VersionMismatch"),
		HaveField("Message", ContainSubstring("has version 1 (contract 0), and this one has test (contract 2)"))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"), "the others go on")

	w.Expect(w.members["east"].Delete(t.Context(), lease)).To(Succeed())
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.kafka().Status.Conditions).
		To(ContainElement(And(HaveField("Reason", "RemoteOperatorNotRunning"), HaveField("Message", ContainSubstring("In cluster 'east'")))))
}

func TestNothingIsMadeAtFirstWhileAKubernetesClusterIsAway(t *testing.T) {
	w := newStretchedWorld(t)
	w.members["east"].lost = true
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ConnectivityError"),
		HaveField("Message", "Cannot connect to cluster 'east': connection refused. Please check kubeconfig and network connectivity.")))
	var secrets corev1.SecretList
	w.Expect(w.k8s.List(t.Context(), &secrets, client.InNamespace(w.namespace))).To(Succeed())
	w.Expect(secrets.Items).To(BeEmpty())
	w.members["east"].lost = false
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAKubernetesClusterThatIsAwayHidesNoContradiction(t *testing.T) {
	w := newStretchedWorld(t)
	w.members["east"].lost = true
	place := func(annotations map[string]string, key, value string) map[string]string {
		if value == "" {
			delete(annotations, key)
			return annotations
		}
		return map[string]string{key: value}
	}
	w.create(newKafka(), nodePool("a", 1, v1.RoleController), nodePool("b", 1, v1.RoleBroker))
	before := w.made()
	for _, c := range []struct{ kafka, a, b, reason, message string }{
		{"true", "", "", "MissingTargetCluster", "The following node pools are missing required annotation " +
			"'strimzi.io/stretch-cluster-alias': a, b. All node pools must specify a target cluster when stretch mode is enabled."},
		{"true", "central", "", "MissingTargetCluster", "The following node pools are missing required annotation " +
			"'strimzi.io/stretch-cluster-alias': b. All node pools must specify a target cluster when stretch mode is enabled."},
		{"true", "central", "north", "InvalidTargetCluster", "The following target cluster IDs are not configured: north. Valid cluster IDs " +
			"are: central, east, west. Please check STRIMZI_CENTRAL_CLUSTER_ID and STRIMZI_REMOTE_KUBE_CONFIG."},
		{"", "central", "east", "MissingStretchAnnotation", "Kafka CR 'my-cluster' is missing required annotation " +
			"'strimzi.io/enable-stretch-cluster: true' but the following node pools have stretch cluster annotations: a, b. Either add the " +
			"annotation to the Kafka CR or remove stretch annotations from all node pools."},
		{"true", "central", "east", "ConnectivityError",
			"Cannot connect to cluster 'east': connection refused. Please check kubeconfig and network connectivity."},
	} {
		k := w.kafka()
		k.Annotations = place(k.Annotations, v1.AnnotationStretch, c.kafka)
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
		for name, alias := range map[string]string{"a": c.a, "b": c.b} {
			pool := &v1.KafkaNodePool{}
			w.get(pool, name)
			pool.Annotations = place(pool.Annotations, v1.AnnotationTargetCluster, alias)
			w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
		}
		w.pass()
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", c.reason), HaveField("Message", c.message)))
		w.Expect(w.made()).To(Equal(before))
	}
	w.members["east"].lost = false
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAPoolDoesNotMoveToAnotherKubernetesCluster(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before := w.all()
	pool := &v1.KafkaNodePool{}
	w.get(pool, "east")
	pool.Annotations[v1.AnnotationTargetCluster] = "west"
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "TargetClusterChangeForbidden"), HaveField("Message", ContainSubstring(
		"KafkaNodePool east has its nodes or volumes in cluster 'east' and can't be moved to cluster 'west'"))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

func TestAPoolThatLosesItsAnnotationIsNotMoved(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before := w.made()
	for name, lose := range map[string]func(map[string]string){
		"deleted": func(a map[string]string) { delete(a, v1.AnnotationTargetCluster) },
		"emptied": func(a map[string]string) { a[v1.AnnotationTargetCluster] = "" },
	} {
		pool := &v1.KafkaNodePool{}
		w.get(pool, "east")
		lose(pool.Annotations)
		w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
		w.pass()
		w.Expect(w.ready()).To(And(HaveField("Reason", "MissingTargetCluster"), HaveField("Message", "The following node pools are missing "+
			"required annotation 'strimzi.io/stretch-cluster-alias': east. All node pools must specify a target cluster when stretch mode is "+
			"enabled.")), name)
		w.Expect(w.made()).To(Equal(before), name)
		w.get(pool, "east")
		pool.Annotations = map[string]string{v1.AnnotationTargetCluster: "east"}
		w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	}
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.made()).To(Equal(before))
}

func TestWhatMakesTheLossOfAKubernetesClusterAnOutageIsNamed(t *testing.T) {
	w := newStretchedWorld(t)
	k := stretchedKafka()
	k.Spec.Kafka.Rack = &v1.Rack{TopologyKey: "topology.kubernetes.io/zone"}
	w.create(k, poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 2, v1.RoleController, v1.RoleBroker))
	w.pass()
	w.Expect(w.kafka().Status.Conditions).To(ContainElements(
		And(HaveField("Reason", "QuorumTopology"), HaveField("Message", HavePrefix("2 of 3 controllers are in cluster 'east'"))),
		And(HaveField("Reason", "StretchRack"), HaveField("Message", ContainSubstring("topology.kubernetes.io/zone")))))
	w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Message", HavePrefix("1 of 3 controllers"))))
}

func TestRacksOfAStretchedKafka(t *testing.T) {
	zones := &v1.Rack{TopologyKey: "topology.kubernetes.io/zone"}
	room := &v1.Rack{TopologyKey: "example.com/room"}
	const file = "${strimzidir:/opt/kafka/placement:rack}"
	for _, c := range []struct {
		name, annotation string
		rack             *v1.Rack
		want             string
		waits            []string
	}{
		{name: "the Kubernetes cluster by default", want: "east"},
		{name: "spec.kafka.rack", rack: room, want: file, waits: []string{room.TopologyKey}},
		{name: "zone", annotation: v1.StretchRackZone, want: file, waits: []string{zones.TopologyKey}},
		{name: "zone, of another label", annotation: v1.StretchRackZone, rack: room, want: file, waits: []string{room.TopologyKey}},
		{name: "alias-zone", annotation: v1.StretchRackAliasZone, want: "east-" + file, waits: []string{zones.TopologyKey}},
		{name: "alias-zone, of an environment variable", annotation: v1.StretchRackAliasZone,
			rack: &v1.Rack{Type: v1.RackEnvironmentVariable, EnvVarName: "RACK"}, want: "east-${strimzienv:RACK}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newStretchedWorld(t)
			k := stretchedKafka()
			k.Spec.Kafka.Rack = c.rack
			if c.annotation != "" {
				k.Annotations[v1.AnnotationStretchRack] = c.annotation
			}
			w.create(k, poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
			w.settle()
			w.Expect(w.setting("east", "my-cluster-b-1", "broker.rack")).To(Equal(c.want))
			set := &core.StrimziPodSet{}
			w.in("east", set, "my-cluster-b")
			pods, err := set.DesiredPods()
			w.Expect(err).NotTo(HaveOccurred())
			facts, err := placement.Missing(&pods[0])
			w.Expect(err).NotTo(HaveOccurred())
			var waits []string
			for _, f := range facts {
				waits = append(waits, f.Label)
			}
			w.Expect(waits).To(Equal(c.waits))
			warns := ContainElement(HaveField("Reason", "StretchRack"))
			if c.rack == nil || c.annotation != "" {
				warns = Not(warns)
			}
			w.Expect(w.kafka().Status.Conditions).To(warns)
		})
	}
}
