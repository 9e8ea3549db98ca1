package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
)

// referenceIndex finds Kafkas by the ConfigMaps and Secrets that they refer to.
const referenceIndex = "references"

// WatchReferences requeues a Kafka when a ConfigMap or Secret changes that it refers to. A user makes these, without the Kafka's label, and
// often after it. The manager's cache has only objects with the label; this one has all names, and nothing else of the objects.
func (r *Reconciler) WatchReferences(ctx context.Context, mgr ctrl.Manager, c controller.Controller,
	namespaces map[string]cache.Config) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1.Kafka{}, referenceIndex, references); err != nil {
		return err
	}
	names, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultNamespaces: namespaces,
		DefaultTransform: nameOnly,
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(names); err != nil {
		return err
	}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		referring := func(ctx context.Context, o client.Object) []reconcile.Request { return r.referring(ctx, kind, o) }
		if err := c.Watch(source.Kind[client.Object](names, o, handler.EnqueueRequestsFromMapFunc(referring),
			predicate.ResourceVersionChangedPredicate{})); err != nil {
			return err
		}
	}
	return nil
}

// nameOnly strips the metadata of an object of all but its name and version.
func nameOnly(in any) (any, error) {
	o, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	return o, nil
}

// references are the values of a Kafka in the referenceIndex.
func references(o client.Object) (values []string) {
	kafka, ok := o.(*v1.Kafka)
	if !ok {
		return nil
	}
	configMaps, secrets := validate.References(kafka)
	for _, name := range configMaps {
		values = append(values, "ConfigMap/"+name)
	}
	for _, name := range secrets {
		values = append(values, "Secret/"+name)
	}
	return values
}

// referring returns the Kafkas that refer to an object.
func (r *Reconciler) referring(ctx context.Context, kind string, o client.Object) (requests []reconcile.Request) {
	var kafkas v1.KafkaList
	if err := r.Cache.List(ctx, &kafkas, client.InNamespace(o.GetNamespace()),
		client.MatchingFields{referenceIndex: kind + "/" + o.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the Kafkas that refer to an object", "kind", kind, "name", o.GetName())
	}
	for _, kafka := range kafkas.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: kafka.Namespace, Name: kafka.Name}})
	}
	return requests
}
