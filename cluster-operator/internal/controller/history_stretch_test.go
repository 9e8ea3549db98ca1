package controller

import (
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
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/kafka"
)

var kafkaKey = facts.Key{Kind: "Kafka", Name: "my-cluster"}

// kafka returns a copy of the Kafka object; nil if there is none.
func (c *central) kafka() *v1.Kafka {
	kafka, _ := c.server.objects[kafkaKey].object().(*v1.Kafka)
	if kafka == nil {
		return nil
	}
	return kafka.DeepCopy()
}

func (h *stretched) one(of ...string) string { return of[h.rand.Intn(len(of))] }

// alter carries out a random edit of users, or something that happens to the Kubernetes clusters, and returns its description.
func (h *stretched) alter() string {
	c := h.centrals[0]
	kafka := c.kafka()
	if kafka == nil && h.rand.Intn(2) == 0 {
		return h.create(c)
	}
	switch n := h.rand.Intn(32); {
	case n < 8 && kafka != nil && kafka.DeletionTimestamp == nil:
		return h.edit()
	case n < 12:
		return h.connections()
	case n < 16:
		return h.mishap()
	case n < 18:
		return h.intrude()
	case n < 20:
		return h.rival()
	case n < 22:
		return h.alterPool(c)
	case kafka == nil:
		return "nothing"
	case n == 22 && !h.misled():
		if h.rand.Intn(2) == 0 {
			kafka.Finalizers = nil
			h.must(c.k8s.Update(h.t.Context(), kafka))
		}
		if current := c.kafka(); current != nil {
			h.must(c.k8s.Delete(h.t.Context(), current))
		}
		return fmt.Sprintf("delete the Kafka, finalizers %v", kafka.Finalizers)
	case n == 23:
		if kafka.Annotations[v1.AnnotationStretch] == "true" && h.rand.Intn(2) == 0 {
			delete(kafka.Annotations, v1.AnnotationStretch)
		} else {
			kafka.Annotations = with(kafka.Annotations, v1.AnnotationStretch, "true")
		}
		h.must(c.k8s.Update(h.t.Context(), kafka))
		return "stretched: " + kafka.Annotations[v1.AnnotationStretch]
	case n == 24:
		kafka.Spec.Kafka.Listeners = newKafka().Spec.Kafka.Listeners[:1+h.rand.Intn(2)]
		if h.rand.Intn(2) == 0 {
			kafka.Spec.Kafka.Listeners = append(kafka.Spec.Kafka.Listeners,
				v1.Listener{Name: "outside", Port: 9094, Type: v1.ListenerNodePort, TLS: true})
		}
		h.must(c.k8s.Update(h.t.Context(), kafka))
		return fmt.Sprintf("%d listeners", len(kafka.Spec.Kafka.Listeners))
	case n == 25:
		delete(kafka.Annotations, h.one(ownership.MarkID, v1.AnnotationOwnerEpoch))
		h.must(c.k8s.Update(h.t.Context(), kafka))
		return fmt.Sprintf("annotations of the owner: %v", kafka.Annotations)
	case n == 26:
		if ca, ok := c.server.objects[facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca"}].object().(*corev1.Secret); ok {
			ca = ca.DeepCopy()
			ca.Annotations = with(ca.Annotations, v1.AnnotationForceReplace, "true")
			h.must(c.k8s.Update(h.t.Context(), ca))
			return "replace the key of the CA"
		}
	case n == 27:
		kafka.Finalizers = nil
		h.must(c.k8s.Update(h.t.Context(), kafka))
		return "take the finalizer off"
	case n >= 30 && !h.misled():
		return h.forget(kafka, n == 31)
	}
	return "nothing"
}

