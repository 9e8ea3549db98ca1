package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// metadataOf maps each Kafka version in histories to the newest metadata version that it supports.
var metadataOf = map[string]kafka.MetadataVersion{"4.2.0": 29, "4.3.1": 30}

// runPods creates, recreates and deletes pods as the StrimziPodSets of a Kubernetes cluster list them, like the StrimziPodSet controller,
// the roller and the kubelets do. percent is the probability of each change: pods wait for their restart, or for a Kubernetes node.
func (h *history) runPods(s *apiServer, percent int) {
	k8s := s.client()
	h.learn(s)
	listed := map[string]bool{}
	for _, key := range sortedKeys(s.objects) {
		set, ok := s.objects[key].object().(*core.StrimziPodSet)
		if !ok || h.foreign[s][key] != nil {
			continue
		}
		n := int32(len(set.Spec.Pods))
		status := core.StrimziPodSetStatus{ObservedGeneration: set.Generation, Pods: n}
		if set.IsHibernated() {
			status = h.sleep(s, set, percent)
		}
		for _, raw := range set.Spec.Pods {
			pod := &corev1.Pod{}
			h.must(json.Unmarshal(raw.Raw, pod))
			listed[pod.Name] = true
			if set.IsHibernated() {
				continue
			}
			live := s.objects[facts.Key{Kind: "Pod", Name: pod.Name}]
			if live != nil && live.GetDeletionTimestamp() != nil {
				continue // its machine is gone, so nobody knows whether it ended
			}
			outdated := live != nil && live.GetAnnotations()[core.AnnotationRevision] != pod.Annotations[core.AnnotationRevision]
			if (live == nil || outdated) && h.rand.Intn(100) >= percent {
				continue
			}
			if outdated && onHold(set, live) {
				continue
			}
			if outdated {
				if metav1.IsControlledBy(live, set) { // else it is the garbage collector that deletes it, whatever it holds
					h.judgeRestart(live, pod)
				}
				h.must(k8s.Delete(h.t.Context(), pod))
				live = nil
			}
			if live == nil {
				pod.Spec.NodeName = h.machineFor(pod.Name)
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "core.strimzi.io/v1", Kind: "StrimziPodSet", Name: set.Name, UID: set.UID,
					Controller: new(true)}}
				h.judgeStart(s, pod)
				h.must(k8s.Create(h.t.Context(), pod))
				h.configured[s.objects[facts.Key{Kind: "Pod", Name: pod.Name}].GetUID()] = configOf(s, pod.Name)
				h.startController(s, pod)
			} else if h.rand.Intn(100) < percent {
				h.configure(s, pod)
			}
			status.CurrentPods++
			if h.rand.Intn(100) < percent {
				status.ReadyPods++
				h.becomeReady(s, pod.Name)
			}
		}
		if equality.Semantic.DeepEqual(set.Status, status) {
			continue
		}
		set = set.DeepCopy()
		set.Status = status
		h.must(k8s.Status().Update(h.t.Context(), set))
	}
	maps.DeleteFunc(h.logs, func(pod, _ string) bool { return !listed[pod] }) // the node left, or a new one starts without data
	for _, key := range sortedKeys(s.objects) {
		if key.Kind == "Pod" && !listed[key.Name] && h.foreign[s][key] == nil && h.rand.Intn(100) < percent {
			s.remove(key)
		}
	}
}

// startController moves the metadata log of a starting controller to the directory in its configuration, as the node's script does. It
// checks that the pod has both the volume with the log and the volume that the log moves to.
func (h *history) startController(s *apiServer, pod *corev1.Pod) {
	config, ok := s.objects[facts.Key{Kind: "ConfigMap", Name: pod.Name}].object().(*corev1.ConfigMap)
	if !ok || pod.Labels[core.LabelControllerRole] != "true" || h.target != nil {
		return
	}
	was, mounted := h.logs[pod.Name], map[string]string{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		mounted[mount.MountPath] = mount.Name
	}
	_, dir, legible := strings.Cut(config.Data["server.config"], "metadata.log.dir=")
	if !legible {
		return // an accident broke the configuration: the node does not start
	}
	volume := mounted[path.Dir(strings.SplitN(dir, "\n", 2)[0])]
	if volume == "" {
		h.failf("pod %s starts, and its metadata log (%.60s) is on none of its volumes: %v", pod.Name, dir, mounted)
	}
	forced := v1.IsTrue(h.kafka(h.name).Annotations, v1.AnnotationSkipScaleDownCheck) // the user allows that
	if was != "" && !forced && !slices.Contains(slices.Collect(maps.Values(mounted)), was) {
		h.failf("pod %s starts without its volume %s, which has its metadata log: %v", pod.Name, was, mounted)
	}
	h.logs[pod.Name] = volume
}

