package podset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/operator/health"
)

const (
	kind = "StrimziPodSet"
	// recheck is after how long to requeue for changes without an event, and soon is when the cache should have caught up.
	recheck = 10 * time.Second
	soon    = 100 * time.Millisecond
)

// Reconciler makes the pods of the StrimziPodSets of one Kubernetes cluster what the sets say. Only one may run at a time: under leader
// election.
type Reconciler struct {
	// Client reads from the cache that [Reconciler.SetupWithManager] watches, and writes.
	Client client.Client
	// Live reads from the API server: what allows a write is read there right before it.
	Live client.Reader
	// Recorder, if set, gets an Event for each pod that is created, adopted or deleted.
	Recorder Recorder
	// Follows chooses the sets whose pods are made; nil chooses all but those that Strimzi's own operator made and follows.
	Follows func(*core.StrimziPodSet) bool
	// Now is the clock.
	Now func() time.Time
	// Passed, if set, is told of each pass: the namespace of the set, how long it took, and how it failed.
	Passed func(namespace string, took time.Duration, err error)
	// Passes contains the passes that run; nil if nobody asks for them.
	Passes *health.Passes

	// written are the versions of sets that this process has replaced.
	written apply.Replaced
}

// Recorder records Events; *events.Recorder of module operator is one.
type Recorder interface {
	Normal(regarding runtime.Object, reason, action, note string)
}

func (r *Reconciler) follows(set *core.StrimziPodSet) bool {
	if ownership.Copy(set, kind) {
		return false // it lists the pods of another set
	}
	if r.Follows != nil {
		return r.Follows(set)
	}
	return set.Labels[core.LabelManagedBy] != core.ManagedByStrimzi
}

// restoredError says why the pods of a set are not made that was restored into another namespace.
func restoredError(set *core.StrimziPodSet) error {
	return fmt.Errorf("it was restored from another namespace (annotation %s: %s), where its nodes may run: second ones with their ids and "+
		"certificates would take part in their Kafka cluster. No pod of it is created or changed. If no other ones run, remove the annotation",
		ownership.MarkSelf, set.Annotations[ownership.MarkSelf])
}

// +kubebuilder:rbac:groups=core.strimzi.io,resources=strimzipodsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=core.strimzi.io,resources=strimzipodsets/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	defer r.Passes.Start(request.NamespacedName)()
	began := r.Now()
	result, err := r.reconcile(ctx, request)
	if r.Passed != nil {
		r.Passed(request.Namespace, r.Now().Sub(began), err)
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var set core.StrimziPodSet
	if err := r.Client.Get(ctx, request.NamespacedName, &set); err != nil {
		r.written.Forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if set.DeletionTimestamp != nil || set.Labels[v1.LabelCluster] == "" || !r.follows(&set) {
		return reconcile.Result{}, nil // the garbage collector deletes the pods of a deleted set; a set without the label is no Kafka's
	}
	if ownership.Restored(&set, kind) {
		return reconcile.Result{}, r.report(ctx, &set, nil, restoredError(&set)) // the nodes may run where the backup was made
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(set.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, err
	}
	waiting, wait, unplaced := r.place(ctx, &set, pods.Items)
	d, err := Decide(&set, pods.Items, r.Now())
	if err != nil {
		// Trying again does not make a pod of it: a change of the spec does.
		if reported := r.report(ctx, &set, nil, err); reported != nil {
			return reconcile.Result{}, errors.Join(err, reported)
		}
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	d.Problems = append(d.Problems, waiting...)
	var result reconcile.Result
	if !set.IsPaused() {
		result, err = r.carryOut(ctx, &set, &d)
	}
	err = errors.Join(err, unplaced)
	result.RequeueAfter = soonest(result.RequeueAfter, wait)
	if !d.CheckAt.IsZero() {
		result.RequeueAfter = soonest(result.RequeueAfter, max(d.CheckAt.Sub(r.Now()), time.Second))
	}
	failed := err
	for _, problem := range d.Problems {
		failed = errors.Join(failed, errors.New(problem))
	}
	reported := r.report(ctx, &set, &d, failed)
	if apierrors.IsConflict(reported) {
		result.RequeueAfter, reported = soon, nil // no event announces that the cache has the status
	}
	return result, errors.Join(err, reported)
}

// soonest is the shorter of two times, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}

// carryOut carries out the decision, as long as the set has not changed. A failure of one pod does not delay the others.
func (r *Reconciler) carryOut(ctx context.Context, set *core.StrimziPodSet, d *Decision) (reconcile.Result, error) {
	if len(d.Create)+len(d.Adopt)+len(d.Delete) == 0 {
		return reconcile.Result{}, nil
	}
	if same, err := r.confirm(ctx, set); err != nil || !same {
		return reconcile.Result{RequeueAfter: soon}, err // the cache lags behind
	}
	var errs []error
	var result reconcile.Result
	add := func(err error) {
		if apierrors.IsConflict(err) { // the pod changed since it was read
			result.RequeueAfter = soon
			return
		}
		errs = append(errs, err)
	}
	for _, pod := range d.Adopt {
		add(r.adopt(ctx, set, pod))
	}
	for _, deletion := range d.Delete {
		add(r.remove(ctx, set, deletion))
	}
	for _, pod := range d.Create {
		problem, err := r.create(ctx, set, pod)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return reconcile.Result{}, errors.Join(errs...) // nothing can be created any more
		}
		if problem != "" {
			d.Problems = append(d.Problems, problem)
			result.RequeueAfter = soonest(result.RequeueAfter, recheck) // the pod may be one that the cache does not watch
		}
		errs = append(errs, err)
	}
	return result, errors.Join(errs...)
}

// confirm reports whether the set is, right now, the one that was decided about.
func (r *Reconciler) confirm(ctx context.Context, set *core.StrimziPodSet) (bool, error) {
	var live core.StrimziPodSet
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(set), &live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.UID == set.UID && live.Generation == set.Generation && live.DeletionTimestamp == nil && !live.IsPaused() &&
		live.IsHibernated() == set.IsHibernated(), nil
}

// create creates a pod. If its name is taken by a pod that is not in the cache, the problem names the owner of that pod.
func (r *Reconciler) create(ctx context.Context, set *core.StrimziPodSet, pod *corev1.Pod) (problem string, err error) {
	err = r.Client.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		var live corev1.Pod
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(pod), &live); err != nil {
			return "", client.IgnoreNotFound(err)
		}
		if owns(set, &live) {
			return "", r.relabel(ctx, set, &live, pod)
		}
		if metav1.GetControllerOf(&live) == nil && selects(set, &live) {
			return "", nil // the cache will know it in a moment
		}
		return foreign(set, &live), nil
	}
	if err != nil {
		return "", fmt.Errorf("create pod %s: %w", pod.Name, err)
	}
	r.record(ctx, set, pod, "PodCreated", "Create", "Created pod "+pod.Name)
	return "", nil
}

