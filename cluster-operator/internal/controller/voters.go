package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// emptyFor is how long a new volume counts as empty, whatever the leader reports: it may still mean the voter that had the previous one.
	emptyFor = time.Minute
)

// findEmptyVoters returns the claims that are not made yet, because too many controllers would have lost their metadata. A claim of a
// controller that exists is gone: somebody deleted it to start the node empty.
func (p *pass) findEmptyVoters(ctx context.Context) (map[string]bool, error) {
	wait := map[string]bool{}
	if p.mayLoseData() || !p.mayHaveMetadata() {
		return wait, nil
	}
	lost, err := p.lostLogs(ctx)
	if err != nil || len(lost) == 0 {
		return wait, err
	}
	voters := p.askVoters(ctx)
	voters.Gone = len(lost)
	for _, n := range p.input.Topology.Controllers() {
		why := ""
		if len(lost[n.ID]) > 0 {
			why = voters.WhyNotEmpty(n.ID)
		}
		if why == "" {
			continue
		}
		for _, name := range lost[n.ID] {
			wait[name] = true
		}
		p.add(status.Problem{Pool: n.Pool, Reason: "KafkaStorage", Blocks: true, Stalled: !voters.CanElect(), Message: fmt.Sprintf(
			"%s of node %d are gone, and are not made again yet, because the node would start without metadata: %s", claimsIn(lost[n.ID]), n.ID,
			why)})
		p.requeueAfter(time.Minute) // no event reports that a controller has caught up
	}
	return wait, nil
}

// askVoters returns what is known of the controllers, and asks Kafka.
func (p *pass) askVoters(ctx context.Context) topology.Voters {
	voters := topology.Voters{First: map[int32]bool{}}
	quorum, err := p.Kafka.Quorum(ctx, p.connection())
	if err != nil {
		p.askAgain(err)
		voters.Silent = withoutLocalAddress(err.Error())
	} else {
		voters.CaughtUp = caughtUp(quorum)
	}
	for _, n := range p.input.Topology.Controllers() {
		voters.IDs = append(voters.IDs, n.ID)
		voters.First[n.ID] = p.keepsFirstLog(n)
		if p.mayBeEmpty(n) {
			delete(voters.CaughtUp, n.ID)
		}
	}
	return voters
}

// lostLogs returns the claims of metadata logs that controllers had and that do not exist any more, by controller. One that only lacks the
// Kafka's label, or that the cache does not show yet, is added to what exists.
func (p *pass) lostLogs(ctx context.Context) (map[int32][]string, error) {
	lost := map[int32][]string{}
	controllers := p.mayHaveVoted() // reads what exists in all Kubernetes clusters, and findClaim may add to that in one of them
	return lost, p.eachHost(func(s *site) error {
		for _, n := range controllers {
			if n.Cluster != s.cluster {
				continue
			}
			for _, name := range p.logClaims(n) {
				has, err := s.findClaim(ctx, p.kafka.Namespace, name)
				if err != nil {
					return err
				}
				if !has {
					p.mu.Lock()
					lost[n.ID] = append(lost[n.ID], name)
					p.mu.Unlock()
				}
			}
		}
		return nil
	})
}

