package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// assign decides which nodes there are. What brokers hold is asked only if one is to go.
func (p *pass) assign(ctx context.Context) error {
	in := p.assignment()
	if err := p.checkRecord(in.Voters); err != nil {
		return err
	}
	if err := checkSize(in.Pools); err != nil {
		return err
	}
	if err := p.assignNodes(ctx, in); err != nil {
		return err
	}
	switch unknown, err := p.confirmNewIDs(ctx); {
	case err != nil:
		return err
	case unknown:
		if err := p.checkFirst(); err != nil {
			return err
		}
		return p.assign(ctx)
	}
	if err := p.checkVoters(in.Voters); err != nil {
		return err
	}
	if err := p.checkAssigned(ctx); err != nil {
		return err
	}
	p.status.Topology = &p.input.Topology
	if p.cordons() {
		p.input.Cordon.Brokers = p.emptied()
	}
	p.renewCordons(ctx)
	p.reportAssigned()
	p.warnOfPlacement()
	return nil
}

// assignment returns what the assignment depends on, but for what brokers hold.
func (p *pass) assignment() topology.Input {
	in := topology.Input{
		Namespace: p.kafka.Namespace, Name: p.kafka.Name, Force: p.mayLoseData(), Running: p.existing(), Voters: p.voters(),
	}
	for _, s := range p.sites {
		in.Volumes = append(in.Volumes, p.volumes(s)...)
		for _, claim := range p.others[s.cluster] {
			if id, ok := core.NodeID(claim.Name); ok {
				in.Reserved = append(in.Reserved, id)
			}
		}
	}
	for id := range p.away {
		in.Away = append(in.Away, id)
		in.Volumes = append(in.Volumes, p.record.Clusters[id].Volumes...)
	}
	slices.Sort(in.Away)
	for _, pool := range p.input.Pools {
		in.Pools = append(in.Pools, topology.PoolSpec{
			Name: pool.Name, Cluster: p.target(pool), Replicas: pool.Spec.Replicas, Roles: rolesOf(pool.Spec.Roles), Known: p.knownIDs(pool),
			NextIDs: pool.Annotations[v1.AnnotationNextNodeIDs], RemoveIDs: pool.Annotations[v1.AnnotationRemoveNodeIDs],
		})
	}
	return in
}

// assignNodes assigns the nodes, and again if brokers of others have their ids, or with what brokers hold if that blocks some.
func (p *pass) assignNodes(ctx context.Context, in topology.Input) error {
	t, err := topology.Assign(in)
	if err != nil {
		return stalled(v1.ReasonInvalidConfiguration, "%s", err)
	}
	p.input.Topology = t
	if in.Strays = p.inTheWay(ctx); len(in.Strays) > 0 {
		if p.input.Topology, err = topology.Assign(in); err != nil {
			return err
		}
	}
	blocked := p.blockedBrokers()
	if len(blocked) == 0 || in.Force {
		return nil
	}
	if in.Holdings, _ = p.holdings(ctx, blocked); in.Holdings == nil {
		return nil // they stay blocked, and the log has the error
	}
	p.input.Topology, err = topology.Assign(in)
	return err
}

// reportAssigned warns of blocked brokers, and of annotations that have no effect.
func (p *pass) reportAssigned() {
	for _, b := range p.input.Topology.Blocked {
		p.add(status.Problem{Pool: b.Pool, Reason: blockedReason(b), Message: b.Message, Blocks: true, Stalled: b.Stalled})
		p.requeueAfter(time.Minute) // no event reports that a broker is empty now
	}
	for _, note := range p.input.Topology.Notes {
		p.warnOf(note.Pool, "InvalidAnnotation", note.Message)
	}
}

// inTheWay returns the ids of brokers that run and are none of the Kafka's nodes, if a node that is to be made would have one of these.
// While Kafka does not answer, new nodes do not wait: they may be what it needs to answer.
func (p *pass) inTheWay(ctx context.Context) (strays []int32) {
	made := p.existingIDs()
	if len(made) == 0 {
		return nil
	}
	for _, pool := range p.input.Pools {
		for _, id := range p.knownIDs(pool) {
			made[id] = true // it may have been made, and the cache does not show it yet
		}
	}
	if !slices.ContainsFunc(p.input.Topology.Brokers(), func(n topology.Node) bool { return !made[n.ID] }) {
		return nil
	}
	found, err := p.Kafka.Inspect(ctx, p.connection())
	if err != nil {
		p.log.Info("Kafka did not report which brokers run beside new nodes", "error", err.Error())
		return nil
	}
	for _, b := range found.Brokers {
		if !b.Fenced && !made[b.ID] && !p.hasBroker(b.ID) {
			strays = append(strays, b.ID)
		}
	}
	return strays
}

