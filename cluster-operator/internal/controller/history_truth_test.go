package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// This file determines the true state of a Kafka from all API servers at once, regardless of the operators' connections. It does not use
// the reconciler's code.

var anchorKey = facts.Key{Kind: "ConfigMap", Name: "my-cluster-kafka-gc"}

// marked reports whether an object carries the marks of a central cluster's Kafka.
func (c *central) marked(o client.Object, kind string) bool {
	live := ownership.Read(o, kind)
	if live.Copied {
		return false
	}
	if live.ID != "" && live.Term != nil {
		return c.ids[live.ID] && (c.holders[live.Term.Holder] || live.Term.Epoch < c.epoch && !c.rival.holders[live.Term.Holder])
	}
	if live.ID != "" && !c.ids[live.ID] {
		return false
	}
	for id, epoch := range live.Applied {
		if c.ids[id] && epoch <= c.epoch {
			return true
		}
	}
	return false
}

// owns reports whether an object provably belongs to the Kafka of a central cluster.
func (h *stretched) owns(c *central, s *apiServer, key facts.Key, o client.Object) bool {
	if maker := h.makers[o.GetUID()]; maker != nil && maker != c {
		return false // whatever its annotations name by now
	}
	if s == c.server {
		switch key.Kind {
		case "Kafka", "KafkaNodePool":
			return true // the operator writes only their metadata and status
		}
		if slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return c.uids[r.UID] }) {
			return true
		}
		return len(o.GetOwnerReferences()) == 0 && c.survives(o) || h.podOfOurs(c, s, key, o)
	}
	if c.marked(o, key.Kind) || h.podOfOurs(c, s, key, o) {
		return true
	}
	anchor := s.objects[anchorKey]
	if anchor != nil && c.marked(anchor.Object, "ConfigMap") && o.GetAnnotations()[ownership.MarkID] == "" &&
		slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == anchor.GetUID() }) {
		return true
	}
	_, volume := o.(*corev1.PersistentVolumeClaim)
	return volume && c.survives(o) && (anchor == nil || c.marked(anchor.Object, "ConfigMap"))
}

// survives reports whether an object is a volume, or the Secret of a CA, that an earlier Kafka object left.
func (c *central) survives(o client.Object) bool {
	if o.GetAnnotations()[v1.AnnotationForceReplace] == "true" && o.GetLabels()[core.LabelKind] == core.KindKafka &&
		o.GetLabels()[v1.LabelCluster] == "my-cluster" {
		return true // a user made it for the operator to fill in
	}
	if o.GetLabels()[v1.LabelCluster] != "my-cluster" || o.GetLabels()["app.kubernetes.io/managed-by"] != model.ManagedBy {
		return false
	}
	switch o.(type) {
	case *corev1.PersistentVolumeClaim:
		return c.clusterIDs[o.GetAnnotations()[model.AnnotationClusterID]]
	case *corev1.Secret:
		return true
	}
	return false
}

// podOfOurs reports whether an object is a pod of a StrimziPodSet that belongs to the Kafka of a central cluster.
func (h *stretched) podOfOurs(c *central, s *apiServer, key facts.Key, o client.Object) bool {
	if key.Kind != "Pod" {
		return false
	}
	for set, stored := range s.objects {
		if set.Kind == "StrimziPodSet" && slices.ContainsFunc(o.GetOwnerReferences(),
			func(r metav1.OwnerReference) bool { return r.UID == stored.GetUID() }) {
			return h.owns(c, s, set, stored.Object)
		}
	}
	return false
}

// node is a node that a StrimziPodSet lists.
type node struct {
	server             *apiServer
	pool               string
	id                 int32
	controller, broker bool
}

// nodes returns the nodes of a central cluster's Kafka in all Kubernetes clusters. It skips StrimziPodSets whose owner no longer exists:
// the garbage collector deletes them.
func (h *stretched) nodes(c *central) []node {
	var all []node
	for _, s := range h.servers {
		uids := map[types.UID]bool{}
		for _, o := range s.objects {
			uids[o.GetUID()] = true
		}
		for _, key := range sortedKeys(s.objects) {
			set, ok := s.objects[key].object().(*core.StrimziPodSet)
			if ok && h.owns(c, s, key, set) && slices.ContainsFunc(set.OwnerReferences, func(r metav1.OwnerReference) bool { return uids[r.UID] }) {
				all = append(all, nodesOf(h.t.Fatal, s, set)...)
			}
		}
	}
	return all
}