// mayHaveVoted returns the controllers that exist, and wanted ones of which nothing is left but that the configuration of others names
// them, once Kafka has run.
func (p *pass) mayHaveVoted() []topology.Node {
	exists, voters := p.existingIDs(), p.voters()
	nodes := slices.DeleteFunc(p.existing(), func(n topology.Node) bool { return !n.Roles.Controller })
	if p.kafka.Status.KafkaMetadataVersion == "" {
		return nodes
	}
	for _, n := range p.input.Topology.Controllers() {
		if !exists[n.ID] && slices.Contains(voters, n.ID) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// checkFirstVoters stops a pass that would make the first nodes of a Kafka, and start a majority of its controllers empty beside others
// that have the metadata of an earlier Kafka. Of nodes that exist, findEmptyVoters decides, but not of those that only orphans list: if a
// backup has just restored these, nothing else shows that their controllers ever ran.
func (p *pass) checkFirstVoters(ctx context.Context) error {
	made := slices.ContainsFunc(p.listed, func(l facts.ListedPod) bool { return !p.isOrphan(l.Set) })
	if p.mayLoseData() || made || len(p.remembered) > 0 {
		return nil
	}
	had, unread, ephemeral := p.earlierLogs()
	if len(had) == 0 {
		return nil
	}
	gone, err := p.certainlyGone(ctx, unread)
	if err != nil || !topology.MajorityEmpty(len(p.input.Topology.Controllers()), len(gone), ephemeral) {
		return err
	}
	p.requeueAfter(time.Minute) // no event reports a claim without the Kafka's label
	return stalled("KafkaStorage", "%s belong to an earlier Kafka %s/%s, and there are no %s, so a majority of the controllers would start "+
		"without metadata, and could delete all topics: nothing is created. Restore the volumes of the other controllers, have only as many "+
		"controllers as the earlier Kafka had, or annotate the Kafka with %s: \"true\" if the metadata of all topics may be lost",
		claimsIn(had), p.kafka.Namespace, p.kafka.Name, claimsIn(gone), v1.AnnotationSkipScaleDownCheck)
}

// earlierLogs returns the claims of metadata logs of an earlier Kafka that wanted controllers use, those by Kubernetes cluster that were
// not read, of controllers that do not exist or that orphans list, and how many controllers have an ephemeral log.
func (p *pass) earlierLogs() (had []string, unread map[string][]string, ephemeral int) {
	exists, unread := map[int32]bool{}, map[string][]string{}
	for _, n := range p.unlisted {
		exists[n.ID] = true
	}
	for _, n := range p.input.Topology.Controllers() {
		pool, s := p.input.Pools[n.Pool], p.site(n.Cluster)
		if pool == nil || s == nil {
			continue
		}
		name := model.LogClaim(pool.Spec.Storage, p.podName(n))
		switch claim := s.facts.Claim(name); {
		case name == "":
			ephemeral++
		case claim == nil && !exists[n.ID]:
			unread[n.Cluster] = append(unread[n.Cluster], name)
		case claim != nil && p.hasEarlierLog(n, claim):
			had = append(had, name)
		}
	}
	return had, unread, ephemeral
}

// certainlyGone returns those of the claims, by Kubernetes cluster, that do not exist.
func (p *pass) certainlyGone(ctx context.Context, claims map[string][]string) (gone []string, err error) {
	err = p.each(func(s *site) error {
		for _, name := range claims[s.cluster] {
			exists, err := s.findClaim(ctx, p.kafka.Namespace, name)
			if err != nil {
				return err
			}
			if !exists {
				p.mu.Lock()
				gone = append(gone, name)
				p.mu.Unlock()
			}
		}
		return nil
	})
	return gone, err
}

// hasEarlierLog reports whether the volume of a controller may have the metadata log of an earlier Kafka: this one did not make its claim.
func (p *pass) hasEarlierLog(n topology.Node, claim *corev1.PersistentVolumeClaim) bool {
	made := slices.Contains(p.knownIDs(p.pools[n.Pool]), n.ID) && !claim.CreationTimestamp.Before(&p.kafka.CreationTimestamp)
	usable := isBound(claim) && !isRemoved(claim) && claim.DeletionTimestamp == nil
	return !made && usable && claim.Annotations[model.AnnotationClusterID] == p.input.ClusterID
}

// isBound reports whether a claim has a volume, or is about to get a certain one.
func isBound(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.Phase != corev1.ClaimPending || claim.Spec.VolumeName != ""
}

// findClaim reports whether a claim exists, and asks the API server for one that was not read.
func (s *site) findClaim(ctx context.Context, namespace, name string) (bool, error) {
	if s.facts.Claim(name) != nil {
		return true, nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	switch err := s.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get PersistentVolumeClaim %s: %w", name, err)
	}
	// What is applied then is applied to this one, and does not make another one should it go in the meantime.
	s.facts.Objects[facts.Key{Kind: "PersistentVolumeClaim", Name: name}] = claim
	return true, nil
}

// logClaims returns the claims of the volumes that may have the metadata log of a node that exists: the one to which the log is to be
// moved, and the present one. A volume that its pod does not have is new: the log is on one that the pod has.
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
	pod := p.pod(n)
	if at := p.listedAt(n); pod == nil && at >= 0 {
		pod = p.listed[at].Pod
	}
	var names []string
	moves := false
	for _, s := range storages {
		name := model.LogClaim(s, p.podName(n))
		switch {
		case name == "":
		case pod == nil || mounts(pod, name):
			names = append(names, name)
		default:
			moves = true
		}
	}
	if moves && len(names) == 0 {
		names = p.volumesIn(pod)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listedAt returns where a node is listed, -1 if it is not.
func (p *pass) listedAt(n topology.Node) int {
	return slices.IndexFunc(p.listed, func(l facts.ListedPod) bool { return l.Node.ID == n.ID })
}

// volumesIn returns the claims of a node's volumes that a pod mounts. It may mount others that its user has.
func (p *pass) volumesIn(pod *corev1.Pod) []string {
	return slices.DeleteFunc(claimsOf(pod), func(name string) bool { return !strings.HasSuffix(name, "-"+pod.Name) })
}

// keepsFirstLog reports whether a controller's metadata log certainly is on the volume that it began with: its claim was made right before
// the StrimziPodSet, and its pod has no other volume where the log may have been.
func (p *pass) keepsFirstLog(n topology.Node) bool {
	s, set, at := p.site(n.Cluster), p.input.Sets[p.kafka.Name+"-"+n.Pool], p.listedAt(n)
	if s == nil || set == nil || at < 0 {
		return false
	}
	names := p.logClaims(n)
	if len(names) != 1 || !slices.Equal(names, p.volumesIn(p.listed[at].Pod)) {
		return false
	}
	claim := s.facts.Claim(names[0])
	return claim != nil && madeRightAfter(set, claim)
}

// madeRightAfter reports whether an object was made right after another one of the same API server.
func madeRightAfter(o, earlier client.Object) bool {
	age := o.GetCreationTimestamp().Sub(earlier.GetCreationTimestamp().Time)
	return age >= 0 && age < emptyFor
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

// mayHaveMetadata reports whether there may be metadata to lose. There is none as long as no majority of the controllers could run: the
// user may delete volumes that can't be provisioned, to correct what they ask for.
func (p *pass) mayHaveMetadata() bool {
	if p.kafka.Status.KafkaMetadataVersion != "" || p.kafka.Status.KafkaVersion != "" || len(p.away) > 0 {
		return true
	}
	if !slices.ContainsFunc(p.existing(), p.hasBegunToRun) {
		return false
	}
	voters := p.input.Topology.Controllers()
	ran := slices.DeleteFunc(slices.Clone(voters), p.neverRan)
	return len(ran) > len(voters)/2
}

// hasBegunToRun reports whether a controller may run, or have run, by its pod and its volumes.
func (p *pass) hasBegunToRun(n topology.Node) bool {
	s, pod := p.site(n.Cluster), p.pod(n)
	if !n.Roles.Controller || s == nil {
		return false
	}
	return pod != nil && pod.Spec.NodeName != "" || slices.ContainsFunc(s.claims, func(name string) bool {
		claim := s.facts.Claim(name)
		return strings.HasSuffix(name, "-"+p.podName(n)) && isBound(claim)
	})
}

// neverRan reports whether a node certainly never ran: its first pod, made right after its StrimziPodSet, still waits for a Kubernetes
// node. That its volumes are gone, or new, proves nothing.
func (p *pass) neverRan(n topology.Node) bool {
	pod, set := p.pod(n), p.input.Sets[p.kafka.Name+"-"+n.Pool]
	return pod != nil && set != nil && pod.Spec.NodeName == "" && madeRightAfter(pod, set)
}

// caughtUp returns the voters that have all metadata according to the leader; nil if there is no leader. Times are the leader's.
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
