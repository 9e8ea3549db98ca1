package clusters

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watches tracks a member's informers: whether each is up to date since the connection was last lost. While the connection is lost, it
// blocks their requests, so that informers do not hammer an unreachable server, and do not resume late because of their back-off.
//
// After an outage, every informer lists again. It could resume its watch and would miss no event. But it would be unknown when all events
// of the outage have arrived, and reads until then would return outdated objects. A list has a defined end.
type watches struct {
	mu        sync.Mutex
	informers []*informer
	// outage is the number of times that the connection was lost, plus 1.
	outage int
	// gate is a channel that is closed while requests are allowed.
	gate chan struct{}
	// changed is called when an informer is up to date again.
	changed func()
	// optional are kinds of which only reads fail while they are forbidden.
	optional []string
}

// informer is the record of one informer. watches.mu guards name, namespace, current and refused; the fields named listed* belong to the
// informer's goroutine.
type informer struct {
	name string
	// kind is the name without its package.
	kind string
	// namespace is the namespace that the informer reads, as its requests show; "" if it reads all.
	namespace string
	// current is the outage since which the informer is up to date, or never.
	current int
	// refused holds the API server's refusals to list and to watch the kind, by verb. The store holds what was there before.
	refused map[verb]error
	// listed has the objects that the informer received from the list after the outage listedOutage. listedAll is true once the list is
	// complete.
	listed       versions
	listedOutage int
	listedAll    bool
	// store is the informer's store.
	store toolscache.Store
	// stopped reports whether the informer was removed. It does not start again.
	stopped func() bool
	inner   toolscache.ListerWatcherWithContext
	all     *watches
}

const never = -1

// verb is a request of an informer.
type verb string

const (
	toList  verb = "list"
	toWatch verb = "watch"
)

func newWatches(changed func()) *watches {
	return &watches{outage: 1, gate: make(chan struct{}), changed: changed}
}

// pass allows requests, or blocks them. Blocking after allowing is an outage: watches have to start again. For that, pass calls drop to end
// requests that are under way: before it opens the gate, for those that began while it was closing, and after it closed the gate.
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

// wait waits until requests are allowed, and returns the outage at that time.
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

// pending returns the names of the informers that were once up to date, but are not known to be so since the last outage. It leaves out
// those that never were: reads through them wait themselves.
func (w *watches) pending() []string {
	permitted := w.permitted()
	return w.names(func(i *informer) bool { return i.current != never && i.current != w.outage && !i.superseded(permitted) })
}

// unserved returns the names of the informers whose kinds are not served any more.
func (w *watches) unserved() []string {
	return w.names(func(i *informer) bool { return i.wasRefused(apierrors.IsNotFound) })
}

// forbidden returns the API server's refusals of what informers were once permitted to do.
func (w *watches) forbidden() []string {
	permitted := w.permitted()
	return w.each(func(i *informer) (refusals []string) {
		for _, err := range i.refused {
			if apierrors.IsForbidden(err) && !i.superseded(permitted) {
				refusals = append(refusals, err.Error())
			}
		}
		return refusals
	})
}

// permitted returns the kinds that an informer may read.
func (w *watches) permitted() []string {
	return w.names(func(i *informer) bool { return i.current != never && len(i.refused) == 0 })
}

// superseded reports whether an informer lost its rights and the member does without: its kind is optional, or another informer of the kind
// has them, because of several namespaces, one was deleted with the rights in it, which must not stop what is in the others.
func (i *informer) superseded(permitted []string) bool {
	return i.wasRefused(apierrors.IsForbidden) && (slices.Contains(permitted, i.name) || slices.Contains(i.all.optional, i.kind))
}

// watchedCache is a cache whose reads of one namespace, or of an optional kind, fail while their informer is behind. The member stays
// connected if that one alone lost its rights, and its store has what was there before.
type watchedCache struct {
	cache.Cache
	watches *watches
}

// Get reads one object.
func (c watchedCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.watches.outdated(simple(o), key.Namespace); err != nil {
		return err
	}
	return c.Cache.Get(ctx, key, o, opts...)
}

// List reads many objects.
func (c watchedCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.watches.outdated(simple(list), (&client.ListOptions{}).ApplyOptions(opts).Namespace); err != nil {
		return err
	}
	return c.Cache.List(ctx, list, opts...)
}

