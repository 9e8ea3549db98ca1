package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// inMemory is a client of an apiServer. Methods that histories do not need panic.
type inMemory struct {
	client.WithWatch
	server *apiServer
	// view returns the objects to read; nil for those of the server.
	view func() objects
}

func (s *apiServer) client() *inMemory { return &inMemory{server: s} }

func (c *inMemory) Scheme() *runtime.Scheme { return c.server.scheme }
func (c *inMemory) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, c.server.scheme)
}
func (c *inMemory) objects() objects {
	if c.view != nil {
		return c.view()
	}
	return c.server.objects
}

// fill copies an object into the caller's.
func fill(o, into client.Object, gvk schema.GroupVersionKind) {
	if u, ok := into.(*unstructured.Unstructured); ok {
		u.Object = content(o)
		u.SetGroupVersionKind(gvk)
		return
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(copied(o)).Elem())
}

func (c *inMemory) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	key, gvk, err := c.server.key(into, name.Name)
	if err != nil {
		return err
	}
	o := c.objects()[key]
	if o == nil || o.GetNamespace() != name.Namespace {
		return apierrors.NewNotFound(resourceOf(key), key.Name)
	}
	fill(o.Object, into, gvk)
	return nil
}

func (c *inMemory) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, c.server.scheme)
	if err != nil {
		return err
	}
	o := (&client.ListOptions{}).ApplyOptions(opts)
	kind := gvk.Kind[:len(gvk.Kind)-len("List")]
	var found []runtime.Object
	all := c.objects()
	for _, key := range sortedKeys(all) {
		if stored := all[key]; key.Kind == kind && (o.Namespace == "" || stored.GetNamespace() == o.Namespace) {
			if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(stored.GetLabels())) {
				found = append(found, stored.DeepCopyObject())
			}
		}
	}
	return meta.SetList(list, found)
}

func (c *inMemory) Create(_ context.Context, o client.Object, opts ...client.CreateOption) error {
	key, gvk, err := c.server.key(o, o.GetName())
	if err != nil {
		return err
	}
	if options := (&client.CreateOptions{}).ApplyOptions(opts); len(options.DryRun) > 0 {
		if c.server.objects[key] != nil {
			return apierrors.NewAlreadyExists(resourceOf(key), key.Name)
		}
		return c.server.closed
	}
	made, err := c.server.create(key, gvk, content(o), nil)
	if err == nil {
		fill(made, o, gvk)
	}
	return err
}

func (c *inMemory) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.update(o, content(o), o.GetUID(), o.GetResourceVersion(), false)
}

func (c *inMemory) update(o client.Object, next map[string]any, uid types.UID, version string, status bool) error {
	key, gvk, err := c.server.key(o, o.GetName())
	if err != nil {
		return err
	}
	if err := c.server.judge(c.server.objects[key], key, uid, version); err != nil {
		return err
	}
	made, err := c.server.replace(key, gvk, next, status, "", nil)
	if err == nil {
		fill(made, o, gvk)
	}
	return err
}

func (c *inMemory) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.patch(o, p, false)
}

func (c *inMemory) patch(o client.Object, p client.Patch, status bool) error {
	key, _, err := c.server.key(o, o.GetName())
	if err != nil {
		return err
	}
	text, err := p.Data(o)
	if err != nil {
		return err
	}
	var changes map[string]any
	if err := json.Unmarshal(text, &changes); err != nil {
		return err
	}
	if p.Type() != types.MergePatchType {
		return fmt.Errorf("a patch of type %s is not known here", p.Type())
	}
	before := c.server.objects[key]
	if before == nil {
		return c.server.judge(nil, key, "", "")
	}
	uid, _, _ := unstructured.NestedString(changes, "metadata", "uid")
	version, _, _ := unstructured.NestedString(changes, "metadata", "resourceVersion")
	next := content(before.Object)
	mergePatch(next, changes)
	return c.update(o, next, types.UID(uid), version, status)
}

func (c *inMemory) Apply(_ context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{})
	options.ApplyOptions(opts)
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return err
	}
	made, err := c.server.apply(u, options.FieldManager, options.Force != nil && *options.Force)
	if err == nil {
		o.(interface{ SetResourceVersion(string) }).SetResourceVersion(made.GetResourceVersion())
	}
	return err
}

func (c *inMemory) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	key, _, err := c.server.key(o, o.GetName())
	if err != nil {
		return err
	}
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	var uid types.UID
	var version string
	if pre := options.Preconditions; pre != nil {
		if pre.UID != nil {
			uid = *pre.UID
		}
		if pre.ResourceVersion != nil {
			version = *pre.ResourceVersion
		}
	}
	if err := c.server.judge(c.server.objects[key], key, uid, version); err != nil {
		return err
	}
	c.server.terminate(key)
	return nil
}

func (c *inMemory) Status() client.SubResourceWriter { return c.SubResource("status") }
func (c *inMemory) SubResource(string) client.SubResourceClient {
	return inMemoryStatus{c: c}
}

type inMemoryStatus struct {
	client.SubResourceClient
	c *inMemory
}

func (s inMemoryStatus) Update(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.c.update(o, content(o), o.GetUID(), o.GetResourceVersion(), true)
}

func (s inMemoryStatus) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.c.patch(o, p, true)
}
