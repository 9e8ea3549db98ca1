package manager

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// Readability finds out which namespaces an operator may read. A namespace that is deleted takes the operator's rights in it along, and a
// cache that may not be filled there would keep the manager from serving the other namespaces: it starts when all caches are filled.
type Readability struct {
	Client dynamic.Interface
	// Resources are those that the cache lists.
	Resources []schema.GroupVersionResource
	// Interval is how often Await looks.
	Interval time.Duration
}

// Split returns the namespaces that can be read, and those in which the API server forbids it, with its answer. A namespace that can't be
// read for another reason counts as readable. If none can be read, the settings or the rights are wrong, and all are returned as readable.
func (r Readability) Split(ctx context.Context, watched settings.Namespaces) (readable settings.Namespaces, forbidden map[string]string) {
	forbidden = map[string]string{}
	for _, ns := range watched.Names {
		if why := r.forbids(ctx, ns); why != "" {
			forbidden[ns] = why
		}
	}
	if len(forbidden) == len(watched.Names) {
		return watched, nil
	}
	readable.Names = slices.DeleteFunc(slices.Clone(watched.Names), func(ns string) bool { return forbidden[ns] != "" })
	return readable, forbidden
}

// Await returns the first of the namespaces that can be read, once one can, or "" when ctx ends.
func (r Readability) Await(ctx context.Context, namespaces []string) string {
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(r.Interval):
		}
		for _, ns := range namespaces {
			if r.forbids(ctx, ns) == "" && ctx.Err() == nil {
				return ns
			}
		}
	}
}

// forbids returns the API server's answer if it forbids to list a resource in the namespace.
func (r Readability) forbids(ctx context.Context, namespace string) string {
	for _, resource := range r.Resources {
		_, err := r.Client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsForbidden(err) {
			return err.Error()
		}
	}
	return ""
}
