package podset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func testSet(names ...string) *core.StrimziPodSet {
	set := &core.StrimziPodSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kafka", Name: "c-p", UID: "set", Generation: 3,
			Labels: map[string]string{v1.LabelCluster: "c"}},
		Spec: &core.StrimziPodSetSpec{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"strimzi.io/name": "c-kafka"}}},
	}
	list(set, "r1", names...)
	return set
}

func list(set *core.StrimziPodSet, revision string, names ...string) {
	var pods []corev1.Pod
	for _, name := range names {
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"strimzi.io/name": "c-kafka", v1.LabelCluster: "c"},
				Annotations: map[string]string{core.AnnotationRevision: revision}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kafka", Image: "kafka"}}},
		})
	}
	if err := set.SetDesiredPods(pods); err != nil {
		panic(err)
	}
}

// livePod is a ready pod of the set, changed as a test needs it.
func livePod(name string, change ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kafka", Name: name, UID: types.UID("uid of " + name), ResourceVersion: "7",
			Labels:      map[string]string{"strimzi.io/name": "c-kafka"},
			Annotations: map[string]string{core.AnnotationRevision: "r1"}, OwnerReferences: []metav1.OwnerReference{ownerReference(testSet())},
		},
		Spec: corev1.PodSpec{NodeName: "worker"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(&pod)
	}
	return pod
}

func foreignPod(p *corev1.Pod)  { p.OwnerReferences[0].UID = "somebody" }
func orphan(p *corev1.Pod)      { p.OwnerReferences = nil }
func failed(p *corev1.Pod)      { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }
func succeeded(p *corev1.Pod)   { p.Status.Phase = corev1.PodSucceeded }
func unready(p *corev1.Pod)     { p.Status.Conditions = nil }
func outdated(p *corev1.Pod)    { p.Annotations = nil }
func unlabelled(p *corev1.Pod)  { p.Labels = nil }
func owned(p *corev1.Pod)       { p.OwnerReferences[0].Controller = new(false) } // an owner, and not the controller
func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }
func stuck(p *corev1.Pod)       { p.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Minute)} }

func TestDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		list     []string
		existing []corev1.Pod
		want     string // created, adopted, deleted; pods, ready, current
		problem  string
	}{
		"new set":                         {[]string{"a", "b"}, nil, "[a b] [] []; 2 0 0", ""},
		"as it should be":                 {[]string{"a"}, []corev1.Pod{livePod("a")}, "[] [] []; 1 1 1", ""},
		"one missing":                     {[]string{"a", "b"}, []corev1.Pod{livePod("b")}, "[a] [] []; 2 1 1", ""},
		"not ready":                       {[]string{"a"}, []corev1.Pod{livePod("a", unready)}, "[] [] []; 1 0 1", ""},
		"out of date":                     {[]string{"a"}, []corev1.Pod{livePod("a", outdated)}, "[] [] []; 1 1 0", ""},
		"listed no more":                  {[]string{"a"}, []corev1.Pod{livePod("a"), livePod("b")}, "[] [] [b]; 2 1 1", ""},
		"listed no more, and terminating": {[]string{"a"}, []corev1.Pod{livePod("a"), livePod("b", terminating)}, "[] [] []; 2 1 1", ""},
		"failed":                          {[]string{"a"}, []corev1.Pod{livePod("a", failed)}, "[] [] [a]; 1 0 0", ""},
		"succeeded":                       {[]string{"a"}, []corev1.Pod{livePod("a", succeeded)}, "[] [] [a]; 1 0 0", ""},
		"failed, and terminating":         {[]string{"a"}, []corev1.Pod{livePod("a", failed, terminating)}, "[] [] []; 1 0 0", ""},
		"failed, listed no more":          {nil, []corev1.Pod{livePod("a", failed)}, "[] [] [a]; 1 0 0", ""},
		"terminating":                     {[]string{"a"}, []corev1.Pod{livePod("a", terminating)}, "[] [] []; 1 0 0", ""},
		"terminating on a node that is silent": {[]string{"a"}, []corev1.Pod{livePod("a", stuck)}, "[] [] []; 1 0 0",
			"node.kubernetes.io/out-of-service"},
		"another's": {[]string{"a"}, []corev1.Pod{livePod("a", foreignPod)}, "[] [] []; 1 0 0",
			"pod a exists and belongs to StrimziPodSet c-p with uid somebody"},
		"another's, terminating": {[]string{"a"}, []corev1.Pod{livePod("a", foreignPod, terminating)}, "[] [] []; 1 0 0", ""},
		"another's, terminating on a node that is silent": {[]string{"a"}, []corev1.Pod{livePod("a", foreignPod, stuck)}, "[] [] []; 1 0 0",
			"pod a, which belongs to StrimziPodSet c-p with uid somebody, should have terminated"},
		"nobody's, terminating on a node that is silent": {[]string{"a"}, []corev1.Pod{livePod("a", orphan, stuck)}, "[] [] []; 1 0 0",
			"pod a, which belongs to no known owner, should have terminated"},
		"another's, failed":     {[]string{"a"}, []corev1.Pod{livePod("a", foreignPod, failed)}, "[] [] []; 1 0 0", "does not change it"},
		"another's, not listed": {nil, []corev1.Pod{livePod("a", foreignPod)}, "[] [] []; 0 0 0", ""},
		"nobody's":              {[]string{"a"}, []corev1.Pod{livePod("a", orphan)}, "[] [a] []; 1 0 0", ""},
		"nobody's, terminating": {[]string{"a"}, []corev1.Pod{livePod("a", orphan, terminating)}, "[] [] []; 1 0 0", ""},
		"nobody's, not selected": {[]string{"a"}, []corev1.Pod{livePod("a", orphan, unlabelled)}, "[] [] []; 1 0 0",
			"belongs to no known owner"},
		"nobody's, not listed":        {nil, []corev1.Pod{livePod("a", orphan)}, "[] [] []; 0 0 0", ""},
		"nobody's, failed":            {[]string{"a"}, []corev1.Pod{livePod("a", orphan, failed)}, "[] [a] []; 1 0 0", ""},
		"owner that does not control": {nil, []corev1.Pod{livePod("a", owned)}, "[] [] []; 0 0 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, err := Decide(testSet(tc.list...), tc.existing, now)
			g.Expect(err).NotTo(HaveOccurred())
			var created, adopted, deleted []string
			for _, p := range d.Create {
				g.Expect(p.Namespace).To(Equal("kafka"))
				g.Expect(p.OwnerReferences).To(ConsistOf(And(HaveField("UID", BeEquivalentTo("set")), HaveField("Controller", HaveValue(BeTrue())))))
				g.Expect(core.Revision(p)).To(Equal("r1"))
				created = append(created, p.Name)
			}
			for _, p := range d.Adopt {
				adopted = append(adopted, p.Name)
			}
			for _, deletion := range d.Delete {
				deleted = append(deleted, deletion.Pod.Name)
			}
			g.Expect(fmt.Sprintf("%v %v %v; %d %d %d", created, adopted, deleted, d.Pods, d.Ready, d.Current)).To(Equal(tc.want))
			if tc.problem == "" {
				g.Expect(d.Problems).To(BeEmpty())
			} else {
				g.Expect(d.Problems).To(ConsistOf(ContainSubstring(tc.problem)))
			}
		})
	}
}

