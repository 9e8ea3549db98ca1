package controller

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// change modifies a KafkaTopic.
type change func(*v1.KafkaTopic)

func kafkaTopic(ns, name string, changes ...change) *v1.KafkaTopic {
	kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: &v1.KafkaTopicSpec{}}
	for _, change := range changes {
		change(kt)
	}
	return kt
}

func partitions(n int64) change { return func(kt *v1.KafkaTopic) { kt.Spec.Partitions = &n } }
func replicas(n int64) change   { return func(kt *v1.KafkaTopic) { kt.Spec.Replicas = &n } }
func named(name string) change  { return func(kt *v1.KafkaTopic) { kt.Spec.TopicName = &name } }
func managed(yes bool) change   { return func(kt *v1.KafkaTopic) { kt.Spec.Managed = &yes } }
func noSpec(kt *v1.KafkaTopic)  { kt.Spec = nil }

func finalizers(f ...string) change { return func(kt *v1.KafkaTopic) { kt.Finalizers = f } }

// config sets a key of spec.config to a JSON value.
func config(key, value string) change {
	return func(kt *v1.KafkaTopic) {
		if kt.Spec.Config == nil {
			kt.Spec.Config = map[string]v1.ConfigValue{}
		}
		kt.Spec.Config[key] = v1.ConfigValue{Raw: json.RawMessage(value)}
	}
}

func noConfig(key string) change { return func(kt *v1.KafkaTopic) { delete(kt.Spec.Config, key) } }

func label(key, value string) change {
	return func(kt *v1.KafkaTopic) {
		if kt.Labels == nil {
			kt.Labels = map[string]string{}
		}
		kt.Labels[key] = value
	}
}

func noLabel(key string) change { return func(kt *v1.KafkaTopic) { delete(kt.Labels, key) } }

func annotation(key, value string) change {
	return func(kt *v1.KafkaTopic) {
		if kt.Annotations == nil {
			kt.Annotations = map[string]string{}
		}
		kt.Annotations[key] = value
	}
}

func noAnnotation(key string) change {
	return func(kt *v1.KafkaTopic) { delete(kt.Annotations, key) }
}

var (
	pause   = annotation(v1.AnnotationPauseReconciliation, "true")
	resume  = noAnnotation(v1.AnnotationPauseReconciliation)
	abandon = annotation(v1.AnnotationManaged, "false")
	manage  = noAnnotation(v1.AnnotationManaged)
)

// haveConditions compares the conditions, without their times. A condition is written as "Type=Status Reason: message".
func haveConditions(want ...string) gomegatypes.GomegaMatcher {
	var got []string
	return gcustom.MakeMatcher(func(kt *v1.KafkaTopic) (bool, error) {
		got = nil
		for _, c := range kt.Status.Conditions {
			if c.Type == v1.ConditionStalled { // it repeats Ready, see stalled_test.go
				continue
			}
			text := c.Type + "=" + c.Status
			if c.Reason != "" || c.Message != "" {
				text += " " + c.Reason + ": " + c.Message
			}
			got = append(got, text)
			if c.LastTransitionTime == "" {
				return false, fmt.Errorf("the condition %s has no time", text)
			}
		}
		return Equal(want).Match(got)
	}).WithTemplate("Expected conditions of\n{{.FormattedActual}}\n{{.To}} be {{format .Data 1}}", want)
}

// observed matches if the status is of the current generation.
func observed() gomegatypes.GomegaMatcher {
	return WithTransform(func(kt *v1.KafkaTopic) bool { return kt.Status.ObservedGeneration == kt.Generation }, BeTrue())
}

func beReady() gomegatypes.GomegaMatcher {
	return And(haveConditions("Ready=True"), observed(), haveFinalizer())
}

func failWith(reason, message string) gomegatypes.GomegaMatcher {
	return And(haveConditions("Ready=False "+reason+": "+message), observed())
}

func haveFinalizer() gomegatypes.GomegaMatcher {
	return HaveField("ObjectMeta.Finalizers", ContainElement(v1.FinalizerTopicOperator))
}

// claim compares the topic's name and id in the status. An empty id means none.
func claim(name, id string) gomegatypes.GomegaMatcher {
	return And(HaveField("Status.TopicName", name), HaveField("Status.TopicID", id))
}
