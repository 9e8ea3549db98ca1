package release

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// Leaver selects the KafkaTopics to release (docs/decisions/leaving.md) when the operator stops: those in terminating namespaces, and those
// of Kafka clusters whose Kafka is being deleted. Kubernetes stops the operator before it deletes the objects of its namespace, and nothing
// would release them then.
//
// It runs on the leader, where it records the Kafkas that exist: one that no longer exists at the end was deleted, and one that never
// existed proves nothing. Where it may not read Kafkas, or there is no such kind, it checks only namespaces.
type Leaver struct {
	// Client reads from and writes to the API server, without a cache.
	Client client.Client
	// Namespaces are the watched namespaces; empty means all.
	Namespaces []string
	// Selects reports whether the operator's label selector matches a KafkaTopic's labels.
	Selects func(labels map[string]string) bool
	// Interval is how often to list the Kafkas.
	Interval time.Duration
	// Log gets one line for each KafkaTopic that is released.
	Log logr.Logger

	mu     sync.Mutex
	leads  bool
	kafkas map[types.NamespacedName]types.UID
}

// Start records the Kafkas until ctx ends. It implements manager.Runnable.
func (l *Leaver) Start(ctx context.Context) error {
	l.mu.Lock()
	l.leads = true
	l.mu.Unlock()
	reported := false
	for {
		if err := l.note(ctx); err != nil && ctx.Err() == nil && !reported {
			reported = true
			l.Log.Info("Failed to list all Kafkas: KafkaTopics of the others are not released when their Kafka is deleted", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(l.Interval):
		}
	}
}

// NeedLeaderElection returns true: only the leader releases anything.
func (l *Leaver) NeedLeaderElection() bool { return true }

// note records the Kafkas that exist now. It removes none: a Kafka that no longer exists was deleted.
func (l *Leaver) note(ctx context.Context) error {
	var errs []error
	for _, ns := range l.scopes() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1.GroupVersion.WithKind("KafkaList"))
		if err := l.Client.List(ctx, list, client.InNamespace(ns)); err != nil {
			errs = append(errs, err)
			continue
		}
		l.mu.Lock()
		if l.kafkas == nil {
			l.kafkas = map[types.NamespacedName]types.UID{}
		}
		for i := range list.Items {
			l.kafkas[client.ObjectKeyFromObject(&list.Items[i])] = list.Items[i].UID
		}
		l.mu.Unlock()
	}
	return errors.Join(errs...)
}

