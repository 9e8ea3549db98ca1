package clusters

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// guard allows requests while the member is connected, and ends those under way when the connection is lost.
type guard interface {
	// connected returns a context that ends when the member is no longer connected, with an UnreachableError as its cause. If the member is
	// not connected, connected returns that error.
	connected() (context.Context, error)
}

// withConnection calls do with a context that ends when the member is no longer connected. If the connection is lost meanwhile,
// withConnection returns an UnreachableError.
func withConnection(ctx context.Context, g guard, do func(context.Context) error) error {
	period, err := g.connected()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(period, func() { cancel(context.Cause(period)) })
	defer stop()
	err = do(ctx)
	// If the connection was lost meanwhile, even a successful read may come from an outdated cache.
	if lost, ok := errors.AsType[*UnreachableError](context.Cause(period)); ok && !IsUnreachable(err) {
		return &UnreachableError{Status: lost.Status, Err: err}
	}
	return err
}

// guardedReader is a Reader whose reads fail unless the member is connected throughout.
type guardedReader struct {
	guard guard
	inner client.Reader
}

// Get reads one object.
func (r guardedReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return withConnection(ctx, r.guard, func(ctx context.Context) error { return r.inner.Get(ctx, key, o, opts...) })
}

// List reads many objects.
func (r guardedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return withConnection(ctx, r.guard, func(ctx context.Context) error { return r.inner.List(ctx, list, opts...) })
}

// guardedClient is a Client whose requests fail unless the member is connected throughout. Methods without requests to the server (for the
// scheme and the mapper) are those of the inner client.
type guardedClient struct {
	client.Client
	guard guard
}

var _ client.Client = guardedClient{}

// Get reads one object.
func (c guardedClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return guardedReader{c.guard, c.Client}.Get(ctx, key, o, opts...)
}

// List reads many objects.
func (c guardedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return guardedReader{c.guard, c.Client}.List(ctx, list, opts...)
}

// Apply applies an object.
func (c guardedClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.Client.Apply(ctx, o, opts...) })
}

// Create creates an object.
func (c guardedClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.Client.Create(ctx, o, opts...) })
}

// Delete deletes an object.
func (c guardedClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.Client.Delete(ctx, o, opts...) })
}

// Update updates an object.
func (c guardedClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.Client.Update(ctx, o, opts...) })
}

// Patch patches an object.
func (c guardedClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.Client.Patch(ctx, o, p, opts...) })
}

// DeleteAllOf deletes many objects.
func (c guardedClient) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.Client.DeleteAllOf(ctx, o, opts...) })
}

// Status returns the client for the status of objects.
func (c guardedClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource returns the client for a subresource of objects.
func (c guardedClient) SubResource(name string) client.SubResourceClient {
	return guardedSubResource{c.Client.SubResource(name), c.guard}
}

type guardedSubResource struct {
	inner client.SubResourceClient
	guard guard
}

// Get reads the subresource.
func (c guardedSubResource) Get(ctx context.Context, o, sub client.Object, opts ...client.SubResourceGetOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.inner.Get(ctx, o, sub, opts...) })
}

// Create creates the subresource.
func (c guardedSubResource) Create(ctx context.Context, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.inner.Create(ctx, o, sub, opts...) })
}

// Update updates the subresource.
func (c guardedSubResource) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.inner.Update(ctx, o, opts...) })
}

// Patch patches the subresource.
func (c guardedSubResource) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.inner.Patch(ctx, o, p, opts...) })
}

// Apply applies the subresource.
func (c guardedSubResource) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return withConnection(ctx, c.guard, func(ctx context.Context) error { return c.inner.Apply(ctx, o, opts...) })
}