func nodesOf(fatal func(...any), s *apiServer, set *core.StrimziPodSet) []node {
	var all []node
	for _, raw := range set.Spec.Pods {
		var pod struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(raw.Raw, &pod); err != nil {
			fatal(err)
		}
		id, ok := core.NodeID(pod.Metadata.Name)
		if !ok {
			fatal("pod " + pod.Metadata.Name + " has no node id")
		}
		labels := pod.Metadata.Labels
		all = append(all, node{s, labels[core.LabelPoolName], id, labels[core.LabelControllerRole] == "true",
			labels[core.LabelBrokerRole] == "true"})
	}
	return all
}

// judgeMore checks a write to one of several Kubernetes clusters against the promises.
func (h *stretched) judgeMore(s *apiServer, key facts.Key, before, after client.Object) {
	h.t.Helper()
	c := h.acting.central
	who := h.acting.name
	if before == nil && key.Kind == "PersistentVolumeClaim" {
		h.makers[after.GetUID()] = c
	}
	goes := after == nil || before != nil && after.GetDeletionTimestamp() != nil && before.GetDeletionTimestamp() == nil
	finalized := before != nil && before.GetDeletionTimestamp() != nil
	if (key.Kind == "Kafka" || key.Kind == "KafkaNodePool") && (s != c.server || goes && !finalized) {
		h.failf("%s deletes %s %s in %s", who, key.Kind, key.Name, s.id)
	}
	if before != nil && !h.owns(c, s, key, before) {
		h.failf("%s touches %s %s in %s, which is not provably its own: %v", who, key.Kind, key.Name, s.id, before.GetAnnotations())
	}
	if secret, ok := after.(*corev1.Secret); ok && s != c.server {
		h.judgeCopy(s, secret)
	}
	if key == kafkaKey && finalized && (after == nil || len(after.GetFinalizers()) < len(before.GetFinalizers())) {
		h.judgeEnd(c)
	}
	switch o := after.(type) {
	case *core.StrimziPodSet:
		h.judgeIDs(c, s, before, o)
	case *corev1.ConfigMap:
		h.judgeVoters(c, s, before, o)
	}
	if !goes {
		return
	}
	kafka := c.server.objects[facts.Key{Kind: "Kafka", Name: "my-cluster"}]
	if key == anchorKey && (kafka == nil || kafka.GetDeletionTimestamp() != nil) {
		h.judgeLastWish(c, s, before.GetUID())
	}
	if key == anchorKey && kafka != nil && kafka.GetDeletionTimestamp() == nil {
		h.judgeAnchorGoes(c, s, before.GetUID())
	}
	runs := func(n node) bool { // or is to run, unless its namespace is on its way out
		pod := fmt.Sprintf("my-cluster-%s-%d", n.pool, n.id)
		return key.Name == pod && (s.objects[facts.Key{Kind: "Pod", Name: pod}] != nil ||
			c.server.objects[facts.Key{Kind: "KafkaNodePool", Name: n.pool}] != nil)
	}
	if _, secret := before.(*corev1.Secret); secret && slices.ContainsFunc(h.nodes(c), runs) {
		h.failf("%s deletes the certificate of a node: Secret %s in %s", who, key.Name, s.id)
	}
}

// judgeEnd checks that the garbage collectors are done with what a Kafka had in other Kubernetes clusters when its object may go. A
// record without an owner says that they are kept.
func (h *stretched) judgeEnd(c *central) {
	h.t.Helper()
	if h.foreign[c.server][facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}] != nil {
		return
	}
	for _, s := range h.servers {
		if s == c.server || s.objects[anchorKey] != nil {
			continue
		}
		for _, key := range sortedKeys(s.objects) {
			o := s.objects[key].Object
			if c.marked(o, key.Kind) &&
				slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.Name == anchorKey.Name }) {
				h.failf("%s's Kafka goes before %s %s in %s", c.server.id, key.Kind, key.Name, s.id)
			}
		}
	}
}

