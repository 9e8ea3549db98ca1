package clusters

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// watches keeps account of a member's informers: whether each has taken up its watch since the connection was last lost. While there is
// no connection it holds them back, so that they neither hammer a server that is not there nor, having backed off, come back late.
type watches struct {
	mu        sync.Mutex
	informers []*informer
	// outage counts how often the connection was lost, from 1.
	outage int
	// gate is closed while requests may pass.
	gate chan struct{}
	// changed is called when a watch has been taken up.
	changed func()
}

// informer is the account of one informer. Its fields belong to watches.mu.
type informer struct {
	name string
	// current is the outage after which the watch was last taken up, or never.
	current int
	// stopped reports whether it was taken away; it then comes back no more.
	stopped func() bool
	inner   toolscache.ListerWatcherWithContext
	all     *watches
}

const never = -1

func newWatches(changed func()) *watches {
	return &watches{outage: 1, gate: make(chan struct{}), changed: changed}
}

// pass lets requests pass, or holds them back. Holding back after passing is an outage: what was watched has to be taken up again. So that it really
// is, drop is called to break off what is under way: before the gate opens, for what was begun while it was closing, and after it has closed.
func (w *watches) pass(open bool, drop func()) {
	w.mu.Lock()
	isOpen, lostBefore := w.open(), w.outage > 1
	w.mu.Unlock()
	switch {
	case open && !isOpen:
		if lostBefore {
			drop()
		}
		w.mu.Lock()
		close(w.gate)
		w.mu.Unlock()
	case !open && isOpen:
		w.mu.Lock()
		w.gate = make(chan struct{})
		w.outage++
		w.mu.Unlock()
		drop()
	}
}

func (w *watches) open() bool {
	select {
	case <-w.gate:
		return true
	default:
		return false
	}
}

// wait waits until requests may pass, and returns how many outages there were until then.
func (w *watches) wait(ctx context.Context) (outage int, err error) {
	for {
		w.mu.Lock()
		gate, open, outage := w.gate, w.open(), w.outage
		w.mu.Unlock()
		if open {
			return outage, nil
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// pending names the informers that have once been up to date and are not known to be since the last outage. Those that never were are not among
// them: reads through them wait by themselves.
func (w *watches) pending() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.informers = slices.DeleteFunc(w.informers, func(i *informer) bool { return i.stopped() })
	var names []string
	for _, i := range w.informers {
		if i.current != never && i.current != w.outage {
			names = append(names, i.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// newInformer is for cache.Options.NewInformer.
func (w *watches) newInformer(inner toolscache.ListerWatcher, example runtime.Object, resync time.Duration, by toolscache.Indexers) toolscache.SharedIndexInformer {
	i := &informer{name: kindOf(example), current: never, inner: toolscache.ToListerWatcherWithContext(inner), all: w}
	shared := toolscache.NewSharedIndexInformer(&toolscache.ListWatch{ListWithContextFunc: i.list, WatchFuncWithContext: i.watch}, example, resync, by)
	i.stopped = shared.IsStopped
	w.mu.Lock()
	defer w.mu.Unlock()
	w.informers = append(w.informers, i)
	return shared
}

func kindOf(example runtime.Object) string {
	if kind := example.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return fmt.Sprintf("%T", example)
}

func (i *informer) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if _, err := i.all.wait(ctx); err != nil {
		return nil, err
	}
	return i.inner.ListWithContext(ctx, options)
}

// watch takes the watch up. From then on the informer is up to date but for what is on its way, except if the watch sends the
// present state first, or starts with the message that the past is forgotten: then not before that has come.
func (i *informer) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	outage, err := i.all.wait(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := i.inner.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	if options.SendInitialEvents == nil || !*options.SendInitialEvents {
		i.upToDate(outage)
	}
	return observe(inner, func(e watch.Event) {
		switch {
		case e.Type == watch.Error && forgotten(e.Object):
			i.behind()
		case e.Type == watch.Bookmark && endsInitialEvents(e.Object):
			i.upToDate(outage)
		}
	}), nil
}

// observe shows each event of a watch to see before it is passed on.
func observe(inner watch.Interface, see func(watch.Event)) watch.Interface {
	o := &observed{Interface: inner, result: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(o.result)
		for e := range inner.ResultChan() {
			see(e)
			select {
			case o.result <- e:
			case <-o.stopped:
				return
			}
		}
	}()
	return o
}

type observed struct {
	watch.Interface
	result  chan watch.Event
	stop    sync.Once
	stopped chan struct{}
}

// ResultChan returns the channel of the events that have been shown.
func (o *observed) ResultChan() <-chan watch.Event { return o.result }

// Stop ends the watch.
func (o *observed) Stop() {
	o.stop.Do(func() { close(o.stopped) })
	o.Interface.Stop()
}

// forgotten reports whether a watch cannot go on from where it was. Other errors are those of the connection.
func forgotten(o runtime.Object) bool {
	err := apierrors.FromObject(o)
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

func endsInitialEvents(o runtime.Object) bool {
	m, err := meta.Accessor(o)
	return err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

func (i *informer) upToDate(outage int) {
	i.all.mu.Lock()
	was := i.current
	i.current = outage
	i.all.mu.Unlock()
	if was != outage {
		i.all.changed()
	}
}

// behind: what was watched so far has to be read again.
func (i *informer) behind() {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	if i.current != never {
		i.current = i.all.outage - 1
	}
}
