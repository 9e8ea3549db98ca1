package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

// The topic operator of a Kafka loses its rights with the Kafka, or with spec.entityOperator, and often before it is told to stop. So this
// operator takes the finalizer off its KafkaTopics, which nobody would take off any more (docs/decisions/leaving.md). A ConfigMap without
// an owner outlives the Kafka, and says that its KafkaTopics had the topic operator that this operator deployed: those of another one are
// not to be released. The process remembers that, too, because the deletion of a namespace deletes the ConfigMap with the Kafka.

// noteTopicOperator creates that ConfigMap before the topic operator.
func (p *pass) noteTopicOperator(ctx context.Context) error {
	name := model.TopicOperatorRecordName(p.kafka.Name)
	record := p.home().facts.ConfigMap(name)
	if record == nil {
		record = model.TopicOperatorRecord(p.kafka)
		err := p.Live.Create(ctx, record, client.FieldOwner(apply.FieldManager))
		if apierrors.IsAlreadyExists(err) { // the cache is behind, or it is somebody else's without labels
			record = &corev1.ConfigMap{}
			err = p.Live.Get(ctx, client.ObjectKey{Namespace: p.kafka.Namespace, Name: name}, record)
		}
		if err != nil {
			return fmt.Errorf("create ConfigMap %s: %w", name, err)
		}
	}
	if !model.IsTopicOperatorRecord(record, p.kafka.Name) {
		p.warn(reasonNotOwned, fmt.Sprintf("ConfigMap %s is not the operator's, which needs one of that name: without it, the deletion of "+
			"the KafkaTopics may hang once the Kafka is deleted. Rename that ConfigMap", name))
	}
	return nil
}

// noteEarlierTopicOperator is noteTopicOperator for a topic operator that exists. An earlier version of this operator did not note it, and
// the pass may end before the step that does.
func (p *pass) noteEarlierTopicOperator(ctx context.Context) error {
	if !p.hasTopicOperator() {
		if model.IsTopicOperatorRecord(p.home().facts.ConfigMap(model.TopicOperatorRecordName(p.kafka.Name)), p.kafka.Name) {
			p.topicOperators.Store(client.ObjectKeyFromObject(p.kafka), true) // its KafkaTopics are not released yet
		}
		return nil
	}
	p.topicOperators.Store(client.ObjectKeyFromObject(p.kafka), true)
	return p.noteTopicOperator(ctx)
}

// rememberTopicOperator has this process remember the topic operator of a Kafka that is being deleted, which may take longer than the
// process lives: the deletion of its namespace deleted the topic operator and the record of that at once.
func (p *pass) rememberTopicOperator() {
	keeps := controllerutil.ContainsFinalizer(p.kafka, metav1.FinalizerOrphanDependents)
	if model.WantsTopicOperator(p.kafka) && p.watchesHome() && !keeps {
		p.topicOperators.Store(client.ObjectKeyFromObject(p.kafka), true)
	}
}

// hasTopicOperator reports whether the Kafka has a topic operator that watches its namespace.
func (p *pass) hasTopicOperator() bool {
	deployment := p.home().facts.Deployment(model.TopicOperatorName(p.kafka.Name))
	return deployment != nil && apply.OwnedBy(deployment, p.kafka.UID) &&
		model.WatchedNamespace(&deployment.Spec.Template.Spec) == p.kafka.Namespace
}

// watchesHome reports whether the topic operator watches the namespace of its Kafka. In another one, the user has to grant its rights.
func (p *pass) watchesHome() bool {
	watched := p.kafka.Spec.EntityOperator.TopicOperator.WatchedNamespace
	return watched == "" || watched == p.kafka.Namespace
}

// releaseTopics releases the KafkaTopics of a topic operator that is not wanted any more, or not for this namespace. A failure is only a
// warning, because the nodes do not need it.
func (p *pass) releaseTopics(ctx context.Context) error {
	why := "it has no topic operator any more"
	if model.WantsTopicOperator(p.kafka) {
		if p.watchesHome() {
			return nil
		}
		why = "its topic operator watches another namespace"
	}
	record := p.home().facts.ConfigMap(model.TopicOperatorRecordName(p.kafka.Name))
	wait, err := p.Reconciler.releaseTopics(ctx, client.ObjectKeyFromObject(p.kafka), record, why)
	switch {
	case apierrors.IsConflict(err):
		p.requeueAfter(conflictDelay)
	case err != nil:
		p.warn("KafkaTopicsNotReleased", fmt.Sprintf("KafkaTopics can't be deleted while they have the finalizer %s of the topic operator, "+
			"which does not look at them any more: %v", v1.FinalizerTopicOperator, err))
		p.requeueAfter(awayDelay)
	case wait:
		p.requeueAfter(awayDelay)
	}
	return nil
}

// releaseTopicsOfGone releases the KafkaTopics of a Kafka that is gone, if this operator deployed their topic operator.
func (r *Reconciler) releaseTopicsOfGone(ctx context.Context, kafka types.NamespacedName) (wait bool, err error) {
	record := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: kafka.Namespace, Name: model.TopicOperatorRecordName(kafka.Name)}
	if err := r.Cache.Get(ctx, key, record); client.IgnoreNotFound(err) != nil {
		return false, err
	}
	if !r.deployedTopicOperator(kafka, record) {
		return false, nil
	}
	if err := r.Live.Get(ctx, kafka, &v1.Kafka{}); !apierrors.IsNotFound(err) {
		return false, err // it exists but this operator does not watch it, or that is unknown
	}
	return r.releaseTopics(ctx, kafka, record, "its Kafka was deleted")
}

