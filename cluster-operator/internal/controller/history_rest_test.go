package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// calm ends all faults, and reverts edits that the operator rejects, as users would.
func (h *stretched) calm() {
	h.brokers.err, h.brokers.replicas = nil, map[int32]int{}
	for id := range int32(30) {
		h.brokers.replicas[id] = 0
	}
	h.brokers.registered = nil
	for _, s := range h.servers {
		for key := range h.foreign[s] {
			delete(h.foreign[s], key)
			if s.objects[key] != nil {
				s.terminate(key)
			}
		}
	}
	for _, c := range h.centrals {
		c.points["east"], c.points["west"] = h.servers[2], h.servers[3]
		for _, o := range c.operators {
			o.r.Settings = h.r.Settings
			again := false
			for id, l := range o.links {
				l.lost, l.reads, l.writes, l.view = false, -1, "", nil
				again = again || l.bound != c.points[id]
			}
			if again {
				h.start(o)
			}
		}
	}
	c := h.centrals[0]
	for _, s := range h.servers {
		for _, key := range sortedKeys(s.objects) {
			if key.Kind != "PersistentVolumeClaim" {
				continue
			}
			claim := s.objects[key]
			if !h.owns(c, s, key, claim.Object) {
				s.terminate(key) // its user deletes it, as the status asks
				continue
			}
			if s != h.spare {
				h.targets[claim.GetLabels()[core.LabelPoolName]] = s.id
			}
		}
	}
	for _, n := range h.nodes(c) {
		h.targets[n.pool] = n.server.id
	}
	for _, key := range sortedKeys(c.server.objects) {
		if pool, ok := c.server.objects[key].object().(*v1.KafkaNodePool); ok {
			pool = pool.DeepCopy()
			pool.Annotations = map[string]string{v1.AnnotationTargetCluster: h.targets[pool.Name]}
			if pool.Name == "central" {
				pool.Spec.Roles = []v1.ProcessRole{v1.RoleController, v1.RoleBroker}
			}
			h.must(c.k8s.Update(h.t.Context(), pool))
		}
	}
	if h.targets["brokers"] == "" {
		h.targets["brokers"] = "central"
		h.must(c.k8s.Create(h.t.Context(), h.pool("brokers", 1, v1.RoleBroker)))
	}
	record := facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}
	if o, ok := c.server.objects[record].object().(*corev1.ConfigMap); ok && o.Data[recordKey] == "garbage" {
		c.server.terminate(record)
	}
	if kafka := c.kafka(); kafka != nil {
		kafka.Annotations = with(kafka.Annotations, v1.AnnotationStretch, "true")
		delete(kafka.Annotations, v1.AnnotationPauseReconciliation)
		h.must(c.k8s.Update(h.t.Context(), kafka))
	}
	if rival := h.centrals[1].kafka(); rival != nil {
		h.must(h.centrals[1].k8s.Delete(h.t.Context(), rival))
	}
}

func (h *stretched) versions() (all int64) {
	for _, s := range h.servers {
		all += s.version
	}
	return all
}

// rest runs passes, garbage collectors and pods until nothing changes.
func (h *stretched) rest() {
	h.t.Helper()
	var err error
	var last map[string]bool
	for round := range 40 {
		before := h.versions()
		err = nil
		if round == 39 {
			last = map[string]bool{}
			judge := h.history.judgeMore
			defer func() { h.history.judgeMore = judge }()
			h.history.judgeMore = func(s *apiServer, key facts.Key, before, after client.Object) {
				last[fmt.Sprintf("%s %s in %s: %v -> %v", key.Kind, key.Name, s.id, before, after)] = true
			}
		}
		for _, c := range slices.Backward(h.centrals) {
			_, e := h.pass(c.operators[0], -1)
			err = errors.Join(err, e)
		}
		h.collect()
		h.runPods()
		if h.versions() == before {
			var failure *Failure
			if err != nil && !errors.As(err, &failure) && missingNamespace(err) == "" { // a namespace that was deleted is asked for again
				h.failf("in the end: %v", err)
			}
			return
		}
	}
	h.failf("in the end, the passes do not end: %v, %v", err, slices.Collect(maps.Keys(last)))
}

// ready returns the condition Ready of the Kafka, an empty one if it has none; nil if there is no Kafka.
func (c *central) ready() *v1.Condition {
	kafka := c.kafka()
	if kafka == nil {
		return nil
	}
	if ready := readyOf(kafka); ready != nil {
		return ready
	}
	return &v1.Condition{}
}

