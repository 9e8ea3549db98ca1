package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// Member is the connection to a Kubernetes cluster; *clusters.Member is one.
type Member interface {
	// ID is the one by which users name the cluster.
	ID() string
	// Home reports whether it is the one that the operator runs in.
	Home() bool
	Status() clusters.Status
	// Reader reads from a cache, and APIReader past it. Both fail while the cluster is not connected.
	Reader() client.Reader
	APIReader() client.Reader
	// Client writes.
	Client() (client.Client, error)
}

// Stretching has the dependencies of stretched Kafkas.
type Stretching struct {
	// Central is the id of the Kubernetes cluster that the operator runs in.
	Central string
	// Members returns the connections to all configured Kubernetes clusters.
	Members func() []Member
	// Provider makes nodes reachable from all of them, and ProviderName is its name.
	Provider     network.Provider
	ProviderName string
	// Namespace is the operators', here and in the other Kubernetes clusters.
	Namespace string
	// APIVersions returns what the API server of a member serves, nil if that is unknown.
	APIVersions func(ctx context.Context, m Member) []string
}

// clusters are the ids that pools can name.
func (s *Stretching) clusters() *validate.Clusters {
	if s == nil {
		return nil
	}
	c := &validate.Clusters{Central: s.Central}
	for _, m := range s.Members() {
		if !m.Home() {
			c.Remotes = append(c.Remotes, m.ID())
		}
	}
	return c
}

// lists reports whether the settings list a Kubernetes cluster. Without settings for stretched Kafkas, nobody took one away.
func (s *Stretching) lists(id string) bool {
	return s == nil || slices.ContainsFunc(s.Members(), func(m Member) bool { return m.ID() == id })
}

// home returns the connection to the Kubernetes cluster that the operator runs in, nil as long as there is none.
func (s *Stretching) home() Member {
	for _, m := range s.Members() {
		if m.Home() {
			return m
		}
	}
	return nil
}

// target returns the Kubernetes cluster that a pool is to be in.
func (p *pass) target(pool *v1.KafkaNodePool) string {
	target := pool.Annotations[v1.AnnotationTargetCluster]
	if p.Stretching == nil || target == p.Stretching.Central {
		return topology.Home
	}
	return target
}

// away is a Kubernetes cluster of which nothing can be said or done now.
type away struct {
	status.Problem
	member clusters.Status
}

// stretched reports whether the Kafka is in several Kubernetes clusters, or was.
func (p *pass) stretched() bool { return isStretched(p.kafka) || p.forgotten }

// isStretched reports whether a Kafka object is that of a Kafka in several Kubernetes clusters.
func isStretched(kafka *v1.Kafka) bool {
	return kafka.Annotations[v1.AnnotationStretch] == "true" || controllerutil.ContainsFinalizer(kafka, v1.FinalizerStretch)
}

// readRemotes reads what the Kafka has in the other Kubernetes clusters that it concerns.
func (p *pass) readRemotes(ctx context.Context) error {
	p.away = map[string]away{}
	if !p.stretched() {
		if err := p.findTraces(ctx); err != nil || !p.forgotten {
			return err
		}
	}
	if p.Stretching == nil {
		if p.forgotten || controllerutil.ContainsFinalizer(p.kafka, v1.FinalizerStretch) {
			return stalled(validate.ReasonOperatorNotConfigured, "%s. It has objects in several Kubernetes clusters: nothing is changed",
				validate.NotConfigured(p.kafka.Name))
		}
		return nil // validation reports it
	}
	var err error
	if p.record, err = p.readRecord(); err != nil {
		return err
	}
	if err := p.checkName(); err != nil {
		return err
	}
	opened, gone := p.openAll(ctx)
	own, err := p.findOwner(opened)
	if err != nil {
		return err
	}
	for _, s := range own {
		p.readRemote(ctx, s)
	}
	p.forgetClaimed(gone)
	p.recall()
	return nil
}

