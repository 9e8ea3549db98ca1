package clusters

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestAServerThatGoesSilentIsToldWithinTheBound(t *testing.T) {
	kubeconfig, _ := user(t, east)
	w := newWorld(t)
	f := w.joined(kubeconfig, "")
	m := w.member("east")
	_, err := w.read(t.Context(), m)
	w.Expect(err).NotTo(HaveOccurred())

	resume := pause(t, east)
	began := time.Now()
	// A live read that is under way ends when the connection is lost, even if its own context does not end.
	err = m.APIReader().Get(context.WithoutCancel(t.Context()), client.ObjectKey{Name: w.far}, &corev1.Namespace{})
	w.Expect(err).To(HaveOccurred())
	w.becomes("east", Unreachable, ReasonNoAnswer, "no answer within")
	took := time.Since(began)
	t.Logf("told after %s, the bound is %s", took.Round(time.Millisecond), quick.Bound())
	w.Expect(took).To(BeNumerically("<", quick.Bound()+time.Second), "a second for a machine that is busy")
	_, err = w.read(t.Context(), m)
	w.Expect(err).To(MatchError(IsUnreachable, "unreachable"), "the cache has an answer, but nobody knows whether it holds")

	resume()
	w.becomes("east", Connected, "", "")
	w.put("after")
	w.Eventually(f.has(&f.added)).Should(Equal([]string{"after"}))
	w.Expect(f.greeted.get()).To(Equal(1))
}

func TestTheFirstReadAfterAnOutageKnowsWhatHappenedMeanwhile(t *testing.T) {
	kubeconfig, _ := user(t, east)
	w := newWorld(t)
	p := newTap(t, addressOf(east))
	w.put("kept")
	w.put("dropped")
	f := w.joined(kubeconfig, p.url())
	m := w.member("east")
	w.Expect(m.Status().Warnings).To(ConsistOf(ContainSubstring("is ignored")))
	w.Eventually(func() ([]string, error) { return w.read(t.Context(), m) }).Should(Equal([]string{"dropped", "kept"}))

	for _, name := range []string{"one", "two"} {
		p.freeze(true)
		w.becomes("east", Unreachable, ReasonNoAnswer, "")
		w.drop("dropped")
		w.put(name)
		w.put("dropped")
		w.drop("kept")
		p.thaw()
		var names []string
		w.Eventually(func() (err error) { names, err = w.read(t.Context(), m); return err }).Should(Succeed())
		w.Expect(names).To(And(ContainElements(name, "dropped"), Not(ContainElement("kept"))), "from the first read on")
		w.put("kept")
		w.Eventually(func() ([]string, error) { return w.read(t.Context(), m) }).Should(ContainElement("kept"))
	}
	w.Expect(f.greeted.get()).To(Equal(1))
}

func TestAConnectionThatGoesSilentAloneIsReplacedUnnoticed(t *testing.T) {
	kubeconfig, _ := user(t, east)
	patient := Probing{Interval: time.Second, Hysteresis: Hysteresis{Failures: 5, Successes: 1}}
	w := newWorld(t, func(o *Options) { o.Probing = patient })
	p := newTap(t, addressOf(east))
	f := w.joined(kubeconfig, p.url())
	m := w.member("east")
	_, err := w.read(t.Context(), m)
	w.Expect(err).NotTo(HaveOccurred())
	since := m.Status().Since

	p.freeze(false)
	began := time.Now()
	w.put("after")
	w.Eventually(f.has(&f.added)).Should(Equal([]string{"after"}))
	t.Logf("the watch went on after %s", time.Since(began).Round(time.Millisecond))
	w.Expect(m.Status()).To(is(Connected, "", ""))
	w.Expect(m.Status().Since).To(Equal(since), "it was connected all the time")
}
