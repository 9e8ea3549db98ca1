package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
)

const (
	// slowest is the least time of a request that counts as slow, which is also several times the 99th percentile of a quiet minute.
	slowest = 100 * time.Millisecond
	times   = 3
	// lag is how much later than it happens an event is seen.
	lag = 200 * time.Millisecond
)

// event is what happens to a node, or to the partitions.
type event struct {
	at        time.Time
	what, who string
}

// timeline has the events in their order.
type timeline struct {
	mu     sync.Mutex
	events []event
}

func (l *timeline) add(what, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, event{time.Now(), what, who})
}

// watch records what happens to the nodes and to the partitions, until ctx ends.
func (k *rolled) watch(ctx context.Context) *timeline {
	l := &timeline{}
	go k.watchNodes(ctx, l)
	go k.watchLeaders(ctx, l)
	return l
}

func (k *rolled) watchNodes(ctx context.Context, l *timeline) {
	last := map[string]string{}
	for ctx.Err() == nil {
		pods, err := k.k8s.Watch(ctx, &corev1.PodList{}, client.InNamespace(k.namespace), client.HasLabels{core.LabelPoolName})
		if err != nil {
			_ = pause(ctx, lag) // the loop ends with ctx
			continue
		}
		for e := range pods.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if now := stage(e.Type, pod); last[pod.Name] != now {
				last[pod.Name] = now
				l.add(now, pod.Name)
			}
		}
	}
}

// stage returns where a pod is in its life.
func stage(kind watch.EventType, pod *corev1.Pod) string {
	runs := slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running != nil })
	switch {
	case kind == watch.Deleted:
		return "is gone"
	case pod.DeletionTimestamp != nil && runs:
		return "stops"
	case pod.DeletionTimestamp != nil:
		return "has stopped"
	case core.IsReady(pod):
		return "is ready"
	case runs:
		return "starts"
	}
	return "is new"
}

// watchLeaders records when partitions of the records get other leaders, and when their replicas are in sync.
func (k *rolled) watchLeaders(ctx context.Context, l *timeline) {
	led, inSync := map[int32]int32{}, true
	for ; ctx.Err() == nil; _ = pause(ctx, lag/2) {
		topics, err := k.admin.DescribeTopics(ctx, []string{records})
		if err != nil || topics[records].Err != nil {
			continue // the next time, another node answers
		}
		var moved []string
		preferred, all := true, true
		for _, p := range topics[records].Topic.Partitions {
			if was, known := led[p.Index]; known && was != p.Leader {
				moved = append(moved, fmt.Sprintf("partition %d from %d to %d", p.Index, was, p.Leader))
				preferred = preferred && p.Leader == p.Replicas[0]
			}
			led[p.Index] = p.Leader
			all = all && len(p.ISR) == len(p.Replicas)
		}
		if len(moved) > 0 && preferred {
			l.add("preferred leaders are elected", strings.Join(moved, ", "))
		} else if len(moved) > 0 {
			l.add("leaders move", strings.Join(moved, ", "))
		}
		if inSync != all {
			inSync = all
			l.add(map[bool]string{true: "all replicas are in sync", false: "replicas are missing"}[all], "")
		}
	}
}

// before returns the last event before a request that was sent at that time could have noticed another one.
func (l *timeline) before(at time.Time) event {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.events) {
		if e.at.Before(at.Add(lag)) {
			return e
		}
	}
	return event{at: at, what: "nothing"}
}

// between returns the events from one time to another.
func (l *timeline) between(from, to time.Time) []event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.events), func(e event) bool { return e.at.Before(from) || !e.at.Before(to) })
}

// burst is slow requests that overlap, or follow the same kind of event.
type burst struct {
	from, to   time.Time
	requests   int
	longest    time.Duration
	partitions map[int32]bool
}

func (b *burst) add(s traffic.Send) {
	if b.partitions == nil {
		b.from, b.partitions = s.At, map[int32]bool{}
	}
	if end := s.At.Add(s.Took); end.After(b.to) {
		b.to = end
	}
	b.requests++
	b.longest = max(b.longest, s.Took)
	b.partitions[s.Partition] = true
}

func (b *burst) String() string {
	return fmt.Sprintf("%d slow requests, the longest %s, partitions %v", b.requests, b.longest.Round(time.Millisecond),
		slices.Sorted(maps.Keys(b.partitions)))
}

// bursts returns the slow requests of a roll.
func bursts(slow []traffic.Send) (all []*burst) {
	for _, s := range slow {
		if len(all) == 0 || s.At.After(all[len(all)-1].to) {
			all = append(all, &burst{})
		}
		all[len(all)-1].add(s)
	}
	return all
}

// tell writes when requests were slow in each roll, and after what.
func (k *rolled) tell(report traffic.Report, l *timeline, still span, ways []*way) {
	limit := max(slowest, times*report.Percentile(99, still.from, still.to))
	k.r.logf("  %s: requests are slow from %s on", k.what, limit.Round(time.Millisecond))
	for _, w := range ways {
		after := map[string]*burst{}
		for i, s := range w.spans {
			k.r.logf("  roll %d%s of %s: %s, p99 %s, longest %s", i+1, w.name, k.what, s.takes().Round(time.Millisecond),
				report.Percentile(99, s.from, s.to), report.Percentile(100, s.from, s.to))
			var slow []traffic.Send
			for _, send := range report.Sends {
				if send.Took >= limit && !send.At.Before(s.from) && send.At.Before(s.to) {
					slow = append(slow, send)
				}
			}
			slices.SortFunc(slow, func(a, b traffic.Send) int { return a.At.Compare(b.At) })
			for _, send := range slow {
				what := l.before(send.At).what
				if after[what] == nil {
					after[what] = &burst{}
				}
				after[what].add(send)
			}
			lines := l.between(s.from, s.to)
			for _, b := range bursts(slow) {
				e := l.before(b.from)
				lines = append(lines, event{at: b.from, what: fmt.Sprintf("    %s; %s after: %s", b,
					b.from.Sub(e.at).Round(time.Millisecond), strings.TrimSpace(e.who+" "+e.what))})
			}
			slices.SortStableFunc(lines, func(a, b event) int { return a.at.Compare(b.at) })
			for _, e := range lines {
				k.r.logf("    %7.2f s %s", e.at.Sub(s.from).Seconds(), strings.TrimSpace(e.what+" "+e.who))
			}
		}
		for _, what := range slices.Sorted(maps.Keys(after)) {
			k.r.logf("  rolls%s of %s, after %q: %s", w.name, k.what, what, after[what])
		}
	}
}
