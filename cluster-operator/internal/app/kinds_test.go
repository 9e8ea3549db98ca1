package app

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
)

func TestARemoteOperatorNeedsNoKafkas(t *testing.T) {
	g := NewWithT(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(core.GroupVersion.WithKind("StrimziPodSet"), meta.RESTScopeNamespace)
	g.Expect(served(mapper, kindsOf(options.Options{PodSetsOnly: true}))).To(Succeed())
	g.Expect(served(mapper, kindsOf(options.Options{}))).To(MatchError(ContainSubstring("does not serve Kafka of kafka.strimzi.io/v1")))
}