// What is wrong with a set of pods is said with its name and the pod's place, and nothing is decided of it.
func TestAHibernatedSetEndsItsOwnPods(t *testing.T) {
	for name, tc := range map[string]struct {
		existing []corev1.Pod
		deleted  []string
		problem  string
	}{
		"asleep":                      {nil, nil, ""},
		"running":                     {[]corev1.Pod{livePod("a"), livePod("b", unready)}, []string{"a", "b"}, ""},
		"failed":                      {[]corev1.Pod{livePod("a", failed)}, []string{"a"}, ""},
		"listed no more":              {[]corev1.Pod{livePod("c")}, []string{"c"}, ""},
		"terminating":                 {[]corev1.Pod{livePod("a", terminating), livePod("b")}, []string{"b"}, ""},
		"on a node that is silent":    {[]corev1.Pod{livePod("a", stuck)}, nil, "node.kubernetes.io/out-of-service"},
		"another's":                   {[]corev1.Pod{livePod("a", foreignPod)}, nil, ""},
		"nobody's":                    {[]corev1.Pod{livePod("a", orphan)}, nil, ""},
		"owner that does not control": {[]corev1.Pod{livePod("a", owned)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set := testSet("a", "b")
			set.Annotations = map[string]string{core.AnnotationHibernate: "true"}
			d, err := Decide(set, tc.existing, now)
			g.Expect(err).NotTo(HaveOccurred())
			var deleted []string
			for _, deletion := range d.Delete {
				deleted = append(deleted, deletion.Pod.Name)
			}
			g.Expect(deleted).To(Equal(tc.deleted))
			g.Expect(d.Create).To(BeEmpty())
			g.Expect(d.Adopt).To(BeEmpty())
			g.Expect(fmt.Sprintf("%d %d %d", d.Pods, d.Ready, d.Current)).To(Equal("2 0 0"))
			if tc.problem == "" {
				g.Expect(d.Problems).To(BeEmpty())
			} else {
				g.Expect(d.Problems).To(ConsistOf(ContainSubstring(tc.problem)))
			}
		})
	}
}

func TestDecideRejects(t *testing.T) {
	for name, tc := range map[string]struct{ pods, problem string }{
		"a name twice": {`[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},{"metadata":{"name":"a"}}]`,
			"spec.pods[2] has the name a, which another one has too"},
		"an empty name":               {`[{"metadata":{"name":"a"}},{"metadata":{"name":""}}]`, "spec.pods[1] has no name"},
		"no metadata":                 {`[{"spec":{}}]`, "spec.pods[0] has no name"},
		"nothing":                     {`[{}]`, "spec.pods[0] has no name"},
		"null":                        {`[null]`, "spec.pods[0] is not a Pod"},
		"a number":                    {`[7]`, "spec.pods[0] is not a Pod"},
		"a list":                      {`[[]]`, "spec.pods[0] is not a Pod"},
		"a text":                      {`["c-p-0"]`, "spec.pods[0] is not a Pod"},
		"metadata as a text":          {`[{"metadata":"c-p-0"}]`, "spec.pods[0] is not a Pod"},
		"a name that is a number":     {`[{"metadata":{"name":0}}]`, "spec.pods[0] is not a Pod"},
		"labels that are no texts":    {`[{"metadata":{"name":"a","labels":{"x":1}}}]`, "spec.pods[0] is not a Pod"},
		"containers that are no list": {`[{"metadata":{"name":"a"},"spec":{"containers":{}}}]`, "spec.pods[0] is not a Pod"},
		"a port as a text": {`[{"metadata":{"name":"a"},"spec":{"containers":[{"name":"k","ports":[{"containerPort":"x"}]}]}}]`,
			"spec.pods[0] is not a Pod"},
		"a quantity that is none": {`[{"metadata":{"name":"a"},"spec":{"containers":[{"name":"k","resources":{"limits":{"memory":"2GB!"}}}]}}]`,
			"spec.pods[0] is not a Pod"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set := testSet()
			g.Expect(json.Unmarshal([]byte(tc.pods), &set.Spec.Pods)).To(Succeed())
			d, err := Decide(set, []corev1.Pod{livePod("a"), livePod("other")}, now)
			g.Expect(err).To(MatchError(HavePrefix("StrimziPodSet kafka/c-p: " + tc.problem)))
			g.Expect(append(d.Create, d.Adopt...)).To(BeEmpty())
			g.Expect(d.Delete).To(BeEmpty())
		})
	}
}

// A set whose spec can't be decoded lists unknown pods, not none.
func TestDecideWithoutADecodedSpec(t *testing.T) {
	g := NewWithT(t)
	set := testSet()
	text, err := json.Marshal(set)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(bytes.Replace(text, []byte(`"c-kafka"`), []byte(`7`), 1), set)).To(Succeed())
	g.Expect(set.Spec).To(BeNil())
	d, err := Decide(set, []corev1.Pod{livePod("a")}, now)
	g.Expect(err).To(MatchError(ContainSubstring("StrimziPodSet kafka/c-p can't be read: .spec.selector.matchLabels is not a value of type")))
	g.Expect(d).To(Equal(Decision{}))
}