// forget removes the annotations and finalizers that show that a Kafka and its pools are in several Kubernetes clusters. With again, it
// also deletes the Kafka and creates it again.
func (h *stretched) forget(kafka *v1.Kafka, again bool) string {
	c := h.centrals[0]
	kafka.Finalizers = nil
	delete(kafka.Annotations, v1.AnnotationStretch)
	h.must(c.k8s.Update(h.t.Context(), kafka))
	deletes := h.rand.Intn(2) == 0
	for _, key := range sortedKeys(c.server.objects) {
		pool, ok := c.server.objects[key].object().(*v1.KafkaNodePool)
		if !ok {
			continue
		}
		pool = pool.DeepCopy()
		if deletes && key.Name != "central" && h.targets[key.Name] != "central" {
			h.must(c.k8s.Delete(h.t.Context(), pool))
			continue
		}
		delete(pool.Annotations, v1.AnnotationTargetCluster)
		h.must(c.k8s.Update(h.t.Context(), pool))
	}
	if !again {
		return fmt.Sprintf("the Kafka is not stretched any more, without a finalizer; pools elsewhere are deleted: %v", deletes)
	}
	if current := c.kafka(); current != nil {
		h.must(c.k8s.Delete(h.t.Context(), current))
	}
	if h.rand.Intn(2) == 0 {
		h.collect()
	}
	next := newKafka()
	next.Namespace = historyNamespace
	h.must(c.k8s.Create(h.t.Context(), next))
	return fmt.Sprintf("the Kafka is made again, not stretched; pools elsewhere are deleted: %v", deletes)
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// create creates the Kafka of a central cluster.
func (h *stretched) create(c *central) string {
	k := stretchedKafka()
	k.Namespace = historyNamespace
	h.must(c.k8s.Create(h.t.Context(), k))
	return "create the Kafka of " + c.server.id
}

// alterPool changes the target cluster, the roles, the next node ids or deleteClaim of a pool.
func (h *stretched) alterPool(c *central) string {
	name := h.one("a", "b", "c", "central", "east", "west")
	pool, ok := c.server.objects[facts.Key{Kind: "KafkaNodePool", Name: name}].object().(*v1.KafkaNodePool)
	if !ok {
		return "nothing"
	}
	pool = pool.DeepCopy()
	switch h.rand.Intn(9) {
	case 6:
		return h.alterStorage(pool)
	case 7:
		return h.moveReplicas()
	case 8:
		return h.emptyDirs()
	case 0:
		pool.Annotations = with(pool.Annotations, v1.AnnotationTargetCluster,
			h.one("central", "east", "west", h.targets[name], h.targets[name], "nowhere"))
	case 1:
		pool.Spec.Roles = [][]v1.ProcessRole{{v1.RoleBroker}, {v1.RoleController}, {v1.RoleBroker, v1.RoleController}}[h.rand.Intn(3)]
	case 2:
		pool.Annotations = with(pool.Annotations, v1.AnnotationNextNodeIDs, h.one("[3-9]", "[0-5]", "[15]"))
	default:
		return h.alterDeleteClaim(pool)
	}
	h.must(c.k8s.Update(h.t.Context(), pool))
	return fmt.Sprintf("pool %s: %v %v", name, pool.Annotations, pool.Spec.Roles)
}

// alterDeleteClaim changes whether the volumes of a pool go with it. Whether they outlive their owner is the first that a pass writes,
// which may fail.
func (h *stretched) alterDeleteClaim(pool *v1.KafkaNodePool) string {
	c := h.centrals[0]
	wish := &pool.Spec.Storage.DeleteClaim
	if volumes := pool.Spec.Storage.Volumes; len(volumes) > 0 {
		wish = &volumes[h.rand.Intn(len(volumes))].DeleteClaim
	}
	remove := *wish == nil || !**wish
	*wish = new(remove)
	h.must(c.k8s.Update(h.t.Context(), pool))
	l := c.operators[0].links[h.targets[pool.Name]]
	if !remove && !l.home && h.rand.Intn(2) == 0 {
		l.writes = "before"
	}
	return fmt.Sprintf("pool %s: deleteClaim %v; writes to %s fail %s", pool.Name, remove, l.id, l.writes)
}

// connections breaks or restores a connection, lets it break during a pass, makes a cache outdated, or makes credentials lead to another
// Kubernetes cluster.
func (h *stretched) connections() string {
	c := h.centrals[h.rand.Intn(len(h.centrals))]
	o := c.operators[h.rand.Intn(len(c.operators))]
	id := h.one("east", "west")
	l := o.links[id]
	switch h.rand.Intn(9) {
	case 0, 1:
		l.lost = true
		return fmt.Sprintf("%s loses %s", o.name, id)
	case 2, 3:
		l.lost, l.reads, l.writes = false, -1, ""
		return fmt.Sprintf("%s has %s again", o.name, id)
	case 4:
		l.reads = h.rand.Intn(20)
		return fmt.Sprintf("%s reads %d times more from %s", o.name, l.reads, id)
	case 5:
		l.writes = h.one("before", "after")
		return fmt.Sprintf("writes of %s to %s fail %s", o.name, id, l.writes)
	case 6:
		l = o.links[h.one("central", "east", "west")]
		l.view = nil
		if h.rand.Intn(2) == 0 {
			l.view = maps.Clone(l.bound.objects)
		}
		return fmt.Sprintf("the cache of %s in %s is behind: %v", o.name, l.id, l.view != nil)
	}
	c = h.centrals[0]
	o = c.operators[0]
	if !h.misled() && !h.known() {
		return "nothing"
	}
	switch h.rand.Intn(4) {
	case 0:
		c.points[id] = h.spare
	case 1:
		c.points["east"], c.points["west"] = h.servers[3], h.servers[2]
	default:
		c.points["east"], c.points["west"] = h.servers[2], h.servers[3]
	}
	if h.rand.Intn(2) == 0 {
		h.start(o)
	}
	return fmt.Sprintf("credentials of %s lead to %s and %s", c.server.id, c.points["east"].id, c.points["west"].id)
}

// misled reports whether credentials lead to the wrong Kubernetes cluster. Until they are right again, no accident deletes the record,
// which has the identities of the right ones.
func (h *stretched) misled() bool {
	c := h.centrals[0]
	return c.points["east"] != h.servers[2] || c.points["west"] != h.servers[3]
}

// known reports whether the record of the present Kafka has the identities of all Kubernetes clusters.
func (h *stretched) known() bool {
	record := facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}
	o, _ := h.centrals[0].server.objects[record].object().(*corev1.ConfigMap)
	kafka := h.centrals[0].kafka()
	return o != nil && kafka != nil && kafka.DeletionTimestamp == nil && apply.OwnedBy(o, kafka.UID) &&
		h.foreign[h.centrals[0].server][record] == nil && strings.Count(o.Data[recordKey], "identity") == 2
}

