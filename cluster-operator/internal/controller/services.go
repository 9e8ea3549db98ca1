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
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/removal"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// services makes the Services that are missing, and the Ingresses that lead to them, and finds out where nodes can be reached. Those that
// exist are changed together with the nodes: see changeServices.
func (p *pass) services(ctx context.Context) error {
	if err := p.eachHost(func(s *site) error { return p.makeEntrances(ctx, s) }); err != nil {
		return err
	}
	world, err := p.world(ctx)
	if err != nil {
		return err
	}
	if err := p.peers(ctx); err != nil {
		return err
	}
	p.input.Endpoints = model.ResolveEndpoints(p.input, world)
	p.input.Endpoints.Keep = map[int32]bool{}
	p.keepUnaddressed()
	p.keepReplaced()
	p.keepAwaiting(world)
	maps.Copy(p.input.Endpoints.Delayed, p.delayed)
	if p.input.Stretch != nil {
		p.rememberEndpoints(world)
		if err := p.writeRecord(ctx); err != nil {
			return err
		}
	}
	p.status.Endpoints = &p.input.Endpoints
	for _, listener := range slices.Sorted(maps.Keys(p.input.Endpoints.Waiting)) {
		p.warn("ListenerNotReady", p.notReady(listener))
		p.status.Unreachable = append(p.status.Unreachable, p.notReady(listener))
		p.requeueAfter(10 * time.Second)
	}
	return nil
}

// makeEntrances makes the missing Services and Ingresses of a Kubernetes cluster.
func (p *pass) makeEntrances(ctx context.Context, s *site) error {
	var refused []model.Object
	for _, o := range p.entrances(s) {
		if key := facts.KeyOf(o); s.facts.Objects[key] != nil {
			s.kept[key] = true
		} else if err := p.apply(ctx, s, o); rejected(err) {
			refused = append(refused, o) // another one may have its node port or host until it is changed
			continue
		} else if err != nil {
			return err
		}
		s.entrances = append(s.entrances, o)
	}
	s.entrances = append(s.entrances, refused...)
	return nil
}

// changeServices changes the Services and Ingresses that exist, right before the nodes: if something keeps the nodes as they are, clients
// reach them where they did. What leads to pods that are to be replaced stays until these are gone. Those that could not be made come last.
func (p *pass) changeServices(ctx context.Context) error {
	return p.eachHost(func(s *site) error {
		var refused []model.Object
		for _, o := range s.entrances {
			o = p.keepReachable(s, o)
			if err := p.apply(ctx, s, o); rejected(err) {
				refused = append(refused, o) // another one may have its node port or host until it is changed
			} else if err != nil {
				return err
			}
		}
		for _, o := range refused {
			err := p.apply(ctx, s, o)
			if rejected(err) {
				err = p.clearTheWay(ctx, s, o, err)
			}
			if err != nil {
				return err
			}
		}
		return p.dropKept(ctx, s)
	})
}

// clearTheWay applies a Service or an Ingress that the API server rejected, if it deletes obsolete ones that may be the reason: the step
// that deletes them comes after the nodes, and would never be reached.
func (p *pass) clearTheWay(ctx context.Context, s *site, refused model.Object, why error) error {
	var unwanted []removal.Object
	for key, live := range s.facts.Objects {
		if key.Kind == facts.KeyOf(refused).Kind && (exceedsQuota(why) || sharesNodePort(refused, live) || sharesHost(refused, live, why)) {
			object := p.removalObject(s, key, live)
			object.Serves = object.Serves && exceedsQuota(why) // else it would keep what is wanted for ever
			unwanted = append(unwanted, object)
		}
	}
	in := removal.Input{Planned: p.input.Stretch == nil || p.planned, Objects: unwanted}
	if exceedsQuota(why) {
		in.Replacing = p.replacing // what nodes still advertise stays
	}
	obsolete := removal.Decide(in).Delete
	if len(obsolete) == 0 {
		return why
	}
	if err := p.pruneSite(ctx, s, obsolete); err != nil {
		return err
	}
	for _, ref := range obsolete {
		delete(s.facts.Objects, facts.Key{Kind: ref.Kind, Name: ref.Name}) // it is not deleted twice
	}
	return p.apply(ctx, s, refused)
}

// sharesNodePort reports whether two objects are Services that ask for the same node port.
func sharesNodePort(a, b client.Object) bool {
	one, ok := a.(*corev1.Service)
	other, is := b.(*corev1.Service)
	return ok && is && slices.ContainsFunc(one.Spec.Ports, func(wants corev1.ServicePort) bool {
		return wants.NodePort != 0 && slices.ContainsFunc(other.Spec.Ports, func(has corev1.ServicePort) bool {
			return has.NodePort == wants.NodePort
		})
	})
}

