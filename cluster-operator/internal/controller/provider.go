package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// request returns the request to the provider, and remembers the API versions that it names.
func (p *pass) request(ctx context.Context) network.Request {
	r := network.Request{
		Namespace: p.kafka.Namespace, Kafka: p.kafka.Name, Service: model.BrokersService(p.kafka.Name), Known: network.Endpoints{},
	}
	p.served = map[string][]string{}
	for _, n := range p.input.Topology.Nodes() {
		node := network.Node{ID: n.ID, Pod: p.podName(n), Cluster: p.clusterID(n.Cluster)}
		for _, port := range model.PeerPorts(p.kafka, n) {
			node.Ports = append(node.Ports, network.Port(port))
		}
		r.Nodes = append(r.Nodes, node)
		if !slices.ContainsFunc(r.Clusters, func(c network.Cluster) bool { return c.ID == node.Cluster }) {
			p.served[n.Cluster] = p.apiVersions(ctx, n.Cluster)
			r.Clusters = append(r.Clusters, network.Cluster{ID: node.Cluster, APIVersions: p.served[n.Cluster]})
		}
		if at := p.record.Peers[n.ID]; at != nil {
			r.Known[n.ID] = map[string]network.Endpoint{}
			for name, e := range at {
				r.Known[n.ID][name] = network.Endpoint(e)
			}
		}
	}
	slices.SortFunc(r.Clusters, func(a, b network.Cluster) int { return strings.Compare(a.ID, b.ID) })
	return r
}

func (p *pass) apiVersions(ctx context.Context, cluster string) []string {
	if p.Stretching.APIVersions == nil {
		return nil
	}
	if cluster == topology.Home {
		return p.Stretching.APIVersions(ctx, p.Stretching.home())
	}
	s := p.site(cluster)
	if s == nil {
		return nil
	}
	return p.Stretching.APIVersions(ctx, s.member)
}

// resolve applies what the provider plans, and asks it where nodes can be reached.
func (p *pass) resolve(ctx context.Context, r network.Request) (map[int32]model.Found, error) {
	info, err := p.Stretching.Provider.Info(ctx)
	if err == nil {
		err = info.Check("") // it may say something else than at the start
	}
	if err != nil {
		return nil, err
	}
	planned, err := p.askPlan(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := p.rememberPlanned(ctx, planned); err != nil {
		return nil, err
	}
	observed, err := p.carryOut(ctx, planned, info)
	if err != nil {
		return nil, err
	}
	resolution, err := p.Stretching.Provider.Resolve(ctx, r, observed)
	if err != nil {
		return nil, err
	}
	if err := r.CheckResolution(resolution); err != nil {
		return nil, err
	}
	found := map[int32]model.Found{}
	for _, n := range r.Nodes {
		found[n.ID] = p.found(n, info, resolution)
	}
	return found, nil
}

// askPlan returns the objects that the provider wants: none that the operator makes itself.
func (p *pass) askPlan(ctx context.Context, r network.Request) ([]network.Object, error) {
	planned, err := p.Stretching.Provider.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := r.CheckPlan(planned); err != nil {
		return nil, err
	}
	for _, s := range p.sites {
		for _, o := range planned {
			if o.Cluster == p.clusterID(s.cluster) && s.kept[facts.Key{Kind: o.Object.GetKind(), Name: o.Object.GetName()}] {
				return nil, fmt.Errorf("planned %s %s in cluster %s, which the operator creates itself", o.Object.GetKind(),
					o.Object.GetName(), o.Cluster)
			}
		}
	}
	return planned, nil
}

// found returns where a node can be reached by what the provider says. It can't say that of a node whose address depends on Kubernetes
// nodes, or other objects, that it was not shown.
func (p *pass) found(n network.Node, info network.Info, resolution network.Resolution) model.Found {
	switch s := p.site(p.clusterOf(n.Cluster)); {
	case s != nil && s.unread != nil && slices.Contains(info.ObservesIn(n.Cluster), kubernetesNodes):
		return model.Found{Waits: fmt.Sprintf("the Kubernetes nodes of cluster %s can't be read", n.Cluster)}
	case s != nil && s.unobserved != "":
		return model.Found{Waits: fmt.Sprintf("objects of kind %s in cluster %s can't be read", s.unobserved, n.Cluster)}
	}
	f := model.Found{Names: resolution.Names[n.ID], Waits: resolution.Pending[n.ID]}
	if at := resolution.Endpoints[n.ID]; at != nil {
		f.Endpoints = map[string]model.Endpoint{}
		for name, e := range at {
			f.Endpoints[name] = model.Endpoint(e)
		}
	}
	return f
}
