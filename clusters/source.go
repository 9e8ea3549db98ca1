package clusters

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Until makes a controller's source end with ctx, which is meant to be the one that OnJoin gives: the controller may outlive the member.
//
//	set.OnJoin(func(ctx context.Context, m *clusters.Member) error {
//		return controller.Watch(clusters.Until(ctx, source.Kind(m.Cluster().GetCache(), &corev1.Pod{}, handlerOf(m.ID()))))
//	})
//
// The controller does not wait for the source to be in sync before it starts its workers, as it otherwise would, and end the process when
// that takes too long: one cluster that is not there must not keep the others from being served. Reads through Member.Reader and
// Member.Client wait for their informers by themselves, or fail with an UnreachableError.
func Until[request comparable](ctx context.Context, inner source.TypedSource[request]) source.TypedSource[request] {
	return bounded[request]{ctx, inner}
}

type bounded[request comparable] struct {
	until context.Context
	inner source.TypedSource[request]
}

// Start starts the source unless its time is over.
func (b bounded[request]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	if b.until.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(b.until, func() { cancel(context.Cause(b.until)) })
	return b.inner.Start(ctx, queue)
}
