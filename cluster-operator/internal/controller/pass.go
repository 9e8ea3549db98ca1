package controller

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// pass is one reconciliation of one Kafka. Its steps hand values to each other.
type pass struct {
	*Reconciler
	kafka *v1.Kafka
	log   logr.Logger

	// pools are the KafkaNodePools of the Kafka.
	pools map[string]*v1.KafkaNodePool
	// sites are the Kubernetes clusters that can be read, home first.
	sites  []*site
	listed []facts.ListedPod
	input  model.Input

	// The next fields are for stretched Kafkas. forgotten reports that the Kafka has nodes elsewhere although its object does not mention
	// them.
	forgotten bool
	// away are the clusters that can't be read or written now, by id, and remembered are the nodes that they had when last read.
	away       map[string]away
	remembered []topology.Node
	record     record
	owner      ownership.Owner
	// planned reports that all objects are known that the network provider wants.
	planned bool
	// hold are nodes that can't be started yet, because nodes in other Kubernetes clusters would not reach them or be reached.
	hold map[int32]string
	// custom are the listeners with certificates from users, and refused are the reasons why nodes don't get some of these: they keep their
	// previous ones.
	custom  []pki.Listener
	refused []error
	// plan is what is to become of certificates, and secrets holds the Secrets of the PKI in the home cluster, by name.
	plan    pki.Result
	secrets map[string]*corev1.Secret
	// rendered is what nodes are made from, by Kubernetes cluster.
	rendered map[*site]model.Result

	// mu guards the fields below: steps run in several Kubernetes clusters concurrently.
	mu sync.Mutex
	// status is filled in as facts become known, and next is after how long to requeue, 0 for the next interval.
	status status.Input
	next   time.Duration
	// figures are for the metrics.
	figures metrics.Kafka
}

// run carries out the pass. Each step needs those before it; the first that fails ends it, and what exists stays.
func (p *pass) run(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
		// renew reports that certificates are renewed though the step fails: it is known what exists, and that it is the Kafka's.
		renew bool
	}{
		{"read what exists", p.read, false},
		{"accept storage", p.acceptStorage, true},
		{"assign nodes", p.assign, true},
		{"validate", p.validate, true},
		{"size of StrimziPodSets", p.checkSizes, true},
		{"write pool statuses", p.writePools, false},
		{"claim other Kubernetes clusters", p.claim, false},
		{"services", p.services, true},
		{"certificate authorities", p.authorities, false},
		{"render nodes", p.render, true},
		{"certificates", p.certificates, false},
		{"nodes", p.nodes, true},
		{"placement", p.warnOfWaiting, false},
		{"entity operator", p.entityOperator, false},
		{"remove what is not wanted", p.prune, false},
		{"release other Kubernetes clusters", p.release, false},
		{"brokers", p.brokers, false},
		{"certificates of listeners", p.reportRefused, false},
	} {
		if err := step.do(ctx); err != nil {
			err = fmt.Errorf("%s: %w", step.name, err)
			if step.renew {
				err = p.renewDespite(ctx, err)
			}
			return err
		}
	}
	return nil
}

// read reads the live objects of the Kafka.
func (p *pass) read(ctx context.Context) error {
	if err := p.readSites(ctx); err != nil {
		return err
	}
	if err := p.checkFirst(); err != nil {
		return err
	}
	if err := p.checkHome(); err != nil {
		return err
	}
	if err := p.checkNamesakes(); err != nil {
		return err
	}
	if err := p.keepLeft(ctx); err != nil {
		return err
	}
	p.status.Sets = p.podSets()
	p.warnOfDeletions()
	p.input = model.Input{Kafka: p.kafka, Pools: maps.Clone(p.pools), Settings: p.Settings, Version: p.version()}
	if p.stretched() && p.Stretching != nil {
		p.input.Stretch = &model.Stretch{Central: p.Stretching.Central, Peers: p.record.Peers}
	}
	p.warnOfLeft()
	p.input.MetadataVersion = p.kafka.Spec.Kafka.MetadataVersion
	if p.input.MetadataVersion == "" {
		p.input.MetadataVersion = model.MetadataVersionOf(p.input.Version)
	}
	p.input.Sets = map[string]*podset.StrimziPodSet{}
	for _, set := range p.podSets() {
		p.input.Sets[set.Name] = set
	}
	p.status.Version, p.status.MetadataVersion = p.input.Version, p.kafka.Status.KafkaMetadataVersion // as long as Kafka reports no other one
	return p.identify()
}

