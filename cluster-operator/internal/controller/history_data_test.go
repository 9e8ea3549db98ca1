package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// contents is the truth about the volume of a claim, whatever brokers say of other volumes that their ids had or have.
type contents struct {
	// full is true while the volume has replicas that somebody needs.
	full bool
	// sealed is true once the volume was taken from its node, empty and cordoned: it gets no replicas. Without the cordon it is exposed: it
	// may get some until its node restarts.
	sealed, exposed bool
	// stranded is true once a node started without the full volume: Kafka tells no more what it holds.
	stranded bool
	// unseen is true once the node left while it was down, with replicas of a topic that the operator may not describe, and that no broker
	// that responds has. Nobody tells the operator of them (docs/decisions/who-owns-nodes.md).
	unseen bool
}

// contentsOf returns the truth about a claim, and learns first what changed: a broker that runs with the claim tells what the volume holds,
// and replicas of one that does not run were moved away if Kafka lists none on it.
func (h *history) contentsOf(s *apiServer, claim *corev1.PersistentVolumeClaim) *contents {
	c := h.volumes[claim.UID]
	if c == nil {
		c = &contents{}
		h.volumes[claim.UID] = c
	}
	name := h.podNamed(claim.Name)
	id, ok := core.NodeID(name)
	if !ok || h.brokers.err != nil || h.brokers.replicas == nil {
		return c // a claim of somebody else, or nothing has changed that anybody knows of
	}
	if c.unseen {
		c.full = false
		return c
	}
	pod, runs := s.objects[facts.Key{Kind: "Pod", Name: name}].object().(*corev1.Pod)
	listed := h.brokers.replicas[id] + h.brokers.hidden[id]
	switch {
	case runs && pod.Labels[core.LabelBrokerRole] == "true" && slices.Contains(claims(pod), claim.Name):
		var volume int32
		n, known := listed, true
		if _, err := fmt.Sscanf(claim.Name, "data-%d-", &volume); err == nil {
			n, known = h.replicasIn(id, volume)
		}
		if known && !c.sealed {
			c.full = n > 0
		}
	case !c.stranded && listed == 0:
		c.full = false
	}
	return c
}

// replicasIn returns the number of replicas on a volume of a broker, and whether the broker tells.
func (h *history) replicasIn(broker, volume int32) (n int, known bool) {
	for _, dir := range h.brokers.dirs[broker] {
		if dir.Path == dirOf(broker, volume) && !dir.Failed {
			return dir.Replicas, true
		}
	}
	return 0, false
}

// podNamed returns the name of the pod that a claim is for.
func (h *history) podNamed(claim string) string {
	return claim[max(0, strings.Index(claim, h.name+"-")):]
}

// claimsFor returns the claims in a Kubernetes cluster that are for a pod.
func (h *history) claimsFor(s *apiServer, pod string) map[string]*corev1.PersistentVolumeClaim {
	all := map[string]*corev1.PersistentVolumeClaim{}
	for key, o := range s.objects {
		if claim, ok := o.object().(*corev1.PersistentVolumeClaim); ok && h.foreign[s][key] == nil && h.podNamed(key.Name) == pod {
			all[key.Name] = claim
		}
	}
	return all
}

// forced reports whether the user allows to lose data.
func (h *history) forced() bool {
	kafka, ok := h.object(facts.Key{Kind: "Kafka", Name: h.name}).(*v1.Kafka)
	return ok && v1.IsTrue(kafka.Annotations, v1.AnnotationSkipScaleDownCheck)
}

// judgeStart checks that a broker starts with all of its volumes that have replicas. A volume may have got one that could not be cordoned
// after it was taken from its node. A former broker whose pod died before it was empty starts as a controller, and its volumes may leave
// it: they have to stay in Kubernetes.
func (h *history) judgeStart(s *apiServer, pod *corev1.Pod) {
	h.t.Helper()
	mounted := claims(pod)
	all := h.claimsFor(s, pod.Name)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch c := h.contentsOf(s, all[name]); {
		case slices.Contains(mounted, name):
			*c = contents{full: c.full}
		case c.full && !c.stranded && !c.exposed && !h.forced() && pod.Labels[core.LabelBrokerRole] == "true":
			h.failf("pod %s starts in %s without its volume %s, which has replicas", pod.Name, s.id, name)
		default:
			c.stranded = c.stranded || c.full
		}
	}
}

