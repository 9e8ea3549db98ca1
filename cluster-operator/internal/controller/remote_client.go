package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remoteClient reads past the cache of another Kubernetes cluster, and confirms that the Kafka may write there before it writes.
type remoteClient struct {
	client.Client
	reader  client.Reader
	confirm func(context.Context) error
}

var _ client.Client = &remoteClient{}

// Get reads one object.
func (c *remoteClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.reader.Get(ctx, key, o, opts...)
}

// List reads many objects.
func (c *remoteClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, list, opts...)
}

// Apply applies an object.
func (c *remoteClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := c.confirm(ctx); err != nil {
		return err
	}
	return c.Client.Apply(ctx, o, opts...)
}

// Create creates an object.
func (c *remoteClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := c.confirm(ctx); err != nil {
		return err
	}
	return c.Client.Create(ctx, o, opts...)
}

// Update updates an object.
func (c *remoteClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if err := c.confirm(ctx); err != nil {
		return err
	}
	return c.Client.Update(ctx, o, opts...)
}

// Patch patches an object.
func (c *remoteClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := c.confirm(ctx); err != nil {
		return err
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

// Delete deletes an object.
func (c *remoteClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := c.confirm(ctx); err != nil {
		return err
	}
	return c.Client.Delete(ctx, o, opts...)
}

// DeleteAllOf deletes many objects.
func (c *remoteClient) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	if err := c.confirm(ctx); err != nil {
		return err
	}
	return c.Client.DeleteAllOf(ctx, o, opts...)
}
