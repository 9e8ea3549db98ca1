package apply

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestReplaced(t *testing.T) {
	g := NewWithT(t)
	at := func(version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: version}}
	}
	var r Replaced
	g.Expect(r.Behind(at("1"))).To(BeFalse(), "nothing was written")
	r.Note(at("1"), at("1"))
	g.Expect(r.Behind(at("1"))).To(BeFalse(), "a write that changed nothing")
	r.Note(at("1"), at("3"))
	r.Note(at("3"), at("4"))
	g.Expect(r.Behind(at("1"))).To(BeTrue())
	g.Expect(r.Behind(at("3"))).To(BeTrue(), "it shows the first write, and not the second")
	g.Expect(r.Behind(at("4"))).To(BeFalse())
	g.Expect(r.Behind(at("3"))).To(BeFalse(), "what was caught up with is forgotten")
	r.Note(at("4"), at("5"))
	r.Forget(client.ObjectKeyFromObject(at("5")))
	g.Expect(r.Behind(at("4"))).To(BeFalse())
}
