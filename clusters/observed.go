package clusters

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// observe calls before and after with each event of a watch, before and after it passes the event on. It does not pass on the next event
// before both have returned.
func observe(inner watch.Interface, before func(watch.Event), after func(e watch.Event, stopped <-chan struct{})) watch.Interface {
	o := &observed{Interface: inner, result: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(o.result)
		for e := range inner.ResultChan() {
			before(e)
			select {
			case o.result <- e:
				after(e, o.stopped)
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

// ResultChan returns the channel of the observed events.
func (o *observed) ResultChan() <-chan watch.Event { return o.result }

// Stop ends the watch.
func (o *observed) Stop() {
	o.stop.Do(func() { close(o.stopped) })
	o.Interface.Stop()
}