func (h *history) becomeReady(s *apiServer, name string) {
	pod, ok := s.objects[facts.Key{Kind: "Pod", Name: name}].object().(*corev1.Pod)
	if !ok || len(pod.Status.Conditions) > 0 {
		return
	}
	pod = pod.DeepCopy()
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	h.must(s.client().Status().Update(h.t.Context(), pod))
}

// disk returns a volume of a node, as a user writes it.
func (h *history) disk(id int32) v1.StorageVolume {
	return v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: fmt.Sprintf("%dGi", 1+h.rand.Intn(3)),
		DeleteClaim: new(h.rand.Intn(2) == 0)}
}

// disks returns random volumes of a node. Volume 0 is always one of them.
func (h *history) disks() v1.Storage {
	storage := v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{h.disk(0)}}
	for _, id := range []int32{1, 2} {
		if h.rand.Intn(2) == 0 {
			storage.Volumes = append(storage.Volumes, h.disk(id))
		}
	}
	if h.rand.Intn(4) == 0 {
		storage.Volumes[h.rand.Intn(len(storage.Volumes))].KraftMetadata = v1.KraftMetadataShared
	}
	return storage
}

// alterStorage changes the volumes of a pool.
func (h *history) alterStorage(pool *v1.KafkaNodePool) string {
	storage := &pool.Spec.Storage
	switch {
	case storage.Type == v1.StorageJBOD:
		*storage = h.disks()
	case h.rand.Intn(4) == 0:
		*storage = []v1.Storage{h.disks(), {Type: v1.StorageEphemeral}}[h.rand.Intn(2)] // rejected
	default:
		storage.Size = fmt.Sprintf("%dGi", 1+h.rand.Intn(4))
		storage.Class = nil
		if h.rand.Intn(4) == 0 {
			storage.Class = new("other") // rejected as well
		}
	}
	h.must(h.k8s.Update(h.t.Context(), pool))
	ids := []string{}
	for _, v := range storage.Volumes {
		ids = append(ids, fmt.Sprintf("%d:%s%s", *v.ID, v.Size, v.KraftMetadata))
	}
	return fmt.Sprintf("storage of pool %s: %s %s %v", pool.Name, storage.Type, storage.Size, ids)
}

// editNodes carries out a random edit of the volumes, versions or certificates of nodes, or something that happens to nodes, and returns
// its description.
func (h *history) editNodes() string {
	kafka := &v1.Kafka{}
	h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster"}, kafka))
	switch h.rand.Intn(14) {
	case 0, 1, 2, 3:
		name := []string{"a", "b", "c", "controllers"}[h.rand.Intn(4)]
		pool := &v1.KafkaNodePool{}
		if h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: name}, pool) == nil {
			return h.alterStorage(pool)
		}
	case 4:
		return h.moveReplicas()
	case 5:
		return h.emptyDirs()
	case 6:
		return h.alterVersion(kafka)
	case 7:
		return h.passTime()
	case 8:
		return h.replaceKey()
	case 9:
		return h.podDies()
	case 10:
		return h.alterOwn(kafka)
	case 11:
		return h.copySomething()
	case 12:
		return h.alterRoles()
	case 13:
		return h.machine()
	}
	return "nothing"
}

// podDies deletes a random pod.
func (h *history) podDies() string {
	s := h.k8s.server
	pods := slices.DeleteFunc(sortedKeys(s.objects), func(k facts.Key) bool { return k.Kind != "Pod" || h.foreign[s][k] != nil })
	if len(pods) == 0 {
		return "nothing"
	}
	key := pods[h.rand.Intn(len(pods))]
	s.remove(key)
	return "pod " + key.Name + " dies"
}