// confirmNewIDs checks that the ids of new nodes are free by the API servers as well. A cache that is behind does not show each node and
// volume, and then only the status of its pool tells that an id is taken; it does not if the pool was deleted or scaled down. It reports
// whether a Kubernetes cluster did not answer, so that it is unknown which ids are free.
func (p *pass) confirmNewIDs(ctx context.Context) (unknown bool, err error) {
	made := p.existingIDs()
	given := slices.DeleteFunc(p.input.Topology.Nodes(), func(n topology.Node) bool {
		return made[n.ID] || slices.Contains(p.knownIDs(p.input.Pools[n.Pool]), n.ID)
	})
	if len(given) == 0 {
		return false, nil
	}
	asked := len(p.sites)
	err = p.each(func(s *site) error {
		used, err := facts.ReadUsedIDs(ctx, s.live, client.ObjectKeyFromObject(p.kafka))
		if err != nil {
			return fmt.Errorf("check that the ids of new nodes are free: %w", err)
		}
		shown := s.shown.UsedIDs()
		for use := range used {
			if !shown[use] && slices.ContainsFunc(given, func(n topology.Node) bool { return n.ID == use.ID }) {
				return fmt.Errorf("%s %s uses node ID %d: %w", use.By.Kind, use.By.Name, use.ID, errBehind)
			}
		}
		return nil
	})
	return len(p.sites) < asked, err
}

// checkAssigned refuses nodes that would lack what nodes of before had.
func (p *pass) checkAssigned(ctx context.Context) error {
	if err := p.checkRemoved(); err != nil {
		return err
	}
	if err := p.checkUnusedVolumes(); err != nil {
		return err
	}
	return p.checkFirstVoters(ctx)
}

func blockedReason(b topology.Blocked) string {
	if b.ScaleUp {
		return v1.ReasonScaleUpPrevented
	}
	return v1.ReasonScaleDownPrevented
}

// blockedBrokers returns the brokers that must not change unless they are empty.
func (p *pass) blockedBrokers() []int32 {
	var brokers []int32
	for _, b := range p.input.Topology.Blocked {
		for _, n := range p.existing() {
			if n.Roles.Broker && slices.Contains(b.Nodes, n.ID) {
				brokers = append(brokers, n.ID)
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
	if rack := p.kafka.Spec.Kafka.Rack; rack != nil && p.kafka.Annotations[v1.AnnotationStretchRack] == "" {
		p.warn("StretchRack", fmt.Sprintf("Kafka spreads replicas over the values of %s (.spec.kafka.rack) and not over the Kubernetes "+
			"clusters: if two clusters have the same value, all replicas of a partition may be in one cluster. Give each cluster its own "+
			"values, or remove .spec.kafka.rack. If that is wanted, annotate the Kafka with %s", cmp.Or(rack.TopologyKey, rack.EnvVarName),
			v1.AnnotationStretchRack))
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
// mistake, and the pool may have all brokers of the cluster. It returns none if these are all brokers: new topics need some.
func (p *pass) emptied() []int32 {
	var brokers []int32
	for _, t := range p.input.Topology.Pools {
		pool := p.pools[t.Name]
		if pool == nil {
			continue
		}
		wanted := rolesOf(pool.Spec.Roles)
		for _, n := range t.Nodes {
			leaves := n.Leaving && !n.Roles.Controller // a voter can't be removed, whether it holds replicas or not
			changes := !n.Leaving && !wanted.Broker && n.Roles.Controller == wanted.Controller
			if n.Roles.Broker && (leaves || changes) {
				brokers = append(brokers, n.ID)
			}
		}
	}
	if len(brokers) == len(p.input.Topology.Brokers()) {
		return nil
	}
	return brokers
}

func rolesOf(roles []v1.ProcessRole) topology.Roles {
	return topology.Roles{Controller: slices.Contains(roles, v1.RoleController), Broker: slices.Contains(roles, v1.RoleBroker)}
}