// sameClass reports whether two Ingresses may have the same class: Kubernetes gives one without a class the default.
func sameClass(a, b *networkingv1.Ingress) bool {
	one, other := a.Spec.IngressClassName, b.Spec.IngressClassName
	return one == nil || other == nil || *one == *other
}

// sharesHost reports whether an Ingress was rejected because of a host from which another one of its class leads: the message of an ingress
// controller names the host.
func sharesHost(refused, live client.Object, why error) bool {
	one, ok := refused.(*networkingv1.Ingress)
	other, is := live.(*networkingv1.Ingress)
	if !ok || !is {
		return false
	}
	return sameClass(one, other) && slices.ContainsFunc(one.Spec.Rules, func(wants networkingv1.IngressRule) bool {
		return strings.Contains(why.Error(), wants.Host) && slices.ContainsFunc(other.Spec.Rules, func(has networkingv1.IngressRule) bool {
			return has.Host == wants.Host
		})
	})
}

// entrances are the Services and Ingresses in a Kubernetes cluster.
func (p *pass) entrances(s *site) []model.Object {
	var all []model.Object
	refused := map[string][]string{}
	for _, service := range model.Services(p.at(s)) {
		live, _ := s.facts.Objects[facts.KeyOf(service)].(*corev1.Service)
		if class := keepClass(service, live); class != nil {
			refused[*class] = append(refused[*class], service.Name)
		}
		all = append(all, service)
	}
	p.warnOfClasses("", refused)
	for _, ingress := range model.Ingresses(p.at(s)) {
		all = append(all, ingress)
	}
	return all
}

// warnOfClasses says which Services do not get the classes that are wanted.
func (p *pass) warnOfClasses(where string, refused map[string][]string) {
	for _, class := range slices.Sorted(maps.Keys(refused)) {
		p.warn("LoadBalancerClass", fmt.Sprintf("%sServices do not get the class %q: Kubernetes does not let anybody change "+
			".spec.loadBalancerClass. To change it, delete the Services; clients can't use them until they have addresses again: %s", where,
			class, listOf(refused[class], 10)))
	}
}

// keepClass keeps the class of a load balancer, which Kubernetes does not let anybody change, and returns the one that is wanted instead;
// nil if there is none.
func keepClass(wanted, live *corev1.Service) (refused *string) {
	if live == nil || live.Spec.Type != corev1.ServiceTypeLoadBalancer || wanted.Spec.Type != corev1.ServiceTypeLoadBalancer ||
		equality.Semantic.DeepEqual(live.Spec.LoadBalancerClass, wanted.Spec.LoadBalancerClass) {
		return nil
	}
	refused, wanted.Spec.LoadBalancerClass = wanted.Spec.LoadBalancerClass, live.Spec.LoadBalancerClass
	return refused
}

// notReady says what a listener waits for.
func (p *pass) notReady(listener string) string {
	return fmt.Sprintf("Listener %s is not reachable yet: %s", listener, p.input.Endpoints.Waiting[listener])
}

// stillWaits reports whether nodes still wait for what a listener waits for.
func (p *pass) stillWaits(listener string) bool {
	return p.stands("ListenerNotReady", p.notReady(listener)) < p.AddressTimeout
}

// stands returns for how long the status has had a condition, 0 if it has not.
func (p *pass) stands(reason, message string) time.Duration {
	for _, c := range p.kafka.Status.Conditions {
		since, err := time.Parse(time.RFC3339Nano, c.LastTransitionTime)
		if c.Reason == reason && c.Message == message && err == nil {
			return p.Now().Sub(since)
		}
	}
	return 0
}

// keepReplaced keeps nodes as they are that are to lose a listener, until it is known where all of them are reached on the one that
// replaces it: without it, they would cut clients off. The Services that lead to them and the network policy stay as well.
func (p *pass) keepReplaced() {
	for listener, nodes := range p.input.Endpoints.Replaced {
		if p.input.Endpoints.Waiting[listener] == "" || !p.stillWaits(listener) {
			continue
		}
		for _, l := range p.listed {
			if slices.Contains(nodes, l.Node.ID) {
				p.input.Endpoints.Keep[l.Node.ID], p.replacing = true, true
				p.updating(l.Set.Name)
			}
		}
	}
}

// firstAddresses is how long running nodes stay as they are while a listener that is new to them waits for its addresses.
const firstAddresses = time.Minute

