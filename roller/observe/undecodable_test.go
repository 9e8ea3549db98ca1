package observe_test

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// A StrimziPodSet that an API server stores and the roller can't decode has unknown nodes, not none. Its status is nothing to the roller.
func TestASetThatCannotBeDecodedIsUnknown(t *testing.T) {
	for _, tc := range []struct {
		set, problem string
	}{
		{`{"spec":{"selector":{"matchLabels":{"a":7}},"pods":[{"metadata":{"name":"c-0"}}]}}`,
			"StrimziPodSet ns/c-pool can't be read: .spec.selector.matchLabels is not a value of type string: number"},
		{`{"spec":{"selector":{},"pods":[]},"status":{"pods":3000000000}}`, ""},
	} {
		g := NewWithT(t)
		var set core.StrimziPodSet
		g.Expect(json.Unmarshal([]byte(tc.set), &set)).To(Succeed())
		g.Expect(set.Invalid).NotTo(BeEmpty())
		set.ObjectMeta = metav1.ObjectMeta{Namespace: "ns", Name: "c-pool", Labels: map[string]string{v1.LabelCluster: "c"}}
		scheme := runtime.NewScheme()
		g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
		g.Expect(core.AddToScheme(scheme)).To(Succeed())
		cache := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if sets, is := list.(*core.StrimziPodSetList); is {
					trimmed, err := observe.Trim(&set)
					sets.Items = []core.StrimziPodSet{*trimmed.(*core.StrimziPodSet)}
					return err
				}
				return c.List(ctx, list, options...)
			}}).Build()
		place := observe.ReadCache(t.Context(), "", cache, "ns", "c")
		if tc.problem == "" {
			g.Expect(place.Err).NotTo(HaveOccurred())
			continue
		}
		g.Expect(place.Err).To(MatchError(ContainSubstring(tc.problem)))
	}
}
