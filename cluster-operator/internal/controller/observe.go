package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// kubernetesNodes is a kind that providers may observe.
var kubernetesNodes = metav1.GroupVersionKind{Version: "v1", Kind: "Node"}

// observe reads the objects that the provider needs from a Kubernetes cluster, in addition to the planned ones. Those of other namespaces
// are not the Kafka's. Where a kind is not served, or not permitted, the addresses there stay as they are, and all else goes on.
func (p *pass) observe(ctx context.Context, s *site, info network.Info) ([]network.Object, error) {
	id := p.clusterID(s.cluster)
	var observed []network.Object
	for _, kind := range info.ObservesIn(id) {
		read := p.listKind
		if kind == kubernetesNodes { // of which there are many: the cache has them
			read = p.listNodes
		}
		objects, err := read(ctx, s, schema.GroupVersionKind(kind))
		if onlyOfObject(err) {
			s.unobserved = kind.Kind
			p.warn("NetworkProviderFailed", fmt.Sprintf("In cluster '%s': network provider %s needs to see objects of kind %s, which can't be "+
				"read: %v. Nodes that run there keep their addresses, and new ones wait", id, p.Stretching.ProviderName, kind.Kind, err))
			p.requeueAfter(time.Minute) // no event reports that they can be read now
			continue
		} else if err != nil {
			return nil, err
		}
		for _, o := range objects {
			observed = append(observed, network.Object{Cluster: id, Object: o})
		}
	}
	return observed, nil
}

// listNodes lists the Kubernetes nodes; none if they can't be read now.
func (p *pass) listNodes(ctx context.Context, s *site, gvk schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	if s.unread != nil {
		return nil, nil
	}
	var nodes corev1.NodeList
	if err := p.noteUnread(s, s.nodes.List(ctx, &nodes)); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	objects := make([]unstructured.Unstructured, 0, len(nodes.Items))
	for i := range nodes.Items {
		o, err := asUnstructured(&nodes.Items[i], gvk)
		if err != nil {
			return nil, err
		}
		objects = append(objects, *o)
	}
	return objects, nil
}

// listKind lists the objects of a kind in the Kafka's namespace, or in the Kubernetes cluster if the kind has no namespaces.
func (p *pass) listKind(ctx context.Context, s *site, gvk schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
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
	return list.Items, nil
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