// readSites reads what the Kafka has in each Kubernetes cluster.
func (p *pass) readSites(ctx context.Context) (err error) {
	name := client.ObjectKeyFromObject(p.kafka)
	if p.pools, err = p.readPools(ctx, name); err != nil {
		return err
	}
	home := &site{cluster: topology.Home, cache: p.Cache, live: p.Live, owner: model.Owner(p.kafka)}
	if err := p.readSite(ctx, home); err != nil {
		return err
	}
	p.figures = figuresOf(home.facts, p.kafka)
	return p.readRemotes(ctx)
}

// readSite reads what the Kafka has in a Kubernetes cluster.
func (p *pass) readSite(ctx context.Context, s *site) (err error) {
	s.kept = map[facts.Key]bool{}
	if s.facts, err = facts.Read(ctx, s.cache, client.ObjectKeyFromObject(p.kafka)); err != nil {
		return err
	}
	for key, o := range s.facts.Objects {
		if ownership.Copy(o, key.Kind) || key.Kind == "StrimziPodSet" && !p.ours(s, o) {
			delete(s.facts.Objects, key) // it does not say anything about this Kafka's nodes
		}
	}
	listed, err := s.facts.Listed(s.cluster)
	p.sites, p.listed = append(p.sites, s), append(p.listed, listed...)
	return err
}

// ours reports whether a StrimziPodSet is the Kafka's. One that is marked stays so though its anchor was deleted by hand: its nodes run.
func (p *pass) ours(s *site, set client.Object) bool {
	proven := ownedBy(set, s.owner.UID)
	if s.cluster == topology.Home {
		return proven
	}
	live := ownership.Read(set, "StrimziPodSet")
	live.Terminating = false // a set that is being deleted still lists the nodes that exist
	return ownership.Decide(&live, p.owner, ownership.Facts{Proven: proven}).Writes()
}

// version returns the desired version of Kafka. Without one in the spec, the current version stays: the default of a newer operator must
// not restart nodes.
func (p *pass) version() string {
	if v := p.kafka.Spec.Kafka.Version; v != "" {
		return v
	}
	for _, set := range p.podSets() {
		if v := set.Annotations[v1.AnnotationKafkaVersion]; v != "" {
			return v
		}
	}
	return p.DefaultVersion
}

// knownID returns the id of the Kafka cluster from the status of the Kafka or of a KafkaNodePool, or "" if none has it.
func (p *pass) knownID() string {
	id := p.kafka.Status.ClusterID
	for _, pool := range p.pools {
		selector := pool.Status.LabelSelector // names the Kafka that the status is of: the pool may have been another one's
		if id == "" && (selector == "" || strings.HasPrefix(selector, v1.LabelCluster+"="+p.kafka.Name+",")) {
			id = pool.Status.ClusterID
		}
	}
	return id
}

// identify finds the id of the Kafka cluster: what a status or a volume holds, else a random one, which is in the status before anything is
// made.
func (p *pass) identify() error {
	id := p.knownID()
	volumes := map[string]string{}
	for _, s := range p.sites {
		for key, o := range s.facts.Objects {
			if of := o.GetAnnotations()[model.AnnotationClusterID]; key.Kind == "PersistentVolumeClaim" && of != "" {
				volumes[of] = key.Name
			}
		}
	}
	if id == "" && len(volumes) > 1 {
		return stalled("ConflictingVolumes", "the PersistentVolumeClaims of Kafka %s/%s belong to different Kafka clusters (%v): "+
			"delete those that are not needed, or name the right cluster in the annotation %s of all of them", p.kafka.Namespace, p.kafka.Name,
			volumes, model.AnnotationClusterID)
	}
	for of := range volumes {
		if id == "" {
			id = of
		}
	}
	if id == "" {
		random := make([]byte, 16)
		if _, err := rand.Read(random); err != nil {
			return err
		}
		id = strings.TrimLeft(base64.RawURLEncoding.EncodeToString(random), "-")
		id += strings.Repeat("0", 22-len(id))
	}
	p.input.ClusterID, p.status.ClusterID = id, id
	for _, s := range p.sites {
		s.applier = &apply.Applier{Client: s.live, Kafka: p.kafka.Name, UID: s.owner.UID, ClusterID: id}
	}
	return nil
}