// moveReplicas makes the brokers report random replicas in random log directories. Some brokers do not respond. What a broker without a pod
// has in its log directories stays.
func (h *history) moveReplicas() string {
	was, runs := h.brokers.dirs, h.runningIDs()
	h.brokers.replicas, h.brokers.dirs, h.brokers.afterDirs = map[int32]int{}, map[int32][]kafka.LogDir{}, nil
	for id := range int32(20) {
		if h.rand.Intn(4) > 0 {
			h.brokers.replicas[id] = h.rand.Intn(2)
		}
		if h.rand.Intn(4) == 0 {
			continue
		}
		for volume := range int32(3) {
			h.brokers.dirs[id] = append(h.brokers.dirs[id], kafka.LogDir{Path: dirOf(id, volume), Replicas: h.rand.Intn(2),
				Cordoned: h.rand.Intn(3) > 0, Failed: h.rand.Intn(10) == 0})
		}
	}
	for id, dirs := range was {
		if !runs[id] {
			h.brokers.dirs[id] = dirs
		}
	}
	return "move replicas"
}

// emptyDirs makes all brokers report empty log directories at the next request. After it, the log directories of brokers that run have a
// replica of a new topic if they are not cordoned.
func (h *history) emptyDirs() string {
	h.brokers.dirs, h.brokers.err = map[int32][]kafka.LogDir{}, nil
	for id := range int32(20) {
		for volume := range int32(3) {
			h.brokers.dirs[id] = append(h.brokers.dirs[id], kafka.LogDir{Path: dirOf(id, volume), Cordoned: h.rand.Intn(2) == 0})
		}
	}
	h.brokers.afterDirs = func() {
		if k, ok := h.k8s.server.objects[kafkaKey].object().(*v1.Kafka); !ok || k.Status.KafkaMetadataVersion == "4.2-IV1" {
			return // such a Kafka can't cordon log directories
		}
		filled := map[int32][]kafka.LogDir{}
		runs := h.runningIDs()
		for id, dirs := range h.brokers.dirs {
			filled[id] = slices.Clone(dirs)
			for i := range dirs {
				if runs[id] && !dirs[i].Cordoned {
					filled[id][i].Replicas = 1
				}
			}
		}
		h.brokers.dirs = filled
	}
	return "volumes are empty, and get replicas after the first look where they are not cordoned"
}

func dirOf(broker, volume int32) string {
	return fmt.Sprintf("/var/lib/kafka/data-%d/kafka-log%d", volume, broker)
}

// alterVersion sets a random Kafka version and a random metadata version.
func (h *history) alterVersion(kafka *v1.Kafka) string {
	kafka.Spec.Kafka.Version = []string{"4.2.0", "4.3.1", "4.3.1", ""}[h.rand.Intn(4)]
	kafka.Spec.Kafka.MetadataVersion = []string{"4.2-IV1", "4.3-IV0", "", ""}[h.rand.Intn(4)]
	h.must(h.k8s.Update(h.t.Context(), kafka))
	return fmt.Sprintf("version %s, metadata version %s", kafka.Spec.Kafka.Version, kafka.Spec.Kafka.MetadataVersion)
}

// passTime advances the clock by up to 200 days, so that certificates expire.
func (h *history) passTime() string {
	days := 1 + h.rand.Intn(200)
	h.now = h.now.Add(time.Duration(days) * 24 * time.Hour)
	return fmt.Sprintf("%d days go by", days)
}

// replaceKey requests a new key of a CA, as a user does.
func (h *history) replaceKey() string {
	name := []string{"my-cluster-cluster-ca", "my-cluster-clients-ca"}[h.rand.Intn(2)]
	ca := &corev1.Secret{}
	if h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: name}, ca) != nil {
		return "nothing"
	}
	ca.Annotations = with(ca.Annotations, v1.AnnotationForceReplace, "true")
	h.must(h.k8s.Update(h.t.Context(), ca))
	return "replace the key of " + name
}

// judgeVolumes checks a change of a StrimziPodSet or of a PersistentVolumeClaim: no node loses a volume that holds data, and no claim
// shrinks or changes a field that the API server does not let change.
func (h *history) judgeVolumes(s *apiServer, key facts.Key, before, after client.Object) {
	h.t.Helper()
	switch was := before.(type) {
	case *core.StrimziPodSet:
		if is, ok := after.(*core.StrimziPodSet); ok {
			h.judgeMounts(was, is)
			h.noteTaken(s, was, is)
		}
	case *corev1.PersistentVolumeClaim:
		is, ok := after.(*corev1.PersistentVolumeClaim)
		if !ok || is.DeletionTimestamp != nil && was.DeletionTimestamp == nil {
			h.judgeClaimGoes(s, key)
			h.judgeContents(s, was)
			if h.judgeMore == nil {
				h.judgeWish(s, was)
			}
			return
		}
		from, to := was.Spec.DeepCopy(), is.Spec.DeepCopy()
		if to.Resources.Requests.Storage().Cmp(*from.Resources.Requests.Storage()) < 0 {
			h.failf("volume %s is to shrink from %s to %s", key.Name, from.Resources.Requests.Storage(), to.Resources.Requests.Storage())
		}
		from.Resources, to.Resources = corev1.VolumeResourceRequirements{}, corev1.VolumeResourceRequirements{}
		from.VolumeAttributesClassName, to.VolumeAttributesClassName = nil, nil
		if jsonText(from) != jsonText(to) {
			h.failf("the claim of volume %s is to change from %v to %v, which the API server refuses", key.Name, from, to)
		}
	}
}