// Whatever exists: only pods of the set's are deleted, only those that ended or are not listed, and "done" is claimed only when it is true.
func TestDecideOnAnything(t *testing.T) {
	changes := []func(*corev1.Pod){foreignPod, orphan, failed, succeeded, unready, outdated, unlabelled, terminating, stuck, owned}
	names := []string{"a", "b", "c", "d"}
	first := randomtest.Seed(t)
	for seed := first; seed < first+20_000; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		var listed []string
		var existing []corev1.Pod
		for _, name := range names {
			if r.IntN(2) == 0 {
				listed = append(listed, name)
			}
			if r.IntN(4) == 0 {
				continue
			}
			existing = append(existing, livePod(name, func(p *corev1.Pod) {
				for range r.IntN(3) {
					change := changes[r.IntN(len(changes))]
					if len(p.OwnerReferences) > 0 {
						change(p)
					}
				}
			}))
		}
		set := testSet(listed...)
		d, err := Decide(set, existing, now)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if msg := wrong(set, listed, existing, d); msg != "" {
			t.Fatalf("seed %d: %s\nlisted %v\nexisting %+v", seed, msg, listed, existing)
		}
	}
}

func wrong(set *core.StrimziPodSet, listed []string, existing []corev1.Pod, d Decision) string {
	is := map[string]bool{}
	for _, name := range listed {
		is[name] = true
	}
	for _, deletion := range d.Delete {
		pod := deletion.Pod
		ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		if !owns(set, pod) || pod.DeletionTimestamp != nil || is[pod.Name] && !ended {
			return "deletes " + pod.Name
		}
	}
	there, good := map[string]bool{}, 0
	for i := range existing {
		pod := &existing[i]
		there[pod.Name] = true
		if !owns(set, pod) {
			continue
		}
		if is[pod.Name] && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && core.IsReady(pod) &&
			core.Revision(pod) == "r1" {
			good++
		}
		if !is[pod.Name] {
			good = -len(existing) - 1
		}
	}
	for _, pod := range d.Create {
		if there[pod.Name] || !is[pod.Name] {
			return "creates " + pod.Name
		}
	}
	n := int32(len(listed))
	if done := d.Pods == n && d.Ready == n && d.Current == n; done != (good == len(listed)) {
		return fmt.Sprintf("claims to be done: %t", done)
	}
	return ""
}

func TestPatienceWithTerminatingPods(t *testing.T) {
	g := NewWithT(t)
	pod := livePod("a", terminating)
	d, err := Decide(testSet("a"), []corev1.Pod{pod}, now.Add(10*time.Second))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Problems).To(BeEmpty())
	g.Expect(d.CheckAt).To(Equal(now.Add(terminationSlack)))
	d, err = Decide(testSet("a"), []corev1.Pod{pod}, d.CheckAt)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Problems).To(ConsistOf(ContainSubstring("its node (worker) has not confirmed that it stopped")))
}

// What is decided does not change when the cache holds trimmed pods.
func TestTrimPod(t *testing.T) {
	g := NewWithT(t)
	for _, change := range []func(*corev1.Pod){foreignPod, orphan, failed, succeeded, unready, outdated, unlabelled, terminating, stuck, owned,
		func(*corev1.Pod) {}} {
		pod := livePod("a", change)
		trimmed, err := TrimPod(pod.DeepCopy())
		g.Expect(err).NotTo(HaveOccurred())
		want, err := Decide(testSet("a"), []corev1.Pod{pod}, now)
		g.Expect(err).NotTo(HaveOccurred())
		got, err := Decide(testSet("a"), []corev1.Pod{*trimmed.(*corev1.Pod)}, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.Problems).To(Equal(want.Problems))
		g.Expect([]int{len(got.Create), len(got.Adopt), len(got.Delete), int(got.Ready), int(got.Current)}).
			To(Equal([]int{len(want.Create), len(want.Adopt), len(want.Delete), int(want.Ready), int(want.Current)}))
	}
}