// ours returns the keys of the objects in a Kubernetes cluster that belong to a central cluster's Kafka.
func (h *stretched) ours(c *central, s *apiServer) []facts.Key {
	return slices.DeleteFunc(sortedKeys(s.objects), func(k facts.Key) bool {
		return k.Kind == "Kafka" || k.Kind == "KafkaNodePool" || h.foreign[s][k] != nil || !h.owns(c, s, k, s.objects[k].Object)
	})
}

// mishap damages an object of the operator in a random Kubernetes cluster.
func (h *stretched) mishap() string {
	s := h.servers[h.rand.Intn(len(h.servers))]
	record := facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}
	switch h.rand.Intn(7) {
	case 6:
		for _, key := range sortedKeys(s.objects) {
			if service, ok := s.objects[key].object().(*corev1.Service); ok && service.Spec.Type == corev1.ServiceTypeNodePort &&
				h.rand.Intn(3) == 0 {
				service = service.DeepCopy()
				service.Spec.Ports[0].NodePort = s.freePort(20000 + int32(h.rand.Intn(1000)))
				h.must(s.client().Update(h.t.Context(), service))
				return fmt.Sprintf("a node port of %s in %s is changed", key.Name, s.id)
			}
		}
	case 0:
		if o := s.objects[anchorKey]; o != nil && h.foreign[s][anchorKey] == nil {
			s.terminate(anchorKey)
			return "the anchor in " + s.id + " is deleted"
		}
	case 1:
		c := h.centrals[0]
		if o, ok := c.server.objects[record].object().(*corev1.ConfigMap); ok && !h.misled() && h.foreign[c.server][record] == nil {
			if h.rand.Intn(2) == 0 {
				c.server.terminate(record)
				return "the record is deleted"
			}
			o = o.DeepCopy()
			o.Data = with(o.Data, recordKey, "")
			o.Data[recordKey] = h.one("", "garbage", "{}")
			h.must(c.k8s.Update(h.t.Context(), o))
			return "the record is " + o.Data[recordKey]
		}
	case 2:
		ours := h.ours(h.centrals[0], s)
		if len(ours) == 0 {
			return "nothing"
		}
		key := ours[h.rand.Intn(len(ours))]
		o := copied(s.objects[key].Object)
		annotations := maps.Clone(o.GetAnnotations())
		mark := h.one(ownership.MarkID, ownership.MarkTerm, ownership.MarkSelf, ownership.MarkCentral)
		if key.Kind == "PersistentVolumeClaim" && mark == ownership.MarkCentral {
			return "nothing" // a rival that names the same Kafka cluster could not know that the volume is not its own
		}
		delete(annotations, mark)
		o.SetAnnotations(annotations)
		h.must(s.client().Update(h.t.Context(), o))
		return fmt.Sprintf("%s %s in %s loses marks", key.Kind, key.Name, s.id)
	default:
		if h.misled() {
			return "nothing"
		}
		home := h.k8s
		defer func() { h.k8s = home }()
		h.k8s = s.client()
		return h.accident() + " in " + s.id
	}
	return "nothing"
}