// deployedTopicOperator reports whether this operator deployed the topic operator of a Kafka, by what it remembers and by the record.
func (r *Reconciler) deployedTopicOperator(kafka types.NamespacedName, record *corev1.ConfigMap) bool {
	_, remembered := r.topicOperators.Load(kafka)
	return remembered || model.IsTopicOperatorRecord(record, kafka.Name)
}

// releaseTopics removes the topic operator's finalizer from the KafkaTopics of a Kafka, if this operator deployed it and nothing of it runs
// any more, which would put it back. Their topics stay in Kafka. It returns whether something still runs, and forgets the topic operator
// at the end.
func (r *Reconciler) releaseTopics(ctx context.Context, kafka types.NamespacedName, record *corev1.ConfigMap, why string) (wait bool,
	err error) {
	if !r.deployedTopicOperator(kafka, record) {
		return false, nil
	}
	if runs, err := r.topicOperatorRuns(ctx, kafka); err != nil || runs {
		return runs, err
	}
	topics := &metav1.PartialObjectMetadataList{TypeMeta: typeOf("KafkaTopicList")}
	err = r.Live.List(ctx, topics, client.InNamespace(kafka.Namespace), client.MatchingLabels{v1.LabelCluster: kafka.Name})
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) { // both say that the kind does not exist
		return false, fmt.Errorf("list KafkaTopics: %w", err)
	}
	var failed []error
	for i := range topics.Items {
		topic := &topics.Items[i]
		released, err := r.releaseTopic(ctx, topic)
		if err != nil {
			failed = append(failed, fmt.Errorf("release KafkaTopic %s: %w", topic.Name, err))
		}
		if released {
			log.FromContext(ctx).Info("Released a KafkaTopic because "+why+"; its topic stays in Kafka", "KafkaTopic", topic.Name)
		}
	}
	if len(failed) > 0 {
		return false, errors.Join(failed...)
	}
	if model.IsTopicOperatorRecord(record, kafka.Name) {
		if err := r.Live.Delete(ctx, record, client.Preconditions{UID: &record.UID}); client.IgnoreNotFound(err) != nil {
			return false, err
		}
	}
	r.topicOperators.Delete(kafka)
	return false, nil
}

// topicOperatorRuns reports whether the topic operator of a Kafka runs, or may be started. One that certainly watches another namespace
// does not count: the Deployment's controller has seen that, and so have its pods.
func (r *Reconciler) topicOperatorRuns(ctx context.Context, kafka types.NamespacedName) (bool, error) {
	name := model.TopicOperatorName(kafka.Name)
	deployment := &appsv1.Deployment{}
	elsewhere := func(pod *corev1.PodSpec) bool {
		watched := model.WatchedNamespace(pod)
		return watched != "" && watched != kafka.Namespace
	}
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: kafka.Namespace, Name: name}, deployment); {
	case err == nil && elsewhere(&deployment.Spec.Template.Spec) && deployment.Status.ObservedGeneration >= deployment.Generation:
	case err == nil:
		return true, nil
	case !apierrors.IsNotFound(err):
		return false, fmt.Errorf("get Deployment %s: %w", name, err)
	}
	pods := &corev1.PodList{}
	if err := r.Live.List(ctx, pods, client.InNamespace(kafka.Namespace),
		client.MatchingLabels{v1.LabelCluster: kafka.Name, core.LabelName: name}); err != nil {
		return false, fmt.Errorf("list pods: %w", err)
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && !elsewhere(&pod.Spec)
	}), nil
}

// releaseTopic removes the topic operator's finalizer from a KafkaTopic, and no other. It returns whether the topic had it.
func (r *Reconciler) releaseTopic(ctx context.Context, topic *metav1.PartialObjectMetadata) (bool, error) {
	rest := slices.DeleteFunc(slices.Clone(topic.Finalizers), func(f string) bool { return f == v1.FinalizerTopicOperator })
	if len(rest) == len(topic.Finalizers) {
		return false, nil
	}
	// With the resourceVersion that was read, because the patch replaces the whole list.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": topic.UID, "resourceVersion": topic.ResourceVersion,
		"finalizers": rest}})
	if err != nil {
		return false, err
	}
	topic.TypeMeta = typeOf("KafkaTopic")
	err = r.Live.Patch(ctx, topic, client.RawPatch(types.MergePatchType, patch))
	return err == nil, client.IgnoreNotFound(err)
}

// typeOf is the type of an object of which only the metadata is read.
func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: kind}
}

// entityOperator applies the topic operator that the Kafka asks for.
func (p *pass) entityOperator(ctx context.Context) error {
	home := p.home()
	if model.WantsTopicOperator(p.kafka) && p.watchesHome() && !p.hasTopicOperator() {
		if err := p.noteTopicOperator(ctx); err != nil {
			return err
		}
	}
	for _, o := range model.TopicOperator(p.at(home)) {
		outcome, err := p.applyOver(ctx, home, o, home.facts.Objects[facts.KeyOf(o)])
		if err != nil {
			return err
		}
		if wanted, ok := o.(*appsv1.Deployment); ok {
			live := home.facts.Deployment(wanted.Name)
			// What was read tells nothing of what was written since.
			p.status.TopicOperatorNotReady = outcome != apply.Unchanged || live == nil || !status.DeploymentReady(live)
		}
	}
	return nil
}
