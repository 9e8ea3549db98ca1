package manager

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// Readability finds out which namespaces an operator may read. A namespace that is deleted takes the operator's rights in it along, and a
// cache that may not be filled there would keep the manager from serving the other namespaces: it starts when all caches are filled.
type Readability struct {
	Client dynamic.Interface
	// Resources are those that the cache lists.
	Resources []schema.GroupVersionResource
	// Timeout bounds each request.
	Timeout time.Duration
	// Interval is how often Await looks.
	Interval time.Duration
}

// atOnceListed bounds how many resources are listed concurrently.
const atOnceListed = 10

// Split returns the namespaces that can be read, and those in which the API server forbids it, with its answer. A namespace that can't be
// read for another reason counts as readable. If none can be read, the settings or the rights are wrong, and all are returned as readable.
// It takes twice the timeout at most: nothing answers the program's probes before.
func (r Readability) Split(ctx context.Context, watched settings.Namespaces) (readable settings.Namespaces, forbidden map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, 2*r.Timeout)
	defer cancel()
	forbidden = map[string]string{}
	failed := r.failures(ctx, watched.Names)
	for ns, err := range failed {
		if apierrors.IsForbidden(err) {
			forbidden[ns] = err.Error()
		}
	}
	if len(forbidden) == len(watched.Names) {
		return watched, nil
	}
	readable.Names = slices.DeleteFunc(slices.Clone(watched.Names), func(ns string) bool { return apierrors.IsForbidden(failed[ns]) })
	return readable, forbidden
}

// Await returns the first of the namespaces that can be read, once the API server shows all resources of one, or "" when ctx ends.
func (r Readability) Await(ctx context.Context, namespaces []string) (found string) {
	_ = wait.PollUntilContextCancel(ctx, r.Interval, false, func(ctx context.Context) (bool, error) { // found is empty then
		failures := r.failures(ctx, namespaces)
		at := slices.IndexFunc(namespaces, func(ns string) bool { return failures[ns] == nil && ctx.Err() == nil })
		if at >= 0 {
			found = namespaces[at]
		}
		return at >= 0, nil
	})
	return found
}

// failures returns an error for each namespace in which not all resources can be listed: that it is forbidden, if it is for one of them.
func (r Readability) failures(ctx context.Context, namespaces []string) map[string]error {
	var mu sync.Mutex
	var lists errgroup.Group
	lists.SetLimit(atOnceListed)
	failed := map[string]error{}
	for _, ns := range namespaces {
		for _, resource := range r.Resources {
			lists.Go(func() error {
				err := r.list(ctx, ns, resource)
				mu.Lock()
				defer mu.Unlock()
				if err != nil && !apierrors.IsForbidden(failed[ns]) {
					failed[ns] = err
				}
				return nil
			})
		}
	}
	_ = lists.Wait() // failed has the errors
	return failed
}

// list lists one object of a resource, or none.
func (r Readability) list(ctx context.Context, namespace string, resource schema.GroupVersionResource) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	_, err := r.Client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	return err
}
