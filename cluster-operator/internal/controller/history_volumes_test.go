package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// volumesHistory is a history of accidents with volumes: users delete claims of running nodes, edit holds, and create the Kafka again.
type volumesHistory struct {
	*history
	// data maps the claims of volumes with data to the pods that use them.
	data map[string]string
	// bare maps claims that a tool restored without annotations to the id of their Kafka cluster.
	bare map[string]string
}

// TestRandomHistoriesOfVolumes checks that the roller's restarts cost no node its volume, and that no node starts empty beside a volume
// with its data. PROVE=full plays many histories.
func TestRandomHistoriesOfVolumes(t *testing.T) {
	proveHistories(t, "random histories of volumes", 4, 2000, 40, func(t *testing.T, seed int64, steps int) {
		h := newVolumesHistory(t, seed)
		h.several = seed%2 == 0
		h.play(steps)
	})
}

func TestHistoriesOfVolumesFindPlantedFaults(t *testing.T) {
	const histories, steps = 50, 40
	for fault, hide := range map[string]func(*corev1.PersistentVolumeClaim){
		"deletions are not seen":             func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = nil },
		"volumes seem to be those of others": func(c *corev1.PersistentVolumeClaim) { delete(c.Labels, "app.kubernetes.io/managed-by") },
		"what is being restored seems to be what was asked for": func(c *corev1.PersistentVolumeClaim) {
			if c.Spec.Selector != nil {
				c.Annotations[apply.AnnotationAskedFor] = `{"selector":{"matchLabels":{"restored":"here"}},"size":"1Gi"}`
			}
		},
	} {
		t.Run(fault, func(t *testing.T) {
			for seed := range int64(histories) {
				h := newVolumesHistory(t, seed)
				h.r.Cache = wrongClaims{h.r.Cache, hide}
				if found := h.violation(func() { h.play(steps) }); found != "" {
					t.Logf("found after %d histories: %s", seed+1, found)
					return
				}
			}
			t.Errorf("%d histories did not find it", histories)
		})
	}
}

// wrongClaims is a cache in which PersistentVolumeClaims are not as they are.
type wrongClaims struct {
	client.Reader
	change func(*corev1.PersistentVolumeClaim)
}

func (w wrongClaims) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := w.Reader.List(ctx, list, opts...)
	if claims, is := list.(*corev1.PersistentVolumeClaimList); is {
		for i := range claims.Items {
			claims.Items[i] = *claims.Items[i].DeepCopy()
			w.change(&claims.Items[i])
		}
	}
	return err
}

func newVolumesHistory(t *testing.T, seed int64) *volumesHistory {
	return &volumesHistory{newHistory(t, seed), map[string]string{}, map[string]string{}}
}

func (h *volumesHistory) play(steps int) {
	defer h.report()
	h.begin(jbod(0, 1), 3)
	for h.step = range steps {
		h.told = append(h.told, h.mishap())
		for h.several && h.rand.Intn(3) > 0 {
			h.told = append(h.told, h.mishap())
		}
		h.now = h.now.Add(time.Minute)
		h.passOver("my-cluster")
		h.passOver("my-cluster")
		if h.rand.Intn(2) == 0 {
			h.endRestores()
		}
		h.roll(25 * h.rand.Intn(5))
	}
}

// begin creates the Kafka, with brokers of some storage.
func (h *volumesHistory) begin(storage v1.Storage, brokers int32) {
	pool := nodePool("brokers", brokers, v1.RoleBroker)
	pool.Spec.Storage = storage
	for _, o := range []client.Object{newKafka(), nodePool("controllers", 1, v1.RoleController), pool} {
		o.SetNamespace(historyNamespace)
		h.must(client.IgnoreAlreadyExists(h.k8s.Create(h.t.Context(), o)))
	}
	h.emptyAll()
}

// mishap carries out an edit or an accident.
func (h *volumesHistory) mishap() string {
	var sets, pods, services []facts.Key
	for _, key := range sortedKeys(h.k8s.server.objects) {
		switch key.Kind {
		case "StrimziPodSet":
			sets = append(sets, key)
		case "Pod":
			pods = append(pods, key)
		case "Service", "ConfigMap":
			services = append(services, key)
		}
	}
	if len(sets) == 0 || len(pods) == 0 {
		return "nothing"
	}
	pod, ok := h.object(pods[h.rand.Intn(len(pods))]).(*corev1.Pod)
	if !ok {
		return "nothing"
	}
	switch h.rand.Intn(9) {
	case 0, 1:
		if names := claims(pod); len(names) > 0 {
			return h.deleteClaim(names[h.rand.Intn(len(names))])
		}
		return "nothing"
	case 2:
		return h.putOnHold(sets[h.rand.Intn(len(sets))].Name, h.one("false", "", "ann", "none"))
	case 3, 4:
		change(h.history, &v1.Kafka{}, "my-cluster", func(k *v1.Kafka) {
			k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: fmt.Sprint(1+h.rand.Intn(9)) + "g"}
		})
		return "change the heap"
	case 5:
		paused := fmt.Sprint(h.rand.Intn(2) == 0)
		change(h.history, &v1.Kafka{}, "my-cluster", func(k *v1.Kafka) {
			k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: paused}
		})
		return "pause: " + paused
	case 6:
		ids := []int32{0, 1, 2}[:1+h.rand.Intn(3)]
		change(h.history, &v1.KafkaNodePool{}, "brokers", func(p *v1.KafkaNodePool) { p.Spec.Storage = jbod(ids...) })
		return fmt.Sprintf("volumes %v", ids)
	case 7:
		for _, key := range slices.Concat(services, pods) {
			h.k8s.server.remove(key)
		}
		h.end()
		return "delete Services, ConfigMaps and pods"
	}
	return h.recreate()
}