// judgeCopy checks that no Secret outside the central cluster holds the key of a CA.
func (h *stretched) judgeCopy(s *apiServer, secret *corev1.Secret) {
	h.t.Helper()
	for _, c := range h.centrals {
		for _, name := range []string{"my-cluster-cluster-ca", "my-cluster-clients-ca"} {
			ca, ok := c.server.objects[facts.Key{Kind: "Secret", Name: name}].object().(*corev1.Secret)
			for key, data := range secret.Data {
				if key == "ca.key" || ok && len(ca.Data["ca.key"]) > 0 && string(data) == string(ca.Data["ca.key"]) {
					h.failf("the key of a CA is in Secret %s in %s", secret.Name, s.id)
				}
			}
		}
	}
}

// judgeIDs checks that no node gets an id that another node, or another node's volume, has in any Kubernetes cluster. For a Kafka in one
// Kubernetes cluster, it ignores the volumes that the Kafka left in others, and for one with none of its pools in a cluster, those that an
// earlier Kafka left there. Nodes that had their ids before keep them when such a Kafka is stretched.
func (h *stretched) judgeIDs(c *central, s *apiServer, before client.Object, set *core.StrimziPodSet) {
	h.t.Helper()
	kafka := c.kafka()
	var listed []node
	if was, ok := before.(*core.StrimziPodSet); ok {
		listed = nodesOf(h.t.Fatal, s, was)
	}
	several := kafka != nil && (kafka.Annotations[v1.AnnotationStretch] == "true" || len(kafka.Finalizers) > 0)
	for _, n := range nodesOf(h.t.Fatal, s, set) {
		if !several {
			c.givenAtHome[n] = true
		}
		for _, other := range h.nodes(c) {
			if other.id == n.id && (other.pool != n.pool || other.server != s) {
				h.failf("node %d of pool %s in %s gets the id of one of pool %s in %s", n.id, n.pool, s.id, other.pool, other.server.id)
			}
		}
		for _, elsewhere := range h.servers {
			for key, o := range elsewhere.objects {
				if claim, ok := o.Object.(*corev1.PersistentVolumeClaim); ok && strings.HasSuffix(key.Name, fmt.Sprintf("-%d", n.id)) &&
					c.clusterIDs[claim.Annotations[model.AnnotationClusterID]] &&
					(elsewhere == c.server || several && !slices.Contains(listed, n) && !c.givenAtHome[n] && c.marked(claim, key.Kind) &&
						(claim.Annotations[ownership.MarkID] == kafka.Annotations[ownership.MarkID] || c.places(elsewhere))) &&
					claim.DeletionTimestamp == nil &&
					claim.Labels[core.LabelPoolName] != n.pool {
					h.failf("node %d of pool %s in %s gets the id of volume %s in %s", n.id, n.pool, s.id, key.Name, elsewhere.id)
				}
			}
		}
	}
}

// places reports whether a pool is to be in a Kubernetes cluster.
func (c *central) places(s *apiServer) bool {
	for key, o := range c.server.objects {
		if key.Kind == "KafkaNodePool" && o.GetAnnotations()[v1.AnnotationTargetCluster] == s.id {
			return true
		}
	}
	return false
}

var voters = regexp.MustCompile(`(?m)^controller\.quorum\.voters=(.*)$`)

