package controller

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// planned names an object that the network provider planned, of a kind that the operator itself does not create, such as a ServiceExport.
// The operator does not list such kinds in each pass: the record names the existing objects.
type planned struct {
	Cluster    string `json:"cluster,omitempty"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

func (o planned) key() facts.Key { return facts.Key{Kind: o.Kind, Name: o.Name} }

// rememberPlanned writes into the record what the provider plans, before any of it is made.
func (p *pass) rememberPlanned(ctx context.Context, objects []network.Object) error {
	for _, o := range objects {
		object := planned{p.clusterOf(o.Cluster), o.Object.GetAPIVersion(), o.Object.GetKind(), o.Object.GetName()}
		if facts.Generated(object.Kind) {
			continue
		}
		p.record.Planned = slices.DeleteFunc(p.record.Planned, func(r planned) bool { // of another version
			return r.Cluster == object.Cluster && r.key() == object.key() && group(r) == group(object)
		})
		p.record.Planned = append(p.record.Planned, object)
	}
	slices.SortFunc(p.record.Planned, func(a, b planned) int { return slices.Compare(a.sortKey(), b.sortKey()) })
	return p.writeRecord(ctx)
}

func (o planned) sortKey() []string { return []string{o.Cluster, o.Kind, o.Name, o.APIVersion} }

func group(o planned) string {
	version, _ := schema.ParseGroupVersion(o.APIVersion)
	return version.Group
}

// prunePlanned deletes the objects that the provider planned in a Kubernetes cluster in an earlier pass and no longer plans. If it was not
// told the API versions of a cluster with nodes, it may have planned less for lack of them, and all objects there stay.
func (p *pass) prunePlanned(ctx context.Context, s *site) error {
	if served, asked := p.served[s.cluster]; asked && len(served) == 0 {
		return nil
	}
	return p.deletePlanned(ctx, s, func(o planned) bool { return s.kept[o.key()] })
}

// deletePlanned deletes the planned objects that the record lists for a Kubernetes cluster, and removes those that are gone from the
// record.
func (p *pass) deletePlanned(ctx context.Context, s *site, keep func(planned) bool) error {
	p.mu.Lock() // other Kubernetes clusters are gone through at the same time
	all := slices.Clone(p.record.Planned)
	p.mu.Unlock()
	for _, o := range all {
		if o.Cluster != s.cluster || keep(o) {
			continue
		}
		gone, err := p.deleteOnePlanned(ctx, s, o)
		if err != nil {
			return err
		}
		if gone {
			p.mu.Lock()
			p.record.Planned = slices.DeleteFunc(p.record.Planned, func(r planned) bool { return r == o })
			p.mu.Unlock()
		}
	}
	return nil
}

// deleteOnePlanned reports whether the object is gone, or belongs to another owner.
func (p *pass) deleteOnePlanned(ctx context.Context, s *site, o planned) (bool, error) {
	live := &unstructured.Unstructured{}
	live.SetAPIVersion(o.APIVersion)
	live.SetKind(o.Kind)
	switch err := s.live.Get(ctx, client.ObjectKey{Namespace: p.kafka.Namespace, Name: o.Name}, live); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("get %s %s: %w", o.Kind, o.Name, err)
	case !s.applier.Owns(live):
		return true, nil
	}
	outcome, err := s.applier.Delete(ctx, live)
	if err == nil && (outcome == apply.Deleted || outcome == apply.Changed) {
		p.wrote(s, o.key(), outcome)
	}
	return false, err
}
