package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// peers has the network provider make nodes reachable from other Kubernetes clusters, and resolves their endpoints. If the provider fails,
// nodes keep their endpoints and the names in their certificates.
func (p *pass) peers(ctx context.Context) error {
	if p.input.Stretch == nil {
		return nil
	}
	request := p.request(ctx)
	found, err := p.resolve(ctx, request)
	if failure, is := errors.AsType[*Failure](err); repeated(err) || is && failure.Stalled {
		return err // that was not the provider
	}
	if err != nil {
		p.warn("NetworkProviderFailed", fmt.Sprintf("Network provider %s failed, so nodes keep their addresses: %v",
			p.Stretching.ProviderName, err))
		found = map[int32]model.Found{}
	}
	p.planned = err == nil && p.allReached(found)
	for _, n := range p.input.Topology.Nodes() {
		f := found[n.ID]
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
		found[n.ID] = f
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
// nodes that it was not shown.
func (p *pass) found(n network.Node, info network.Info, resolution network.Resolution) model.Found {
	if s := p.site(p.clusterOf(n.Cluster)); s != nil && s.unread != nil && slices.Contains(info.ObservesIn(n.Cluster), kubernetesNodes) {
		return model.Found{Waits: fmt.Sprintf("the Kubernetes nodes of cluster %s can't be read", n.Cluster)}
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

// carryOut applies the objects that the provider planned, and returns the live objects to show to it.
func (p *pass) carryOut(ctx context.Context, planned []network.Object, info network.Info) (observed []network.Object, err error) {
	err = p.eachHost(func(s *site) error {
		seen, err := p.applyPlanned(ctx, s, planned)
		if err != nil {
			return err
		}
		more, err := p.observe(ctx, s, info)
		s.observed = slices.Concat(seen, more)
		return err
	})
	for _, s := range p.sites {
		observed = append(observed, s.observed...)
	}
	return observed, err
}

// applyPlanned applies what the provider wants in one Kubernetes cluster, and returns what of it exists.
func (p *pass) applyPlanned(ctx context.Context, s *site, planned []network.Object) ([]network.Object, error) {
	id := p.clusterID(s.cluster)
	var observed []network.Object
	for _, o := range planned {
		if o.Cluster != id {
			continue
		}
		wanted := model.Planned(p.at(s), o.Object)
		key := facts.KeyOf(wanted)
		live, err := p.applyOnePlanned(ctx, s, wanted)
		switch {
		case onlyOfObject(err):
			p.warnOfRefused(id, key, err)
		case err != nil:
			return nil, err
		}
		if !facts.Generated(key.Kind) && !meta.IsNoMatchError(err) {
			if err := p.plannedWatches.watch(id, wanted.GroupVersionKind()); err != nil {
				return nil, fmt.Errorf("watch objects of kind %s: %w", key.Kind, err)
			}
		}
		if live != nil {
			seen, err := asUnstructured(live, wanted.GroupVersionKind())
			if err != nil {
				return nil, err
			}
			observed = append(observed, network.Object{Cluster: id, Object: *seen})
		}
	}
	return observed, nil
}

// applyOnePlanned applies an object that the provider planned, and returns what exists of it, also with an error.
func (p *pass) applyOnePlanned(ctx context.Context, s *site, wanted *unstructured.Unstructured) (client.Object, error) {
	key := facts.KeyOf(wanted)
	s.kept[key] = true
	live, err := s.facts.Objects[key], error(nil)
	if live == nil {
		if live, err = s.present(ctx, wanted); err != nil {
			return nil, err
		}
	}
	outcome, err := p.applyOver(ctx, s, wanted, live)
	if err != nil || outcome != apply.Changed && outcome != apply.Created {
		return live, err
	}
	// What it was before, such as a node port that a user changed, leads nowhere any more.
	return s.present(ctx, wanted)
}

// onlyOfObject reports whether an error is an API server's answer about one object, which says nothing about other objects: neither is the
// API server overloaded or out of reach, nor was a cache behind.
func onlyOfObject(err error) bool {
	switch {
	case meta.IsNoMatchError(err):
		return true
	case repeated(err), clusters.IsUnreachable(err), missingNamespace(err) != "", apierrors.IsUnauthorized(err), apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err):
		return false
	}
	_, answered := errors.AsType[*apierrors.StatusError](err)
	return answered
}

// present reads an object from the API server; nil if there is none.
func (s *site) present(ctx context.Context, o *unstructured.Unstructured) (client.Object, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	switch err := s.live.Get(ctx, client.ObjectKeyFromObject(o), live); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return live, nil
}

// warnOfRefused says that an API server refuses a planned object. Only the nodes that it makes reachable wait for it.
func (p *pass) warnOfRefused(cluster string, key facts.Key, err error) {
	p.warn("PlannedObjectRefused", fmt.Sprintf("In cluster '%s': %s %s, which network provider %s planned, was refused: %v. Nodes that run "+
		"keep the address that it gave them, and new ones wait for it", cluster, key.Kind, key.Name, p.Stretching.ProviderName, err))
	p.requeueAfter(time.Minute) // nothing reports what it was refused for
}

// kubernetesNodes is a kind that providers may observe.
var kubernetesNodes = metav1.GroupVersionKind{Version: "v1", Kind: "Node"}

// observe reads the objects that the provider needs from a Kubernetes cluster, in addition to the planned ones. Those of other namespaces
// are not the Kafka's.
func (p *pass) observe(ctx context.Context, s *site, info network.Info) ([]network.Object, error) {
	id := p.clusterID(s.cluster)
	var observed []network.Object
	for _, kind := range info.ObservesIn(id) {
		gvk := schema.GroupVersionKind(kind)
		if kind == kubernetesNodes { // of which there are many: the cache has them
			if s.unread != nil {
				continue
			}
			var nodes corev1.NodeList
			if err := p.noteUnread(s, s.nodes.List(ctx, &nodes)); err != nil {
				return nil, fmt.Errorf("list nodes: %w", err)
			}
			for i := range nodes.Items {
				o, err := asUnstructured(&nodes.Items[i], gvk)
				if err != nil {
					return nil, err
				}
				observed = append(observed, network.Object{Cluster: id, Object: *o})
			}
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		namespaced, err := apiutil.IsGVKNamespaced(gvk, s.live.RESTMapper())
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		var in client.ListOptions
		if namespaced {
			in.Namespace = p.kafka.Namespace
		}
		if err := s.live.List(ctx, list, &in); err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for _, o := range list.Items {
			observed = append(observed, network.Object{Cluster: id, Object: o})
		}
	}
	return observed, nil
}

func asUnstructured(o client.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
