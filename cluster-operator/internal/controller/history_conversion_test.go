package controller

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// conversion is a history of a Kafka that runs in one Kubernetes cluster, gets brokers in two others, and loses them again.
type conversion struct {
	*stretched
	// reached are the controllers' pods, and whether each was last started with an address that other Kubernetes clusters reach.
	reached map[string]bool
	// elsewhere reports that a broker in another Kubernetes cluster was listed since the conversion began.
	elsewhere bool
}

func newConversion(h *history) *conversion {
	c := &conversion{stretched: newStretched(h), reached: map[string]bool{}}
	c.watch(c.centrals[0].server, c.controllerStarts)
	for _, s := range c.servers[2:4] {
		c.watch(s, c.judgeFirst)
	}
	return c
}

// watch calls a function after each change in a Kubernetes cluster.
func (h *conversion) watch(s *apiServer, do func(s *apiServer, key facts.Key, before, after client.Object)) {
	written := s.written
	s.written = func(key facts.Key, before, after client.Object) {
		written(key, before, after)
		do(s, key, before, after)
	}
}

// controllerStarts notes with which address a controller starts. Without a legible ConfigMap its pod waits for one.
func (h *conversion) controllerStarts(s *apiServer, key facts.Key, before, after client.Object) {
	pod, is := after.(*corev1.Pod)
	if !is || before != nil || pod.Labels[core.LabelControllerRole] != "true" {
		return
	}
	config, _ := s.objects[facts.Key{Kind: "ConfigMap", Name: key.Name}].object().(*corev1.ConfigMap)
	legible := config != nil && strings.Contains(config.Data["server.config"], "controller.quorum.voters=")
	h.reached[key.Name] = !legible || strings.Contains(config.Data["server.config"], "@192.0.2.")
}

// judgeFirst checks that no broker in another Kubernetes cluster is listed before all controllers were started with addresses that it
// reaches: the active controller tells brokers its address.
func (h *conversion) judgeFirst(s *apiServer, _ facts.Key, _, after client.Object) {
	set, is := after.(*core.StrimziPodSet)
	if !is || h.elsewhere || len(set.Spec.Pods) == 0 {
		return
	}
	h.elsewhere = true
	for pod, reached := range h.reached {
		if !reached {
			h.failf("%s starts in %s, and does not reach controller %s", set.Name, s.id, pod)
		}
	}
}

// disturb makes something fail in the next pass, or damages an object, and returns its description.
func (h *conversion) disturb() string {
	o := h.centrals[0].operators[0]
	id := h.one("east", "west")
	l := o.links[id]
	switch h.rand.Intn(8) {
	case 0, 1:
		l.lost = !l.lost
		return fmt.Sprintf("%s is lost: %v", id, l.lost)
	case 2:
		l.writes = h.one("before", "after", "")
		return fmt.Sprintf("writes to %s fail %s", id, l.writes)
	case 3:
		l = o.links[h.one("central", "east", "west")]
		l.view = nil
		if h.rand.Intn(2) == 0 {
			l.view = maps.Clone(l.bound.objects)
		}
		return fmt.Sprintf("the cache in %s is behind: %v", l.id, l.view != nil)
	case 4:
		return h.carryOut(changeHeap, "")
	case 5:
		return h.accident()
	}
	return "nothing"
}

// mend ends all faults.
func (h *conversion) mend() {
	for _, l := range h.centrals[0].operators[0].links {
		l.lost, l.writes, l.view = false, "", nil
	}
}

// troubled runs passes in which something may fail. The operator may be killed in each of them, and pods wait for their restart.
func (h *conversion) troubled(steps int) {
	o := h.centrals[0].operators[0]
	for range steps {
		h.step++
		h.told = append(h.told, h.disturb())
		h.now = h.now.Add(time.Minute)
		kill := -1
		if h.rand.Intn(3) == 0 {
			kill = h.rand.Intn(40)
		}
		_, err := h.pass(o, kill)
		h.told = append(h.told, fmt.Sprint("pass: ", err))
		for _, s := range h.servers[:4] {
			h.history.runPods(s, 25*h.rand.Intn(5))
		}
		h.collect()
	}
	h.mend()
}

