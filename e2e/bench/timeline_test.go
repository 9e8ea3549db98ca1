package bench

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
)

// The floor of a roll restarts nodes in the order of the roller (docs/decisions/restart-order.md).
func TestNodesAreRestartedByHandInTheRollersOrder(t *testing.T) {
	g := NewWithT(t)
	node := func(name, controller string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{core.LabelControllerRole: controller}}}
	}
	left := []corev1.Pod{node("k-brokers-10", "false"), node("k-brokers-2", "false"), node("k-controllers-6", "true"),
		node("k-controllers-7", "true"), node("k-controllers-8", "true")}
	var order []int32
	for len(left) > 0 {
		next := nextByHand(left, 7)
		order = append(order, nodeOf(&next))
		left = slices.DeleteFunc(left, func(p corev1.Pod) bool { return p.Name == next.Name })
	}
	g.Expect(order).To(Equal([]int32{6, 8, 7, 2, 10}))
}

func TestSlowRequestsThatOverlapAreOneBurst(t *testing.T) {
	g := NewWithT(t)
	began := time.Now()
	send := func(at, took time.Duration, partition int32) traffic.Send {
		return traffic.Send{At: began.Add(at), Took: took, Partition: partition}
	}
	all := bursts([]traffic.Send{send(0, 5*time.Second, 1), send(time.Second, time.Second, 0), send(4*time.Second, 2*time.Second, 1),
		send(7*time.Second, time.Second, 2)})
	g.Expect(all).To(HaveLen(2))
	g.Expect(all[0].String()).To(Equal("3 slow requests, the longest 5s, partitions [0 1]"))
	g.Expect(all[1].String()).To(Equal("1 slow requests, the longest 1s, partitions [2]"))
}

func TestARequestIsSlowAfterTheLastEvent(t *testing.T) {
	g := NewWithT(t)
	began := time.Now()
	l := &timeline{events: []event{{at: began, what: "stops"}, {at: began.Add(time.Second), what: "is gone"}}}
	g.Expect(l.before(began.Add(-time.Second)).what).To(Equal("nothing"))
	g.Expect(l.before(began.Add(500 * time.Millisecond)).what).To(Equal("stops"))
	g.Expect(l.before(began.Add(time.Second-lag/2)).what).To(Equal("is gone"), "events are seen late")
}
