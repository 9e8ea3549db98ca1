package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// storage accepts storage, and keeps the roller off nodes that would lose data, whatever becomes of the former.
func (p *pass) storage(ctx context.Context) error {
	err := p.acceptStorage(ctx)
	if failed := p.hold(ctx); failed != nil {
		return failed
	}
	return err
}

// acceptStorage keeps the current storage of pools if a change would lose data.
func (p *pass) acceptStorage(ctx context.Context) error {
	if len(p.noSpec) > 0 {
		return unknownPool(p.noSpec[0])
	}
	sizes := p.claimSizes()
	p.empty, p.taken, p.seenEmpty = map[string]bool{}, map[[2]string]bool{}, map[[2]string]bool{}
	for _, name := range slices.Sorted(maps.Keys(p.input.Pools)) {
		if err := p.acceptStorageOf(ctx, p.input.Pools[name], sizes[name]); err != nil {
			return err
		}
	}
	return nil
}

// acceptStorageOf keeps the current storage of a pool, whose PersistentVolumeClaims have these sizes, if a change would lose data.
func (p *pass) acceptStorageOf(ctx context.Context, pool *v1.KafkaNodePool, sizes map[string]resource.Quantity) error {
	prefix := p.kafka.Name + "-" + pool.Name
	set := p.input.Sets[prefix]
	if set == nil {
		return p.checkUnlisted(pool)
	}
	if s := pool.Spec.Storage; s.Type == v1.StorageJBOD && len(s.Volumes) == 0 {
		return nil // validation rejects it, whatever the volumes hold
	}
	before, err := p.storageOf(set, pool)
	if err != nil {
		return err
	}
	before = model.WithKept(model.WithSizesOf(before, sizes, prefix), p.keptClaims(pool.Name), prefix)
	before = p.withUnbound(before, pool)
	var nodes []int32
	controllers := slices.Contains(pool.Spec.Roles, v1.RoleController)
	for _, l := range p.nodesOf(pool.Name) {
		nodes = append(nodes, l.Node.ID)
		controllers = controllers || l.Node.Roles.Controller
	}
	accepted, refused := model.AcceptStorage(before, pool.Spec.Storage, nodes)
	if len(refused) > 0 {
		p.add(status.Problem{Pool: pool.Name, Reason: "KafkaStorage", Blocks: true, Stalled: true, Message: fmt.Sprintf(
			"The desired Kafka storage configuration in the KafkaNodePool resource %s/%s contains changes which are not allowed. "+
				"As a result, all storage changes will be ignored. Not allowed: %s", pool.Namespace, pool.Name, strings.Join(refused, "; "))})
	} else if stay := p.volumesInUse(ctx, pool, before); len(stay) > 0 {
		accepted = model.KeepVolumes(before, accepted, stay, controllers)
		p.take(pool, model.RemovedVolumes(before, accepted))
	} else {
		p.take(pool, model.RemovedVolumes(before, pool.Spec.Storage))
		return nil // the change is accepted
	}
	kept := pool.DeepCopy()
	kept.Spec.Storage = accepted
	p.input.Pools[pool.Name] = kept
	return nil
}

// take notes which claims lose their nodes, as volumes are removed from a pool. Those are left out that no broker reported as cordoned and
// without replicas: they may have some, such as of a node that is no broker any more, or get some until the broker restarts.
func (p *pass) take(pool *v1.KafkaNodePool, removed []int32) {
	for _, volume := range removed {
		for _, l := range p.nodesOf(pool.Name) {
			if claim := [2]string{l.Node.Cluster, model.ClaimOf(volume, l.Pod.Name)}; p.seenEmpty[claim] || p.mayLoseData() {
				p.taken[claim] = true
			}
		}
	}
}

// claimSizes returns the sizes that PersistentVolumeClaims ask for, by the pool of their node and by name.
func (p *pass) claimSizes() map[string]map[string]resource.Quantity {
	sizes := map[string]map[string]resource.Quantity{}
	for _, s := range p.sites {
		for _, name := range s.claims {
			claim := s.facts.Claim(name)
			pool := claim.Labels[core.LabelPoolName]
			if sizes[pool] == nil {
				sizes[pool] = map[string]resource.Quantity{}
			}
			sizes[pool][name] = *claim.Spec.Resources.Requests.Storage()
		}
	}
	return sizes
}

// keptClaims returns the names of the PersistentVolumeClaims that are to outlive their nodes, which are in that pool.
func (p *pass) keptClaims(pool string) (kept []string) {
	pods := map[string]bool{}
	for _, l := range p.nodesOf(pool) {
		pods[l.Pod.Name] = true
	}
	for _, s := range p.sites {
		for _, name := range s.claims {
			if claim := s.facts.Claim(name); pods[p.podOf(claim)] && claim.Annotations[v1.AnnotationDeleteClaim] != "true" {
				kept = append(kept, name)
			}
		}
	}
	return kept
}

