package clusters

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// secretWatch watches one Secret by its name.
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

// run watches the Secret until ctx ends, and calls changed after each change.
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
	missing := func() {
		update(func(now *secretState) { now.view, now.err, now.kubeconfig = secretMissing, nil, nil })
	}
	watchObject(ctx, s.getter, "secrets", s.namespace, s.name, &corev1.Secret{}, objectHandler{
		read:    read,
		missing: missing,
		failed: func(err error) {
			update(func(now *secretState) {
				if now.view == secretUnread {
					now.err = err
				}
			})
		},
	})
}