// scopes returns the namespaces to list in; the empty one means all.
func (l *Leaver) scopes() []string {
	if len(l.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return l.Namespaces
}

// Leave releases the KafkaTopics that no operator will reconcile any more. Call it after the manager has stopped, with a deadline. It does
// nothing on a standby.
func (l *Leaver) Leave(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leads {
		return nil
	}
	doomed, err := l.doomed(ctx)
	if err != nil || len(doomed) == 0 {
		return err
	}
	topics := make([]v1.KafkaTopic, len(doomed))
	for i, d := range doomed {
		topics[i] = d.kt
	}
	reasons := map[types.UID]string{}
	for _, d := range doomed {
		reasons[d.kt.UID] = d.why
	}
	return freeAll(ctx, l.Client, topics, func(kt *v1.KafkaTopic, err error) {
		name := kt.Namespace + "/" + kt.Name
		switch {
		case errors.Is(err, errReplaced):
			l.Log.Info("A KafkaTopic that was to be released was replaced by another one, which stays as it is", "KafkaTopic", name)
		case err != nil:
			l.Log.Error(err, "Unable to release a KafkaTopic; release it with `topic-operator release`", "KafkaTopic", name)
		default:
			l.Log.Info("Released a KafkaTopic because "+reasons[kt.UID]+"; its topic stays in Kafka", "KafkaTopic", name, "topic",
				ownership.ClaimedName(kt))
		}
	})
}

// doomedTopic is a KafkaTopic to release, and why.
type doomedTopic struct {
	kt  v1.KafkaTopic
	why string
}

// doomed returns the KafkaTopics to release. It omits those whose state can't be read.
func (l *Leaver) doomed(ctx context.Context) ([]doomedTopic, error) {
	var (
		doomed []doomedTopic
		errs   []error
	)
	terminating := map[string]bool{}
	namespaces := l.Namespaces
	if len(namespaces) == 0 {
		all, err := held(ctx, l.Client, l.selected)
		if err != nil {
			return nil, err
		}
		for _, kt := range all {
			namespaces = append(namespaces, kt.Namespace)
		}
		slices.Sort(namespaces)
		namespaces = slices.Compact(namespaces)
	}
	add := func(why string, options ...client.ListOption) {
		topics, err := held(ctx, l.Client, l.selected, options...)
		errs = append(errs, err)
		for _, kt := range topics {
			doomed = append(doomed, doomedTopic{kt, why})
		}
	}
	for _, ns := range namespaces {
		is, err := isTerminating(ctx, l.Client, ns)
		errs = append(errs, err)
		if terminating[ns] = is; is {
			add("its namespace is being deleted", client.InNamespace(ns))
		}
	}
	for key, uid := range l.kafkas {
		if !terminating[key.Namespace] && l.isDeleted(ctx, key, uid) {
			add("its Kafka is being deleted", client.InNamespace(key.Namespace), client.MatchingLabels{v1.LabelCluster: key.Name})
		}
	}
	if err := errors.Join(errs...); err != nil {
		logging.Warn(l.Log, "Failed to decide for all KafkaTopics whether to release them; see `topic-operator release`", "error", err.Error())
	}
	return doomed, nil
}

func (l *Leaver) selected(kt *v1.KafkaTopic) bool { return l.Selects(kt.Labels) }

// isDeleted reports whether a Kafka that existed was deleted, or is being deleted.
func (l *Leaver) isDeleted(ctx context.Context, key types.NamespacedName, uid types.UID) bool {
	kafka := &metav1.PartialObjectMetadata{}
	kafka.SetGroupVersionKind(v1.GroupVersion.WithKind("Kafka"))
	err := l.Client.Get(ctx, key, kafka)
	return apierrors.IsNotFound(err) || err == nil && (kafka.UID != uid || !kafka.DeletionTimestamp.IsZero())
}

// isTerminating reports whether a namespace is being deleted. Most operators may not read namespaces, so it tries, as a dry run, to create
// an object that they may create: the API server rejects that in a terminating namespace with a distinct error.
func isTerminating(ctx context.Context, c client.Client, namespace string) (bool, error) {
	name := metav1.ObjectMeta{Namespace: namespace, GenerateName: "topic-operator-"}
	regarding := corev1.ObjectReference{APIVersion: v1.GroupVersion.String(), Kind: "KafkaTopic", Namespace: namespace}
	attempts := []client.Object{
		&eventsv1.Event{ObjectMeta: name, Regarding: regarding, EventTime: metav1.NowMicro(), Reason: "Stopping", Action: "Stop",
			Type:                corev1.EventTypeNormal,
			ReportingController: "topic-operator", ReportingInstance: "topic-operator"},
		&corev1.Event{ObjectMeta: name, InvolvedObject: regarding},
		&v1.KafkaTopic{ObjectMeta: name, Spec: &v1.KafkaTopicSpec{}}, // the Role of Strimzi's standalone operator allows nothing else
	}
	var err error
	for _, object := range attempts {
		err = c.Create(ctx, object, client.DryRunAll)
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return true, nil
		case err == nil, apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			return false, nil
		case apierrors.IsNotFound(err): // the namespace and all its objects were deleted
			return false, nil
		}
	}
	ns := &corev1.Namespace{}
	if c.Get(ctx, client.ObjectKey{Name: namespace}, ns) == nil {
		return ns.Status.Phase == corev1.NamespaceTerminating, nil
	}
	return false, err
}