// relabel gives a pod of the set's back the labels that somebody removed or changed. Without the Kafka's, the cache does not have it, and
// it counts as gone although it runs. A pod with that label is just too new for the cache.
func (r *Reconciler) relabel(ctx context.Context, set *core.StrimziPodSet, pod, declared *corev1.Pod) error {
	_, known := pod.Labels[v1.LabelCluster]
	if _, can := declared.Labels[v1.LabelCluster]; known || !can {
		return nil
	}
	changed := pod.DeepCopy()
	for _, key := range lost(pod, declared) {
		metav1.SetMetaDataLabel(&changed.ObjectMeta, key, declared.Labels[key])
	}
	err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("label pod %s: %w", pod.Name, err)
	}
	r.record(ctx, set, pod, "PodLabelled", "Label", "Pod "+pod.Name+" had lost its labels and got them back")
	return nil
}

// lost returns the labels that a pod is known to have had. One of another revision may have been made with other labels, such as those of
// its roles, except for those that say what it is.
func lost(pod, declared *corev1.Pod) []string {
	if !core.Outdated(pod, declared) {
		return slices.Collect(maps.Keys(declared.Labels))
	}
	var keys []string
	for _, key := range []string{v1.LabelCluster, core.LabelKind, core.LabelName} {
		if _, has := declared.Labels[key]; has {
			keys = append(keys, key)
		}
	}
	return keys
}

// adopt makes the set the controller of a pod, if it has not got another controller in the meantime.
func (r *Reconciler) adopt(ctx context.Context, set *core.StrimziPodSet, pod *corev1.Pod) error {
	changed := pod.DeepCopy()
	changed.OwnerReferences = append(changed.OwnerReferences, ownerReference(set))
	err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("adopt pod %s: %w", pod.Name, err)
	}
	r.record(ctx, set, pod, "PodAdopted", "Adopt", "Adopted pod "+pod.Name)
	return nil
}

// remove deletes a pod, if it is still as it was when it was decided about.
func (r *Reconciler) remove(ctx context.Context, set *core.StrimziPodSet, d Deletion) error {
	pod := d.Pod
	err := r.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	r.record(ctx, set, pod, "PodDeleted", "Delete", fmt.Sprintf("Deleted pod %s: %s", pod.Name, d.Reason))
	return nil
}

func (r *Reconciler) record(ctx context.Context, set *core.StrimziPodSet, pod *corev1.Pod, reason, action, note string) {
	logf.FromContext(ctx).Info(note, "pod", pod.Name, "uid", pod.UID)
	if r.Recorder != nil {
		r.Recorder.Normal(set, reason, action, note)
	}
}
