package controller

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// The tests in this file lose a Kubernetes cluster for good.

var recordMapKey = facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}

// unlist takes a Kubernetes cluster off the list of the operators.
func (h *stretched) unlist(cluster string) {
	for _, o := range h.centrals[0].operators {
		delete(o.links, cluster)
		delete(o.points, cluster)
	}
}

func (h *stretched) recorded() string {
	return h.servers[0].objects[recordMapKey].object().(*corev1.ConfigMap).Data[recordKey]
}

// annotate sets an annotation of the Kafka.
func (h *stretched) annotate(key, value string) {
	k := h.centrals[0].kafka()
	k.Annotations = with(k.Annotations, key, value)
	h.must(h.k8s.Update(h.t.Context(), k))
}

func warning(message string) types.GomegaMatcher {
	return ContainElement(And(HaveField("Type", "Warning"), HaveField("Message", ContainSubstring(message))))
}

func TestAKubernetesClusterThatIsLostForGoodIsGivenUp(t *testing.T) {
	g := NewWithT(t)
	h := newStretched(newHistory(t, 1))
	h.create(h.centrals[0])
	h.targets["a"], h.targets["b"] = "central", "east"
	h.must(h.k8s.Create(t.Context(), h.pool("a", 1, v1.RoleBroker, v1.RoleController)))
	h.must(h.k8s.Create(t.Context(), h.pool("b", 1, v1.RoleBroker)))
	h.emptyAll()
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	voters := configOf(h.servers[0], "my-cluster-a-0")
	conditions := func() []v1.Condition { return h.centrals[0].kafka().Status.Conditions }

	clear(h.servers[2].objects)
	h.annotate(v1.AnnotationGivenUpClusters, "east")
	h.leader().links["east"].lost = true
	h.rest()
	g.Expect(conditions()).To(warning("but STRIMZI_REMOTE_KUBE_CONFIG still lists it"))
	g.Expect(h.recorded()).To(ContainSubstring(`"east"`))

	h.annotate(v1.AnnotationGivenUpClusters, "")
	h.unlist("east")
	h.rest()
	g.Expect(conditions()).To(warning("list it again. If it is lost for good, delete KafkaNodePool b, and annotate this Kafka " +
		"kafka-operators.io/given-up-clusters: east"))
	h.must(h.k8s.Delete(t.Context(), h.object(facts.Key{Kind: "KafkaNodePool", Name: "b"}).DeepCopyObject().(*v1.KafkaNodePool)))
	h.rest()
	g.Expect(conditions()).To(warning("If it is lost for good, annotate this Kafka"))
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionFalse))

	h.annotate(v1.AnnotationGivenUpClusters, "north, east")
	for _, c := range []struct {
		registered []kafka.Node
		err        error
		told       string
	}{
		{nil, errors.New("no answer"), "it is given up once Kafka answers whether its brokers still run: no answer"},
		{[]kafka.Node{{ID: 0}, {ID: 1}}, nil, "stop broker 1 there, which still runs"},
	} {
		h.brokers.registered, h.brokers.err = c.registered, c.err
		h.rest()
		g.Expect(conditions()).To(warning(c.told))
		g.Expect(h.recorded()).To(ContainSubstring(`"east"`))
	}
	h.brokers.registered, h.brokers.err = []kafka.Node{{ID: 0}, {ID: 1, Fenced: true}}, nil
	for range 3 {
		_, err := h.pass(h.leader(), -1)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	g.Expect(h.recorded()).NotTo(ContainSubstring(`"east"`))
	g.Expect(configOf(h.servers[0], "my-cluster-a-0")).To(Equal(voters))

	// The power comes back where nobody looks any more.
	stray := warning("Broker 1 at 10.102.0.1:30092 runs and is no node of this Kafka")
	h.brokers.registered = []kafka.Node{{ID: 0}, {ID: 1, Host: "10.102.0.1", Port: 30092}}
	h.rest()
	g.Expect(conditions()).To(stray)
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	h.brokers.registered[1].Fenced = true
	h.rest()
	g.Expect(conditions()).NotTo(stray)
}

