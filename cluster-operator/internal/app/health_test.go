package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/controller"
	"github.com/kafka-operators/kafka-operators/cluster-operator/podset"
	"github.com/kafka-operators/kafka-operators/operator/health"
)

// wedged is a cache that never answers, also after the context has ended.
type wedged struct {
	client.Client
	asked, goOn chan struct{}
}

func (w wedged) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	close(w.asked)
	<-w.goOn
	return errors.New("it goes on")
}

func TestAPassThatHangsIsNotHealthy(t *testing.T) {
	for kind, reconciler := range map[string]func(client.Client, *health.Passes) reconcile.Reconciler{
		"Kafka": func(c client.Client, passes *health.Passes) reconcile.Reconciler {
			return &controller.Reconciler{Cache: c, Passes: passes, Now: time.Now}
		},
		"StrimziPodSet": func(c client.Client, passes *health.Passes) reconcile.Reconciler {
			return &podset.Reconciler{Client: c, Passes: passes, Now: time.Now}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(1_000_000, 0)
			probes := &health.Probes{}
			passes := watched(probes, kind, func() time.Time { return now })
			probe := func() (int, string) {
				answer := httptest.NewRecorder()
				probes.Handlers()["/healthy"].ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthy", nil))
				return answer.Code, answer.Body.String()
			}
			reader := wedged{asked: make(chan struct{}), goOn: make(chan struct{})}
			r := reconciler(reader, passes)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = r.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "a"}})
			}()
			<-reader.asked
			code, _ := probe()
			g.Expect(code).To(Equal(http.StatusOK))
			now = now.Add(2*longestPass + time.Second)
			code, body := probe()
			g.Expect(code).To(Equal(http.StatusInternalServerError))
			g.Expect(body).To(ContainSubstring("the reconciliation of " + kind + " ns/a has been running for"))
			close(reader.goOn)
			<-ended
			code, _ = probe()
			g.Expect(code).To(Equal(http.StatusOK))
		})
	}
}
