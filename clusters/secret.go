package clusters

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
)

// secretWatch follows one Secret, by its name: the right to list and watch that one by name is all it needs, and no other
// Secret is ever read into memory. A watch that fails leaves what is known as it is.
type secretWatch struct {
	namespace, name string
	getter          toolscache.Getter

	mu  sync.Mutex
	now secretState
}

func newSecretWatch(getter toolscache.Getter, namespace, name string) *secretWatch {
	return &secretWatch{namespace: namespace, name: name, getter: getter, now: secretState{name: namespace + "/" + name}}
}

func (s *secretWatch) state() secretState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// run follows the Secret until ctx ends, and calls changed after each change.
func (s *secretWatch) run(ctx context.Context, changed func()) {
	update := func(change func(*secretState)) {
		s.mu.Lock()
		change(&s.now)
		s.mu.Unlock()
		changed()
	}
	read := func(o any) {
		if secret, ok := o.(*corev1.Secret); ok {
			update(func(now *secretState) { now.view, now.err, now.kubeconfig = secretRead, nil, kubeconfigOf(secret) })
		}
	}
	missing := func(any) {
		update(func(now *secretState) { now.view, now.err, now.kubeconfig = secretMissing, nil, nil })
	}
	informer := toolscache.NewSharedInformer(
		toolscache.NewListWatchFromClient(s.getter, "secrets", s.namespace, fields.OneTermEqualSelector("metadata.name", s.name)),
		&corev1.Secret{}, 0)
	// Neither can fail before the informer was started.
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) {
		update(func(now *secretState) {
			if now.view == secretUnread {
				now.err = err
			}
		})
	})
	_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: read, UpdateFunc: func(_, o any) { read(o) }, DeleteFunc: missing,
	})
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { informer.RunWithContext(ctx) })
	if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && len(informer.GetStore().List()) == 0 && s.state().view == secretUnread {
		missing(nil)
	}
}
