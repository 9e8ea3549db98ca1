package v1_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/core/v1"
)

func TestConfigurationOfPods(t *testing.T) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.LabelManagedBy: v1.ManagedByRoller}},
		Data: map[string]string{v1.RollerStatusKey: `{"configurations":{"changed":"later","wrong":""}}`}}
	foreign := config.DeepCopy()
	foreign.Labels = nil
	for name, c := range map[string]struct {
		config *corev1.ConfigMap
		uid    types.UID
		want   string
	}{
		"as it was created":            {config, "other", "created"},
		"changed while it ran":         {config, "changed", "later"},
		"not a desired one":            {config, "wrong", ""},
		"the roller reports nothing":   {nil, "changed", "created"},
		"somebody else's ConfigMap":    {foreign, "changed", "created"},
		"a ConfigMap without a status": {&corev1.ConfigMap{ObjectMeta: config.ObjectMeta}, "changed", "created"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: c.uid, Annotations: map[string]string{v1.AnnotationConfigHash: "created"}}}
		if got := v1.RollerStatusIn(c.config).ConfigurationOf(pod); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