// storageOf returns the storage of the nodes of a StrimziPodSet. If somebody removed the annotation with it, it is the desired storage,
// provided that the nodes have its volumes.
func (p *pass) storageOf(set *core.StrimziPodSet, pool *v1.KafkaNodePool) (v1.Storage, error) {
	var noted v1.Storage
	if json.Unmarshal([]byte(set.Annotations[v1.AnnotationStorage]), &noted) == nil && noted.Type != "" {
		return noted, nil
	}
	for _, l := range p.listed {
		if l.Set.Name == set.Name && !model.HasVolumes(l.Pod, pool.Spec.Storage) {
			return noted, stalled("KafkaStorage", "StrimziPodSet %s/%s lost its annotation %s, and pod %s has volumes other than "+
				".spec.storage of KafkaNodePool %s: set .spec.storage to the storage of the existing nodes", set.Namespace, set.Name,
				v1.AnnotationStorage, l.Pod.Name, pool.Name)
		}
	}
	return pool.Spec.Storage, nil
}

// volumesInUse returns the removed volumes of a pool that must stay for now, because they have, or may have, replicas of brokers or the
// metadata log of controllers. They get no new replicas until then.
func (p *pass) volumesInUse(ctx context.Context, pool *v1.KafkaNodePool, before v1.Storage) []int32 {
	removed := model.RemovedVolumes(before, pool.Spec.Storage)
	if len(removed) == 0 {
		return nil
	}
	nodes := p.nodesOf(pool.Name)
	reported := p.logDirs(ctx, p.connection(), nodes)
	var stay []int32
	var reasons []string
	for _, volume := range removed {
		for _, l := range nodes {
			dirs, known := reported[l.Node.ID]
			inUse := func(cordons bool) string {
				why := ""
				if l.Node.Roles.Broker && !p.mayLoseData() {
					why = p.whyVolumeStays(l.Node.ID, volume, dirs, known, cordons)
				}
				return cmp.Or(why, p.whyLogStays(l, volume, pool, before))
			}
			why, claim := inUse(p.cordons()), model.ClaimOf(volume, l.Pod.Name)
			p.seenEmpty[[2]string{l.Node.Cluster, claim}] = known && model.SeenEmpty(l.Node.ID, volume, dirs)
			if inUse(false) == "" {
				p.empty[claim] = true
			}
			if why != "" {
				reasons, stay = append(reasons, why), append(stay, volume)
			}
		}
	}
	stay = slices.Compact(stay)
	if len(stay) == 0 {
		return nil
	}
	p.add(status.Problem{Pool: pool.Name, Reason: "KafkaStorage", Blocks: true, Message: fmt.Sprintf(
		"Removal of volumes %v from KafkaNodePool %s/%s is blocked: %s", stay, pool.Namespace, pool.Name, strings.Join(reasons, "; "))})
	p.requeueAfter(time.Minute) // no event reports that a volume is empty now
	if p.cordons() {
		if p.input.Cordon.Volumes == nil {
			p.input.Cordon.Volumes = map[string][]int32{}
		}
		p.input.Cordon.Volumes[pool.Name] = stay
	}
	return stay
}

// whyLogStays returns why a volume of a controller must stay because of its metadata log; "" if it may go.
func (p *pass) whyLogStays(l facts.ListedPod, volume int32, pool *v1.KafkaNodePool, before v1.Storage) string {
	if !l.Node.Roles.Controller || p.logMayGo(volume, before) {
		return ""
	}
	// A node that is not changed yet is listed as it was, while the storage of its set has changed.
	current := p.current(l) && model.HasVolumes(l.Pod, before)
	return model.WhyLogStays(l.Node.ID, volume, before, pool.Spec.Storage, current)
}

// logMayGo reports whether the user allows to remove a volume that may have the metadata log of a controller. A controller fetches it from
// the others again, if there are any, and not all of them start without it, as those of a Kafka that wakes.
func (p *pass) logMayGo(volume int32, before v1.Storage) bool {
	controllers := slices.DeleteFunc(p.existing(), func(n topology.Node) bool { return !n.Roles.Controller })
	fetches := len(controllers) > 1 && slices.ContainsFunc(controllers, func(n topology.Node) bool { return p.pod(n) != nil })
	return p.mayLoseData() && (fetches || model.MetadataVolume(before) != volume)
}

// nodesOf returns the nodes of a pool as StrimziPodSets list them. Of a node that is in none, only the pod's name is known.
func (p *pass) nodesOf(pool string) []facts.ListedPod {
	nodes := slices.DeleteFunc(slices.Clone(p.listed), func(l facts.ListedPod) bool { return l.Node.Pool != pool })
	for _, n := range p.unlisted {
		if n.Pool == pool {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.podName(n)}}
			nodes = append(nodes, facts.ListedPod{Pod: pod, Node: n})
		}
	}
	return nodes
}