// A Kafka object that was created again does not have the record yet, and waits for a cluster in it until the user takes it out.
func TestALostClusterLeavesTheRecordOfAnEarlierKafka(t *testing.T) {
	g := NewWithT(t)
	h := newStretched(newHistory(t, 1))
	k := stretchedKafka()
	k.Namespace = historyNamespace
	h.must(h.k8s.Create(t.Context(), k.DeepCopy()))
	h.targets["a"], h.targets["b"] = "central", "east"
	h.must(h.k8s.Create(t.Context(), h.pool("a", 1, v1.RoleBroker, v1.RoleController)))
	h.must(h.k8s.Create(t.Context(), h.pool("b", 1, v1.RoleBroker)))
	h.emptyAll()
	h.rest()
	clear(h.servers[2].objects)
	h.unlist("east")
	h.must(h.k8s.Delete(t.Context(), h.object(facts.Key{Kind: "KafkaNodePool", Name: "b"}).DeepCopyObject().(*v1.KafkaNodePool)))
	record := h.servers[0].objects[recordMapKey].object().(*corev1.ConfigMap).DeepCopy()
	record.Data[recordKey] = strings.Replace(record.Data[recordKey], string(h.centrals[0].kafka().UID), "earlier", 1)
	h.must(h.k8s.Update(t.Context(), record))
	h.annotate(v1.AnnotationGivenUpClusters, "east")
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", ContainSubstring("'east': the cluster is no longer configured")))

	record = h.servers[0].objects[recordMapKey].object().(*corev1.ConfigMap).DeepCopy()
	content := map[string]any{}
	h.must(json.Unmarshal([]byte(record.Data[recordKey]), &content))
	delete(content["clusters"].(map[string]any), "east")
	text, err := json.Marshal(content)
	h.must(err)
	record.Data[recordKey] = string(text)
	h.must(h.k8s.Update(t.Context(), record))
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	g.Expect(h.recorded()).NotTo(ContainSubstring(`"east"`))
}

func TestAKubernetesClusterWithAControllerIsNotGivenUp(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	clear(h.servers[2].objects)
	h.unlist("east")
	h.must(h.k8s.Delete(t.Context(), h.object(facts.Key{Kind: "KafkaNodePool", Name: "east"}).DeepCopyObject().(*v1.KafkaNodePool)))
	h.annotate(v1.AnnotationGivenUpClusters, "east")
	before := configOf(h.servers[0], "my-cluster-central-0")
	h.rest()
	g.Expect(h.centrals[0].kafka().Status.Conditions).To(warning("If it is lost for good, list a new Kubernetes cluster under its id: " +
		"node 1 is a controller"))
	g.Expect(configOf(h.servers[0], "my-cluster-central-0")).To(Equal(before), "with all voters")
}

func TestANewKubernetesClusterTakesThePlaceOfALostOne(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	listed := func(s *apiServer) (all []node) {
		return nodesOf(t.Fatal, s, s.objects[facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-east"}].object().(*core.StrimziPodSet))
	}
	before := listed(h.servers[2])
	clear(h.servers[2].objects)
	h.centrals[0].points["east"] = h.spare
	h.start(h.leader()) // as the list says now
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", ContainSubstring("point to a Kubernetes cluster other than")))
	g.Expect(h.spare.objects).NotTo(HaveKey(anchorKey))

	record := h.servers[0].objects[recordMapKey].object().(*corev1.ConfigMap).DeepCopy()
	record.Data[recordKey] = strings.Replace(record.Data[recordKey], `"identity":"east",`, "", 1)
	h.must(h.k8s.Update(t.Context(), record))
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	after := listed(h.spare)
	g.Expect(after).To(HaveLen(len(before)))
	g.Expect(after[0].id).To(Equal(before[0].id))
	for i, pod := range map[int]string{0: "my-cluster-central-0", 3: "my-cluster-west-2", 4: "my-cluster-east-1"} {
		config := h.servers[i].objects[facts.Key{Kind: "ConfigMap", Name: pod}].object().(*corev1.ConfigMap).Data["server.config"]
		g.Expect(voters.FindStringSubmatch(config)[1]).To(MatchRegexp(`^0@\S+,1@\S+,2@\S+$`))
	}
}

// A deletion waits for a lost Kubernetes cluster until it is taken off the list and given up. Whether it had a controller does not matter.
func TestADeletionDoesNotWaitForAKubernetesClusterThatIsGivenUp(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	h.must(h.k8s.Delete(t.Context(), h.centrals[0].kafka()))
	h.annotate(v1.AnnotationGivenUpClusters, "west")
	h.leader().links["west"].lost = true
	for range 4 {
		_, _ = h.pass(h.leader(), -1)
		h.collect()
	}
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", HavePrefix("The deletion waits for cluster 'west'")), "it is listed")
	h.annotate(v1.AnnotationGivenUpClusters, "")
	h.unlist("west")
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", HaveSuffix("annotate the Kafka kafka-operators.io/given-up-clusters: west")))
	h.annotate(v1.AnnotationGivenUpClusters, "west")
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.k8s.server.objects).NotTo(HaveKey(facts.Key{Kind: "Kafka", Name: "my-cluster"}))
	g.Expect(h.servers[3].objects).To(HaveKey(anchorKey))
}