// ready checks that the Kafka is ready in the end.
func (h *conversion) ready() {
	h.t.Helper()
	for range 2 {
		h.rest()
		h.now = h.now.Add(3 * time.Hour)
	}
	if ready := h.centrals[0].ready(); ready.Status != "True" {
		h.failf("in the end, the Kafka is not ready: %+v", ready)
	}
}

// place names the Kubernetes cluster of the pool at home, or no longer does.
func (h *conversion) place(stretch bool) {
	kafka, pool := h.centrals[0].kafka(), &v1.KafkaNodePool{}
	h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "a"}, pool))
	delete(kafka.Annotations, v1.AnnotationStretch)
	delete(pool.Annotations, v1.AnnotationTargetCluster)
	if stretch {
		kafka.Annotations = with(kafka.Annotations, v1.AnnotationStretch, "true")
		pool.Annotations = with(pool.Annotations, v1.AnnotationTargetCluster, "central")
	}
	h.must(h.k8s.Update(h.t.Context(), kafka))
	h.must(h.k8s.Update(h.t.Context(), pool))
}

// begin creates a Kafka in one Kubernetes cluster, with more pools than the one that all have.
func (h *conversion) begin(more ...client.Object) {
	h.t.Helper()
	h.brokers.replicas = map[int32]int{}
	for id := range int32(20) {
		h.brokers.replicas[id] = 0
	}
	h.targets = map[string]string{"a": "central", "b": "east", "c": "west"}
	kafka, home := newKafka(), h.pool("a", 3, v1.RoleController, v1.RoleBroker)
	kafka.Namespace, home.Annotations = historyNamespace, nil
	for _, o := range append(more, kafka, home) {
		h.must(h.k8s.Create(h.t.Context(), o))
	}
	h.ready()
}

// stretch gives the Kafka a broker in each of the other Kubernetes clusters.
func (h *conversion) stretch() {
	h.elsewhere = false
	h.place(true)
	for _, name := range []string{"b", "c"} {
		h.must(h.k8s.Create(h.t.Context(), h.pool(name, 1, v1.RoleBroker)))
	}
}

// isStretched checks that the Kafka is in three Kubernetes clusters in the end.
func (h *conversion) isStretched() {
	h.t.Helper()
	h.ready()
	if n := len(h.nodes(h.centrals[0])); n != 5 {
		h.failf("in the end, there are %d nodes", n)
	}
}

// unstretch removes the brokers in other Kubernetes clusters.
func (h *conversion) unstretch() {
	for _, name := range []string{"b", "c"} {
		h.must(h.k8s.Delete(h.t.Context(), h.pool(name, 1)))
	}
	h.place(false)
}

// isAtHome checks that the Kafka is in one Kubernetes cluster in the end.
func (h *conversion) isAtHome() {
	h.t.Helper()
	h.ready()
	if controllerutil.ContainsFinalizer(h.centrals[0].kafka(), v1.FinalizerStretch) {
		h.failf("in the end, the Kafka is not in one Kubernetes cluster")
	}
	h.told = append(h.told, "it is in one Kubernetes cluster again")
}

// play stretches a Kafka and takes it back, twice.
func (h *conversion) play(steps int) {
	defer h.report()
	h.begin()
	for range 2 {
		h.stretch()
		h.troubled(steps)
		h.isStretched()
		h.unstretch()
		h.troubled(steps)
		h.isAtHome()
	}
	h.end()
}

// withRevisions returns objects in which pods have the revisions that StrimziPodSets list.
func withRevisions(t testing.TB, all objects) objects {
	all = maps.Clone(all)
	for _, o := range all {
		set, is := o.object().(*core.StrimziPodSet)
		if !is {
			continue
		}
		for _, listed := range listedBy(t, set) {
			key := facts.Key{Kind: "Pod", Name: listed.Name}
			if pod := all[key]; pod != nil {
				changed := copied(pod.Object)
				changed.SetAnnotations(with(changed.GetAnnotations(), core.AnnotationRevision, core.Revision(&listed)))
				all[key] = &stored{changed, pod.applied}
			}
		}
	}
	return all
}

// TestRandomHistoriesOfConversions plays a few histories; PROVE=full plays many.
func TestRandomHistoriesOfConversions(t *testing.T) {
	proveHistories(t, "random histories of conversions to several Kubernetes clusters", 4, 300, 12,
		func(t *testing.T, seed int64, steps int) { newConversion(newHistory(t, seed)).play(steps) })
}