// remedy does what the status asks the user for, and reports whether it did anything.
func (h *stretched) remedy() bool {
	c := h.centrals[0]
	ready := c.ready()
	if ready != nil && strings.Contains(ready.Message, "annotations of both that prove it are lost") {
		_, id, _ := strings.Cut(ready.Message, ownership.MarkID+": ")
		id, _, _ = strings.Cut(id, " ")
		kafka := c.kafka()
		kafka.Annotations = with(with(kafka.Annotations, ownership.MarkID, id), v1.AnnotationOwnerEpoch, "1")
		h.must(c.k8s.Update(h.t.Context(), kafka))
		return true
	}
	if ready != nil && (ready.Reason == "OwnershipConflict" || ready.Reason == "ObjectNotOwned") {
		return h.clear(c, ready.Message)
	}
	if ready != nil && strings.Contains(ready.Message, "Delete the PersistentVolumeClaims of") {
		return h.deleteVolumes(ready.Message)
	}
	if ready != nil && strings.Contains(ready.Message, "there is no KafkaNodePool") {
		return h.deleteVolumesOf(ready.Message)
	}
	if ready != nil && strings.Contains(ready.Message, "delete the claims") {
		return h.deleteClaimsIn(ready.Message)
	}
	if ready != nil && strings.Contains(ready.Message, "create the KafkaNodePool again") {
		_, pool, _ := strings.Cut(ready.Message, "of the removed KafkaNodePool ")
		h.createAgain(pool)
		return true
	}
	if ready != nil && strings.Contains(ready.Message, " was removed: create it again") {
		before, _, _ := strings.Cut(ready.Message, " was removed: create it again")
		h.createAgain(before[strings.LastIndex(before, " ")+1:] + " ")
		return true
	}
	if ready != nil && strings.Contains(ready.Message, "set .spec.storage to the storage of the existing nodes") {
		return h.storageAsIs(ready.Message)
	}
	if ready != nil && strings.Contains(ready.Message, "is a voter by the configuration") {
		h.voterAgain(ready.Message)
		return true
	}
	if ready == nil || ready.Reason != "CAKeyLost" {
		return false
	}
	name := "my-cluster-cluster-ca"
	if strings.HasPrefix(ready.Message, "Clients CA") {
		name = "my-cluster-clients-ca"
	}
	labels := map[string]string{core.LabelKind: core.KindKafka, v1.LabelCluster: "my-cluster"}
	h.must(c.k8s.Create(h.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: name, Labels: labels,
		Annotations: map[string]string{v1.AnnotationForceReplace: "true"}}}))
	return true
}

// storageAsIs gives the pool that a message names the storage of its nodes, and reports whether there is such a pool.
func (h *stretched) storageAsIs(message string) bool {
	_, text, _ := strings.Cut(message, ".spec.storage of KafkaNodePool ")
	name, _, _ := strings.Cut(text, " ")
	pool, exists := h.servers[0].objects[facts.Key{Kind: "KafkaNodePool", Name: name}].object().(*v1.KafkaNodePool)
	if !exists {
		return false
	}
	pool = pool.DeepCopy()
	for _, s := range h.servers {
		if storage := h.storageOfNodes(s, name); storage.Type != "" {
			pool.Spec.Storage = storage
		}
	}
	h.must(h.k8s.Update(h.t.Context(), pool))
	return true
}

// voterAgain creates the pool that a message names for a controller of which nothing is left, or gives the controller up.
func (h *stretched) voterAgain(message string) {
	name, cluster := "again", "central" // it names none
	if _, text, found := strings.Cut(message, "Create KafkaNodePool "); found {
		name, _, _ = strings.Cut(text, " ")
		_, cluster, _ = strings.Cut(text, "'")
		cluster, _, _ = strings.Cut(cluster, "'")
	}
	exists := h.servers[0].objects[facts.Key{Kind: "KafkaNodePool", Name: name}] != nil
	if exists || strings.Contains(message, "Give KafkaNodePool") || h.rand.Intn(2) == 0 {
		h.annotate(v1.AnnotationSkipScaleDownCheck, "true")
		return
	}
	h.targets[name] = cluster
	h.createAgain(name + " ")
}

// createAgain creates the pool that a message begins with, with the nodes that there are ConfigMaps of.
func (h *stretched) createAgain(message string) {
	name, _, _ := strings.Cut(message, " ")
	var replicas int32
	var roles []v1.ProcessRole
	for _, s := range h.servers {
		for _, key := range sortedKeys(s.objects) {
			config, ok := s.objects[key].object().(*corev1.ConfigMap)
			if !ok || config.Labels[core.LabelPoolName] != name {
				continue
			}
			made := model.RolesIn(config)
			if made == (topology.Roles{}) {
				continue
			}
			replicas, roles = replicas+1, nil
			if made.Controller {
				roles = append(roles, v1.RoleController)
			}
			if made.Broker {
				roles = append(roles, v1.RoleBroker)
			}
			h.targets[name] = s.id
		}
	}
	if replicas == 0 { // only the volumes of a node are left, or the voters name it
		replicas, roles = 1, []v1.ProcessRole{v1.RoleController, v1.RoleBroker}
	}
	h.must(h.centrals[0].k8s.Create(h.t.Context(), h.pool(name, replicas, roles...)))
}

// deleteVolumes deletes the volumes of the node that a message names, and reports whether there were any.
func (h *stretched) deleteVolumes(message string) (found bool) {
	_, node, _ := strings.Cut(message, "Delete the PersistentVolumeClaims of ")
	node, _, _ = strings.Cut(node, " ")
	for _, s := range h.servers {
		for _, key := range sortedKeys(s.objects) {
			if key.Kind == "PersistentVolumeClaim" && strings.HasSuffix(key.Name, "-"+node) {
				s.terminate(key)
				found = true
			}
		}
	}
	return found
}

