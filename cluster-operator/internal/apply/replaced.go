package apply

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Replaced remembers the versions of objects that this process has replaced, until a cache shows newer ones. A reconciler whose watch
// ignores changes of the status needs it: a cache that is behind may show just the status that is wanted, so that nothing is written over
// another one, and no event wakes the reconciler again. It is for objects of one kind; its zero value is empty.
type Replaced struct {
	mu       sync.Mutex
	versions map[client.ObjectKey][]string
}

// Note notes that a write replaced one version of an object with another.
func (r *Replaced) Note(before, after client.Object) {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.versions == nil {
		r.versions = map[client.ObjectKey][]string{}
	}
	key := client.ObjectKeyFromObject(after)
	r.versions[key] = append(r.versions[key], before.GetResourceVersion())
}

// Behind reports whether a cached object is a version that was replaced. If it is not, the cache has caught up, and its replaced versions
// are forgotten.
func (r *Replaced) Behind(cached client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(cached)
	if slices.Contains(r.versions[key], cached.GetResourceVersion()) {
		return true
	}
	delete(r.versions, key)
	return false
}

// Forget forgets an object that is gone.
func (r *Replaced) Forget(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.versions, key)
}
