package network

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// Version is the version of this interface, by the rules of semantic versioning. A provider that was built for another major version is
// refused.
const Version = "1.0.0"

// Provider makes nodes reachable from other Kubernetes clusters. Its methods return the same for the same arguments, may be called at the
// same time, and end soon after ctx does.
type Provider interface {
	// Info describes the provider.
	Info(ctx context.Context) (Info, error)
	// Plan returns the objects that the nodes need, all of them each time: one that is not returned any more is deleted, once Resolve finds
	// the endpoints of all nodes that exist without it.
	Plan(ctx context.Context, r Request) ([]Object, error)
	// Resolve reads addresses off the objects that were observed: the planned ones, as far as they exist, and those of the kinds that Info
	// names. What is not known yet is Pending and not an error.
	Resolve(ctx context.Context, r Request, observed []Object) (Resolution, error)
}

// Factory makes a provider with its settings. An error names the setting that is wrong.
type Factory func(settings map[string]string) (Provider, error)

// Info describes a provider.
type Info struct {
	// Name is the provider's, such as nodeport: a DNS label. A program of a provider is named network-provider- and this.
	Name string `json:"name"`
	// Interface is the version of this interface that the provider was built for.
	Interface string `json:"interface"`
	// MinOperator and MaxOperator are the oldest and the newest version of the operator that the provider works with. Empty: any.
	MinOperator string `json:"minOperator,omitempty"`
	MaxOperator string `json:"maxOperator,omitempty"`
	// Observes are the kinds of objects that Resolve needs in addition to the planned ones, from every Kubernetes cluster: those of the
	// Kafka's namespace, if objects of the kind have one. Of the kinds that a provider must not plan, it may observe Nodes alone.
	Observes []metav1.GroupVersionKind `json:"observes,omitempty"`
	// Unobserved are the ids of the Kubernetes clusters from which Resolve needs none of these, such as those whose address is a setting.
	Unobserved []string `json:"unobserved,omitempty"`
}

// ObservesIn returns the kinds of objects that Resolve needs from a Kubernetes cluster in addition to the planned ones.
func (i Info) ObservesIn(cluster string) []metav1.GroupVersionKind {
	if slices.Contains(i.Unobserved, cluster) {
		return nil
	}
	return i.Observes
}

// Check returns an error if the provider does not fit this operator.
func (i Info) Check(operator string) error {
	if i.Name == "" {
		return fmt.Errorf("the network provider has no name")
	}
	if wrong := validation.IsDNS1123Label(i.Name); len(wrong) > 0 { // conditions and anchors contain it
		return fmt.Errorf("the network provider's name %q is not a DNS label: %s", i.Name, strings.Join(wrong, "; "))
	}
	offered, err := version.ParseSemantic(i.Interface)
	if err != nil {
		return fmt.Errorf("network provider %s: version %q of the interface: %w", i.Name, i.Interface, err)
	}
	if ours := version.MustParseSemantic(Version); offered.Major() != ours.Major() || offered.Minor() > ours.Minor() {
		return fmt.Errorf("network provider %s was built for version %s of the interface, and this operator has version %s", i.Name,
			i.Interface, Version)
	}
	if err := i.checkObserves(); err != nil {
		return err
	}
	running, err := version.ParseGeneric(operator)
	if err != nil {
		return nil // a build without a version, such as a developer's, fits every provider
	}
	for _, limit := range []struct {
		text, rule string
		broken     int
	}{{i.MinOperator, "or newer", -1}, {i.MaxOperator, "or older", 1}} {
		if limit.text == "" {
			continue
		}
		bound, err := version.ParseGeneric(limit.text)
		if err != nil {
			return fmt.Errorf("network provider %s: version %q of the operator: %w", i.Name, limit.text, err)
		}
		order := 0
		switch {
		case running.LessThan(bound):
			order = -1
		case bound.LessThan(running):
			order = 1
		}
		if order == limit.broken {
			return fmt.Errorf("network provider %s needs operator version %s %s, and this is %s", i.Name, limit.text, limit.rule, operator)
		}
	}
	return nil
}

// checkObserves returns an error if the provider wants to see what it must not: the operator can read credentials.
func (i Info) checkObserves() error {
	for _, kind := range i.Observes {
		gvk := schema.GroupVersionKind(kind)
		if gvk.Kind == "" || gvk.Version == "" {
			return fmt.Errorf("network provider %s observes %q, which is no kind", i.Name, gvk.String())
		}
		if ofOthers(gvk) && gvk.GroupKind() != (schema.GroupKind{Kind: "Node"}) {
			return fmt.Errorf("network provider %s observes %s, which no provider may see", i.Name, gvk)
		}
	}
	return nil
}

