package v1_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/api/core/v1beta2"
)

func pod(name string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
}

func TestOutdated(t *testing.T) {
	revision := func(r string) map[string]string { return map[string]string{v1.AnnotationRevision: r, "other": r} }
	cases := map[string]struct {
		current, desired map[string]string
		want             bool
	}{
		"neither has one":       {want: false},
		"the same":              {current: revision("a"), desired: revision("a"), want: false},
		"another one":           {current: revision("a"), desired: revision("b"), want: true},
		"only one is desired":   {desired: revision("a"), want: true},
		"none is desired":       {current: revision("a"), want: true},
		"others do not count":   {current: map[string]string{"other": "a"}, desired: map[string]string{"other": "b"}, want: false},
		"an empty one is as no": {current: revision(""), want: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := v1.Outdated(pod("a", tc.current), pod("a", tc.desired)); got != tc.want {
				t.Errorf("Outdated() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestDesiredPods(t *testing.T) {
	set := &v1.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kafka", Name: "brokers"}}
	if pods, err := set.DesiredPods(); err != nil || len(pods) != 0 {
		t.Errorf("a set without a spec has the pods %v, %v", pods, err)
	}
	if err := set.SetDesiredPods([]corev1.Pod{*pod("b-0", nil), *pod("b-1", map[string]string{v1.AnnotationRevision: "r"})}); err != nil {
		t.Fatal(err)
	}
	pods, err := set.DesiredPods()
	if err != nil || len(pods) != 2 || pods[0].Name != "b-0" || v1.Revision(&pods[1]) != "r" {
		t.Errorf("the pods that were set come back as %v, %v", pods, err)
	}
	set.Spec.Pods[1].Raw = []byte(`{"spec": "none"}`)
	if _, err := set.DesiredPods(); err == nil || !strings.Contains(err.Error(), "StrimziPodSet kafka/brokers: spec.pods[1] is not a Pod") {
		t.Errorf("what is no pod is told as: %v", err)
	}
}

// A copy shares nothing with what it was copied from, in both versions.
func TestDeepCopy(t *testing.T) {
	spec := &v1.StrimziPodSetSpec{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Pods: []runtime.RawExtension{{Raw: []byte(`{"kind":"Pod"}`)}}}
	stored := &v1.StrimziPodSetList{Items: []v1.StrimziPodSet{{Spec: spec}}}
	older := &v1beta2.StrimziPodSetList{Items: []v1beta2.StrimziPodSet{{Spec: spec}}}
	for name, copied := range map[string]*v1.StrimziPodSetSpec{"v1": stored.DeepCopy().Items[0].Spec,
		"v1beta2": older.DeepCopy().Items[0].Spec} {
		copied.Pods[0].Raw[2] = 'K'
		copied.Selector.MatchLabels["a"] = "c"
		if got := string(spec.Pods[0].Raw) + spec.Selector.MatchLabels["a"]; got != `{"kind":"Pod"}b` {
			t.Errorf("%s: a change of the copy made the original %s", name, got)
		}
	}
}

func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []schema.GroupVersion{v1.GroupVersion, v1beta2.GroupVersion} {
		for _, kind := range []string{"StrimziPodSet", "StrimziPodSetList"} {
			if object, err := scheme.New(version.WithKind(kind)); err != nil || object == nil {
				t.Errorf("%s of %s: %v", kind, version, err)
			}
		}
	}
}

func TestPause(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "yes": false, "": false} {
		set := &v1.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"strimzi.io/pause-reconciliation": value}}}
		if got := set.IsPaused(); got != want {
			t.Errorf("pause-reconciliation: %q: got %v, want %v", value, got, want)
		}
	}
}