// readRemote reads what the Kafka has in another Kubernetes cluster. It drops one that can't be read, or that does not concern the Kafka.
func (p *pass) readRemote(ctx context.Context, s *site) {
	err := s.checkPlace()
	if err == nil {
		err = p.readSite(ctx, s)
	}
	if err != nil {
		p.lose(s.cluster, s.member.Status(), err)
	}
	if err != nil || !p.concerns(s) {
		p.sites = slices.DeleteFunc(p.sites, func(other *site) bool { return other == s })
		p.listed = slices.DeleteFunc(p.listed, func(l facts.ListedPod) bool { return l.Node.Cluster == s.cluster })
	}
}

// concerns reports whether the Kafka has something in a remote Kubernetes cluster, or is to have. A Kafka of the same name there says
// nothing about this one.
func (p *pass) concerns(s *site) bool {
	if _, recorded := p.record.Clusters[s.cluster]; recorded || s.anchor != nil {
		return true
	}
	for _, pool := range p.pools {
		if p.target(pool) == s.cluster {
			return true
		}
	}
	for _, o := range s.facts.Objects {
		if p.owner.ID != "" && o.GetAnnotations()[ownership.MarkID] == p.owner.ID {
			return true // its anchor and the record were deleted
		}
	}
	if p.record.Kafka != p.kafka.UID && p.kafka.DeletionTimestamp == nil && p.keptVolumes(s) {
		return true // a Kafka that is created again must not leave them unused
	}
	// So they were, and the owner's id with them: what the garbage collector has not deleted yet is waited for.
	return p.kafka.DeletionTimestamp != nil && len(objectsOfAnchor(s.facts, p.kafka.Name)) > 0
}

// keptVolumes reports whether a Kubernetes cluster has volumes of an earlier Kafka of this name with this central cluster, other than those
// that its nodes had left.
func (p *pass) keptVolumes(s *site) bool {
	for _, o := range s.facts.Objects {
		if claim, is := o.(*corev1.PersistentVolumeClaim); is && !isRemoved(claim) && p.whose(s, claim) == itsVolume {
			return true
		}
	}
	return false
}

// lose notes that nothing can be said or done in a Kubernetes cluster in this pass.
func (p *pass) lose(cluster string, member clusters.Status, err error) {
	problem := remoteProblem(cluster, member, err)
	p.away[cluster] = away{problem, member}
	_, told := errors.AsType[*Failure](err)
	lasts := errors.Is(err, errVersions) || errors.Is(err, errOtherCluster)
	if !told && !lasts && !isStale(err) && member.State == clusters.Connected {
		p.failedElsewhere = err
	}
	if lasts {
		p.log.Error(err, "Skipping a Kubernetes cluster", "cluster", cluster, "reason", problem.Reason)
		return
	}
	p.log.Info("Skipping a Kubernetes cluster", "cluster", cluster, "reason", problem.Reason, "error", err.Error())
}

// drop leaves a Kubernetes cluster out of the rest of the pass.
func (p *pass) drop(s *site, err error) {
	p.lose(s.cluster, s.member.Status(), err)
	p.sites = slices.DeleteFunc(p.sites, func(other *site) bool { return other == s })
	p.recall()
}

// checkFirst fails if a Kubernetes cluster is away before all anchors of this Kafka were made, or after its record was lost: that cluster
// may already have nodes, or another Kafka of this name.
func (p *pass) checkFirst() error {
	if p.record.Kafka == p.kafka.UID && !p.claiming() {
		return nil
	}
	return p.firstAway()
}

// claiming reports whether some anchors of this Kafka were not created yet. A Kafka with nodes runs, whatever its record has: somebody may
// have restored an old one.
func (p *pass) claiming() bool { return p.record.Claiming && len(p.listed) == 0 }

// firstAway is what is wrong with the first Kubernetes cluster that is away; nil if none is.
func (p *pass) firstAway() error {
	for _, id := range slices.Sorted(maps.Keys(p.away)) {
		problem := p.away[id].Problem
		return &Failure{Problem: problem, Err: errors.New(problem.Message)}
	}
	return nil
}