// assign decides which nodes there are. What brokers hold is asked only if one is to go.
func (p *pass) assign(ctx context.Context) error {
	in := topology.Input{
		Namespace: p.kafka.Namespace, Name: p.kafka.Name, Force: p.forced(),
	}
	for _, s := range p.sites {
		in.Volumes = append(in.Volumes, s.facts.Volumes(p.kafka.Name)...)
	}
	for _, l := range p.listed {
		in.Running = append(in.Running, l.Node)
	}
	in.Running = append(in.Running, p.remembered...)
	for id := range p.away {
		in.Away = append(in.Away, id)
		in.Volumes = append(in.Volumes, p.record.Clusters[id].Volumes...)
	}
	slices.Sort(in.Away)
	for _, pool := range p.input.Pools {
		in.Pools = append(in.Pools, topology.PoolSpec{
			Name: pool.Name, Cluster: p.target(pool), Replicas: pool.Spec.Replicas, Roles: rolesOf(pool), Known: pool.Status.NodeIDs,
			NextIDs: pool.Annotations[v1.AnnotationNextNodeIDs], RemoveIDs: pool.Annotations[v1.AnnotationRemoveNodeIDs],
		})
	}
	if err := checkSize(in.Pools); err != nil {
		return err
	}
	t, err := topology.Assign(in)
	if err != nil {
		return stalled("InvalidResourceException", "%s", err)
	}
	p.input.Topology = t
	if blocked := p.blockedBrokers(); len(blocked) > 0 && !in.Force {
		if in.Holdings, err = p.holdings(ctx, blocked); err == nil {
			if p.input.Topology, err = topology.Assign(in); err != nil {
				return err
			}
		}
	}
	t = p.input.Topology
	p.status.Topology = &p.input.Topology
	if p.cordons() {
		p.input.Cordon.Brokers = p.emptied()
	}
	for _, b := range t.Blocked {
		p.warnOf(b.Pool, "ScaleDownPreventionCheck", b.Message)
		p.requeueAfter(time.Minute) // nothing reports that a broker is empty now
	}
	for _, note := range t.Notes {
		p.warnOf(note.Pool, "InvalidAnnotation", note.Message)
	}
	p.warnOfPlacement()
	return nil
}

// blockedBrokers returns the brokers that must not change unless they are empty.
func (p *pass) blockedBrokers() []int32 {
	var brokers []int32
	for _, b := range p.input.Topology.Blocked {
		for _, l := range p.listed {
			if l.Node.Roles.Broker && slices.Contains(b.Nodes, l.Node.ID) {
				brokers = append(brokers, l.Node.ID)
			}
		}
	}
	return brokers
}

// warnOfPlacement names what makes the loss of one Kubernetes cluster an outage of a stretched Kafka, or a loss of data.
func (p *pass) warnOfPlacement() {
	if p.input.Stretch == nil || p.kafka.Annotations[v1.AnnotationStretch] != "true" {
		return
	}
	controllers := p.input.Topology.Controllers()
	in := map[string]int{}
	for _, n := range controllers {
		in[n.Cluster]++
	}
	for _, cluster := range slices.Sorted(maps.Keys(in)) {
		if left := len(controllers) - in[cluster]; left <= len(controllers)/2 {
			p.warn("QuorumTopology", fmt.Sprintf("%d of %d controllers are in cluster '%s': without it the others have no majority, and Kafka "+
				"stops. Spread the controllers evenly over at least three clusters", in[cluster], len(controllers), p.clusterID(cluster)))
		}
	}
	if rack := p.kafka.Spec.Kafka.Rack; rack != nil {
		p.warn("StretchRack", fmt.Sprintf("Kafka spreads replicas over the values of %s (.spec.kafka.rack) and not over the Kubernetes "+
			"clusters: if two clusters have the same value, all replicas of a partition may be in one cluster. Give each cluster its own "+
			"values, or remove .spec.kafka.rack", rack.TopologyKey))
	}
}

// mostNodes is how many nodes a Kafka can have. The largest that is measured has 300.
const mostNodes = 1000

// checkSize refuses a number of nodes that is most likely a typing error, and would take long to work out.
func checkSize(pools []topology.PoolSpec) error {
	var all int64
	for _, pool := range pools {
		all += int64(pool.Replicas)
	}
	if all > mostNodes {
		return stalled("InvalidResourceException", "the KafkaNodePools have %d replicas together, and a Kafka can have at most %d nodes: "+
			"correct .spec.replicas", all, mostNodes)
	}
	return nil
}

