// Package facts reads what a Kafka has in one Kubernetes cluster. A read that fails is an error, never an empty result.
package facts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Key identifies an object in a namespace.
type Key struct{ Kind, Name string }

// Compare orders keys by kind and name.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Name, other.Name))
}

// KeyOf returns the key of an object whose kind is set.
func KeyOf(o client.Object) Key { return Key{o.GetObjectKind().GroupVersionKind().Kind, o.GetName()} }

// Cluster has the objects of a Kafka in one Kubernetes cluster.
type Cluster struct {
	// Objects are all objects with the Kafka's label, whoever created them, and StrimziPodSets without it that name the Kafka as their owner.
	Objects map[Key]client.Object
	// Pods are all pods that carry the Kafka's label, by name: also those that are no nodes.
	Pods map[string]*corev1.Pod
}

// generatedKind is a kind that the operator makes, with an empty object and an empty list.
type generatedKind struct {
	name   string
	object client.Object
	list   client.ObjectList
}

// generated returns the kinds that the operator makes, in the order in which they are read.
func generated() []generatedKind {
	return []generatedKind{
		{"Service", &corev1.Service{}, &corev1.ServiceList{}},
		{"ConfigMap", &corev1.ConfigMap{}, &corev1.ConfigMapList{}},
		{"Secret", &corev1.Secret{}, &corev1.SecretList{}},
		{"ServiceAccount", &corev1.ServiceAccount{}, &corev1.ServiceAccountList{}},
		{"PersistentVolumeClaim", &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}},
		{"NetworkPolicy", &networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicyList{}},
		{"Ingress", &networkingv1.Ingress{}, &networkingv1.IngressList{}},
		{"PodDisruptionBudget", &policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudgetList{}},
		{"Role", &rbacv1.Role{}, &rbacv1.RoleList{}},
		{"RoleBinding", &rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{}},
		{"Deployment", &appsv1.Deployment{}, &appsv1.DeploymentList{}},
		{"StrimziPodSet", &core.StrimziPodSet{}, &core.StrimziPodSetList{}},
	}
}

// Kinds returns an empty object of each kind that the operator makes, for watches.
func Kinds() (objects []client.Object) {
	for _, kind := range generated() {
		objects = append(objects, kind.object)
	}
	return objects
}

// Generated reports whether the operator makes objects of a kind, so that Read reads them.
func Generated(kind string) bool {
	return slices.ContainsFunc(generated(), func(g generatedKind) bool { return g.name == kind })
}

// of selects what belongs to a Kafka.
func of(kafka client.ObjectKey) []client.ListOption {
	return []client.ListOption{client.InNamespace(kafka.Namespace), client.MatchingLabels{v1.LabelCluster: kafka.Name}}
}

// ReadPools reads the KafkaNodePools of a Kafka, by name, and those that have no spec or can't be decoded: API servers accept these.
func ReadPools(ctx context.Context, reader client.Reader, kafka client.ObjectKey) (pools map[string]*v1.KafkaNodePool,
	noSpec []*v1.KafkaNodePool, err error) {
	var list v1.KafkaNodePoolList
	if err := reader.List(ctx, &list, of(kafka)...); err != nil {
		return nil, nil, fmt.Errorf("list KafkaNodePools: %w", err)
	}
	pools = map[string]*v1.KafkaNodePool{}
	for i := range list.Items {
		switch p := &list.Items[i]; {
		case p.DeletionTimestamp != nil:
		case p.Spec == nil || p.Invalid != "":
			noSpec = append(noSpec, p)
		default:
			pools[p.Name] = p
		}
	}
	return pools, noSpec, nil
}

// Read reads what a Kafka has in a Kubernetes cluster.
func Read(ctx context.Context, reader client.Reader, kafka client.ObjectKey) (Cluster, error) {
	c := Cluster{Objects: map[Key]client.Object{}, Pods: map[string]*corev1.Pod{}}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, of(kafka)...); err != nil {
		return c, fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		c.Pods[pods.Items[i].Name] = &pods.Items[i]
	}
	return c, c.readObjects(ctx, reader, kafka, generated())
}