// intrude creates an object of another owner under a name that the operator uses, and replaces the operator's object if there is one. It
// may instead remove such an object again.
func (h *stretched) intrude() string {
	s := h.servers[h.rand.Intn(len(h.servers))]
	if h.rand.Intn(2) == 0 {
		for key, o := range h.foreign[s] {
			if key.Name != "theirs" && s.objects[key] != nil {
				delete(h.foreign[s], key)
				s.terminate(key)
				return fmt.Sprintf("somebody else takes %T %s from %s", o, key.Name, s.id)
			}
		}
	}
	var o client.Object
	switch h.rand.Intn(4) {
	case 0:
		o = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: h.one("my-cluster-kafka-gc", "my-cluster-east-1", "my-cluster-a-3",
			"my-cluster-kafka-stretch")}}
	case 1:
		o = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: h.one("my-cluster-cluster-ca-cert", "my-cluster-east-1",
			"my-cluster-west-2", "my-cluster-a-3")}}
	case 2:
		o = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: h.one("my-cluster-kafka-brokers", "my-cluster-kafka-bootstrap")}}
	case 3:
		o = &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Name: h.one("my-cluster-east", "my-cluster-a")},
			Spec: &core.StrimziPodSetSpec{}}
	}
	o.SetNamespace(historyNamespace)
	if h.rand.Intn(2) == 0 {
		o.SetLabels(map[string]string{v1.LabelCluster: "my-cluster", "app.kubernetes.io/managed-by": model.ManagedBy})
	}
	key, _, err := s.key(o, o.GetName())
	h.must(err)
	if s.objects[key] != nil {
		s.terminate(key)
	}
	h.must(s.client().Create(h.t.Context(), o))
	h.foreign[s][key] = s.objects[key].Object
	return fmt.Sprintf("somebody else makes %s %s in %s", key.Kind, key.Name, s.id)
}

// rival creates a Kafka of the same name in another central cluster: a new one, or a copy of the first cluster's object, perhaps one that
// claims a later epoch. If there is one already, rival may delete it.
func (h *stretched) rival() string {
	c := h.centrals[1]
	if kafka := c.kafka(); kafka != nil {
		if h.rand.Intn(2) == 0 {
			h.must(c.k8s.Delete(h.t.Context(), kafka))
		}
		return "the rival's Kafka goes"
	}
	k := stretchedKafka()
	k.Namespace = historyNamespace
	first := h.centrals[0].kafka()
	copies := h.rand.Intn(3)
	if copies > 0 && first != nil {
		k.Annotations = maps.Clone(first.Annotations)
		if h.rand.Intn(2) == 0 {
			k.Annotations = with(k.Annotations, v1.AnnotationOwnerEpoch, "99")
		}
	}
	h.must(c.k8s.Create(h.t.Context(), k))
	if copies > 1 && first != nil {
		k.Status = first.Status
		h.must(c.k8s.Status().Update(h.t.Context(), k))
	}
	for _, id := range []string{"east", "west"} {
		pool := h.pool(id, 1, v1.RoleBroker, v1.RoleController)
		pool.Annotations[v1.AnnotationTargetCluster] = id
		_ = c.k8s.Create(h.t.Context(), pool) // it may exist already
	}
	return fmt.Sprintf("a rival, annotations %v, of Kafka cluster %s", k.Annotations, k.Status.ClusterID)
}

