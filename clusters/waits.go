package clusters

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// watchTimeout is how long a read from a cache waits until the watch has begun that fills it.
const watchTimeout = 15 * time.Second

// waits bounds how long reads from a cache wait for a watch to begin, which it never does while the credentials don't permit it. Once a
// read has waited in vain, further ones of its kind and namespace fail at once until the watch has begun: what is read again and again must
// not wait each time.
type waits struct {
	timeout time.Duration
	vain    sync.Map
}

// read calls do, which reads what from a cache, with a context that ends when it has waited long enough.
func (w *waits) read(ctx context.Context, what string, do func(context.Context) error) error {
	timeout := w.timeout
	if _, vain := w.vain.Load(what); vain {
		timeout = 0 // the cache responds nevertheless if it is in sync
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := do(waiting)
	if err == nil {
		w.vain.Delete(what)
	}
	if waiting.Err() == nil || !apierrors.IsTimeout(err) {
		return err
	}
	if _, lost := errors.AsType[*UnreachableError](context.Cause(ctx)); lost {
		return err
	}
	w.vain.Store(what, true)
	return fmt.Errorf("the watch of %s has not begun: the credentials may not permit it: %w", what, err)
}
