package clusters

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Until makes a source of a controller end with ctx, which should be the context from OnJoin: the controller may outlive the member.
//
//	set.OnJoin(func(ctx context.Context, m *clusters.Member) error {
//		return controller.Watch(clusters.Until(ctx, source.Kind(m.Cluster().GetCache(), &corev1.Pod{}, handlerOf(m.ID()))))
//	})
//
// Otherwise, the controller would wait for the source to sync before it starts its workers, and end the process if that takes too long: one
// unreachable cluster must not stop the others from being served. Reads through Member.Reader and Member.Client wait for their informers,
// or fail with an UnreachableError.
func Until[request comparable](ctx context.Context, inner source.TypedSource[request]) source.TypedSource[request] {
	return bounded[request]{ctx, inner}
}

type bounded[request comparable] struct {
	until context.Context
	inner source.TypedSource[request]
}

// Start starts the source unless its context has ended.
func (b bounded[request]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	if b.until.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(b.until, func() { cancel(context.Cause(b.until)) })
	return b.inner.Start(ctx, queue)
}
