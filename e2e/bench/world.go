package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// clientConcurrency is the number of concurrent requests of a bare client. More do not make this API server faster on two cores.
const clientConcurrency = 32

// topicsPerRequest is the number of topics in a Kafka request of the floor.
const topicsPerRequest = 500

// world is the servers and their bare clients.
type world struct {
	plane  *controlplane.ControlPlane
	broker *realkafka.Cluster
	admin  *saramakafka.Admin
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
	// settings are the operator's settings for all measurements.
	settings map[string]string
}

func newWorld(ctx context.Context, o Options) (w *world, err error) {
	w = &world{scheme: runtime.NewScheme(), settings: o.OperatorEnv}
	started := w // w is nil when an error is returned
	if err := errors.Join(clientgoscheme.AddToScheme(w.scheme), v1.AddToScheme(w.scheme)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, started.close())
		}
	}()
	if w.plane, err = controlplane.Start(ctx, controlplane.Options{Log: o.Progress}); err != nil {
		return nil, err
	}
	crds, err := operatorproc.RepositoryPath("config", "crd", "bases")
	if err != nil {
		return nil, err
	}
	if err = w.plane.InstallCRDs(crds); err != nil {
		return nil, err
	}
	if err = w.startKafka(ctx, 1, o.Progress); err != nil {
		return nil, err
	}
	w.config = w.plane.RESTConfig()
	w.client, err = client.New(w.config, client.Options{Scheme: w.scheme})
	return w, err
}

// startKafka replaces the present Kafka with one that has that many brokers. They run with the JVM flags of a production broker, rather
// than those for a fast start.
func (w *world) startKafka(ctx context.Context, brokers int, progress io.Writer) (err error) {
	if err := w.stopKafka(); err != nil {
		return err
	}
	if w.broker, err = realkafka.Start(ctx, realkafka.Options{Brokers: brokers, HeapMB: 1536, JVMFlags: []string{"-XX:TieredStopAtLevel=4"},
		Log:    progress,
		Config: map[string]string{"auto.create.topics.enable": "false"}}); err != nil {
		return err
	}
	w.admin, err = saramakafka.New(kafka.Config{Bootstrap: w.broker.Bootstrap(), ClientID: "bench"})
	return err
}

func (w *world) stopKafka() (err error) {
	if w.admin != nil {
		w.admin.Close()
		w.admin = nil
	}
	if w.broker != nil {
		err = w.broker.Close()
		w.broker = nil
	}
	return err
}

func (w *world) close() error {
	errs := []error{w.stopKafka()}
	if w.plane != nil {
		errs = append(errs, w.plane.Stop())
	}
	return errors.Join(errs...)
}

func (w *world) createNamespace(ctx context.Context, name string) error {
	return w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// newTopic returns the object of every measurement: one partition, one replica, one setting.
func newTopic(namespace, prefix string, i int) *v1.KafkaTopic {
	one := int64(1)
	name := fmt.Sprintf("%s-%05d", prefix, i)
	return &v1.KafkaTopic{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1.LabelCluster: "bench"}},
		Spec: &v1.KafkaTopicSpec{Partitions: &one, Replicas: &one,
			Config: map[string]v1.ConfigValue{"retention.ms": {Raw: []byte(`"7200000"`)}}},
	}
}

// each calls f for 0..n-1 from clientConcurrency goroutines, and stops at the first error.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next sync.Mutex
	i := 0
	take := func() int {
		next.Lock()
		defer next.Unlock()
		i++
		return i - 1
	}
	var wg sync.WaitGroup
	for range clientConcurrency {
		wg.Go(func() {
			for j := take(); j < n && ctx.Err() == nil; j = take() {
				if err := f(ctx, j); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// post creates objects as a user does.
func (w *world) post(ctx context.Context, namespace, prefix string, from, to int) error {
	return each(ctx, to-from, func(ctx context.Context, i int) error {
		return w.client.Create(ctx, newTopic(namespace, prefix, from+i))
	})
}

// startOperator starts the operator on one namespace.
func (w *world) startOperator(ctx context.Context, namespace string, env map[string]string) (*operatorproc.Process, error) {
	all := maps.Clone(w.settings)
	maps.Copy(all, env)
	p, err := operatorproc.Start(ctx, operatorproc.Options{Kubeconfig: w.plane.Kubeconfig(), Namespace: namespace,
		Bootstrap: w.broker.Bootstrap(), Env: all})
	if err != nil {
		return nil, err
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.WaitReady(ready); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// buildProgram builds a program of the repository in a folder, and returns its path.
func buildProgram(ctx context.Context, dir, name string) (string, error) {
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	return program, assets.Build(ctx, program, root, "./"+name+"/cmd")
}
