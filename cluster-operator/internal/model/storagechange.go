package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

// AcceptStorage returns the storage that a pool's nodes are made with after a change, and what is refused. Volumes can be added, removed
// and made larger; nothing else about them can change while their data is kept. Nodes are those that have volumes. If anything is refused,
// all of the storage stays as it was, except that volumes are kept (deleteClaim) which should be.
func AcceptStorage(before, wanted v1.Storage, nodes []int32) (v1.Storage, []string) {
	var refused []string
	if before.Type != wanted.Type {
		return keepClaims(before, wanted), []string{fmt.Sprintf("the type can't change from %s to %s", before.Type, wanted.Type)}
	}
	old := map[int32]volume{}
	for _, v := range volumesOf(before) {
		old[v.id()] = v
	}
	seen := map[int32]bool{}
	shared := 0
	for _, v := range volumesOf(wanted) {
		if seen[v.id()] {
			refused = append(refused, fmt.Sprintf("id %d is used by two volumes", v.id()))
		}
		seen[v.id()] = true
		if v.KraftMetadata == v1.KraftMetadataShared {
			shared++
		}
		if o, existed := old[v.id()]; existed {
			refused = append(refused, volumeChange(o, v, nodes)...)
		}
	}
	if shared > 1 {
		refused = append(refused, "only one volume can hold the metadata (kraftMetadata: shared)")
	}
	if len(refused) > 0 {
		return keepClaims(before, wanted), refused
	}
	return wanted, nil
}

// WithSizesOf returns a storage with the sizes of its claims, by name, where all of them are smaller than it says: they could not grow, and
// the user may take that back. Pods' names begin with prefix.
func WithSizesOf(s v1.Storage, claims map[string]resource.Quantity, prefix string) v1.Storage {
	s = *s.DeepCopy()
	set := func(v volume, size *string) {
		noted, err := v1.ParseQuantity(*size)
		largest := resource.Quantity{}
		for name, q := range claims {
			if strings.HasPrefix(name, v.claim(prefix)+"-") && q.Cmp(largest) > 0 {
				largest = q
			}
		}
		if err == nil && !largest.IsZero() && largest.Cmp(noted) < 0 {
			*size = largest.String()
		}
	}
	for i, v := range volumesOf(s) {
		if s.Type == v1.StorageJBOD {
			set(v, &s.Volumes[i].Size)
		} else {
			set(v, &s.Size)
		}
	}
	return s
}

// WithKept returns a storage that keeps its volumes of which one of these claims is to outlive its node: their user may have said so while
// nothing else about the nodes could change. Pods' names begin with prefix.
func WithKept(s v1.Storage, claims []string, prefix string) v1.Storage {
	s = *s.DeepCopy()
	for i, v := range volumesOf(s) {
		if !slices.ContainsFunc(claims, func(name string) bool { return strings.HasPrefix(name, v.claim(prefix)+"-") }) {
			continue
		}
		if s.Type == v1.StorageJBOD {
			s.Volumes[i].DeleteClaim = nil
		} else {
			s.DeleteClaim = nil
		}
	}
	return s
}

// WithUnbound returns a storage with the class, selector and size of another one for its volumes that none of these pods ever had: all of
// their claims wait for a volume.
func WithUnbound(s, wanted v1.Storage, pods []string, waits func(claim string) bool) v1.Storage {
	s = *s.DeepCopy()
	for i, v := range volumesOf(s) {
		never := len(pods) > 0 && !slices.ContainsFunc(pods, func(pod string) bool { return !waits(v.claim(pod)) })
		at := slices.IndexFunc(volumesOf(wanted), func(w volume) bool { return w.id() == v.id() && w.Type == v.Type && w.jbod == v.jbod })
		if !never || at < 0 || v.Type != v1.StoragePersistentClaim {
			continue
		}
		w := volumesOf(wanted)[at]
		if v.jbod {
			s.Volumes[i].Class, s.Volumes[i].Selector, s.Volumes[i].Size, s.Volumes[i].Overrides = w.Class, w.Selector, w.Size, w.Overrides
		} else {
			s.Class, s.Selector, s.Size, s.Overrides = w.Class, w.Selector, w.Size, w.Overrides
		}
	}
	return s
}

// keepClaims returns a storage that also keeps the volumes that another one keeps when their node leaves.
func keepClaims(s, wanted v1.Storage) v1.Storage {
	s = *s.DeepCopy()
	for _, v := range volumesOf(wanted) {
		if value(v.DeleteClaim, false) {
			continue
		}
		if s.Type != v1.StorageJBOD && (v.id() == 0 || !v.jbod) { // as KeepsClaim has it
			s.DeleteClaim = nil
		}
		for i := range s.Volumes {
			if value(s.Volumes[i].ID, 0) == v.id() {
				s.Volumes[i].DeleteClaim = nil
			}
		}
	}
	return s
}