// noteTaken notes whether volumes that a StrimziPodSet takes from its nodes may still get replicas, and those that it gives back.
func (h *history) noteTaken(s *apiServer, before, after *core.StrimziPodSet) {
	has := map[string][]string{}
	for _, pod := range h.podsOf(before) {
		has[pod.Name] = claims(pod)
	}
	for _, pod := range h.podsOf(after) {
		was, listed := has[pod.Name]
		for name, claim := range h.claimsFor(s, pod.Name) {
			is := slices.Contains(claims(pod), name)
			if !listed || is == slices.Contains(was, name) {
				continue
			}
			c := h.contentsOf(s, claim)
			c.sealed, c.exposed = false, false
			if !is {
				c.sealed = h.cordoned(name)
				c.exposed = !c.sealed
			}
		}
	}
}

// cordoned reports whether a volume gets no new replicas.
func (h *history) cordoned(claim string) bool {
	kafka, ok := h.object(facts.Key{Kind: "Kafka", Name: h.name}).(*v1.Kafka)
	id, _ := core.NodeID(claim)
	var volume int32
	if _, err := fmt.Sscanf(claim, "data-%d-", &volume); err != nil || !ok || kafka.Status.KafkaMetadataVersion == "4.2-IV1" {
		return false
	}
	for _, dir := range h.brokers.dirs[id] {
		if dir.Path == dirOf(id, volume) {
			return dir.Cordoned
		}
	}
	return false
}

// judgeContents checks that a volume that is deleted has no replicas that somebody needs.
func (h *history) judgeContents(s *apiServer, claim *corev1.PersistentVolumeClaim) {
	h.t.Helper()
	if h.contentsOf(s, claim).full && !h.forced() {
		h.failf("volume %s in %s is deleted, which has replicas", claim.Name, s.id)
	}
}

// learn learns what volumes hold by now, of all brokers that run.
func (h *history) learn(s *apiServer) {
	for key, o := range s.objects {
		if claim, ok := o.object().(*corev1.PersistentVolumeClaim); ok && h.foreign[s][key] == nil {
			h.contentsOf(s, claim)
		}
	}
}

// wish records whether users want the volumes that their pools have now to be deleted with their nodes. It counts once a pass has read it,
// also after the volume or the pool is gone.
func (h *history) wish(s *apiServer) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, o := range h.k8s.server.objects {
		pool, ok := o.object().(*v1.KafkaNodePool)
		if !ok || pool.Labels[v1.LabelCluster] != h.name {
			continue
		}
		for key, o := range s.objects {
			if claim, ok := o.object().(*corev1.PersistentVolumeClaim); ok && h.foreign[s][key] == nil {
				if wanted, has := deletes(pool.Spec.Storage, claim.Name, h.name+"-"+pool.Name); has {
					all[claim.UID] = wanted
				}
			}
		}
	}
	return all
}

// deletes reports whether a storage has the volume of a claim, and asks for its deletion with its node. prefix begins the names of pods.
func deletes(storage v1.Storage, claim, prefix string) (wanted, has bool) {
	volumes := map[string]v1.StorageVolume{"data-": {Type: storage.Type, DeleteClaim: storage.DeleteClaim}}
	if storage.Type == v1.StorageJBOD {
		volumes = map[string]v1.StorageVolume{}
		for _, v := range storage.Volumes {
			volumes[fmt.Sprintf("data-%d-", *v.ID)] = v
		}
	}
	for name, v := range volumes {
		id, is := strings.CutPrefix(claim, name+prefix+"-")
		if is && v.Type == v1.StoragePersistentClaim && !strings.Contains(id, "-") {
			return v.DeleteClaim != nil && *v.DeleteClaim, true
		}
	}
	return false, false
}