// keepAwaiting keeps ready nodes as they are for a short time while they wait for the address of a new listener: else they are restarted
// for what else has changed, and again for the listener.
func (p *pass) keepAwaiting(world model.World) {
	if len(p.input.Endpoints.Delayed) == 0 {
		return
	}
	world.AddressTimeout = min(world.AddressTimeout, firstAddresses)
	awaiting := model.ResolveEndpoints(p.input, world).Delayed
	for _, l := range p.listed {
		pod := p.pod(l.Node)
		if awaiting[l.Node.ID] != "" && pod != nil && pod.DeletionTimestamp == nil && core.IsReady(pod) {
			p.input.Endpoints.Keep[l.Node.ID] = true
			p.updating(l.Set.Name)
		}
	}
}

// keepUnaddressed keeps running nodes as they are that lost their ConfigMap together with an object that had an address of theirs. In one
// Kubernetes cluster these are the ready ones: the pod of any other node may wait for the ConfigMap. Before a Kafka is in several, its
// nodes wait for addresses that are not in use yet, and without its ConfigMap a node would never get them.
func (p *pass) keepUnaddressed() {
	inUse := len(p.record.Peers) > 0 || p.startedElsewhere()
	for _, l := range p.listed {
		why, unknown := p.input.Endpoints.Delayed[l.Node.ID]
		pod := p.pod(l.Node)
		unknown = unknown && pod != nil && pod.DeletionTimestamp == nil && core.IsReady(pod)
		if waitsFor := p.delayed[l.Node.ID]; waitsFor != "" && inUse {
			why, unknown = waitsFor, true
		}
		if unknown && p.config(l.Node) == nil {
			p.log.Info("Keeping a node as it is until its addresses are known", "node", l.Node.ID, "waitsFor", why)
			p.input.Endpoints.Keep[l.Node.ID] = true
			p.updating(l.Set.Name)
		}
	}
}

// world returns the addresses that Kubernetes assigned to the Services.
func (p *pass) world(ctx context.Context) (model.World, error) {
	world := model.World{
		Services: map[string]map[string]*corev1.Service{}, KubernetesNodes: map[int32]*corev1.Node{}, Configs: map[string]*corev1.ConfigMap{},
		Now: p.Now(), AddressTimeout: p.AddressTimeout,
	}
	for _, s := range p.sites {
		world.Services[s.cluster] = map[string]*corev1.Service{}
		for key, o := range s.facts.Objects {
			switch o := o.(type) {
			case *corev1.Service:
				world.Services[s.cluster][key.Name] = o
			case *corev1.ConfigMap:
				world.Configs[key.Name] = o
			}
		}
	}
	if slices.ContainsFunc(p.kafka.Spec.Kafka.Listeners, func(l v1.Listener) bool { return l.Type == v1.ListenerNodePort }) {
		for _, n := range p.input.Topology.Brokers() {
			node, err := p.kubernetesNode(ctx, n)
			if err := p.noteUnread(p.site(n.Cluster), err); err != nil {
				return world, err
			}
			if node != nil {
				world.KubernetesNodes[n.ID] = node
			}
		}
	}
	world.Away = slices.Sorted(maps.Keys(p.away))
	return world, nil
}

// mayNotRead reports whether Kubernetes nodes could not be read in another Kubernetes cluster though all else can.
func (s *site) mayNotRead(err error) bool {
	if err == nil || s.cluster == topology.Home || clusters.IsUnreachable(err) {
		return false
	}
	_, unwatched := errors.AsType[*unwatchedError](err)
	return unwatched || apierrors.IsForbidden(err)
}

// noteUnread takes the error of reading Kubernetes nodes for their addresses. Where that is not permitted in another Kubernetes cluster,
// what depends on them stays as it is, and all else goes on: it notes so, and they are not read again.
func (p *pass) noteUnread(s *site, err error) error {
	if !s.mayNotRead(err) {
		return err
	}
	s.unread = err
	why := err.Error()
	if refused := refusedThere(s.cluster, clusters.Status{}, err); refused != nil {
		why = refused.Message
	}
	p.warn("KubernetesNodesUnread", fmt.Sprintf("The Kubernetes nodes of cluster '%s' can't be read, so addresses there that depend on them "+
		"stay as they are, and new nodes that need one wait: %s", s.cluster, why))
	p.requeueAfter(time.Minute) // no event reports that they can be read now
	return nil
}

// kubernetesNode returns the Kubernetes node that a node's pod runs on, nil if there is none yet, or if that is unknown.
func (p *pass) kubernetesNode(ctx context.Context, n topology.Node) (*corev1.Node, error) {
	pod, s := p.pod(n), p.site(n.Cluster)
	if pod == nil || pod.Spec.NodeName == "" || s.unread != nil {
		return nil, nil
	}
	node := &corev1.Node{}
	err := s.nodes.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil && s.cluster != topology.Home && !s.mayNotRead(err):
		p.drop(s, fmt.Errorf("get node %s: %w", pod.Spec.NodeName, err))
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get node %s: %w", pod.Spec.NodeName, err)
	}
	return node, nil
}
