package clusters

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RemotesKey is the key of the list of remote clusters in a ConfigMap, in the format of ParseRemotes.
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

// watchRemotes updates the remote clusters from the ConfigMap of Options.RemotesFrom until ctx ends. While the ConfigMap is missing or
// invalid, they stay as they are.
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

// FollowConfigMap calls read with each version of a ConfigMap until ctx ends, and failed if it is missing or can't be watched. It only
// needs the right to list and watch that ConfigMap by name.
func FollowConfigMap(ctx context.Context, core corev1client.CoreV1Interface, name client.ObjectKey, read func(*corev1.ConfigMap),
	failed func(error)) {
	watchObject(ctx, core.RESTClient(), "configmaps", name.Namespace, name.Name, &corev1.ConfigMap{}, objectHandler{
		read: func(o any) {
			if c, ok := o.(*corev1.ConfigMap); ok {
				read(c)
			}
		},
		missing: func() { failed(fmt.Errorf("ConfigMap %s does not exist", name)) },
		failed:  failed,
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

// objectHandler handles the events of one object.
type objectHandler struct {
	// read is called with each version of the object.
	read func(o any)
	// missing is called when the object is deleted, and if it does not exist at the start.
	missing func()
	// failed is called each time the watch fails.
	failed func(error)
}

// watchObject watches one object by its name until ctx ends. It only needs the right to list and watch that object by name, and reads no
// other object into memory. A failed watch leaves the known state unchanged.
func watchObject(ctx context.Context, getter toolscache.Getter, resource, namespace, name string, kind runtime.Object, h objectHandler) {
	informer := toolscache.NewSharedInformer(
		toolscache.NewListWatchFromClient(getter, resource, namespace, fields.OneTermEqualSelector("metadata.name", name)), kind, 0)
	// Neither fails before the informer is started.
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
