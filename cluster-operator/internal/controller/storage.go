package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// acceptStorage keeps the storage of pools as it is where a change would cost data.
func (p *pass) acceptStorage(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(p.input.Pools)) {
		pool := p.input.Pools[name]
		set := p.input.Sets[p.kafka.Name+"-"+name]
		if set == nil {
			continue
		}
		var before v1.Storage
		if err := json.Unmarshal([]byte(set.Annotations[v1.AnnotationStorage]), &before); err != nil {
			return fmt.Errorf("annotation %s of StrimziPodSet %s: %w", v1.AnnotationStorage, set.Name, err)
		}
		accepted, refused := model.AcceptStorage(before, pool.Spec.Storage)
		if len(refused) > 0 {
			p.warn("KafkaStorage",
				fmt.Sprintf("The desired Kafka storage configuration in the KafkaNodePool resource %s/%s contains changes which are not allowed. "+
					"As a result, all storage changes will be ignored. Not allowed: %s", pool.Namespace, name, strings.Join(refused, "; ")))
		} else if stay := p.volumesInUse(ctx, pool, model.RemovedVolumes(before, accepted)); len(stay) > 0 {
			accepted = model.KeepVolumes(before, accepted, stay)
		} else {
			continue
		}
		kept := pool.DeepCopy()
		kept.Spec.Storage = accepted
		p.input.Pools[name] = kept
	}
	return nil
}

// volumesInUse returns which of the volumes that a pool is to lose stay for now, because brokers hold replicas there, or may. They get no
// new ones meanwhile.
func (p *pass) volumesInUse(ctx context.Context, pool *v1.KafkaNodePool, removed []int32) []int32 {
	var brokers []int32
	for _, l := range p.listed {
		if l.Node.Pool == pool.Name && l.Node.Roles.Broker {
			brokers = append(brokers, l.Node.ID)
		}
	}
	if len(removed) == 0 || len(brokers) == 0 || p.forced() {
		return nil
	}
	reported, err := p.Kafka.LogDirs(ctx, p.connection(), brokers)
	if err != nil {
		p.log.Info("Brokers did not report their log directories", "error", err.Error())
	}
	var stay []int32
	var reasons []string
	for _, volume := range removed {
		for _, broker := range brokers {
			dirs, known := reported[broker]
			why := p.volumeInUse(broker, volume, dirs, known)
			if why == "" {
				continue
			}
			reasons = append(reasons, why)
			if !slices.Contains(stay, volume) {
				stay = append(stay, volume)
			}
		}
	}
	if len(stay) == 0 {
		return nil
	}
	p.warn("KafkaStorage", fmt.Sprintf("Removal of volumes %v from KafkaNodePool %s/%s is blocked: %s", stay, pool.Namespace, pool.Name,
		strings.Join(reasons, "; ")))
	p.requeueAfter(time.Minute) // nothing reports that a volume is empty now
	if p.cordons() {
		if p.input.Cordon.Volumes == nil {
			p.input.Cordon.Volumes = map[string][]int32{}
		}
		p.input.Cordon.Volumes[pool.Name] = stay
	}
	return stay
}

// volumeInUse returns why a volume can't be taken from a broker yet, "" if it can.
func (p *pass) volumeInUse(broker, volume int32, dirs []kafka.LogDir, known bool) string {
	why := model.VolumeInUse(broker, volume, dirs, known, p.cordons())
	if why == "" && p.kafka.Status.KafkaMetadataVersion == "" {
		return "Kafka has not reported its metadata version, which says whether it can keep new replicas from a volume"
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

// warnOfDeletions says what to do instead of an annotation that is not carried out: to delete data without a look at its other replicas.
func (p *pass) warnOfDeletions() {
	for _, pod := range p.pods() {
		if pod.Annotations[v1.AnnotationDeletePodAndPVC] == "true" {
			p.warn(v1.ReasonUnsupportedField,
				fmt.Sprintf("Pod %s has the annotation %s, which is not supported and has no effect: make sure that other brokers have "+
					"replicas of its partitions, then delete its PersistentVolumeClaims and the pod", pod.Name, v1.AnnotationDeletePodAndPVC))
		}
	}
}
