package clusters

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RemotesKey is the key in a ConfigMap under which the remote clusters are listed, as ParseRemotes reads them.
const RemotesKey = "clusters"

// ReadRemotes reads the remote clusters that a ConfigMap lists.
func ReadRemotes(ctx context.Context, reader client.Reader, name client.ObjectKey) ([]Remote, error) {
	c := &corev1.ConfigMap{}
	if err := reader.Get(ctx, name, c); err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return remotesOf(c)
}

func remotesOf(c *corev1.ConfigMap) ([]Remote, error) {
	text, ok := c.Data[RemotesKey]
	if !ok {
		return nil, fmt.Errorf("ConfigMap %s/%s has no key %s", c.Namespace, c.Name, RemotesKey)
	}
	remotes, err := ParseRemotes(text)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s, key %s: %w", c.Namespace, c.Name, RemotesKey, err)
	}
	return remotes, nil
}

// watchRemotes keeps the remote clusters as the ConfigMap of Options.RemotesFrom lists them, until ctx ends. While that is gone or wrong,
// they stay as they are.
func (s *Set) watchRemotes(ctx context.Context) {
	name := s.options.Namespace + "/" + s.options.RemotesFrom
	log := s.options.Log.WithValues("configMap", name)
	read := func(o any) {
		c, ok := o.(*corev1.ConfigMap)
		if !ok {
			return
		}
		remotes, err := remotesOf(c)
		changed := false
		if err == nil {
			changed, err = s.setRemotes(remotes)
		}
		switch {
		case err != nil:
			log.Error(err, "The list of Kubernetes clusters is invalid; the previous one stays in use")
		case changed:
			log.Info("The list of Kubernetes clusters changed", "clusters", ids(remotes))
		}
	}
	watchObject(ctx, s.secrets.RESTClient(), "configmaps", s.options.Namespace, s.options.RemotesFrom, &corev1.ConfigMap{}, objectHandler{
		read: read,
		missing: func() {
			log.Error(nil, "The list of Kubernetes clusters does not exist; the previous one stays in use")
		},
		failed: func(err error) { log.Error(err, "Failed to watch the list of Kubernetes clusters") },
	})
}

func ids(remotes []Remote) []string {
	var all []string
	for _, r := range remotes {
		all = append(all, r.ID)
	}
	slices.Sort(all)
	return all
}

// objectHandler handles what happens to one object.
type objectHandler struct {
	// read is called with each version of the object.
	read func(o any)
	// missing is called when it is deleted, and when it is not there at first.
	missing func()
	// failed is called each time the watch fails.
	failed func(error)
}

// watchObject watches one object by its name, until ctx ends: the right to list and watch that one by name is all it needs, and no other
// object is ever read into memory. A watch that fails leaves what is known as it is.
func watchObject(ctx context.Context, getter toolscache.Getter, resource, namespace, name string, kind runtime.Object, h objectHandler) {
	informer := toolscache.NewSharedInformer(
		toolscache.NewListWatchFromClient(getter, resource, namespace, fields.OneTermEqualSelector("metadata.name", name)), kind, 0)
	// Neither can fail before the informer was started.
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) { h.failed(err) })
	_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: h.read, UpdateFunc: func(_, now any) { h.read(now) }, DeleteFunc: func(any) { h.missing() },
	})
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { informer.RunWithContext(ctx) })
	if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && len(informer.GetStore().List()) == 0 {
		h.missing()
	}
}
