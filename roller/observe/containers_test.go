package observe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

func runs(name string, ready bool, since time.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Ready: ready,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: since}}}}
}

func waits(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

// Only the Kafka container decides whether a node is ready. Problems of other containers are reported.
func TestOnlyTheContainerOfKafkaCounts(t *testing.T) {
	hourAgo, momentAgo := noon.Add(-time.Hour), noon.Add(-time.Second)
	for _, c := range []struct {
		name           string
		podReady       bool
		init, all      []corev1.ContainerStatus
		ready          bool
		since          time.Time
		stuck, sidecar string
	}{
		{"all are well", true, nil, []corev1.ContainerStatus{runs("kafka", true, hourAgo), runs("sidecar", true, hourAgo)}, true,
			noon.Add(-time.Minute), "", ""},
		{
			"a sidecar crashes", false, nil, []corev1.ContainerStatus{runs("kafka", true, hourAgo), waits("sidecar", "CrashLoopBackOff")},
			true, hourAgo, "", "its container sidecar does not run: CrashLoopBackOff",
		},
		{
			"the machine is lost, so that nobody writes the containers' statuses any more", false, nil,
			[]corev1.ContainerStatus{runs("kafka", true, hourAgo), runs("sidecar", true, hourAgo)}, false, noon.Add(-time.Minute), "", "",
		},
		{
			"a sidecar among the init containers crashes", false, []corev1.ContainerStatus{waits("proxy", "CrashLoopBackOff")},
			[]corev1.ContainerStatus{runs("kafka", true, hourAgo)},
			true, hourAgo, "", "its container proxy does not run: CrashLoopBackOff",
		},
		{
			"an init container crashes, so that Kafka does not start", false, []corev1.ContainerStatus{waits("init", "CrashLoopBackOff")},
			[]corev1.ContainerStatus{waits("kafka", "PodInitializing")},
			false, noon.Add(-time.Minute), "CrashLoopBackOff", "its container init does not run: CrashLoopBackOff",
		},
		{
			"Kafka has just ended beside a sidecar that crashes", false, nil,
			[]corev1.ContainerStatus{{Name: "kafka",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Time{Time: momentAgo}}}},
				waits("sidecar", "CrashLoopBackOff")},
			false, momentAgo, "", "its container sidecar does not run: CrashLoopBackOff",
		},
		{"Kafka crashes", false, nil, []corev1.ContainerStatus{waits("kafka", "CrashLoopBackOff"), runs("sidecar", true, hourAgo)}, false,
			noon.Add(-time.Minute), "CrashLoopBackOff", ""},
		{
			"Kafka was started anew just now, in a pod that a sidecar had made unready before", false, nil,
			[]corev1.ContainerStatus{runs("kafka", false, momentAgo), waits("sidecar", "CrashLoopBackOff")}, false, momentAgo, "",
			"its container sidecar does not run: CrashLoopBackOff",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			p := pod(0, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses, p.Status.ContainerStatuses = c.init, c.all
				if !c.podReady {
					p.Status.Conditions[0].Status = corev1.ConditionFalse
				}
				containers := corev1.ConditionTrue
				for _, s := range slices.Concat(c.init, c.all) {
					if !s.Ready {
						containers = corev1.ConditionFalse
					}
				}
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: containers})
			})
			n := observe.Assemble(seen(observe.Place{Pods: []corev1.Pod{p}})).Nodes[0]
			g.Expect(n.Ready).To(Equal(roller.Known(c.ready)))
			g.Expect(n.ReadyChanged).To(Equal(c.since))
			g.Expect(n.Stuck).To(Equal(roller.Known(c.stuck)))
			g.Expect(n.Sidecar).To(Equal(c.sidecar))
		})
	}
}

// A request that is annotated on a pod belongs to that pod, and can be repeated on the next one. A request that each new pod inherits is
// one request.
func TestRequestsOfPods(t *testing.T) {
	g := NewWithT(t)
	asked := annotated(core.AnnotationManualRollingUpdate, "true")
	mark := func(p corev1.Pod, desired corev1.Pod) string {
		requests := observe.Assemble(seen(observe.Place{Pods: []corev1.Pod{p}, Sets: []observe.PodSet{set(desired)}})).Nodes[0].Requests
		g.Expect(requests).To(HaveLen(1))
		return requests[0].Mark
	}
	another := func(p *corev1.Pod) { p.UID = "another" }
	g.Expect(mark(pod(3, asked), pod(3))).NotTo(Equal(mark(pod(3, asked, another), pod(3))))
	g.Expect(mark(pod(3, asked), pod(3, asked))).To(Equal(mark(pod(3, asked, another), pod(3, asked))))
}

