package controller

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// countingQueue is controller-runtime's queue, and reports how many objects wait in it. It counts an object when it arrives, because the
// workers empty the queue before any of them could read its length.
type countingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	report func(waiting int)

	mu      sync.Mutex
	waiting map[reconcile.Request]struct{}
}

// newQueue returns the queue of the controller, which reports its length to the metrics.
func (r *Reconciler) newQueue(name string,
	limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return newCountingQueue(name, limiter, r.metrics.QueueLength)
}

func newCountingQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], report func(int)) *countingQueue {
	return &countingQueue{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		report:        report, waiting: map[reconcile.Request]struct{}{},
	}
}

// AddWithOpts implements priorityqueue.PriorityQueue. It does not count delayed objects; a worker counts them when it takes them.
func (q *countingQueue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	if o.After == 0 && !o.RateLimited {
		q.arrive(items) // before the object is in the queue, where a worker may take it at once
	}
	q.PriorityQueue.AddWithOpts(o, items...)
}

// Add implements workqueue.TypedInterface.
func (q *countingQueue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// Get implements workqueue.TypedInterface.
func (q *countingQueue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *countingQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if !shutdown {
		q.leave(item)
	}
	return item, priority, shutdown
}

func (q *countingQueue) arrive(items []reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range items {
		q.waiting[item] = struct{}{}
	}
	q.report(len(q.waiting))
}

func (q *countingQueue) leave(item reconcile.Request) {
	q.report(q.Len() + 1) // including the delayed objects that are due
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, item)
}
