package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// record is the known state of the other Kubernetes clusters. It is written before the first object is created there, and replaces the live
// state of a cluster that is away.
type record struct {
	// Clusters are the Kubernetes clusters with nodes of the Kafka, or volumes of nodes, by id.
	Clusters map[string]recorded `json:"clusters"`
	// Peers are the endpoints that nodes advertise, and Provider is the network provider that made them.
	Peers    model.Peers `json:"peers"`
	Provider string      `json:"provider"`
	// Central is the id of the central cluster.
	Central string `json:"central,omitempty"`
	// Names are the names from the network provider in the certificates of nodes.
	Names map[int32][]string `json:"names,omitempty"`
	// Planned are the planned objects of kinds that the operator itself does not create.
	Planned []planned `json:"planned,omitempty"`
	// Owner and Epoch are the identity under which the Kafka owns objects there, in case the annotations of the Kafka object are lost.
	Owner string `json:"owner,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
	// Kafka is the uid of the Kafka object that this is the record of.
	Kafka types.UID `json:"kafka,omitempty"`
	// Before are the uids of earlier Kafka objects of this name here with whose objects this one continues.
	Before []types.UID `json:"before,omitempty"`
	// Claiming reports that not all anchors were made since the record was begun. Nothing else is made meanwhile.
	Claiming bool `json:"claiming,omitempty"`
}

type recorded struct {
	// Identity is the uid of the Kubernetes cluster, independent of the id that users give it.
	Identity types.UID `json:"identity,omitempty"`

	Nodes   []topology.Node   `json:"nodes"`
	Volumes []topology.Volume `json:"volumes"`
	// Listeners are what the nodes there advertise on listeners, and Bootstrap is where clients of these begin there.
	Listeners map[string]map[int32]model.Endpoint `json:"listeners,omitempty"`
	Bootstrap map[string][]model.Endpoint         `json:"bootstrap,omitempty"`
}

const recordKey = "record.json"

// reasonRecord is that of a Kafka whose record can't be used.
const reasonRecord = "StretchRecordInvalid"

// recordMap is the ConfigMap with the record, nil if there is none.
func (p *pass) recordMap() *corev1.ConfigMap {
	return p.home().facts.ConfigMap(model.RecordName(p.kafka.Name))
}

// readRecord reads the record of the passes before; there is none for a Kafka that was in one Kubernetes cluster so far.
func (p *pass) readRecord() (record, error) {
	r := record{Clusters: map[string]recorded{}}
	c := p.recordMap()
	if c == nil || c.Data[recordKey] == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(c.Data[recordKey]), &r); err != nil {
		return r, stalled(reasonRecord,
			"ConfigMap %s/%s can't be read (%s): restore its %s, which lists what the Kafka has in other Kubernetes clusters",
			p.kafka.Namespace, c.Name, err, recordKey)
	}
	if r.Kafka == "" && r.Provider != "" && apply.OwnedBy(c, p.kafka.UID) { // an earlier version wrote it; one without a provider was emptied
		r.Kafka = p.kafka.UID
	}
	return r, nil
}

// checkRecord fails if the record is older than the nodes, because somebody restored it, while a Kubernetes cluster is away: nothing else
// tells of the nodes there, and the voters and addresses that the others are configured with would change. voters are those.
func (p *pass) checkRecord(voters []int32) error {
	if p.input.Stretch == nil || len(p.away) == 0 {
		return nil
	}
	why := p.whyOldRecord(voters)
	if why == "" {
		return nil
	}
	return &Failure{Problem: problemf(reasonRecord, "ConfigMap %s/%s is older than the nodes of the Kafka: it does not have %s. Restore its "+
		"newest %s. The operator changes no node until then, or until it can read %s", p.kafka.Namespace, model.RecordName(p.kafka.Name), why,
		recordKey, quoted(slices.Sorted(maps.Keys(p.away)))), Err: fmt.Errorf("the record lacks %s", why)}
}

// whyOldRecord returns what nodes are configured with, and neither the record nor anything else tells of; "" for nothing.
func (p *pass) whyOldRecord(voters []int32) string {
	exists := p.existingIDs()
	for _, pool := range p.input.Pools {
		if _, away := p.away[p.target(pool)]; !away {
			for _, id := range p.knownIDs(pool) {
				exists[id] = true // or is made again
			}
		}
	}
	for _, id := range voters {
		if !exists[id] {
			return fmt.Sprintf("controller %d", id)
		}
	}
	for _, l := range p.listed {
		if p.record.Peers[l.Node.ID] == nil && len(model.PeersIn(p.config(l.Node))) > 0 {
			return fmt.Sprintf("the address of node %d", l.Node.ID)
		}
	}
	return ""
}

// recall fills remembered with the nodes in the Kubernetes clusters that are away, as the record last listed them.
func (p *pass) recall() {
	p.remembered = nil
	for _, id := range slices.Sorted(maps.Keys(p.away)) {
		p.remembered = append(p.remembered, p.record.Clusters[id].Nodes...)
	}
}

// writeRecord writes what the other Kubernetes clusters hold, or will hold. An unreachable cluster keeps its last
// record.
func (p *pass) writeRecord(ctx context.Context) error {
	p.forgetAddresses()
	next := record{Clusters: map[string]recorded{}, Peers: p.record.Peers, Names: p.record.Names,
		Provider: p.Stretching.ProviderName, Central: p.Stretching.Central, Owner: p.owner.ID, Epoch: p.owner.Epoch, Kafka: p.kafka.UID,
		Before: p.record.Before, Claiming: p.record.Claiming}
	for id := range p.away {
		if r, known := p.record.Clusters[id]; known {
			next.Clusters[id] = r
		}
	}
	for _, s := range p.sites {
		r := p.record.Clusters[s.cluster]
		r.Nodes, r.Volumes = p.input.Topology.In(s.cluster), s.facts.Volumes(p.kafka.Name)
		if s.cluster != topology.Home {
			r.Identity = s.member.Status().Identity
		}
		if s.cluster != topology.Home && (len(r.Nodes) > 0 || len(r.Volumes) > 0 || p.hosts(s.cluster) || s.anchor != nil) {
			next.Clusters[s.cluster] = r
		}
	}
	for _, o := range p.record.Planned {
		if _, known := next.Clusters[o.Cluster]; known || o.Cluster == topology.Home {
			next.Planned = append(next.Planned, o) // elsewhere it goes with the anchor
		}
	}
	p.record = next
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return p.apply(ctx, p.home(), model.Record(p.at(p.home()), map[string]string{recordKey: string(text)}))
}

// rememberPeers records how nodes reach each other. A node that leaves keeps what it has while it exists: the pass may end before it is
// removed, and an address that nodes have and the record lacks is taken for one that a restored record lost.
func (p *pass) rememberPeers(reach model.Reach) {
	peers, names := maps.Clone(reach.Peers), maps.Clone(reach.Names)
	for id := range p.existingIDs() {
		if was := p.record.Peers[id]; was != nil && peers[id] == nil {
			peers[id], names[id] = was, p.record.Names[id]
		}
	}
	p.record.Peers, p.record.Names = peers, names
}

// forgetAddresses forgets the addresses of nodes that are gone: a later node of the same id, in another place, does not take them over.
func (p *pass) forgetAddresses() {
	stays := p.existingIDs()
	for _, n := range p.input.Topology.Nodes() {
		stays[n.ID] = stays[n.ID] || n.Cluster == topology.Home || slices.ContainsFunc(p.record.Clusters[n.Cluster].Nodes,
			func(was topology.Node) bool { return was.ID == n.ID && was.Pool == n.Pool })
	}
	maps.DeleteFunc(p.record.Peers, func(id int32, _ map[string]model.Endpoint) bool { return !stays[id] })
	maps.DeleteFunc(p.record.Names, func(id int32, _ []string) bool { return !stays[id] })
}

// rememberEndpoints records the addresses of listeners in each remote Kubernetes cluster, and restores those of clusters that are away:
// clients may still reach them, and certificates must not change.
func (p *pass) rememberEndpoints(world model.World) {
	for _, s := range p.sites {
		r, known := p.record.Clusters[s.cluster]
		if !known {
			continue
		}
		in := p.input
		in.Topology.Pools = slices.DeleteFunc(slices.Clone(in.Topology.Pools), func(t topology.Pool) bool { return t.Cluster != s.cluster })
		there := model.ResolveEndpoints(in, model.World{
			Services: map[string]map[string]*corev1.Service{s.cluster: world.Services[s.cluster]}, KubernetesNodes: world.KubernetesNodes,
			Configs: world.Configs, Now: world.Now, AddressTimeout: world.AddressTimeout,
		})
		r.Listeners = there.Listeners
		if s.unread == nil { // else where clients begin is unknown
			r.Bootstrap = there.Bootstrap
		} else {
			p.restoreBootstrap(r)
		}
		p.record.Clusters[s.cluster] = r
	}
	for id := range p.away {
		r := p.record.Clusters[id]
		for listener, at := range r.Listeners {
			if p.input.Endpoints.Listeners[listener] != nil {
				maps.Copy(p.input.Endpoints.Listeners[listener], at)
			}
		}
		p.restoreBootstrap(r)
	}
}

// restoreBootstrap restores where clients of listeners begin in a Kubernetes cluster, as it was last known.
func (p *pass) restoreBootstrap(r recorded) {
	for listener, at := range r.Bootstrap {
		for _, e := range at {
			if _, wanted := p.input.Endpoints.Bootstrap[listener]; wanted && !slices.Contains(p.input.Endpoints.Bootstrap[listener], e) {
				p.input.Endpoints.Bootstrap[listener] = append(p.input.Endpoints.Bootstrap[listener], e)
			}
		}
	}
}