// A new revision because a user annotated the StrimziPodSet looks like that of a changed template.
func TestANewRevisionSaysThatARestartWasAskedFor(t *testing.T) {
	g := NewWithT(t)
	note := func(uid string) string {
		asked := pod(3, annotated(core.AnnotationRestartedAt, uid))
		s := seen(observe.Place{Pods: []corev1.Pod{pod(3, func(p *corev1.Pod) { p.UID = "now" })}, Sets: []observe.PodSet{set(asked)}})
		return observe.Assemble(s).Nodes[0].Revision.Or(roller.Revision{}).Note
	}
	g.Expect(note("now")).To(Equal("a restart was asked for"))
	g.Expect(note("before")).To(BeEmpty(), "the pod is the one that came of that restart")
	g.Expect(note("")).To(BeEmpty())
}

// The facts of a node that does not respond: its desired configuration, and when its pod was deleted.
func TestWhatIsKnownOfASilentNode(t *testing.T) {
	g := NewWithT(t)
	grace := int64(30)
	p := pod(3, func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: noon.Add(20 * time.Second)}, &grace
	})
	s := seen(observe.Place{Pods: []corev1.Pod{p},
		Properties: map[string]string{"my-cluster-kafka-3": "controller.quorum.fetch.timeout.ms=9000\n"}})
	n := observe.Assemble(s).Nodes[0]
	g.Expect(n.Desired.Or(nil)).To(Equal(map[string]string{"controller.quorum.fetch.timeout.ms": "9000"}))
	g.Expect(n.Deleted).To(Equal(noon.Add(-10 * time.Second)))
	g.Expect(n.Overdue).To(Equal(noon.Add(20 * time.Second)))
	s.Places = append(s.Places, observe.Place{ID: "east", Err: fmt.Errorf("away")})
	g.Expect(observe.Assemble(s).Unread).To(Equal("cluster east can't be read: away"))
}

// refuser is a Kafka whose nodes return an error, or whose bootstrap address does, so that no node is asked.
type refuser struct {
	*memory.Client
	err       error
	bootstrap bool
}

func (r *refuser) DescribeNodeConfigs(_ context.Context, nodes []int32, _ []string) (map[int32]kafka.ConfigResult, error) {
	if r.bootstrap {
		return nil, r.err
	}
	out := map[int32]kafka.ConfigResult{}
	for _, id := range nodes {
		out[id] = kafka.ConfigResult{Err: r.err}
	}
	return out, nil
}

// Errors that prove that no client can connect to a node, and errors that only concern the roller. Who refuses at the bootstrap address may
// be another Kafka, or a proxy: that is no evidence about nodes.
func TestEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		answers bool
		failing string
	}{
		"a timeout": {kafka.NewTransportError("broker 0 does not answer", context.DeadlineExceeded), false, ""},
		"connection refused": {kafka.NewTransportError("broker 0 does not answer", fmt.Errorf("dial: %w", syscall.ECONNREFUSED)),
			false, "it refuses connections"},
		"a TLS alert": {kafka.NewTLSError("bad certificate", kafka.TLSAlert), false,
			"it refuses TLS: SslAuthenticationException: bad certificate"},
		"an expired certificate": {kafka.NewTLSError("certificate has expired", kafka.TLSExpired), false,
			"its certificate has expired: SslAuthenticationException: certificate has expired"},
		"our own certificate has expired": {kafka.NewTLSError("expired certificate", kafka.TLSOwnExpired), true, ""},
		"a certificate we do not trust":   {kafka.NewTLSError("unknown authority", kafka.TLSUntrusted), true, ""},
		"no certificate of our own":       {kafka.NewTLSError("certificate required", kafka.TLSNoCertificate), true, ""},
		"a password that is wrong":        {&kafka.Error{Name: "SaslAuthenticationException", Class: kafka.ClassAuthentication}, true, ""},
		"a right that we do not have yet": {kafka.NewError(29, ""), true, ""},
		"an error that it can't explain":  {kafka.NewError(kafka.CodeUnknownServer, ""), true, ""},
		"a request that it gave up":       {kafka.NewError(kafka.CodeRequestTimedOut, ""), true, ""},
		"a throttle of the client":        {kafka.NewError(kafka.CodeThrottlingQuotaExceeded, ""), false, ""},
		"an error of nobody":              {errors.New("unknown"), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			brokers := memory.New(memory.Options{Brokers: 1}).Client("", nil)
			k := &observe.Kafka{Brokers: &refuser{brokers, c.err, false}}
			answer := k.Read(t.Context(), []roller.NodeID{0}, nil).Nodes[0]
			g.Expect(answer.Answers).To(Equal(c.answers))
			g.Expect(answer.Failing).To(Equal(c.failing))

			k.Brokers = &refuser{brokers, c.err, true}
			answer = k.Read(t.Context(), []roller.NodeID{0}, nil).Nodes[0]
			g.Expect(answer.Answers).To(BeFalse(), "it was not asked")
			if kafka.TLSFailureOf(c.err) == kafka.TLSExpired {
				g.Expect(answer.Failing).To(Equal(c.failing))
			} else {
				g.Expect(answer.Failing).To(BeEmpty())
			}
		})
	}
}