// mayGo reports whether a volume may go with its owner: its claim says so, and so do users, as far as a pass has read that.
func (h *history) mayGo(claim *corev1.PersistentVolumeClaim) bool {
	wanted, read := h.wishes[claim.UID]
	return claim.Annotations[v1.AnnotationDeleteClaim] == "true" && (wanted || !read)
}

// judgeWish checks that users asked for the deletion of a volume.
func (h *history) judgeWish(s *apiServer, claim *corev1.PersistentVolumeClaim) {
	h.t.Helper()
	wanted, read := h.wishes[claim.UID]
	for _, o := range h.k8s.server.objects {
		if pool, ok := o.object().(*v1.KafkaNodePool); ok && pool.Labels[v1.LabelCluster] == h.name {
			if now, has := deletes(pool.Spec.Storage, claim.Name, h.name+"-"+pool.Name); has {
				wanted, read = now, true
			}
		}
	}
	if read && !wanted {
		h.failf("volume %s in %s is deleted, and its pool keeps it", claim.Name, s.id)
	}
}

// wrongPools is a cache in which KafkaNodePools are not as they are.
type wrongPools struct {
	client.Reader
	change func(*v1.KafkaNodePool)
}

func (w wrongPools) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := w.Reader.List(ctx, list, opts...)
	if pools, is := list.(*v1.KafkaNodePoolList); is {
		for i := range pools.Items {
			pools.Items[i] = *pools.Items[i].DeepCopy()
			w.change(&pools.Items[i])
		}
	}
	return err
}

// firstDecides has all volumes of a pool go with their nodes if the first one does.
func firstDecides(pool *v1.KafkaNodePool) {
	for i := range pool.Spec.Storage.Volumes {
		pool.Spec.Storage.Volumes[i].DeleteClaim = pool.Spec.Storage.Volumes[0].DeleteClaim
	}
}

// TestHistoriesFindALostVolume plays what loses a volume if the operator takes it for empty: its broker leaves, a topic is created while it
// stops, and its pool loses the volume and gets as many brokers as before.
func TestHistoriesFindALostVolume(t *testing.T) {
	g := NewWithT(t)
	play := func(h *history) string {
		return h.violation(func() {
			pool := nodePool("brokers", 2, v1.RoleBroker)
			pool.Spec.Storage = deletable(0, 1)
			for _, o := range []client.Object{newKafka(), nodePool("controllers", 1, v1.RoleController), pool} {
				o.SetNamespace(historyNamespace)
				h.must(h.k8s.Create(t.Context(), o))
			}
			next := func(edit func(*v1.KafkaNodePool)) {
				change(h, &v1.KafkaNodePool{}, "brokers", edit)
				h.reconcile(false)
			}
			h.emptyAll()
			for range 2 {
				h.reconcile(false)
				h.runPods(h.k8s.server, 100)
			}
			next(func(p *v1.KafkaNodePool) { p.Spec.Replicas = 1 })
			for id := range h.brokers.replicas {
				h.brokers.replicas[id], h.brokers.dirs[id][1].Replicas = 1, 1
			}
			h.runPods(h.k8s.server, 100)
			next(func(*v1.KafkaNodePool) {})
			h.brokers.dirs[0][1].Replicas, h.brokers.dirs[1][1].Replicas = 0, 0
			next(func(p *v1.KafkaNodePool) { p.Spec.Replicas, p.Spec.Storage.Volumes = 2, p.Spec.Storage.Volumes[:1] })
			for range 2 {
				h.runPods(h.k8s.server, 100)
				h.reconcile(false)
			}
		})
	}
	g.Expect(play(newHistory(t, 1))).To(BeEmpty())
	h := newHistory(t, 1)
	h.r.Cache = wrongClaims{h.r.Cache, func(claim *corev1.PersistentVolumeClaim) {
		if v1.IsTrue(claim.Annotations, model.AnnotationRemoved) {
			claim.Annotations = with(claim.Annotations, model.AnnotationEmpty, "true")
		}
	}}
	g.Expect(play(h)).To(ContainSubstring("without its volume data-1-my-cluster-brokers-"))
}