// volumeChange returns what can't change about a volume of these nodes.
func volumeChange(before, after volume, nodes []int32) []string {
	var refused []string
	no := func(what, from, to string) {
		refused = append(refused, fmt.Sprintf("the %s of volume %d can't change from %q to %q", what, before.id(), from, to))
	}
	switch {
	case before.Type != after.Type:
		no("type", string(before.Type), string(after.Type))
	case before.Type == v1.StorageEphemeral: // fields of claims have no effect
		if before.SizeLimit != after.SizeLimit {
			no("sizeLimit", before.SizeLimit, after.SizeLimit)
		}
	default:
		if !equality.Semantic.DeepEqual(before.Class, after.Class) {
			no("class", value(before.Class, "default"), value(after.Class, "default"))
		} else {
			for _, n := range nodes {
				if from, to := before.class(n), after.class(n); !equality.Semantic.DeepEqual(from, to) {
					no(fmt.Sprintf("class for node %d", n), value(from, "default"), value(to, "default"))
				}
			}
		}
		if !maps.Equal(before.Selector, after.Selector) {
			no("selector", fmt.Sprint(before.Selector), fmt.Sprint(after.Selector))
		}
		from, errFrom := v1.ParseQuantity(before.Size)
		to, errTo := v1.ParseQuantity(after.Size)
		if errFrom != nil || errTo != nil || to.Cmp(from) < 0 {
			no("size", before.Size, after.Size)
		}
	}
	return refused
}

// RemovedVolumes returns the ids of the volumes that a change takes away.
func RemovedVolumes(before, wanted v1.Storage) []int32 {
	var removed []int32
	for _, v := range volumesOf(before) {
		if !slices.ContainsFunc(volumesOf(wanted), func(w volume) bool { return w.id() == v.id() }) {
			removed = append(removed, v.id())
		}
	}
	return removed
}

// KeepVolumes returns the wanted storage with those volumes of before that can't go yet. Nodes begin to keep their metadata log where the
// wanted storage has it, as long as they have both volumes. Brokers that are no controllers need no restart for that: they fetch the log
// again when its volume goes.
func KeepVolumes(before, wanted v1.Storage, ids []int32, controllers bool) v1.Storage {
	kept, log := *wanted.DeepCopy(), MetadataVolume(wanted)
	marked := slices.ContainsFunc(volumesOf(wanted), func(v volume) bool { return v.KraftMetadata == v1.KraftMetadataShared })
	if current := MetadataVolume(before); !controllers && !marked && slices.Contains(ids, current) {
		log = current
	}
	added := kept.Volumes
	kept.Volumes = nil
	for _, v := range before.DeepCopy().Volumes { // in their order, so that nothing changes for a node that keeps all of them
		is := func(w v1.StorageVolume) bool { return value(w.ID, 0) == value(v.ID, 0) }
		if i := slices.IndexFunc(added, is); i >= 0 {
			kept.Volumes, added = append(kept.Volumes, added[i]), slices.Delete(added, i, i+1)
		} else if slices.Contains(ids, value(v.ID, 0)) {
			if value(v.ID, 0) != log {
				v.KraftMetadata = ""
			}
			kept.Volumes = append(kept.Volumes, v)
		}
	}
	kept.Volumes = append(kept.Volumes, added...)
	if MetadataVolume(kept) == log {
		return kept
	}
	for i := range kept.Volumes {
		if value(kept.Volumes[i].ID, 0) == log {
			kept.Volumes[i].KraftMetadata = v1.KraftMetadataShared
		}
	}
	return kept
}

// MetadataVolume returns the id of the volume that has a node's metadata log: the one that is configured for it, else the one with the
// lowest id, preferring volumes that outlive their pod.
func MetadataVolume(s v1.Storage) int32 {
	volumes := volumesOf(s)
	if len(volumes) == 0 {
		return -1 // which is refused
	}
	rank := func(v volume) []int32 {
		marked, lasting := int32(1), int32(1)
		if v.KraftMetadata == v1.KraftMetadataShared {
			marked = 0
		}
		if v.Type == v1.StoragePersistentClaim {
			lasting = 0
		}
		return []int32{marked, lasting, v.id()}
	}
	return slices.MinFunc(volumes, func(a, b volume) int { return slices.Compare(rank(a), rank(b)) }).id()
}

// KeepsClaim reports whether a storage keeps the PersistentVolumeClaim of that name when its node leaves. Pods' names begin with prefix.
// The claim may be from before the type of the storage was changed.
func KeepsClaim(s v1.Storage, claim, prefix string) bool {
	return slices.ContainsFunc(volumesOf(s), func(v volume) bool {
		is := func(name string) bool { return strings.HasPrefix(claim, name+"-"+prefix+"-") }
		single := v.id() == 0 || !v.jbod
		return (is(volumeName(v.id(), true)) || single && is(volumeName(0, false))) && !value(v.DeleteClaim, false)
	})
}

