package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/clusters"
)

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
	refused := map[string][]string{}
	defer func() { p.warnOfClasses(fmt.Sprintf("In cluster '%s': ", id), refused) }()
	for _, o := range planned {
		if o.Cluster != id {
			continue
		}
		wanted := model.Planned(p.at(s), o.Object)
		key := facts.KeyOf(wanted)
		live, err := p.applyOnePlanned(ctx, s, wanted, refused)
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

// applyOnePlanned applies an object that the provider planned, and returns what exists of it, also with an error. A Service that can't get
// its class is added to those refused.
func (p *pass) applyOnePlanned(ctx context.Context, s *site, wanted *unstructured.Unstructured, refused map[string][]string) (client.Object,
	error) {
	key := facts.KeyOf(wanted)
	s.kept[key] = true
	live, err := s.facts.Objects[key], error(nil)
	if live == nil {
		if live, err = s.present(ctx, wanted); err != nil {
			return nil, err
		}
	}
	if class := keepPlannedClass(wanted, live); class != nil {
		refused[*class] = append(refused[*class], key.Name)
	}
	// Which pods are of before is known once nodes are rendered: until then, it loses nothing that leads to any.
	keeps := p.keepPlanned(wanted, live, p.podsOfNodes)
	if keeps != client.Object(wanted) {
		// What it has more than planned is somebody else's, and stays, if all is applied that is planned.
		if applied, err := s.applier.Applied(wanted, live); applied || err != nil {
			return live, err
		}
	}
	outcome, err := p.applyOver(ctx, s, keeps, live)
	for live == nil && p.dropNodePorts(wanted, err) {
		p.Events.Warning(p.kafka, "NodePortTaken", "Apply", fmt.Sprintf("In cluster '%s': Service %s can't get a node port again that a node "+
			"advertises, and gets another one: %v", p.clusterID(s.cluster), key.Name, err))
		outcome, err = p.applyOver(ctx, s, wanted, nil)
	}
	if err == nil && (outcome == apply.Changed || outcome == apply.Created) {
		// What it was before, such as a node port that a user changed, leads nowhere any more.
		live, err = s.present(ctx, wanted)
	}
	if err == nil && keeps != client.Object(wanted) {
		s.keptServices = append(s.keptServices, keptService{wanted, live})
	}
	return live, err
}

// dropNodePorts takes from a Service that could not be made the node ports that a node advertises and for which the API server refused it,
// and reports whether there were some. They lead to somebody else now: with other ones, its node can be reached again.
func (p *pass) dropNodePorts(wanted *unstructured.Unstructured, err error) bool {
	refused, is := errors.AsType[*apierrors.StatusError](err)
	ports, found, _ := unstructured.NestedSlice(wanted.Object, "spec", "ports")
	if !is || !found || !apierrors.IsInvalid(err) || refused.ErrStatus.Details == nil {
		return false
	}
	dropped := false
	for _, cause := range refused.ErrStatus.Details.Causes {
		for i := range ports {
			port, ok := ports[i].(map[string]any)
			number, _ := port["nodePort"].(int64)
			if ok && cause.Field == fmt.Sprintf("spec.ports[%d].nodePort", i) && p.hasAddress(int32(number)) {
				delete(port, "nodePort")
				dropped = true
			}
		}
	}
	return dropped && unstructured.SetNestedSlice(wanted.Object, ports, "spec", "ports") == nil
}

// hasAddress reports whether a node has an address with that port for other nodes.
func (p *pass) hasAddress(port int32) bool {
	for _, endpoints := range p.record.Peers {
		for _, at := range endpoints {
			if port != 0 && at.Port == port {
				return true
			}
		}
	}
	return false
}

// onlyOfObject reports whether an error is an API server's answer about one object, which says nothing about other objects: neither is the
// API server overloaded or out of reach, nor was a cache behind.
func onlyOfObject(err error) bool {
	switch {
	case meta.IsNoMatchError(err):
		return true
	case isStale(err), clusters.IsUnreachable(err), missingNamespace(err) != "", apierrors.IsUnauthorized(err), apierrors.IsTimeout(err),
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
	p.requeueAfter(time.Minute) // no event reports that the reason is gone
}