func (h *volumesHistory) one(of ...string) string { return of[h.rand.Intn(len(of))] }

// deleteClaim deletes a claim, which Kubernetes keeps as long as a pod uses it.
func (h *volumesHistory) deleteClaim(name string) string {
	claim := &corev1.PersistentVolumeClaim{}
	if h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: name}, claim) != nil {
		return "nothing"
	}
	claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	h.must(h.k8s.Update(h.t.Context(), claim))
	h.must(h.k8s.Delete(h.t.Context(), claim))
	return "delete claim " + name
}

func (h *volumesHistory) putOnHold(set, why string) string {
	change(h.history, &core.StrimziPodSet{}, set, func(s *core.StrimziPodSet) {
		if s.Annotations = maps.Clone(s.Annotations); why == "none" {
			delete(s.Annotations, core.AnnotationHold)
			return
		}
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, core.AnnotationHold, why)
	})
	return fmt.Sprintf("hold of %s: %q", set, why)
}

// recreate deletes the Kafka, and pools of it, and creates them with other storage or another number of brokers, and at last with what they
// had.
func (h *volumesHistory) recreate() string {
	ctx := h.t.Context()
	brokers := &v1.KafkaNodePool{}
	h.must(h.k8s.Get(ctx, client.ObjectKey{Namespace: historyNamespace, Name: "brokers"}, brokers))
	h.must(h.k8s.Delete(ctx, h.kafka("my-cluster")))
	h.must(h.k8s.Delete(ctx, brokers))
	kept := h.rand.Intn(2) == 0
	if !kept {
		h.must(h.k8s.Delete(ctx, h.object(facts.Key{Kind: "KafkaNodePool", Name: "controllers"})))
	}
	h.k8s.server.collect()
	h.end()
	restored := h.restoreVolume()
	storage := []v1.Storage{jbod(0), jbod(0, 1), {Type: v1.StoragePersistentClaim, Size: "1Gi"}, {Type: v1.StorageEphemeral}}[h.rand.Intn(4)]
	n := 1 + int32(h.rand.Intn(3))
	h.begin(storage, n)
	h.passOver("my-cluster")
	h.roll(100)
	change(h.history, brokers, "brokers", func(p *v1.KafkaNodePool) { p.Spec.Storage, p.Spec.Replicas = jbod(0, 1, 2), 3 })
	return fmt.Sprintf("recreate the Kafka, controllers kept: %t, with %d brokers of %s%s", kept, n, storage.Type, restored)
}

// restoreVolume has a tool begin to restore the data of a volume: the claim is another one, and waits. What made the one in the backup may
// have been another version of the operator. It returns what it did, in most cases nothing.
func (h *volumesHistory) restoreVolume() string {
	if len(h.data) == 0 || h.rand.Intn(3) > 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(h.data))
	name := names[h.rand.Intn(len(names))]
	backup, ok := h.object(facts.Key{Kind: "PersistentVolumeClaim", Name: name}).(*corev1.PersistentVolumeClaim)
	if !ok || backup.DeletionTimestamp != nil {
		return ""
	}
	h.k8s.server.remove(facts.Key{Kind: "PersistentVolumeClaim", Name: name})
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: name, Labels: backup.Labels,
		Annotations: maps.Clone(backup.Annotations)}, Spec: *backup.Spec.DeepCopy()}
	claim.Annotations[apply.AnnotationApplied] = h.one("by another version", backup.Annotations[apply.AnnotationApplied])
	claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"restored": "here"}}
	what := ", while claim " + name + " is being restored"
	if h.rand.Intn(3) == 0 {
		claim.Annotations, what = nil, what+" without annotations"
		h.bare[name] = backup.Annotations[model.AnnotationClusterID]
	}
	h.must(h.k8s.Create(h.t.Context(), claim))
	claim.Status.Phase = corev1.ClaimPending
	h.must(h.k8s.Status().Update(h.t.Context(), claim))
	return what
}

