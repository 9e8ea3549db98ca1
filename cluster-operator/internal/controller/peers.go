package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// peers has the network provider make nodes reachable from other Kubernetes clusters, and resolves their endpoints. If the provider fails,
// nodes keep their endpoints and the names in their certificates.
func (p *pass) peers(ctx context.Context) error {
	if p.input.Stretch == nil {
		return nil
	}
	found, err := p.resolve(ctx, p.request(ctx))
	if failure, is := errors.AsType[*Failure](err); isStale(err) || is && failure.Stalled {
		return err // that was not the provider
	}
	if err != nil {
		p.warn("NetworkProviderFailed", fmt.Sprintf("Network provider %s failed, so nodes keep their addresses: %v",
			p.Stretching.ProviderName, err))
		found = map[int32]model.Found{}
		p.requeueAfter(time.Minute) // no event reports that it works again
	}
	p.planned = err == nil && p.allReached(found)
	for _, n := range p.input.Topology.Nodes() {
		found[n.ID] = p.withKnown(n, found[n.ID])
	}
	reach := model.ResolvePeers(p.kafka, p.input.Topology.Nodes(), p.record.Peers, found)
	p.input.Stretch.Peers, p.input.Stretch.Names = reach.Peers, reach.Names
	p.rememberPeers(reach)
	if p.ending() {
		p.input.Stretch.Ending = true
		return nil
	}
	p.delayed = reach.Delayed
	p.holdFirstElsewhere()
	for _, waits := range reach.Waits {
		p.log.Info("Nodes wait for addresses", "waitsFor", waits)
	}
	return nil
}

// withKnown adds what the operator itself knows of a node to where the provider found it.
func (p *pass) withKnown(n topology.Node, f model.Found) model.Found {
	if names := p.record.Names[n.ID]; f.Endpoints == nil && names != nil {
		f.Names = names // without one of them, the node would get another certificate, and be restarted
	}
	// A node in a cluster that is away was started only if the record has its addresses.
	f.Exists = p.listing(n) != nil || p.record.Peers[n.ID] != nil &&
		slices.ContainsFunc(p.remembered, func(r topology.Node) bool { return r.ID == n.ID })
	f.Certified, f.Hint = p.certified(n, f.Endpoints), p.ifRemoved(n)
	if f.Waits == "" {
		f.Waits = fmt.Sprintf("the address of node %d is unknown", n.ID)
	}
	return f
}

// allReached reports whether the provider found the endpoints of all nodes that exist. Without them, it may have planned too little.
func (p *pass) allReached(found map[int32]model.Found) bool {
	exist := p.existingIDs()
	return !slices.ContainsFunc(p.input.Topology.Nodes(), func(n topology.Node) bool {
		return exist[n.ID] && p.site(n.Cluster) != nil && found[n.ID].Endpoints == nil
	})
}

// holdFirstElsewhere delays the first brokers in other Kubernetes clusters until all controllers run with addresses that these reach: the
// active one tells brokers its own address. It would be restarted last, after brokers that wait for it.
func (p *pass) holdFirstElsewhere() {
	if p.startedElsewhere() {
		return
	}
	why := ""
	for _, n := range p.existing() {
		if n.Cluster == topology.Home && n.Roles.Controller && p.started(n) && !p.reachable(n) {
			why = fmt.Sprintf("controller %d to be restarted with its address for other clusters", n.ID) + p.ifRemoved(n)
		}
	}
	for _, n := range p.input.Topology.Nodes() {
		if why != "" && n.Cluster != topology.Home && !n.Roles.Controller && p.delayed[n.ID] == "" {
			p.delayed[n.ID] = why
		}
	}
}

// ifRemoved says what a node waits for that stays as it is because its pool was removed; "" if it was not.
func (p *pass) ifRemoved(n topology.Node) string {
	if p.pools[n.Pool] != nil {
		return ""
	}
	return fmt.Sprintf(" (KafkaNodePool %s was removed: create it again)", n.Pool)
}

// startedElsewhere reports whether a node in another Kubernetes cluster was ever started, as far as is known. The record of a cluster
// that is away also lists nodes that wait; controllers never do.
func (p *pass) startedElsewhere() bool {
	return slices.ContainsFunc(p.existing(), func(n topology.Node) bool {
		return n.Cluster != topology.Home && (n.Roles.Controller && p.site(n.Cluster) == nil || p.started(n))
	})
}

// started reports whether a node in a Kubernetes cluster that can be read was started. A volume alone may be from before the Kafka was last
// in one Kubernetes cluster.
func (p *pass) started(n topology.Node) bool {
	return p.listing(n) != nil || p.pod(n) != nil || p.config(n) != nil
}

// reachable reports whether a controller was started with the addresses that the record has. Its StrimziPodSet is written after its
// ConfigMap: until the set has the hash of that, the pod is only up to date with what was wanted before.
func (p *pass) reachable(n topology.Node) bool {
	config, pod, listed := p.config(n), p.pod(n), p.listing(n)
	return config != nil && pod != nil && listed != nil && !core.Outdated(pod, listed) &&
		listed.Annotations[core.AnnotationConfigHash] == core.ConfigHash(config.Data[core.ConfigMapServerConfig]) &&
		maps.Equal(model.PeersIn(config), p.record.Peers[n.ID])
}

// listing returns the pod of a node as a StrimziPodSet lists it; nil if none does.
func (p *pass) listing(n topology.Node) *corev1.Pod {
	for _, l := range p.listed {
		if l.Node.ID == n.ID {
			return l.Pod
		}
	}
	return nil
}

// restorePeers takes what nodes advertise to each other, and the names in their certificates, from their ConfigMaps if the record is lost:
// an address that can't be resolved now must not change on nodes that run.
func (p *pass) restorePeers() {
	if p.record.Provider != "" { // each record that was written has it
		return
	}
	p.record.Peers, p.record.Names = model.Peers{}, map[int32][]string{}
	for _, l := range p.listed {
		config := p.site(l.Node.Cluster).facts.ConfigMap(l.Pod.Name)
		if at := model.PeersIn(config); at != nil {
			p.record.Peers[l.Node.ID] = at
		}
		if names := model.NamesIn(config); names != nil {
			p.record.Names[l.Node.ID] = names
		}
	}
}

// ending reports whether all nodes are at home again, and the user does not want the Kafka stretched any more. Of a Kubernetes cluster that
// is away, the record tells whether it has nodes: without one, no pass gets here.
func (p *pass) ending() bool {
	elsewhere := slices.ContainsFunc(p.input.Topology.Nodes(), func(n topology.Node) bool { return n.Cluster != topology.Home })
	return p.kafka.Annotations[v1.AnnotationStretch] != "true" && !elsewhere && len(p.remembered) == 0
}

// certified reports whether the certificate that a node serves is for its endpoints.
func (p *pass) certified(n topology.Node, at map[string]model.Endpoint) bool {
	var names []string
	for _, e := range at {
		names = append(names, e.Host)
	}
	pod := p.pod(n)
	hash, all := pki.Certifies(p.home().facts.Secret(p.podName(n)), p.podName(n), names)
	return all && pod != nil && pod.Annotations[core.AnnotationServerCertHash] == hash
}

// clusterID returns the id by which users name a Kubernetes cluster.
func (p *pass) clusterID(cluster string) string {
	if cluster == topology.Home {
		return p.Stretching.Central
	}
	return cluster
}

// clusterOf returns the Kubernetes cluster that users name by an id.
func (p *pass) clusterOf(id string) string {
	if id == p.Stretching.Central {
		return topology.Home
	}
	return id
}