// outdated returns an error if the informer of a kind in a namespace is behind, or that of an optional kind in all namespaces.
func (w *watches) outdated(kind, namespace string) error {
	where := "in namespace " + namespace
	if namespace == "" {
		if !slices.Contains(w.optional, kind) {
			return nil
		}
		where = "in all namespaces"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range w.informers {
		behind := i.current != never && i.current != w.outage && !i.stopped()
		if !behind || i.kind != kind || i.namespace != namespace {
			continue
		}
		for _, err := range i.refused {
			return fmt.Errorf("the cache of %s %s is outdated: %w", kind, where, err)
		}
		return fmt.Errorf("the cache of %s %s is outdated", kind, where)
	}
	return nil
}

// asks is the key of the informer in the context of its requests.
type asks struct{}

// note records the namespace that an informer's request is about. Nothing else shows it: the cache makes one informer for each of several
// namespaces.
func (w *watches) note(r *http.Request) {
	i, ok := r.Context().Value(asks{}).(*informer)
	if !ok {
		return
	}
	_, in, _ := strings.Cut(r.URL.Path, "/namespaces/")
	w.mu.Lock()
	defer w.mu.Unlock()
	i.namespace, _, _ = strings.Cut(in, "/")
}

// wasRefused reports whether the API server refused to list or to watch the kind for this reason.
func (i *informer) wasRefused(is func(error) bool) bool {
	return is(i.refused[toList]) || is(i.refused[toWatch])
}

// names returns the names of these informers, each once, sorted.
func (w *watches) names(these func(*informer) bool) []string {
	return w.each(func(i *informer) []string {
		if these(i) {
			return []string{i.name}
		}
		return nil
	})
}

// each returns what of returns for the informers, each once, sorted.
func (w *watches) each(of func(*informer) []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.informers = slices.DeleteFunc(w.informers, func(i *informer) bool { return i.stopped() })
	var all []string
	for _, i := range w.informers {
		all = append(all, of(i)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// newInformer implements cache.Options.NewInformer.
func (w *watches) newInformer(inner toolscache.ListerWatcher, example runtime.Object, resync time.Duration,
	by toolscache.Indexers) toolscache.SharedIndexInformer {
	i := &informer{name: kindOf(example), kind: simple(example), current: never, refused: map[verb]error{}, all: w,
		inner: toolscache.ToListerWatcherWithContext(inner)}
	shared := toolscache.NewSharedIndexInformer(&toolscache.ListWatch{ListWithContextFunc: i.list, WatchFuncWithContext: i.watch}, example,
		resync, by)
	i.stopped, i.store = shared.IsStopped, shared.GetIndexer()
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

// simple returns the name of an object's kind, or of the objects of a list, without its package.
func simple(o runtime.Object) string {
	kind := kindOf(o)
	return strings.TrimSuffix(kind[strings.LastIndex(kind, ".")+1:], "List")
}

func (i *informer) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	outage, err := i.all.wait(ctx)
	if err != nil {
		return nil, err
	}
	stale := i.stale(outage)
	if stale && options.Continue == "" {
		options.ResourceVersion, options.ResourceVersionMatch = "", "" // the latest version, and not one from the cache of the server
		i.listed, i.listedOutage, i.listedAll = versions{}, outage, false
	}
	list, err := i.inner.ListWithContext(context.WithValue(ctx, asks{}, i), options)
	i.answered(toList, err)
	if err != nil || !stale {
		return list, err
	}
	if err := meta.EachListItem(list, func(o runtime.Object) error { i.listed.see(watch.Added, o); return nil }); err != nil {
		return nil, err
	}
	page, err := meta.ListAccessor(list)
	i.listedAll = err == nil && page.GetContinue() == ""
	return list, nil
}

// watch starts a watch. After an outage, it requires a list before the watch, or a watch that begins with a list. The informer is up to
// date when its store has received the whole list: the list has all changes during the outage, and the watch sends all later ones.
func (i *informer) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	outage, err := i.all.wait(ctx)
	if err != nil {
		return nil, err
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		return i.watchFromList(ctx, options, outage)
	}
	if i.stale(outage) {
		if !i.listedAll || i.listedOutage != outage {
			return expired(), nil
		}
		if !i.storeHas(ctx.Done(), i.listed) {
			return nil, context.Cause(ctx)
		}
	}
	inner, err := i.inner.WatchWithContext(context.WithValue(ctx, asks{}, i), options)
	i.answered(toWatch, err)
	if err != nil {
		return nil, err
	}
	i.listed, i.listedAll = nil, false
	i.upToDate(outage)
	return observe(inner, i.notice, func(watch.Event, <-chan struct{}) {}), nil
}

// watchFromList starts a watch that first sends the existing objects, and marks their end with a bookmark.
func (i *informer) watchFromList(ctx context.Context, options metav1.ListOptions, outage int) (watch.Interface, error) {
	stale, listing, sent := i.stale(outage), true, versions{}
	if stale {
		options.ResourceVersion = "" // the latest version, and not one from the cache of the server
	}
	inner, err := i.inner.WatchWithContext(context.WithValue(ctx, asks{}, i), options)
	i.answered(toWatch, err)
	if err != nil {
		return nil, err
	}
	before := func(e watch.Event) {
		if stale && listing {
			sent.see(e.Type, e.Object)
		}
		i.notice(e)
	}
	after := func(e watch.Event, stopped <-chan struct{}) {
		if !listing || e.Type != watch.Bookmark || !endsInitialEvents(e.Object) {
			return
		}
		if !stale || i.storeHas(stopped, sent) {
			i.upToDate(outage)
		}
		listing, sent = false, nil
	}
	return observe(inner, before, after), nil
}

// notice records an event that shows that a watch cannot continue.
func (i *informer) notice(e watch.Event) {
	if e.Type == watch.Error && forgotten(e.Object) {
		i.behind()
	}
}

// versions maps the keys of objects to their resource versions.
type versions map[string]string

func (v versions) see(how watch.EventType, o runtime.Object) {
	key, err := toolscache.MetaNamespaceKeyFunc(o)
	m, err2 := meta.Accessor(o)
	switch {
	case err != nil || err2 != nil:
	case how == watch.Added || how == watch.Modified:
		v[key] = m.GetResourceVersion()
	case how == watch.Deleted:
		delete(v, key)
	}
}

// storeHas waits until the store has exactly the objects that the informer received. The informer must receive nothing more meanwhile.
func (i *informer) storeHas(stopped <-chan struct{}, sent versions) bool {
	const first, last = time.Millisecond, 100 * time.Millisecond
	for pause := first; ; pause = min(2*pause, last) {
		if i.equals(sent) {
			return true
		}
		select {
		case <-time.After(pause):
		case <-stopped:
			return false
		}
	}
}

func (i *informer) equals(sent versions) bool {
	if len(i.store.ListKeys()) != len(sent) {
		return false
	}
	for key, version := range sent {
		o, there, err := i.store.GetByKey(key)
		if err != nil || !there {
			return false
		}
		// A transform may have removed the version.
		if m, err := meta.Accessor(o); err != nil || m.GetResourceVersion() != "" && m.GetResourceVersion() != version {
			return false
		}
	}
	return true
}

// expired returns a watch with an error that makes the informer list again.
func expired() watch.Interface {
	events := make(chan watch.Event, 1)
	events <- watch.Event{Type: watch.Error, Object: &apierrors.NewResourceExpired("the connection to the cluster was lost").ErrStatus}
	close(events)
	return watch.NewProxyWatcher(events)
}

// forgotten reports whether the error means that a watch cannot continue from its version. Other errors are those of the connection.
func forgotten(o runtime.Object) bool {
	err := apierrors.FromObject(o)
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

func endsInitialEvents(o runtime.Object) bool {
	m, err := meta.Accessor(o)
	return err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// stale reports whether the informer was once up to date, but is not known to be so since that outage.
func (i *informer) stale(outage int) bool {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	return i.current != never && i.current != outage
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

// answered records whether the API server still serves the kind and permits to read it, by its answer to one of both verbs. If it does not,
// the informer is behind, and lists when it can again. One that never was up to date makes its readers wait itself.
func (i *informer) answered(to verb, err error) {
	refused := apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
	if err != nil && !refused {
		return // it says nothing about either
	}
	i.all.mu.Lock()
	before := len(i.refused)
	switch {
	case i.current == never:
	case refused:
		i.refused[to] = err
	case to == toWatch:
		clear(i.refused) // it is watched from a list, or from what was listed
	default:
		delete(i.refused, to)
	}
	changes := len(i.refused) != before
	i.all.mu.Unlock()
	if !changes {
		return
	}
	if refused {
		i.behind()
	}
	i.all.changed()
}

// behind marks the informer as not up to date, unless it never was: it has to list again.
func (i *informer) behind() {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	if i.current != never {
		i.current = i.all.outage - 1
	}
}