// endRestores has the claims get their volumes into which data is restored. Users give back the annotation that a tool lost.
func (h *volumesHistory) endRestores() {
	for _, key := range sortedKeys(h.k8s.server.objects) {
		claim, ok := h.object(key).(*corev1.PersistentVolumeClaim)
		if ok && claim.Status.Phase == corev1.ClaimPending {
			claim = claim.DeepCopy()
			if id := h.bare[key.Name]; id != "" && claim.Annotations[model.AnnotationClusterID] == "" {
				metav1.SetMetaDataAnnotation(&claim.ObjectMeta, model.AnnotationClusterID, id)
				h.must(h.k8s.Update(h.t.Context(), claim))
			}
			claim.Status.Phase = corev1.ClaimBound
			h.must(h.k8s.Status().Update(h.t.Context(), claim))
		}
	}
}

// end removes the claims that are being deleted and that no pod uses.
func (h *volumesHistory) end() {
	used := map[string]bool{}
	for _, o := range h.k8s.server.objects {
		if pod, ok := o.Object.(*corev1.Pod); ok {
			for _, name := range claims(pod) {
				used[name] = true
			}
		}
	}
	for _, key := range sortedKeys(h.k8s.server.objects) {
		if o := h.object(key); key.Kind == "PersistentVolumeClaim" && o.GetDeletionTimestamp() != nil && !used[key.Name] {
			h.k8s.server.remove(key)
			delete(h.data, key.Name) // which the user wanted
		}
	}
}

// roll creates missing pods, and restarts outdated ones that nobody holds, each with a probability.
func (h *volumesHistory) roll(percent int) {
	server := h.k8s.server
	for _, key := range sortedKeys(server.objects) {
		set, ok := h.object(key).(*core.StrimziPodSet)
		if !ok {
			continue
		}
		hold, annotated := set.Annotations[core.AnnotationHold]
		for _, raw := range set.Spec.Pods {
			pod := &corev1.Pod{}
			h.must(json.Unmarshal(raw.Raw, pod))
			live, runs := server.objects[facts.Key{Kind: "Pod", Name: pod.Name}].object().(*corev1.Pod)
			outdated := runs && live.Annotations[core.AnnotationRevision] != pod.Annotations[core.AnnotationRevision]
			if runs && !outdated || outdated && annotated && hold != "false" || h.rand.Intn(100) >= percent {
				continue
			}
			if outdated {
				h.judgeRestart(live, pod)
				server.remove(facts.Key{Kind: "Pod", Name: pod.Name})
				h.end()
			}
			h.start(set, pod)
		}
	}
}

// judgeRestart checks that a restart costs no node a volume that it is to have.
func (h *volumesHistory) judgeRestart(live, wanted *corev1.Pod) {
	for _, name := range claims(live) {
		claim := h.object(facts.Key{Kind: "PersistentVolumeClaim", Name: name})
		if claim == nil {
			continue
		}
		pool, _ := h.object(facts.Key{Kind: "KafkaNodePool", Name: live.Labels[core.LabelPoolName]}).(*v1.KafkaNodePool)
		goes := pool != nil && !slices.ContainsFunc(pool.Spec.Storage.Volumes, func(v v1.StorageVolume) bool {
			return strings.HasPrefix(name, fmt.Sprintf("data-%d-my-cluster", *v.ID))
		}) && live.Labels[core.LabelBrokerRole] == "true" && pool.Spec.Storage.Type == v1.StorageJBOD // all volumes are empty here
		if slices.Contains(claims(wanted), name) && claim.GetDeletionTimestamp() != nil && !goes {
			h.failf("pod %s is restarted, and loses its volume %s", live.Name, name)
		}
		if !slices.Contains(claims(wanted), name) {
			delete(h.data, name) // it was empty: judgeMounts
		}
	}
}

// start starts a pod whose claims exist, and checks that it has all volumes with its data.
func (h *volumesHistory) start(set *core.StrimziPodSet, pod *corev1.Pod) {
	has := claims(pod)
	for _, name := range has {
		claim, ok := h.object(facts.Key{Kind: "PersistentVolumeClaim", Name: name}).(*corev1.PersistentVolumeClaim)
		if !ok || claim.DeletionTimestamp != nil || claim.Status.Phase == corev1.ClaimPending {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.data)) {
		if h.data[name] == pod.Name && !slices.Contains(has, name) {
			h.failf("pod %s starts without its data on volume %s", pod.Name, name)
		}
	}
	pod.Spec.NodeName = "node"
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "core.strimzi.io/v1", Kind: "StrimziPodSet", Name: set.Name, UID: set.UID,
		Controller: new(true)}}
	h.must(h.k8s.Create(h.t.Context(), pod))
	h.becomeReady(h.k8s.server, pod.Name)
	for _, name := range has {
		h.data[name] = pod.Name
	}
}
