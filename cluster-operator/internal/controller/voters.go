package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// caughtUpWithin is how long after the leader a voter may have been caught up last: Kafka's controller.quorum.fetch.timeout.ms.
	caughtUpWithin = 2 * time.Second
	// emptyFor is how long a new volume counts as empty, whatever the leader says: it may still mean the voter that had the previous one.
	emptyFor = time.Minute
)

// findEmptyVoters returns the claims that are not made yet, because too many controllers would have lost their metadata. A claim of a
// controller that exists is gone: somebody deleted it to start the node empty.
func (p *pass) findEmptyVoters(ctx context.Context) map[string]bool {
	lost := p.lostLogs()
	if len(lost) == 0 || p.forced() || !p.mayHaveMetadata() {
		return nil
	}
	quorum, err := p.Kafka.Quorum(ctx, p.connection())
	if err != nil {
		p.askAgain(err)
		p.log.Info("Kafka did not report the state of the metadata quorum", "error", err.Error())
	}
	has := caughtUp(quorum)
	var voters []int32
	for _, n := range p.input.Topology.Controllers() {
		if voters = append(voters, n.ID); p.mayBeEmpty(n) {
			delete(has, n.ID)
		}
	}
	wait := map[string]bool{}
	for _, n := range p.input.Topology.Controllers() {
		why := ""
		if len(lost[n.ID]) > 0 {
			why = topology.WhyNotEmpty(n.ID, voters, has)
		}
		if why == "" {
			continue
		}
		for _, name := range lost[n.ID] {
			wait[name] = true
		}
		p.add(status.Problem{Pool: n.Pool, Reason: "KafkaStorage", Blocks: true, Stalled: len(voters) == 1, Message: fmt.Sprintf(
			"%s of node %d are gone, and are not made again yet, because the node would start without metadata: %s", claimsIn(lost[n.ID]), n.ID,
			why)})
		p.requeueAfter(time.Minute) // nothing reports that a controller has caught up
	}
	return wait
}

// lostLogs returns the claims of metadata logs that controllers had and that do not exist any more, by controller.
func (p *pass) lostLogs() map[int32][]string {
	lost := map[int32][]string{}
	for _, n := range p.existing() {
		s := p.site(n.Cluster)
		if !n.Roles.Controller || s == nil {
			continue
		}
		for _, name := range p.logClaims(n) {
			if s.facts.Claim(name) == nil {
				lost[n.ID] = append(lost[n.ID], name)
			}
		}
	}
	return lost
}

// logClaims returns the claims of the volumes that may have the metadata log of a node that exists: the one to which the log is to be
// moved, and the present one. A volume that its pod does not have is new.
func (p *pass) logClaims(n topology.Node) []string {
	pool, set := p.input.Pools[n.Pool], p.input.Sets[p.kafka.Name+"-"+n.Pool]
	if pool == nil {
		return nil
	}
	storages := []v1.Storage{pool.Spec.Storage}
	if set != nil {
		if before, err := p.storageOf(set, pool); err == nil {
			storages = append(storages, before)
		}
	}
	at := slices.IndexFunc(p.listed, func(l facts.ListedPod) bool { return l.Node.ID == n.ID })
	var names []string
	for _, s := range storages {
		name := model.LogClaim(s, p.podName(n))
		if name != "" && (at < 0 || mounts(p.listed[at].Pod, name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mayBeEmpty reports whether the volume of a controller is gone, or new.
func (p *pass) mayBeEmpty(n topology.Node) bool {
	s := p.site(n.Cluster)
	if s == nil {
		return false // Kafka knows more
	}
	return slices.ContainsFunc(p.logClaims(n), func(name string) bool {
		claim := s.facts.Claim(name)
		return claim == nil || p.Now().Sub(claim.CreationTimestamp.Time) < emptyFor
	})
}

// mayHaveMetadata reports whether there may be metadata to lose. There is none as long as no controller could run: the user may delete
// volumes that can't be provisioned, to correct what they ask for.
func (p *pass) mayHaveMetadata() bool {
	if p.kafka.Status.KafkaMetadataVersion != "" || len(p.away) > 0 {
		return true
	}
	return slices.ContainsFunc(p.existing(), func(n topology.Node) bool {
		s, pod := p.site(n.Cluster), p.pod(n)
		if !n.Roles.Controller || s == nil {
			return false
		}
		return pod != nil && pod.Spec.NodeName != "" || slices.ContainsFunc(s.claims, func(name string) bool {
			claim := s.facts.Claim(name)
			return strings.HasSuffix(name, "-"+p.podName(n)) && (claim.Status.Phase != corev1.ClaimPending || claim.Spec.VolumeName != "")
		})
	})
}

// caughtUp returns the voters that have all metadata by what the leader says; nil if there is no leader. Times are the leader's.
func caughtUp(q kafka.Quorum) map[int32]bool {
	at := slices.IndexFunc(q.Voters, func(v kafka.Replica) bool { return v.ID == q.Leader })
	if q.Leader < 0 || at < 0 || q.Voters[at].LastCaughtUp < 0 {
		return nil
	}
	has, now := map[int32]bool{}, q.Voters[at].LastCaughtUp
	for _, v := range q.Voters {
		if v.LastCaughtUp >= 0 && now-v.LastCaughtUp < caughtUpWithin.Milliseconds() {
			has[v.ID] = true
		}
	}
	return has
}
