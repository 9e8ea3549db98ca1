// Package release removes the operator's finalizer from KafkaTopics that no operator will reconcile any more, so that their deletion is not
// blocked. Their topics stay in Kafka.
//
// [Leaver] does it when the operator stops for good; [Command] does it by hand.
package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// atOnce is how many KafkaTopics are released at the same time.
const atOnce = 32

// held returns the KafkaTopics with the operator's finalizer, sorted by namespace and name as the API server lists them.
func held(ctx context.Context, c client.Reader, wanted func(*v1.KafkaTopic) bool, options ...client.ListOption) ([]v1.KafkaTopic, error) {
	var found []v1.KafkaTopic
	page := &v1.KafkaTopicList{}
	for {
		all := append(slices.Clone(options), client.Limit(500), client.Continue(page.Continue))
		page = &v1.KafkaTopicList{}
		if err := c.List(ctx, page, all...); err != nil {
			return nil, err
		}
		for i := range page.Items {
			if kt := &page.Items[i]; slices.Contains(kt.Finalizers, v1.FinalizerTopicOperator) && wanted(kt) {
				found = append(found, *kt)
			}
		}
		if page.Continue == "" {
			return found, nil
		}
	}
}

// errReplaced is the error of an object that was replaced by another one with the same name, which keeps its finalizer.
var errReplaced = errors.New("another KafkaTopic has the name now")

// free removes the operator's finalizer from an object, and no other. It leaves an object alone that was deleted, or replaced.
func free(ctx context.Context, c client.Client, kt *v1.KafkaTopic) error {
	key, uid := client.ObjectKeyFromObject(kt), kt.UID
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		rest := slices.DeleteFunc(slices.Clone(kt.Finalizers), func(f string) bool { return f == v1.FinalizerTopicOperator })
		switch {
		case kt.UID != uid:
			return errReplaced
		case len(rest) == len(kt.Finalizers):
			return nil
		}
		// With the resourceVersion that was read, because the patch replaces the whole list.
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": kt.ResourceVersion, "finalizers": rest}})
		if err != nil {
			return err
		}
		err = c.Patch(ctx, kt.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
		if apierrors.IsConflict(err) {
			fresh := &v1.KafkaTopic{}
			if gone := c.Get(ctx, key, fresh); gone != nil {
				return gone
			}
			*kt = *fresh
		}
		return err
	})
	return client.IgnoreNotFound(err)
}

// freeAll frees objects, and calls done with each result, one at a time. It returns the errors, joined, without errReplaced.
func freeAll(ctx context.Context, c client.Client, topics []v1.KafkaTopic, done func(*v1.KafkaTopic, error)) error {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		errs  []error
		slots = make(chan struct{}, atOnce)
	)
	for i := range topics {
		kt := &topics[i]
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			err := free(ctx, c, kt)
			mu.Lock()
			defer mu.Unlock()
			done(kt, err)
			if err != nil && !errors.Is(err, errReplaced) {
				errs = append(errs, fmt.Errorf("release KafkaTopic %s/%s: %w", kt.Namespace, kt.Name, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
