package actuate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

var pods = schema.GroupResource{Resource: "pods"}

func podOf(uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kafka", Name: "my-cluster-kafka-3", UID: types.UID(uid)}}
}

// within returns an actuator with one Kubernetes cluster, east, that has the objects. A del that is not nil replaces the API server's
// delete.
func within(del func(client.DeleteOptions) error, objects ...client.Object) (*actuate.Actuator, client.Client) {
	builder := fake.NewClientBuilder().WithObjects(objects...)
	if del != nil {
		builder = builder.WithInterceptorFuncs(interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, _ client.Object,
			options ...client.DeleteOption) error {
			var o client.DeleteOptions
			o.ApplyOptions(options)
			return del(o)
		}})
	}
	c := builder.Build()
	return &actuate.Actuator{Namespace: "kafka", Place: func(id string) (client.Client, error) {
		if id != "east" {
			return nil, errors.New(id + " is not connected")
		}
		return c, nil
	}}, c
}

func restart(place string) (roller.Action, *roller.Node) {
	return roller.Action{Kind: roller.ActionRestart, Node: 3, Instance: "first"},
		&roller.Node{ID: 3, Name: "my-cluster-kafka-3", Place: place, Roles: roller.Roles{Broker: true}}
}

func TestAPodIsDeletedByItsUID(t *testing.T) {
	g := NewWithT(t)
	asked := client.DeleteOptions{}
	a, _ := within(func(o client.DeleteOptions) error {
		asked = o
		return nil
	})
	action, node := restart("east")
	g.Expect(a.Do(t.Context(), action, node)).To(Equal(actuate.Outcome{Action: action, Result: actuate.Done}))
	g.Expect(*asked.Preconditions.UID).To(Equal(types.UID("first")))
	g.Expect(*asked.PropagationPolicy).To(Equal(metav1.DeletePropagationBackground),
		"a foreground deletion takes a pod's network away before it has stopped")
	g.Expect(asked.GracePeriodSeconds).To(BeNil(), "the pod's own time to stop is what Kafka needs")
}

func TestAnotherPodOfTheSameNameIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	// The fake client ignores a UID precondition. A real API server checks it and returns this error.
	a, c := within(func(client.DeleteOptions) error {
		return apierrors.NewConflict(pods, "my-cluster-kafka-3", errors.New("the UID in the precondition does not match"))
	}, podOf("second"))
	action, node := restart("east")
	g.Expect(a.Do(t.Context(), action, node).Result).To(Equal(actuate.Done), "the instance that was to end has ended")
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(podOf("")), &corev1.Pod{})).To(Succeed())
}

func TestWhatBecomesOfARestart(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		result actuate.Result
		text   string
	}{
		{"gone already", apierrors.NewNotFound(pods, "my-cluster-kafka-3"), actuate.Done, ""},
		{"forbidden", apierrors.NewForbidden(pods, "my-cluster-kafka-3", errors.New("no rights")), actuate.NotDone,
			"delete pod my-cluster-kafka-3: "},
		{"refused by a webhook", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "my-cluster-kafka-3", nil), actuate.NotDone,
			"delete pod my-cluster-kafka-3: "},
		{"no answer in time", context.DeadlineExceeded, actuate.Unclear,
			"delete pod my-cluster-kafka-3: context deadline exceeded"},
		{"the connection broke", errors.New("connection reset by peer"), actuate.Unclear, "delete pod my-cluster-kafka-3: "},
		{"the API server gave up waiting", apierrors.NewTimeoutError("etcd is slow", 1), actuate.Unclear, "delete pod my-cluster-kafka-3: "},
		{"the API server failed", apierrors.NewInternalError(errors.New("etcd is gone")), actuate.Unclear, "delete pod my-cluster-kafka-3: "},
		{"the API server is busy", apierrors.NewTooManyRequests("later", 1), actuate.Unclear, "delete pod my-cluster-kafka-3: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			a, _ := within(func(client.DeleteOptions) error { return c.err })
			action, node := restart("east")
			o := a.Do(t.Context(), action, node)
			g.Expect(o.Result).To(Equal(c.result))
			if c.text == "" {
				g.Expect(o.Err).NotTo(HaveOccurred())
				return
			}
			g.Expect(o.Err).To(MatchError(ContainSubstring(c.text)))
			g.Expect(o.Err).To(MatchError(c.err), "what was said about it is kept")
		})
	}
}

func TestAnUnreachableClusterIsNotAskedForARestart(t *testing.T) {
	g := NewWithT(t)
	a, _ := within(nil, podOf("first"))
	action, node := restart("west")
	o := a.Do(t.Context(), action, node)
	g.Expect(o.Result).To(Equal(actuate.NotDone))
	g.Expect(o.Err).To(MatchError("west is not connected"))
}

// A deletion that has to wait, such as for a throttled client, is not sent after the end of its facts' time.
func TestADeletionIsNotSentTooLate(t *testing.T) {
	g := NewWithT(t)
	var limit time.Time
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, _ client.WithWatch, _ client.Object,
		_ ...client.DeleteOption) error {
		limit, _ = ctx.Deadline()
		return nil
	}}).Build()
	a := &actuate.Actuator{Namespace: "kafka", Place: func(string) (client.Client, error) { return c, nil }}
	action, node := restart("east")
	action.Until = time.Now().Add(time.Minute).Round(0)
	g.Expect(a.Do(t.Context(), action, node).Result).To(Equal(actuate.Done))
	g.Expect(limit).To(BeTemporally("==", action.Until))
}