// judgeMounts checks that each volume that a broker loses holds no replicas at that time.
func (h *history) judgeMounts(before, after *core.StrimziPodSet) {
	h.t.Helper()
	stays := map[string][]string{}
	for _, pod := range h.podsOf(after) {
		stays[pod.Name] = claims(pod)
	}
	for _, pod := range h.podsOf(before) {
		now, listed := stays[pod.Name]
		if !listed || pod.Labels[core.LabelBrokerRole] != "true" {
			continue // judgeNodes checks nodes that leave, and a controller fetches its log again
		}
		id, ok := core.NodeID(pod.Name)
		if !ok {
			h.failf("pod %s has no node id", pod.Name)
		}
		for _, claim := range claims(pod) {
			var volume int32
			if slices.Contains(now, claim) {
				continue
			} else if _, err := fmt.Sscanf(claim, "data-%d-", &volume); err != nil {
				h.failf("pod %s loses its only volume %s", pod.Name, claim)
			}
			dirs := h.brokers.dirs[id]
			i := slices.IndexFunc(dirs, func(d kafka.LogDir) bool { return d.Path == dirOf(id, volume) })
			if h.brokers.err != nil || i < 0 || dirs[i].Failed || dirs[i].Replicas > 0 {
				h.failf("volume %d is taken from broker %d: %+v (%v)", volume, id, dirs, h.brokers.err)
			}
		}
	}
}

// podsOf returns the pods that a set lists.
func (h *history) podsOf(set *core.StrimziPodSet) []*corev1.Pod {
	h.t.Helper()
	var pods []*corev1.Pod
	for _, raw := range set.Spec.Pods {
		pod := &corev1.Pod{}
		h.must(json.Unmarshal(raw.Raw, pod))
		pods = append(pods, pod)
	}
	return pods
}

// claims returns the names of the PersistentVolumeClaims with the data of a pod.
func claims(pod *corev1.Pod) []string {
	names := []string{}
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && strings.HasPrefix(v.Name, "data") {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// judgeClaimGoes checks that no pod mounts a claim that is deleted, that no StrimziPodSet lists a pod that will, and that a node that left
// holds nothing.
func (h *history) judgeClaimGoes(s *apiServer, claim facts.Key) {
	h.t.Helper()
	left := true
	for _, key := range sortedKeys(s.objects) {
		var pods []*corev1.Pod
		switch o := s.objects[key].object().(type) {
		case *corev1.Pod:
			if pods = append(pods, o); slices.Contains(claims(o), claim.Name) {
				h.failf("volume %s in %s is deleted while pod %s runs with it", claim.Name, s.id, key.Name)
			}
		case *core.StrimziPodSet:
			if h.foreign[s][key] != nil {
				continue // runPods creates no pods for it
			}
			for _, pod := range h.podsOf(o) {
				if pods = append(pods, pod); slices.Contains(claims(pod), claim.Name) {
					h.failf("volume %s in %s is deleted, which pod %s is made with", claim.Name, s.id, pod.Name)
				}
			}
		}
		left = left && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return strings.HasSuffix(claim.Name, "-"+pod.Name) })
	}
	if left {
		id, ok := core.NodeID(claim.Name)
		if !ok {
			h.failf("volume %s has no node id", claim.Name)
		}
		h.judgeLeaves(id)
	}
}

// judgeVersions checks that the Kafka version of each node can read the metadata. The first node formats the metadata.
func (h *history) judgeVersions(set *core.StrimziPodSet) {
	h.t.Helper()
	pods := h.podsOf(set)
	if !h.formatted && len(pods) > 0 {
		h.formatted, h.brokers.metadata = true, metadataOf[pods[0].Annotations[v1.AnnotationKafkaVersion]]
	}
	for _, pod := range pods {
		if version := pod.Annotations[v1.AnnotationKafkaVersion]; metadataOf[version] < h.brokers.metadata {
			h.failf("pod %s is to run Kafka %s, with metadata version %s", pod.Name, version, h.brokers.metadata)
		}
	}
}