// act runs a pass of an operator. Others may act between two of its writes, it may be killed, and one of its writes may fail.
func (h *stretched) act(o *operator) {
	kill := -1
	if h.rand.Intn(4) == 0 {
		kill, h.once = h.rand.Intn(40), h.rand.Intn(3) == 0
	}
	if h.inside == 0 && h.rand.Intn(3) == 0 {
		writes := h.rand.Intn(30)
		h.window = func(s *apiServer, key facts.Key) {
			if writes--; writes >= 0 {
				return
			}
			window := h.window
			h.window = nil
			defer func() { h.window = window }()
			switch what := h.rand.Intn(8); {
			case what < 2:
				h.told = append(h.told, "in between: "+h.usurp(s, key))
			case writes == -1:
				h.told = append(h.told, "in between: "+h.between())
			}
		}
	}
	_, _ = h.pass(o, kill)
	h.window, h.once = nil, false
}

// usurp replaces an object of the operator by one of the same name that belongs to another owner.
func (h *stretched) usurp(s *apiServer, key facts.Key) string {
	o := s.objects[key].object()
	if o == nil || key.Kind == "Kafka" || key.Kind == "KafkaNodePool" || key.Kind == "PersistentVolumeClaim" || key.Kind == "Pod" ||
		strings.HasSuffix(key.Name, "-ca") || h.foreign[s][key] != nil {
		return "nothing"
	}
	theirs := copied(o)
	theirs.SetAnnotations(nil)
	theirs.SetOwnerReferences(nil)
	theirs.SetLabels(map[string]string{v1.LabelCluster: "my-cluster"})
	s.terminate(key)
	h.must(s.client().Create(h.t.Context(), theirs))
	h.foreign[s][key] = s.objects[key].Object
	return fmt.Sprintf("somebody else makes %s %s in %s anew", key.Kind, key.Name, s.id)
}

// between carries out something that happens between two writes, and returns its description.
func (h *stretched) between() string {
	switch h.rand.Intn(4) {
	case 0:
		o := h.operator()
		if o == h.acting {
			return "nothing"
		}
		_, err := h.pass(o, -1)
		return fmt.Sprintf("a pass of %s: %v", o.name, err)
	case 1:
		h.collect()
		return "garbage is collected"
	}
	return h.alter()
}

// operator returns the operator that acts next: mostly the leader.
func (h *stretched) operator() *operator {
	c := h.centrals[0]
	if h.centrals[1].kafka() != nil && h.rand.Intn(3) == 0 {
		c = h.centrals[1]
	}
	if h.rand.Intn(4) == 0 {
		return c.operators[1]
	}
	return c.operators[0]
}

// register makes Kafka report random brokers as registered.
func (h *stretched) register() {
	h.brokers.registered = nil
	for id := range int32(12) {
		if h.rand.Intn(2) == 0 {
			h.brokers.registered = append(h.brokers.registered, kafka.Node{ID: id, Fenced: h.rand.Intn(2) == 0})
		}
	}
}

// play plays a history, settles it, and deletes the Kafka.
func (h *stretched) play(steps int) {
	defer h.report()
	c := h.centrals[0]
	h.told = append(h.told, h.create(c))
	for _, id := range []string{"central", "east", "west"} {
		h.targets[id] = id
		roles := []v1.ProcessRole{v1.RoleController}
		if h.rand.Intn(2) == 0 {
			roles = append(roles, v1.RoleBroker)
		}
		pool := h.pool(id, 1, roles...)
		if pool.Spec.Storage.Type != v1.StorageJBOD {
			pool.Spec.Storage.DeleteClaim = new(h.rand.Intn(2) == 0)
		}
		h.must(c.k8s.Create(h.t.Context(), pool))
	}
	for h.step = range steps {
		if h.step > 3 || h.rand.Intn(4) == 0 {
			h.told = append(h.told, h.alter())
			for h.several && h.rand.Intn(3) > 0 {
				h.told = append(h.told, "and "+h.alter())
			}
		}
		h.now = h.now.Add(time.Minute)
		h.register()
		h.act(h.operator())
		if h.rand.Intn(3) > 0 {
			h.runPods()
		}
		if h.rand.Intn(2) == 0 {
			h.collect()
		}
	}
	h.step = steps
	h.settle()
	h.end()
}