// readObjects adds the Kafka's objects of some kinds.
func (c Cluster) readObjects(ctx context.Context, reader client.Reader, kafka client.ObjectKey, kinds []generatedKind) error {
	for _, kind := range kinds {
		selection := of(kafka)
		if kind.name == "StrimziPodSet" { // which lists nodes also when somebody removed its label
			selection = []client.ListOption{client.InNamespace(kafka.Namespace), client.UnsafeDisableDeepCopy}
		}
		if err := reader.List(ctx, kind.list, selection...); err != nil {
			return fmt.Errorf("list objects of kind %s: %w", kind.name, err)
		}
		err := meta.EachListItem(kind.list, func(o runtime.Object) error {
			object, ok := o.(client.Object)
			if !ok {
				return fmt.Errorf("%T is not an object", o)
			}
			if object.GetLabels()[v1.LabelCluster] != kafka.Name && !ownerNamed(object, kafka.Name) {
				return nil
			}
			if set, is := object.(*core.StrimziPodSet); is { // the list shares those of other Kafkas with the cache
				object = set.DeepCopy()
			}
			c.Objects[Key{kind.name, object.GetName()}] = object
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ownerNamed reports whether an object's owner has the name of a Kafka, or of its anchor in a remote Kubernetes cluster. The caller checks
// the owner's uid.
func ownerNamed(o client.Object, kafka string) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.Kind == "Kafka" && ref.Name == kafka || ref.Kind == "ConfigMap" && ref.Name == model.AnchorName(kafka)
	})
}

// PodSets returns the StrimziPodSets in the order of their names.
func (c Cluster) PodSets() []*core.StrimziPodSet {
	var sets []*core.StrimziPodSet
	for _, o := range c.Objects {
		if set, ok := o.(*core.StrimziPodSet); ok && set.Spec != nil {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, ByName)
	return sets
}

// ByName orders StrimziPodSets by their names.
func ByName(a, b *core.StrimziPodSet) int { return strings.Compare(a.Name, b.Name) }

// ListedPod is a pod that a StrimziPodSet lists.
type ListedPod struct {
	Set  *core.StrimziPodSet
	Pod  *corev1.Pod
	Raw  json.RawMessage
	Node topology.Node
}

// Listed returns the pods of nodes that StrimziPodSets list in the Kubernetes cluster of that id. A pod or set that can't be read is an
// error: it may be a node with data.
func (c Cluster) Listed(cluster string) ([]ListedPod, error) {
	var list []ListedPod
	for _, o := range c.Objects {
		if set, ok := o.(*core.StrimziPodSet); ok && set.Unread() != nil {
			return nil, set.Unread()
		}
	}
	for _, set := range c.PodSets() {
		for _, raw := range set.Spec.Pods {
			pod := &corev1.Pod{}
			if err := json.Unmarshal(raw.Raw, pod); err != nil {
				return nil, fmt.Errorf("parse a pod of StrimziPodSet %s: %w", set.Name, err)
			}
			id, ok := core.NodeID(pod.Name)
			if !ok {
				return nil, fmt.Errorf("StrimziPodSet %s: pod %s: its name does not end with a node id", set.Name, pod.Name)
			}
			list = append(list, ListedPod{Set: set, Pod: pod, Raw: raw.Raw, Node: topology.Node{
				ID: id, Pool: pod.Labels[core.LabelPoolName], Cluster: cluster,
				Roles: topology.Roles(core.RolesIn(pod.Labels)),
			}})
		}
	}
	return list, nil
}

// Volumes returns the claims of nodes, those of nodes that are gone included.
func (c Cluster) Volumes(kafka string) []topology.Volume {
	var volumes []topology.Volume
	for key, o := range c.Objects {
		if key.Kind != "PersistentVolumeClaim" {
			continue
		}
		pool := o.GetLabels()[core.LabelPoolName]
		id, ok := core.NodeID(key.Name)
		if v := (topology.Volume{Node: id, Pool: pool}); ok && strings.HasSuffix(key.Name, fmt.Sprintf("%s-%s-%d", kafka, pool, id)) &&
			!slices.Contains(volumes, v) {
			volumes = append(volumes, v)
		}
	}
	slices.SortFunc(volumes, func(a, b topology.Volume) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pool, b.Pool))
	})
	return volumes
}

// ConfigMap returns a ConfigMap by name, nil if there is none with the Kafka's label.
func (c Cluster) ConfigMap(name string) *corev1.ConfigMap {
	return get[*corev1.ConfigMap](c, "ConfigMap", name)
}

// Deployment returns the Deployment of that name; nil if there is none.
func (c Cluster) Deployment(name string) *appsv1.Deployment {
	return get[*appsv1.Deployment](c, "Deployment", name)
}

// Secret returns a Secret by name, nil if there is none with the Kafka's label.
func (c Cluster) Secret(name string) *corev1.Secret { return get[*corev1.Secret](c, "Secret", name) }

// Claim returns a PersistentVolumeClaim by name, nil if there is none with the Kafka's label.
func (c Cluster) Claim(name string) *corev1.PersistentVolumeClaim {
	return get[*corev1.PersistentVolumeClaim](c, "PersistentVolumeClaim", name)
}

func get[T client.Object](c Cluster, kind, name string) T {
	o, _ := c.Objects[Key{kind, name}].(T)
	return o
}