// wantedMetadata returns the metadata version in a Kafka's specification; without one, the newest of the Kafka version in its status.
func wantedMetadata(k *v1.Kafka) kafka.MetadataVersion {
	switch k.Spec.Kafka.MetadataVersion {
	case "4.2-IV1":
		return metadataOf["4.2.0"]
	case "4.3-IV0":
		return metadataOf["4.3.1"]
	}
	return metadataOf[k.Status.KafkaVersion]
}

// judgeMetadata checks that every pod can read the metadata version that the Kafka cluster is about to get.
func (h *history) judgeMetadata(to kafka.MetadataVersion) {
	h.t.Helper()
	for _, key := range sortedKeys(h.k8s.server.objects) {
		if pod, ok := h.k8s.server.objects[key].object().(*corev1.Pod); ok && h.foreign[h.k8s.server][key] == nil &&
			metadataOf[pod.Annotations[v1.AnnotationKafkaVersion]] < to {
			h.failf("the metadata version becomes %s, and pod %s runs Kafka %s", to, pod.Name, pod.Annotations[v1.AnnotationKafkaVersion])
		}
	}
}

// emptyAll makes all brokers respond, hold no replicas, and have cordoned log directories.
func (h *history) emptyAll() {
	h.brokers.err, h.brokers.afterLook, h.brokers.afterDirs = nil, nil, nil
	h.brokers.replicas, h.brokers.hidden, h.brokers.dirs = map[int32]int{}, nil, map[int32][]kafka.LogDir{}
	for id := range int32(30) {
		h.brokers.replicas[id] = 0
		for volume := range int32(3) {
			h.brokers.dirs[id] = append(h.brokers.dirs[id], kafka.LogDir{Path: dirOf(id, volume), Cordoned: true})
		}
	}
}

// judgePool checks that a pool is not reported as ready before all pods in its StrimziPodSet are current and ready.
func (h *history) judgePool(pool *v1.KafkaNodePool) {
	h.t.Helper()
	if pool.Status.ObservedGeneration != pool.Generation || !status.PoolReady(pool.Status) {
		return
	}
	key := facts.Key{Kind: "StrimziPodSet", Name: pool.Labels[v1.LabelCluster] + "-" + pool.Name}
	set, _ := h.k8s.server.objects[key].object().(*core.StrimziPodSet)
	if set == nil {
		set = &core.StrimziPodSet{Spec: &core.StrimziPodSetSpec{}}
	}
	n := int32(len(set.Spec.Pods))
	if pool.Status.ObservedGeneration == pool.Generation && pool.Spec.Replicas != n {
		h.failf("KafkaNodePool %s is called ready with %d nodes: its user wants %d", pool.Name, n, pool.Spec.Replicas)
	}
	if s := set.Status; n != pool.Status.Replicas || s.ObservedGeneration != set.Generation || s.CurrentPods < n || s.ReadyPods < n {
		h.failf("KafkaNodePool %s is called ready: it has %d nodes, and its StrimziPodSet of generation %d lists %d: %+v", pool.Name,
			pool.Status.Replicas, set.Generation, n, s)
	}
}

// poolsAreReady checks that each pool is reported as ready, or as not because the Kafka warns that a change of it is blocked.
func (h *history) poolsAreReady() {
	h.t.Helper()
	for _, key := range sortedKeys(h.k8s.server.objects) {
		pool, ok := h.k8s.server.objects[key].object().(*v1.KafkaNodePool)
		if ok && (pool.Status.ObservedGeneration != pool.Generation || !status.PoolReady(pool.Status) && !h.blocked(pool)) {
			h.failf("in the end, KafkaNodePool %s is not ready: %+v", key.Name, pool.Status)
		}
	}
}

// blocked reports whether a pool is not ready because of a change that the Kafka warns of.
func (h *history) blocked(pool *v1.KafkaNodePool) bool {
	for _, c := range pool.Status.Conditions {
		if c.Type == v1.ConditionReady && c.Reason == v1.ReasonChangeBlocked {
			return slices.ContainsFunc(h.object(kafkaKey).(*v1.Kafka).Status.Conditions,
				func(w v1.Condition) bool { return w.Type == v1.ConditionWarning && w.Message == c.Message })
		}
	}
	return false
}