// judgeVoters checks that the voters in a node's configuration include all controllers, each once, and all voters of before, unless no
// node can run or the user gives data up.
func (h *stretched) judgeVoters(c *central, s *apiServer, before client.Object, config *corev1.ConfigMap) {
	h.t.Helper()
	found := voters.FindStringSubmatch(config.Data["server.config"])
	if found == nil {
		return
	}
	id, _ := core.NodeID(config.Name)
	if before != nil && !slices.ContainsFunc(h.nodes(c), func(n node) bool { return n.server == s && n.id == id }) {
		return // the node is gone, and its ConfigMap is marked before it goes
	}
	kafka := c.kafka()
	forced := kafka == nil || v1.IsTrue(kafka.Annotations, v1.AnnotationSkipScaleDownCheck)
	if was, is := before.(*corev1.ConfigMap); is && !forced && len(h.nodes(c)) > 0 {
		for _, voter := range model.VotersIn(was) {
			if !slices.Contains(model.VotersIn(config), voter) {
				h.failf("voter %d is gone from %s in %s: %s", voter, config.Name, s.id, found[1])
			}
		}
	}
	known := map[string]bool{}
	for _, voter := range strings.Split(found[1], ",") {
		id, _, _ := strings.Cut(voter, "@")
		if known[id] {
			h.failf("voter %s is listed twice in %s in %s: %s", id, config.Name, s.id, found[1])
		}
		known[id] = true
	}
	for _, n := range h.nodes(c) {
		if n.controller && !known[fmt.Sprint(n.id)] {
			h.failf("controller %d in %s is not among the voters of %s in %s: %s", n.id, n.server.id, config.Name, s.id, found[1])
		}
	}
}

// judgeAnchorGoes checks that no controller, no broker with replicas, and no volume that a node needs or that holds replicas is deleted
// with an anchor.
func (h *stretched) judgeAnchorGoes(c *central, s *apiServer, anchor types.UID) {
	h.t.Helper()
	for _, n := range h.nodes(c) {
		replicas, known := h.brokers.replicas[n.id]
		if n.server == s && (n.controller || h.brokers.err != nil || !known || replicas > 0) {
			h.failf("the anchor in %s is deleted, and with it node %d of pool %s", s.id, n.id, n.pool)
		}
	}
	for _, key := range sortedKeys(s.objects) {
		claim, is := s.objects[key].object().(*corev1.PersistentVolumeClaim)
		if is && claim.DeletionTimestamp == nil && apply.OwnedBy(claim, anchor) {
			h.judgeClaimGoes(s, key)
			h.judgeContents(s, claim)
		}
	}
}

// judgeLastWish checks that no volume goes with the anchor of a deleted Kafka that its pool keeps by then, as far as caches tell.
func (h *stretched) judgeLastWish(c *central, s *apiServer, anchor types.UID) {
	h.t.Helper()
	for _, l := range h.acting.links {
		if l.view != nil {
			return
		}
	}
	for key, o := range s.objects {
		claim, is := o.object().(*corev1.PersistentVolumeClaim)
		if !is || !apply.OwnedBy(claim, anchor) || claim.Labels[v1.LabelCluster] != h.name {
			continue
		}
		for _, o := range c.server.objects {
			pool, is := o.object().(*v1.KafkaNodePool)
			if !is || pool.DeletionTimestamp != nil {
				continue
			}
			if wanted, has := deletes(pool.Spec.Storage, claim.Name, h.name+"-"+pool.Name); has && !wanted {
				h.failf("volume %s in %s goes with the anchor of its Kafka, and pool %s keeps it", key.Name, s.id, pool.Name)
			}
		}
	}
}

// judgeUnregistered checks that an operator unregistered no node that a StrimziPodSet of its Kafka lists as a broker. The rival's Kafka,
// when both run, has brokers of its own, though in histories the same ones answer for both.
func (h *stretched) judgeUnregistered(c *central) {
	h.t.Helper()
	for _, id := range h.brokers.unregistered {
		if slices.ContainsFunc(h.nodes(c), func(n node) bool { return n.id == id && n.broker }) {
			h.failf("broker %d was unregistered", id)
		}
	}
	h.brokers.unregistered = nil
}

// collect runs the garbage collectors, and checks that they delete no volume without deleteClaim.
func (h *stretched) collect() {
	for _, s := range h.servers {
		before := maps.Clone(s.objects)
		s.collect()
		for key, o := range before {
			if claim, ok := o.object().(*corev1.PersistentVolumeClaim); ok && s.objects[key] == nil && !h.mayGo(claim) {
				h.failf("volume %s in %s went with its owner", key.Name, s.id)
			}
		}
	}
}

// runPods creates and updates the pods that StrimziPodSets list, in all Kubernetes clusters.
func (h *stretched) runPods() {
	for _, s := range h.servers {
		h.history.runPods(s, 100)
	}
}
