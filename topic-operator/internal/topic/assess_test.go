package topic

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestAssess(t *testing.T) {
	deleting := func(kt *v1.KafkaTopic) {
		kt.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	finalizer := func(kt *v1.KafkaTopic) { kt.Finalizers = []string{v1.FinalizerTopicOperator} }
	annotate := func(key, value string) func(*v1.KafkaTopic) {
		return func(kt *v1.KafkaTopic) { metav1.SetMetaDataAnnotation(&kt.ObjectMeta, key, value) }
	}
	specUnmanaged := func(kt *v1.KafkaTopic) { no := false; kt.Spec.Managed = &no }
	was := func(name string) func(*v1.KafkaTopic) {
		return func(kt *v1.KafkaTopic) { kt.Status.TopicName = name }
	}
	unselected := func(kt *v1.KafkaTopic) { kt.Labels = map[string]string{"other": "team"} }

	for name, c := range map[string]struct {
		with []func(*v1.KafkaTopic)
		want Verdict
	}{
		"an ordinary one":   {nil, Reconcile},
		"an unselected one": {[]func(*v1.KafkaTopic){unselected}, Ignore},
		"an unselected one is ignored even when deleted": {[]func(*v1.KafkaTopic){unselected, deleting, finalizer}, Ignore},
		"deleted": {[]func(*v1.KafkaTopic){deleting, finalizer}, Delete},
		"deleted and held by somebody else's finalizer":     {[]func(*v1.KafkaTopic){deleting}, Gone},
		"deleted while paused":                              {[]func(*v1.KafkaTopic){deleting, finalizer, annotate(v1.AnnotationPauseReconciliation, "true")}, Delete},
		"deleted while unmanaged by annotation":             {[]func(*v1.KafkaTopic){deleting, finalizer, annotate(v1.AnnotationManaged, "false")}, Release},
		"deleted while unmanaged by spec":                   {[]func(*v1.KafkaTopic){deleting, finalizer, specUnmanaged}, Release},
		"deleted after being retargeted":                    {[]func(*v1.KafkaTopic){deleting, finalizer, was("other")}, Delete},
		"unmanaged by annotation":                           {[]func(*v1.KafkaTopic){annotate(v1.AnnotationManaged, "false")}, MarkUnmanaged},
		"unmanaged by spec":                                 {[]func(*v1.KafkaTopic){specUnmanaged}, MarkUnmanaged},
		"unmanaged wins over paused":                        {[]func(*v1.KafkaTopic){specUnmanaged, annotate(v1.AnnotationPauseReconciliation, "true")}, MarkUnmanaged},
		"only the exact value false unmanages":              {[]func(*v1.KafkaTopic){annotate(v1.AnnotationManaged, "False")}, Reconcile},
		"paused":                                            {[]func(*v1.KafkaTopic){annotate(v1.AnnotationPauseReconciliation, "true")}, MarkPaused},
		"shouldFailChangeToSpecTopicName":                   {[]func(*v1.KafkaTopic){was("other")}, Reject},
		"a name that was claimed and not changed goes on":   {[]func(*v1.KafkaTopic){was("orders")}, Reconcile},
		"paused wins over a changed name: nothing is asked": {[]func(*v1.KafkaTopic){was("other"), annotate(v1.AnnotationPauseReconciliation, "true")}, MarkPaused},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kt := topicFrom(t, `{}`)
			kt.Labels = map[string]string{"strimzi.io/cluster": "my-cluster"}
			for _, f := range c.with {
				f(kt)
			}
			_, selected := kt.Labels["strimzi.io/cluster"]
			got, refusal := Assess(kt, selected)
			g.Expect(got.String()).To(Equal(c.want.String()))
			if c.want == Reject {
				g.Expect(refusal.Message).NotTo(BeEmpty())
			} else {
				g.Expect(refusal.Message).To(BeEmpty())
			}
		})
	}
}

func TestDeletionGoesByTheClaimedName(t *testing.T) {
	g := NewWithT(t)
	kt := topicFrom(t, `{"topicName":"new"}`)
	g.Expect(ClaimedName(kt)).To(Equal("new"))
	kt.Status.TopicName = "old"
	g.Expect(ClaimedName(kt)).To(Equal("old"))
}
