package misplaced

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

func pool(name, kafka string) *v1.KafkaNodePool {
	return &v1.KafkaNodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{v1.LabelCluster: kafka},
		CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
}

func TestASweepTellsUsersOfWhatTheyMadeHere(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1.AddToScheme(scheme)).To(Succeed())
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1.GroupVersion}) // only these kinds of kafka.strimzi.io are installed
	mapper.Add(v1.GroupVersion.WithKind("KafkaNodePool"), meta.RESTScopeNamespace)
	mapper.Add(v1.GroupVersion.WithKind("Kafka"), meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	var refuse bool
	anchor := anchorOf("ns", "my-cluster")
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithStatusSubresource(&v1.KafkaNodePool{}).
		WithObjects(&anchor, pool("mine", "my-cluster"), pool("another", "other")).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if _, is := list.(*corev1.ConfigMapList); is && refuse {
					return errors.New("refused")
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
	ready := func(name string) *v1.Condition {
		p := &v1.KafkaNodePool{}
		g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, p)).To(Succeed())
		if len(p.Status.Conditions) == 0 {
			return nil
		}
		return &p.Status.Conditions[0]
	}
	for _, chosen := range []settings.Namespaces{{Names: []string{"other"}}, {All: true}} {
		g.Expect(ready("mine")).To(BeNil())
		g.Expect((&Sweeper{Client: c, Namespaces: chosen}).sweep(t.Context(), now)).To(Succeed())
	}
	g.Expect(ready("mine")).To(HaveValue(And(HaveField("Reason", Reason), HaveField("Message",
		"Kafka ns/my-cluster is stretched over several Kubernetes clusters, and no operator reconciles a KafkaNodePool in this one: "+
			"create it in the central cluster 'central'"))))
	g.Expect(ready("another")).To(BeNil())

	s := &Sweeper{Client: c, Namespaces: settings.Namespaces{Names: []string{"ns"}}}
	g.Expect(c.Delete(t.Context(), &anchor)).To(Succeed())
	refuse = true
	g.Expect(s.sweep(t.Context(), now)).To(MatchError(ContainSubstring("list ConfigMaps: refused")))
	g.Expect(ready("mine")).NotTo(BeNil(), "whether the Kafka is here is not known")
	refuse = false
	g.Expect(s.sweep(t.Context(), now)).To(Succeed())
	g.Expect(ready("mine")).To(BeNil())
}