// deleteVolumesOf deletes the volumes of the pool that a message misses, and reports whether there were any.
func (h *stretched) deleteVolumesOf(message string) (found bool) {
	_, pool, _ := strings.Cut(message, "there is no KafkaNodePool ")
	pool, _, _ = strings.Cut(pool, " ")
	for _, s := range h.servers {
		for _, key := range sortedKeys(s.objects) {
			if key.Kind == "PersistentVolumeClaim" && s.objects[key].GetLabels()[core.LabelPoolName] == pool {
				s.terminate(key)
				found = true
			}
		}
	}
	return found
}

// deleteClaimsIn deletes the volumes that a message names, and reports whether there were any.
func (h *stretched) deleteClaimsIn(message string) (found bool) {
	words := strings.FieldsFunc(message, func(r rune) bool { return r == ' ' || r == ',' })
	for _, s := range h.servers {
		for _, key := range sortedKeys(s.objects) {
			if key.Kind == "PersistentVolumeClaim" && slices.Contains(words, key.Name) {
				s.terminate(key)
				found = true
			}
		}
	}
	return found
}

// clear deletes anchors that earlier Kafka objects left under other ids, or that a message asks the user to delete, and volumes with other
// owner ids, and reports whether there were any.
func (h *stretched) clear(c *central, message string) (found bool) {
	id := c.kafka().Annotations[ownership.MarkID]
	for _, s := range h.servers {
		asked := strings.HasPrefix(message, fmt.Sprintf("cluster '%s' has objects of an earlier Kafka", s.id))
		if o := s.objects[anchorKey]; o != nil && (asked || c.marked(o.Object, "ConfigMap") && o.GetAnnotations()[ownership.MarkID] != id) {
			s.terminate(anchorKey)
			found = true
		}
		for _, key := range sortedKeys(s.objects) {
			if other := s.objects[key].GetAnnotations()[ownership.MarkID]; key.Kind == "PersistentVolumeClaim" && other != "" && other != id {
				s.terminate(key)
				found = true
			}
		}
	}
	return found
}

// settle ends all faults, and checks that the Kafka becomes ready and that a newly started operator changes nothing.
func (h *stretched) settle() {
	h.t.Helper()
	h.calm()
	h.rest()
	c := h.centrals[0]
	h.now = h.now.Add(3 * time.Hour)
	h.rest()
	h.now = h.now.Add(3 * time.Hour)
	h.rest()
	for range 6 {
		if !h.remedy() {
			break
		}
		h.rest()
	}
	if ready := c.ready(); ready != nil && ready.Status != v1.ConditionTrue {
		h.failf("in the end, the Kafka is not ready: %+v, annotations %v", ready, c.kafka().Annotations)
	}
	var before []objects
	for _, s := range h.servers {
		before = append(before, maps.Clone(s.objects))
	}
	h.start(c.operators[0])
	_, _ = h.pass(c.operators[0], -1)
	for i, s := range h.servers {
		for key, o := range before[i] {
			if s.objects[key] != o {
				h.failf("an operator that starts now changes %s %s in %s: %v\nto %v", key.Kind, key.Name, s.id, o.object(), s.objects[key].object())
			}
		}
		if len(before[i]) != len(s.objects) {
			h.failf("an operator that starts now makes something in %s", s.id)
		}
	}
}

// end deletes the Kafka, perhaps after or with namespaces of it, and checks that nothing of it remains in any Kubernetes cluster except
// volumes that are kept, and nothing at all in a namespace that was deleted.
func (h *stretched) end() {
	h.t.Helper()
	c := h.centrals[0]
	if c.kafka() != nil { // it is ready, so passes have read the pools
		for _, s := range h.servers {
			maps.Copy(h.wishes, h.wish(s))
		}
	}
	deleted := h.deleteNamespaces()
	if kafka := c.kafka(); kafka != nil {
		h.must(c.k8s.Delete(h.t.Context(), kafka))
	}
	for range 3 {
		h.rest()
		h.now = h.now.Add(3 * time.Hour)
	}
	for _, c := range h.centrals {
		if kafka := c.kafka(); kafka != nil {
			h.failf("the Kafka of %s stays: %v %+v", c.server.id, kafka.Finalizers, kafka.Status.Conditions)
		}
	}
	for _, s := range h.servers {
		for _, key := range sortedKeys(s.objects) {
			o := s.objects[key]
			claim, volume := o.Object.(*corev1.PersistentVolumeClaim)
			stays := volume && claim.Annotations[v1.AnnotationDeleteClaim] != "true" || key.Kind == "KafkaNodePool" || h.foreign[s][key] != nil
			if inNoNamespace(key) || stays && !deleted[s] {
				continue
			}
			h.failf("%s %s is left in %s: %v %v", key.Kind, key.Name, s.id, o.GetAnnotations(), o.GetOwnerReferences())
		}
	}
}