// Request describes one Kafka cluster whose nodes should be reachable.
type Request struct {
	// Namespace and Kafka are the namespace and name of the Kafka object. Its nodes run in the same namespace of every Kubernetes cluster.
	Namespace string `json:"namespace"`
	Kafka     string `json:"kafka"`
	// Service is the headless Service of all nodes, which exists in every Kubernetes cluster that hosts nodes.
	Service string `json:"service"`
	// Clusters are the Kubernetes clusters that host nodes, sorted by their ids.
	Clusters []Cluster `json:"clusters"`
	// Nodes are all nodes, sorted by their ids.
	Nodes []Node `json:"nodes"`
	// Known are the endpoints that nodes advertise now. A provider keeps them while they work: a changed one restarts nodes.
	Known Endpoints `json:"known,omitempty"`
}

// Cluster is a Kubernetes cluster.
type Cluster struct {
	// ID is the one by which users name it.
	ID string `json:"id"`
	// APIVersions are the groups and versions that its API server serves, such as multicluster.x-k8s.io/v1beta1. Empty: not known yet.
	APIVersions []string `json:"apiVersions,omitempty"`
}

// Node is a Kafka node.
type Node struct {
	// ID is the node.id.
	ID int32 `json:"id"`
	// Pod names its pod. The pod carries the label strimzi.io/pod-name with this value, and this hostname in the headless Service.
	Pod string `json:"pod"`
	// Cluster is the id of the Kubernetes cluster that it runs in.
	Cluster string `json:"cluster"`
	// Ports are the pod's ports that other nodes and clients connect to.
	Ports []Port `json:"ports"`
}

// Port is a port of a pod.
type Port struct {
	// Name is the port's in the pod, such as tcp-replication.
	Name string `json:"name"`
	// Port is its number.
	Port int32 `json:"port"`
}

// Object is an object in a Kubernetes cluster.
type Object struct {
	// Cluster is the id of the Kubernetes cluster.
	Cluster string `json:"cluster"`
	// Object is a planned or an observed object. A planned one has a name, kind, apiVersion, labels, annotations and its content;
	// the operator adds the namespace, labels and the owner.
	Object unstructured.Unstructured `json:"object"`
}

// Endpoint is where a port of a node can be reached from every Kubernetes cluster.
type Endpoint struct {
	// Host is a DNS name or an IP address.
	Host string `json:"host"`
	// Port is a number from 1 to 65535.
	Port int32 `json:"port"`
}

// Endpoints maps ids of nodes and names of ports to endpoints.
type Endpoints map[int32]map[string]Endpoint

// Resolution has the known endpoints of nodes.
type Resolution struct {
	// Endpoints hold nodes all of whose ports can be reached.
	Endpoints Endpoints `json:"endpoints"`
	// Pending maps each other node to what it waits for.
	Pending map[int32]string `json:"pending"`
	// Names are further DNS names and IP addresses of nodes, by their ids, for their certificates: a changed one restarts the node. The hosts
	// of Endpoints need not be repeated.
	Names map[int32][]string `json:"names,omitempty"`
}

// NewObject returns an object of a Kubernetes cluster. It panics on one that is no JSON object, which is a mistake in the provider.
func NewObject(cluster string, o runtime.Object) Object {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(fmt.Sprintf("%T: %v", o, err))
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return Object{Cluster: cluster, Object: unstructured.Unstructured{Object: content}}
}

// Find returns an observed object, decoded into its own type.
func Find[T any, P interface {
	*T
	runtime.Object
}](observed []Object, cluster, kind, name string) (P, bool) {
	for _, o := range observed {
		if o.Cluster != cluster || o.Object.GetKind() != kind || o.Object.GetName() != name {
			continue
		}
		found := P(new(T))
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, found) != nil {
			return nil, false
		}
		return found, true
	}
	return nil, false
}

// LabelPod is the label that every pod of a node carries, with its own name as the value, so that a Service can select one pod.
const LabelPod = "strimzi.io/pod-name"

// NewResolution returns one to which nothing is known.
func NewResolution() Resolution {
	return Resolution{Endpoints: Endpoints{}, Pending: map[int32]string{}, Names: map[int32][]string{}}
}
