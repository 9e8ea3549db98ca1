package prove

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
)

// namespace is the namespace of all KafkaTopics of a proof.
const namespace = "prove"

// world is the environment of a proof: one API server and some Kafka clusters, for the whole test.
type world struct {
	plane   *controlplane.ControlPlane
	k8s     client.WithWatch
	kafka   []*cluster
	binary  string
	history *history
}

func newWorld(p *proof, clusters int) *world {
	p.t.Helper()
	ctx := p.t.Context()
	ctrllog.SetLogger(logr.Discard()) // the client logs nothing of interest
	w := &world{kafka: make([]*cluster, clusters)}
	errs := make([]error, clusters+1)
	var started sync.WaitGroup
	for i := range clusters {
		started.Go(func() { w.kafka[i], errs[i] = startKafka(ctx, p.t) })
	}
	started.Go(func() { errs[clusters] = w.startControlPlane(ctx, p.t) })
	var err error
	w.binary, err = operatorproc.Build(ctx)
	started.Wait()
	for _, err := range append(errs, err) {
		if err != nil {
			p.t.Fatal(err)
		}
	}
	if w.history, err = follow(ctx, p, w.k8s, namespace); err != nil {
		p.t.Fatal(err)
	}
	return w
}

func (w *world) startControlPlane(ctx context.Context, t *testing.T) error {
	var err error
	if w.plane, err = controlplane.Start(ctx, controlplane.Options{}); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := w.plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	crds, err := operatorproc.RepositoryPath("config", "crd", "bases")
	if err != nil {
		return err
	}
	if err := w.plane.InstallCRDs(crds); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if w.k8s, err = client.NewWithWatch(w.plane.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return w.k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

// startOperator starts an operator of the cluster, without waiting until it is ready.
func (w *world) startOperator(ctx context.Context, c *cluster, env map[string]string) (*operatorproc.Process, error) {
	all := map[string]string{"STRIMZI_LEADER_ELECTION_ENABLED": "false"}
	maps.Copy(all, env)
	return operatorproc.Start(ctx, operatorproc.Options{
		Binary: w.binary, Kubeconfig: w.plane.Kubeconfig(), Namespace: namespace, Bootstrap: c.Bootstrap(), Env: all,
	})
}

// hang suspends an operator; goOn resumes it.
func hang(op *operatorproc.Process) { _ = syscall.Kill(op.PID(), syscall.SIGSTOP) }
func goOn(op *operatorproc.Process) { _ = syscall.Kill(op.PID(), syscall.SIGCONT) }

// newObject returns a KafkaTopic that is not created yet.
func newObject(name string, partitions int32, config map[string]string) *v1.KafkaTopic {
	one, wanted := int64(1), int64(partitions)
	kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{Partitions: &wanted, Replicas: &one}}
	kt.Namespace, kt.Name = namespace, name
	for key, value := range config {
		if kt.Spec.Config == nil {
			kt.Spec.Config = map[string]v1.ConfigValue{}
		}
		text, _ := json.Marshal(value) // a string
		kt.Spec.Config[key] = v1.ConfigValue{Raw: text}
	}
	return kt
}

// patch patches an object, which does not conflict with the operator's writes.
func (w *world) patch(ctx context.Context, kt *v1.KafkaTopic, change map[string]any) error {
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	w.history.note(kt.Name, "patch %s", text)
	target := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: kt.Namespace, Name: kt.Name}}
	return w.k8s.Patch(ctx, target, client.RawPatch("application/merge-patch+json", text))
}

// annotate sets an annotation, or removes it if the value is nil.
func (w *world) annotate(ctx context.Context, kt *v1.KafkaTopic, key string, value any) error {
	return w.patch(ctx, kt, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// create creates an object.
func (w *world) create(ctx context.Context, kt *v1.KafkaTopic) error {
	w.history.note(kt.Name, "create")
	return w.k8s.Create(ctx, kt)
}

// delete requests an object's deletion.
func (w *world) delete(ctx context.Context, kt *v1.KafkaTopic) error {
	w.history.note(kt.Name, "delete")
	target := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: kt.Namespace, Name: kt.Name}}
	return w.k8s.Delete(ctx, target)
}

// letGo resolves a blocked deletion as documented: the object is removed, the topic stays.
func (w *world) letGo(ctx context.Context, kt *v1.KafkaTopic) error {
	err := w.annotate(ctx, kt, v1.AnnotationManaged, "false")
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return w.history.await(ctx, kt.UID, "gone by the documented way out", func(o object) bool { return o.gone })
}

// awaitReady waits until the operator is ready.
func awaitReady(ctx context.Context, op *operatorproc.Process) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return op.WaitReady(ctx)
}

// blocked reports whether the object's deletion is refused until its user acts.
func blocked(o object) bool {
	if o.gone || o.last.DeletionTimestamp == nil {
		return false
	}
	switch refusal(o.last) {
	case v1.ReasonNotReadyForDeletion, v1.ReasonTopicIDMismatch:
		return true
	}
	return false
}

// patchStatus patches an object's status, like the restoration of a backup.
func (w *world) patchStatus(ctx context.Context, kt *v1.KafkaTopic, change map[string]any) error {
	text, err := json.Marshal(map[string]any{"status": change})
	if err != nil {
		return err
	}
	w.history.note(kt.Name, "patch %s", text)
	w.history.edit(kt.Name)
	target := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: kt.Namespace, Name: kt.Name}}
	return w.k8s.Status().Patch(ctx, target, client.RawPatch("application/merge-patch+json", text))
}