// logDirs asks the brokers among nodes for their log directories. One that does not answer is missing. A pass does not ask twice: where
// brokers are slow, the second answer would come only in the next pass, to whoever asks first there.
func (p *pass) logDirs(ctx context.Context, to Connection, nodes []facts.ListedPod) map[int32][]kafka.LogDir {
	var brokers []int32
	for _, l := range nodes {
		if l.Node.Roles.Broker {
			brokers = append(brokers, l.Node.ID)
		}
	}
	if len(brokers) == 0 {
		return nil
	}
	what := fmt.Sprint(brokers)
	if reported, told := p.logDirsTold[what]; told && !to.Anew {
		return reported
	}
	reported, err := p.Kafka.LogDirs(ctx, to, brokers)
	if err != nil {
		p.askAgain(err)
		p.log.Info("Brokers did not report their log directories", "error", err.Error())
	}
	if p.logDirsTold == nil {
		p.logDirsTold = map[string]map[int32][]kafka.LogDir{}
	}
	p.logDirsTold[what] = reported
	return reported
}

// current reports whether a node's pod is ready, and made as its StrimziPodSet lists it.
func (p *pass) current(l facts.ListedPod) bool {
	s := p.site(l.Node.Cluster)
	if s == nil || s.facts.Pods[l.Pod.Name] == nil {
		return false
	}
	pod := s.facts.Pods[l.Pod.Name]
	return pod.DeletionTimestamp == nil && core.IsReady(pod) && !core.Outdated(pod, l.Pod)
}

// whyVolumeStays returns why a volume can't be taken from a broker yet, "" if it can. cordons is whether new replicas must be kept out of
// it first.
func (p *pass) whyVolumeStays(broker, volume int32, dirs []kafka.LogDir, known, cordons bool) string {
	why := model.WhyVolumeStays(broker, volume, dirs, known, cordons)
	if why == "" && p.kafka.Status.KafkaMetadataVersion == "" {
		return "Kafka has not reported its metadata version, which decides whether it can keep new replicas off a volume"
	}
	return why
}

// cordons reports whether brokers can keep new replicas out of log directories.
func (p *pass) cordons() bool {
	return model.Cordons(p.input.Version, p.kafka.Status.KafkaMetadataVersion)
}

// onlineResize is how long a file system may take to grow while its pod runs. One that takes longer needs a restart.
const onlineResize = 5 * time.Minute

// resizeWaits reports whether a volume of a pod has grown, and its file system has not though there was time for it: it grows when the
// volume is mounted again.
func (p *pass) resizeWaits(n topology.Node, pod *corev1.Pod) bool {
	for _, o := range p.site(n.Cluster).facts.Objects {
		claim, ok := o.(*corev1.PersistentVolumeClaim)
		if !ok || !mounts(pod, claim.Name) {
			continue
		}
		for _, c := range claim.Status.Conditions {
			since := c.LastTransitionTime
			if c.Type != corev1.PersistentVolumeClaimFileSystemResizePending || c.Status != corev1.ConditionTrue ||
				since.Before(&pod.CreationTimestamp) {
				continue
			}
			if rest := onlineResize - p.Now().Sub(since.Time); rest > 0 {
				p.requeueAfter(rest)
				continue
			}
			p.log.Info("The file system of a volume grows when its pod is restarted", "claim", claim.Name, "pod", pod.Name)
			return true
		}
	}
	return false
}

// warnOfResizes warns about volumes that Kubernetes did not manage to enlarge: it tries again. What it says has a number for each try.
func (p *pass) warnOfResizes() {
	for _, s := range p.sites {
		for _, name := range s.claims {
			claim := s.facts.Claim(name)
			if !resizeFailed(claim) {
				continue
			}
			p.warnOf(claim.Labels[core.LabelPoolName], v1.ReasonPVCResizing, fmt.Sprintf("PVC %s has %s of the %s that it asks for, and could "+
				"not be resized yet: kubectl describe pvc -n %s %[1]s says why", name, claim.Status.Capacity.Storage(),
				claim.Spec.Resources.Requests.Storage(), claim.Namespace))
		}
	}
}

// resizeFailed reports whether the last try to enlarge a volume failed.
func resizeFailed(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == corev1.PersistentVolumeClaimControllerResizeError ||
			c.Type == corev1.PersistentVolumeClaimNodeResizeError)
	})
}

// warnOfDeletions warns about an unsupported annotation, which deletes data without checking its other replicas, and suggests what to do
// instead.
func (p *pass) warnOfDeletions() {
	for _, pod := range p.pods() {
		if v1.IsTrue(pod.Annotations, v1.AnnotationDeletePodAndPVC) {
			p.warnOf(pod.Labels[core.LabelPoolName], v1.ReasonUnsupportedField,
				fmt.Sprintf("Pod %s has the annotation %s, which is not supported and has no effect: make sure that other brokers have "+
					"replicas of its partitions, then delete its PersistentVolumeClaims and the pod", pod.Name, v1.AnnotationDeletePodAndPVC))
		}
	}
}