// TestConversionsFindAPlantedFault checks that the rule for the first brokers elsewhere finds a planted fault.
func TestConversionsFindAPlantedFault(t *testing.T) {
	for seed := range int64(20) {
		h := newConversion(newHistory(t, seed))
		h.fault = faultUpToDate
		if found := h.violation(func() { h.play(12) }); strings.Contains(found, "does not reach controller") {
			t.Logf("found after %d histories: %s", seed+1, found)
			return
		}
	}
	t.Error("not found")
}

// TestTheFirstBrokersElsewhereWaitForControllers plays what random histories found: see judgeFirst.
func TestTheFirstBrokersElsewhereWaitForControllers(t *testing.T) {
	// passUntil reconciles until nodes have their new addresses; no pod is restarted then.
	passUntil := func(h *conversion, stop func() bool) {
		for range 10 {
			if stop() {
				return
			}
			_, _ = h.pass(h.centrals[0].operators[0], -1)
			if !stop() {
				h.runPods()
			}
		}
		h.failf("nodes don't get their addresses")
	}
	addressed := func(h *conversion) func() bool {
		return func() bool {
			config, _ := h.object(facts.Key{Kind: "ConfigMap", Name: "my-cluster-a-0"}).(*corev1.ConfigMap)
			return strings.Contains(config.Data["server.config"], "@192.0.2.")
		}
	}
	for name, meanwhile := range map[string]func(*conversion){
		"somebody else writes the set at the same time": func(h *conversion) {
			h.window = func(_ *apiServer, key facts.Key) {
				if set, is := h.object(key).(*core.StrimziPodSet); is && addressed(h)() {
					set = set.DeepCopy()
					set.Annotations = with(set.Annotations, "example.com/theirs", "")
					h.must(h.k8s.Update(h.t.Context(), set))
				}
			}
			passUntil(h, addressed(h))
			h.window = nil
		},
		"one of the other clusters is away": func(h *conversion) {
			passUntil(h, addressed(h))
			h.centrals[0].operators[0].links["east"].lost = true
		},
		"volumes are left from before": func(h *conversion) {
			h.isStretched()
			h.unstretch()
			h.isAtHome()
			h.stretch()
			passUntil(h, addressed(h))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newConversion(newHistory(t, 1))
			h.begin()
			h.stretch()
			meanwhile(h)
			for range 3 {
				_, _ = h.pass(h.centrals[0].operators[0], -1)
			}
			h.mend()
			h.isStretched()
		})
	}
}

func TestAConversionGoesOnThoughAConfigMapIsDeleted(t *testing.T) {
	h := newConversion(newHistory(t, 1))
	h.begin()
	h.stretch()
	h.centrals[0].server.terminate(facts.Key{Kind: "ConfigMap", Name: "my-cluster-a-0"})
	h.isStretched()
}

func TestAConversionGoesOnThoughAnotherClusterIsAway(t *testing.T) {
	h := newConversion(newHistory(t, 1))
	h.begin()
	h.stretch()
	o := h.centrals[0].operators[0]
	_, _ = h.pass(o, 7) // what is to be in each cluster is recorded, and no address is known
	o.links["east"].lost = true
	h.rest()
	in := map[string]int{}
	for _, n := range h.nodes(h.centrals[0]) {
		in[n.server.id]++
	}
	if in["west"] != 1 || in["east"] != 0 {
		h.failf("while a cluster is away, there are nodes in %v", in)
	}
	h.mend()
	h.isStretched()
}

func TestAConversionNamesTheRemovedPoolOfAController(t *testing.T) {
	g := NewWithT(t)
	h := newConversion(newHistory(t, 1))
	pool := func(placed map[string]string) *v1.KafkaNodePool {
		d := h.pool("d", 2, v1.RoleController)
		d.Annotations = placed
		return d
	}
	h.begin(pool(nil))
	h.must(h.k8s.Delete(t.Context(), pool(nil)))
	h.stretch()
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Message",
		ContainSubstring("node 3 does not serve a certificate for 192.0.2.1 yet (KafkaNodePool d was removed: create it again)")))
	g.Expect(h.elsewhere).To(BeFalse())
	h.must(h.k8s.Create(t.Context(), pool(map[string]string{v1.AnnotationTargetCluster: "central"})))
	h.ready()
	g.Expect(h.elsewhere).To(BeTrue())
}