// WhyLogStays returns why a volume can't be taken from a controller yet, "" if it can: its metadata log may be there. Before is the storage
// that the node is made with, and current whether its pod is ready and was made with that: a node moves its log when it starts.
func WhyLogStays(controller, volume int32, before, wanted v1.Storage, current bool) string {
	switch {
	case MetadataVolume(before) == volume:
		return fmt.Sprintf("volume %d has the metadata log of controller %d, which moves to volume %d at the node's next restart", volume,
			controller, MetadataVolume(wanted))
	case !current:
		return fmt.Sprintf("volume %d may have the metadata log of controller %d, whose pod is not ready, or not restarted yet", volume,
			controller)
	}
	return ""
}

// WhyVolumeStays returns why a volume can't be taken from a broker yet, "" if it can. Dirs are what the broker reports, known is whether it
// did, and cordons is whether its Kafka can keep new replicas out of a log directory: without that, a replica may be placed on the volume
// until the broker is restarted.
func WhyVolumeStays(broker, volume int32, dirs []kafka.LogDir, known, cordons bool) string {
	const orForce = "or annotate the Kafka with " + v1.AnnotationSkipScaleDownCheck + ": \"true\" if its data may be lost"
	if !known {
		return fmt.Sprintf("the contents of volume %d of broker %d are unknown, because the broker did not answer", volume, broker)
	}
	path := logDir(volumeName(volume, true), broker)
	i := slices.IndexFunc(dirs, func(d kafka.LogDir) bool { return d.Path == path })
	switch {
	case i < 0:
		return ""
	case dirs[i].Failed:
		return fmt.Sprintf("volume %d of broker %d is offline, and its contents are unknown: repair it, %s", volume, broker, orForce)
	case dirs[i].Replicas > 0:
		return fmt.Sprintf("volume %d of broker %d holds %d replicas of partitions: move them to other volumes or brokers first, %s",
			volume, broker, dirs[i].Replicas, orForce)
	case cordons && !dirs[i].Cordoned:
		return fmt.Sprintf("volume %d of broker %d is empty, but may still get new replicas: it is being cordoned", volume, broker)
	}
	return ""
}

// SeenEmpty reports whether a broker reported a volume as cordoned and without replicas.
func SeenEmpty(broker, volume int32, dirs []kafka.LogDir) bool {
	path := logDir(volumeName(volume, true), broker)
	return slices.ContainsFunc(dirs, func(d kafka.LogDir) bool { return d.Path == path && !d.Failed && d.Replicas == 0 && d.Cordoned })
}

// cordonKey names the log directories that get no new replicas (KIP-1066); cordonAll are all of them. cordonAway stands for none, while a
// broker is to forget its cordon: the key is there, without a value.
const (
	cordonKey  = "cordoned.log.dirs"
	cordonAll  = "*"
	cordonAway = "-"
)

// cordonsSince is the first metadata version with which Kafka lets log directories be cordoned.
var cordonsSince, _ = kafka.ParseMetadataVersion("4.3-IV0")

// Cordons reports whether brokers of a version can cordon log directories while their cluster has a metadata version.
func Cordons(version, metadataVersion string) bool {
	table, _ := configdef.For(version)
	_, known := table.Key(cordonKey)
	current, err := kafka.ParseMetadataVersion(metadataVersion)
	return known && err == nil && current >= cordonsSince
}

// Cordon prevents new replicas on volumes and brokers that are to be removed. The volumes are those of each pool that loses some. Renewed
// are brokers without their cordon for the moment, so that they take it over once more.
type Cordon struct {
	Volumes map[string][]int32
	Brokers []int32
	Renewed []int32
}

// CordonedDirs are what the configuration of a broker says of its cordon.
type CordonedDirs struct {
	// Dirs are the log directories that get no new replicas, * for all, and Away reports that the broker is to forget that there were some.
	Dirs []string
	Away bool
}

// CordonIn returns the cordon in the configuration of a broker.
func CordonIn(config string) CordonedDirs {
	for line := range strings.Lines(config) {
		if dirs, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), cordonKey+"="); found {
			if dirs == "" {
				return CordonedDirs{Away: true}
			}
			return CordonedDirs{Dirs: strings.Split(dirs, ",")}
		}
	}
	return CordonedDirs{}
}

// Ignored reports whether a broker, which reports these log directories, ignores a cordon.
func (c CordonedDirs) Ignored(reported []kafka.LogDir) bool {
	return slices.ContainsFunc(reported, func(d kafka.LogDir) bool {
		return !d.Failed && !d.Cordoned && (slices.Contains(c.Dirs, d.Path) || slices.Contains(c.Dirs, cordonAll))
	})
}

// cordoned returns the log directories of a node that get no new replicas, as Kafka wants them.
func (c *cluster) cordoned(n topology.Node) string {
	if !n.Roles.Broker {
		return ""
	}
	var dirs []string
	for _, id := range c.Cordon.Volumes[n.Pool] {
		dirs = append(dirs, logDir(volumeName(id, true), n.ID))
	}
	if slices.Contains(c.Cordon.Brokers, n.ID) {
		dirs = []string{cordonAll}
	}
	if len(dirs) > 0 && slices.Contains(c.Cordon.Renewed, n.ID) {
		return cordonAway
	}
	return strings.Join(dirs, ",")
}
