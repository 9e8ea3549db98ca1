package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

func TestTheQueueCountsObjectsWhenTheyArrive(t *testing.T) {
	g := NewWithT(t)
	var reported []int
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	q := newCountingQueue("", limiter, func(n int) { reported = append(reported, n) })
	t.Cleanup(q.ShutDown)

	q.Add(request("a"))
	q.AddWithOpts(priorityqueue.AddOpts{}, request("b"), request("c"))
	q.Add(request("a"))
	q.AddAfter(request("d"), time.Hour)
	g.Expect(reported).To(Equal([]int{1, 3, 3}), "an object that waits already, or for its time, makes the queue no longer")

	reported = nil
	for range 3 {
		item, shutdown := q.Get()
		g.Expect(shutdown).To(BeFalse())
		q.Done(item)
	}
	g.Expect(reported).To(Equal([]int{3, 2, 1}))

	reported = nil
	q.Add(request("b"))
	g.Expect(reported).To(Equal([]int{1}), "what a worker took waits no more")
}

// A free worker takes an object at once, so polling would not see it in the queue.
func TestTheQueueCountsWhatAWorkerTakesAtOnce(t *testing.T) {
	g := NewWithT(t)
	arrived := make(chan int, 2)
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	q := newCountingQueue("", limiter, func(n int) { arrived <- n })
	t.Cleanup(q.ShutDown)
	taken := make(chan reconcile.Request)
	go func() {
		item, _, _ := q.GetWithPriority()
		taken <- item
	}()
	q.Add(request("a"))
	g.Eventually(taken).Should(Receive(Equal(request("a"))))
	g.Expect(arrived).To(Receive(Equal(1)))
	g.Expect(q.Len()).To(BeZero())
}
