package controller

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// TestDriftElsewhereIsHealedByWatches is TestDriftIsHealedByWatches for what a stretched Kafka has in a remote Kubernetes cluster.
func TestDriftElsewhereIsHealedByWatches(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.Expect(w.r.Interval).To(BeNumerically(">", 2*watchPatience), "it is no timer that heals")
	leftover += unfinished()
	w.connect(w.r.Reconcile, func(mgr manager.Manager, c controller.Controller, set *clusters.Set) error {
		return w.r.WatchClusters(mgr, c, set, nil)
	})
	edits := map[string]func(client.Object){}
	for _, d := range drifts {
		if edits[d.kind] == nil {
			edits[d.kind] = d.edit
		}
	}
	there := w.objectsIn("east")
	accidents, longest := 0, time.Duration(0)
	for i, key := range sortedKeys(there) {
		if key.Name == model.AnchorName("my-cluster") {
			continue // without the garbage collector, nothing goes with it
		}
		w.Expect(edits).To(HaveKey(key.Kind))
		for j, c := range []struct {
			what string
			do   func(client.Object)
		}{
			{"deleted", nil}, {"edited", edits[key.Kind]},
			{"unlabelled", func(o client.Object) {
				labels := o.GetLabels()
				delete(labels, v1.LabelCluster)
				o.SetLabels(labels)
			}},
		} {
			lost := key.Kind == "PersistentVolumeClaim" && c.do == nil // that of a voter waits for the others: see findEmptyVoters
			if lost || os.Getenv("PROVE") != "full" && j != i%3 {
				continue
			}
			accidents++
			t.Run(strings.Join([]string{key.Kind, key.Name, c.what}, " "), func(t *testing.T) {
				w.WithT, w.t = NewWithT(t), t
				w.SetDefaultEventuallyTimeout(watchPatience)
				longest = max(longest, w.driftsIn("east", key, c.do))
			})
		}
	}
	if !t.Failed() {
		fmt.Printf("PROOF {\"name\":\"objects elsewhere healed by watches\",\"count\":%d,\"violations\":0,\"seed\":0,\"longest\":%q}\n",
			accidents, longest.Round(time.Millisecond))
	}
}

// objectsIn returns what a Kafka has in a Kubernetes cluster.
func (w *stretchedWorld) objectsIn(id string) map[facts.Key]client.Object {
	w.t.Helper()
	found, err := facts.Read(w.t.Context(), w.members[id], w.request().NamespacedName)
	w.Expect(err).NotTo(HaveOccurred())
	return found.Objects
}

// driftsIn changes an object, or deletes it, waits until the operator has repaired it, and returns how long that took.
func (w *stretchedWorld) driftsIn(id string, key facts.Key, do func(client.Object)) time.Duration {
	w.t.Helper()
	w.Eventually(unfinished).Should(BeZero())
	before := w.objectsIn(id)[key]
	at, o := w.members[id], copied(before)
	if do == nil {
		w.Expect(at.Delete(w.t.Context(), o)).To(Succeed())
	} else {
		do(o)
		w.Expect(at.Update(w.t.Context(), o)).To(Succeed())
	}
	began := time.Now()
	w.Eventually(func() string { return differenceOf(before, w.objectsIn(id)[key]) }).Should(BeEmpty())
	return time.Since(began)
}