// checkProvider fails if the nodes use another network provider than the operator. Before one has an address, any provider will do.
func (p *pass) checkProvider(context.Context) error {
	provider := p.record.Provider
	for _, s := range p.sites {
		if provider == "" && s.anchor != nil { // the record is lost
			provider = s.anchor.Data[anchorProvider]
		}
	}
	if p.input.Stretch == nil || provider == "" || provider == p.Stretching.ProviderName || !p.addressed() {
		return nil
	}
	return stalled("ProviderChangeForbidden",
		"the nodes of Kafka %s/%s use the network provider %s, but the operator is configured for %s: "+
			"set STRIMZI_STRETCH_PLUGIN_CLASS_NAME back", p.kafka.Namespace, p.kafka.Name, provider, p.Stretching.ProviderName)
}

// addressed reports whether a node has an address of a network provider, or may have one.
func (p *pass) addressed() bool {
	return len(p.record.Peers) > 0 || len(p.away) > 0 || slices.ContainsFunc(p.listed, func(l facts.ListedPod) bool {
		return l.Node.Cluster != topology.Home || len(model.PeersIn(p.config(l.Node))) > 0
	})
}

// writeAnchors prepares the remote Kubernetes clusters before the first object is created there: it adds the finalizer and the owner's id
// to the Kafka object, writes the planned objects into the record, and creates the anchor in each cluster.
func (p *pass) writeAnchors(ctx context.Context) error {
	if p.input.Stretch == nil {
		return nil
	}
	if err := p.checkFirst(); err != nil {
		return err
	}
	if err := p.writeOwner(ctx); err != nil {
		return err
	}
	// A Kafka that runs has its clusters already, and must not wait for all of them.
	p.record.Claiming = p.claiming() || p.record.Kafka != p.kafka.UID && len(p.known()) == 0
	if err := p.writeRecord(ctx); err != nil {
		return err
	}
	err := p.each(func(s *site) error {
		if s.cluster == topology.Home {
			return nil
		}
		s.applier.Owner = new(p.owner)
		if !p.hosts(s.cluster) && !p.needsAnchor(s) {
			return nil
		}
		return p.applyAnchor(ctx, s)
	})
	if err != nil || !p.record.Claiming {
		return err
	}
	if err := p.checkFirst(); err != nil {
		return err // another Kafka may take a cluster in which there is no anchor
	}
	p.record.Claiming = false
	return p.writeRecord(ctx)
}

// hosts reports whether a Kubernetes cluster has pools, or nodes of removed ones.
func (p *pass) hosts(cluster string) bool {
	return slices.ContainsFunc(p.input.Topology.Pools, func(t topology.Pool) bool { return t.Cluster == cluster })
}

// needsAnchor reports whether the anchor of a Kubernetes cluster still owns what nodes need that left: pods that run, or volumes that are
// to be deleted and may hold replicas.
func (p *pass) needsAnchor(s *site) bool {
	if s.anchor == nil {
		return false
	}
	for _, pod := range s.facts.Pods {
		if pod.Labels[core.LabelName] == p.kafka.Name+"-kafka" {
			return true
		}
	}
	return len(s.anchoredClaims()) > 0
}