// emptied returns the brokers that are removed, or lose the broker role, once they are empty. It skips removed pools: the removal may be a
// mistake, and the pool may have all brokers of the cluster.
func (p *pass) emptied() []int32 {
	var brokers []int32
	for _, t := range p.input.Topology.Pools {
		pool := p.pools[t.Name]
		if pool == nil {
			continue
		}
		wanted := rolesOf(pool)
		for _, n := range t.Nodes {
			leaves := n.Leaving && !n.Roles.Controller // a voter can't be removed, whether it holds replicas or not
			changes := !n.Leaving && !wanted.Broker && n.Roles.Controller == wanted.Controller
			if n.Roles.Broker && (leaves || changes) {
				brokers = append(brokers, n.ID)
			}
		}
	}
	return brokers
}

func rolesOf(pool *v1.KafkaNodePool) topology.Roles {
	return topology.Roles{
		Controller: slices.Contains(pool.Spec.Roles, v1.RoleController),
		Broker:     slices.Contains(pool.Spec.Roles, v1.RoleBroker),
	}
}

func (p *pass) warn(reason, message string) { p.warnOf("", reason, message) }

// warnOf is warn for what is about one KafkaNodePool, which shows it as well.
func (p *pass) warnOf(pool, reason, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Warnings = append(p.status.Warnings, status.Problem{Reason: reason, Message: message, Pool: pool})
}

// waits notes what a node of a pool waits for.
func (p *pass) waits(pool, format string, args ...any) {
	p.status.Waiting = append(p.status.Waiting, status.Wait{Pool: pool, Message: fmt.Sprintf(format, args...)})
}

// requeueAfter has the next pass follow after a while at the latest.
func (p *pass) requeueAfter(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == 0 || d < p.next {
		p.next = d
	}
}

// at returns the input for the objects of one Kubernetes cluster.
func (p *pass) at(s *site) model.Input {
	in := p.input
	in.At, in.Owner = s.cluster, s.owner
	return in
}

// apply applies a desired object in a Kubernetes cluster, and protects it from pruning.
func (p *pass) apply(ctx context.Context, s *site, wanted client.Object) error {
	_, err := p.applyOver(ctx, s, wanted, s.facts.Objects[facts.KeyOf(wanted)])
	return err
}

// applyOver is apply for an object of which more is known than what was read.
func (p *pass) applyOver(ctx context.Context, s *site, wanted, live client.Object) (apply.Outcome, error) {
	key := facts.KeyOf(wanted)
	s.kept[key] = true
	if s.owner.UID == "" {
		return "", fmt.Errorf("%s %s can't be created in cluster %s: nothing would own it there", key.Kind, key.Name, s.cluster)
	}
	outcome, err := s.applier.Apply(ctx, wanted, live)
	if foreign := (*apply.ForeignError)(nil); asForeign(err, &foreign) {
		return "", &Failure{Problem: status.Problem{Reason: "ObjectNotOwned", Message: foreign.Error()}, Err: err}
	}
	if claim, ok := wanted.(*corev1.PersistentVolumeClaim); ok && live != nil && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) {
		p.warnOf(claim.Labels[podset.LabelPoolName], "PvcResizingWarning", fmt.Sprintf("PVC %s cannot be resized: %v", claim.Name, err))
		return apply.Unchanged, nil
	}
	if err == nil && outcome != apply.Unchanged {
		p.wrote(s, key, outcome)
		if key.Kind == "StrimziPodSet" {
			p.mu.Lock()
			if p.status.Changed == nil {
				p.status.Changed = map[string]bool{}
			}
			p.status.Changed[key.Name] = true
			p.mu.Unlock()
		}
	}
	return outcome, err
}

// wrote logs, counts and records what was done to an object.
func (p *pass) wrote(s *site, key facts.Key, outcome apply.Outcome) {
	note := fmt.Sprintf("%s %s %s", outcome, key.Kind, key.Name)
	log := p.log.WithValues("name", key.Name)
	if s.cluster != topology.Home {
		note += " in Kubernetes cluster " + s.cluster
		log = log.WithValues("cluster", s.cluster)
	}
	log.Info(string(outcome) + " " + key.Kind)
	p.Metrics.Wrote(key.Kind, string(outcome))
	p.Events.Normal(p.kafka, string(outcome), "Apply", note)
}