// anchoredClaims returns the claims in a Kubernetes cluster that are to be deleted, or that would be with its anchor.
func (s *site) anchoredClaims() (claims []*corev1.PersistentVolumeClaim) {
	for _, name := range s.claims {
		claim := s.facts.Claim(name)
		goes := claim.Annotations[v1.AnnotationDeleteClaim] == "true" || apply.OwnedBy(claim, s.anchor.UID)
		if goes && claim.DeletionTimestamp == nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// warnOfKept names the claims that keep the anchor of a Kubernetes cluster for good: they are not deleted, because nothing proves that they
// are not copies, or somebody removed the annotation that permits it.
func (p *pass) warnOfKept(s *site) {
	var unproven, unsaid []string
	for _, claim := range s.anchoredClaims() {
		switch {
		case !ownership.Original(claim, "PersistentVolumeClaim"):
			unproven = append(unproven, claim.Name)
		case claim.Annotations[v1.AnnotationDeleteClaim] != "true":
			unsaid = append(unsaid, claim.Name)
		}
	}
	warn := func(names []string, why string) {
		if len(names) > 0 {
			p.warn("VolumesKept", fmt.Sprintf("In cluster '%s', %s of removed nodes are not deleted: they lack the annotation %s. ConfigMap %s "+
				"there, and the finalizer of the Kafka, stay until they are gone. Delete them if nobody needs their data, or keep them by their "+
				"annotation %s: \"false\"", s.cluster, claimsIn(names), why, s.anchor.Name, v1.AnnotationDeleteClaim))
		}
	}
	warn(unproven, ownership.MarkSelf+" with their own name, so they may be copies that somebody made")
	warn(unsaid, v1.AnnotationDeleteClaim+`: "true"`)
}

// applyCopies gives another Kubernetes cluster the certificates that its nodes and clients need.
func (p *pass) applyCopies(ctx context.Context, s *site, in model.Input) error {
	if s.cluster == topology.Home {
		return nil
	}
	for _, secret := range model.Copies(in, p.secrets) {
		if err := p.apply(ctx, s, secret); err != nil {
			return err
		}
	}
	return nil
}

// removeUnusedAnchors removes the anchor of each Kubernetes cluster without nodes, with all that it owns, and the finalizer of a Kafka
// that is in one Kubernetes cluster again.
func (p *pass) removeUnusedAnchors(ctx context.Context) error {
	if p.input.Stretch == nil {
		return nil
	}
	err := p.each(func(s *site) error {
		if s.cluster == topology.Home || s.anchor == nil || p.hosts(s.cluster) {
			return nil
		}
		if p.needsAnchor(s) {
			p.warnOfKept(s)
			return nil
		}
		gone, err := p.deleteAnchor(ctx, s)
		if err == nil && gone {
			s.anchor = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.writeRecord(ctx); err != nil {
		return err
	}
	return p.unstretch(ctx)
}

// unstretch takes the finalizer off a Kafka that is in one Kubernetes cluster again, with what the provider planned.
func (p *pass) unstretch(ctx context.Context) error {
	nodes := slices.ContainsFunc(slices.Collect(maps.Values(p.record.Clusters)), func(r recorded) bool { return len(r.Nodes) > 0 })
	anchored := slices.ContainsFunc(p.sites, func(s *site) bool { return s.anchor != nil })
	if p.kafka.Annotations[v1.AnnotationStretch] == "true" || nodes || anchored || len(p.away) > 0 {
		return nil
	}
	p.status.Kafka, p.status.Now = p.kafka, p.Now()
	if !p.input.Stretch.Ending || !status.NodesConverged(p.status) {
		return nil // nodes that have not been restarted yet are reached at the provider's addresses
	}
	if err := p.deletePlanned(ctx, p.home(), func(planned) bool { return false }); err != nil {
		return err
	}
	return p.removeFinalizer(ctx, p.kafka)
}

func (r *Reconciler) patchKafka(ctx context.Context, kafka *v1.Kafka, change func(*v1.Kafka)) error {
	changed := kafka.DeepCopy()
	change(changed)
	if err := r.Live.Patch(ctx, changed, client.MergeFromWithOptions(kafka, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch Kafka %s/%s: %w", kafka.Namespace, kafka.Name, err)
	}
	r.kafkas.Note(kafka, changed)
	kafka.ObjectMeta = changed.ObjectMeta
	return nil
}

func (r *Reconciler) removeFinalizer(ctx context.Context, kafka *v1.Kafka) error {
	if !controllerutil.ContainsFinalizer(kafka, v1.FinalizerStretch) {
		return nil
	}
	return client.IgnoreNotFound(r.patchKafka(ctx, kafka, func(k *v1.Kafka) { controllerutil.RemoveFinalizer(k, v1.FinalizerStretch) }))
}
