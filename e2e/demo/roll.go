package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

const (
	// rollNamespace is the namespace of the pods in the roller's demo, rolled the name of their Kafka cluster.
	rollNamespace = "default"
	rolled        = "my-cluster"
)

// roll is the running demo of the roller.
type roll struct {
	*Demo
	scratch string
	program string
	plane   *controlplane.ControlPlane
	kafka   *realkafka.Cluster
	admin   *saramakafka.Admin
	k8s     client.Client
	pool    podsets.Pool
	// ends stop what was started, the last one first.
	ends []func() error
}

// Roll shows the roller: a real API server, a Kafka of three nodes whose processes stand for pods, records that are written, and a roll
// that no client notices. At the end it stops everything.
func (d *Demo) Roll(ctx context.Context) (err error) {
	r := &roll{Demo: d}
	defer func() { err = errors.Join(err, r.end()) }()
	d.tell.section("Preparations (the first time takes some minutes)")
	if err := r.prepare(ctx); err != nil {
		return err
	}
	d.tell.section("Start")
	if err := r.start(ctx); err != nil {
		return err
	}
	for _, chapter := range []func(context.Context) error{r.nothing, r.planned, r.held, r.unnoticed, r.reconfigured} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	d.tell.say("\nThat was the roller. docs/roller/README.md tells the rest; nothing of the demo is left.")
	return nil
}

func (r *roll) end() error {
	var errs []error
	for i := len(r.ends) - 1; i >= 0; i-- {
		errs = append(errs, r.ends[i]())
	}
	return errors.Join(errs...)
}

func (r *roll) prepare(ctx context.Context) error {
	ctrllog.SetLogger(logr.Discard()) // the clients log nothing of interest
	for _, prepare := range []func(context.Context, io.Writer) error{controlplane.Prepare, realkafka.Prepare} {
		if err := prepare(ctx, r.tell); err != nil {
			return err
		}
	}
	r.tell.quote("etcd, kube-apiserver, kubectl, Java and Apache Kafka are there")
	var err error
	if r.scratch, err = os.MkdirTemp("", "roller-demo-"); err != nil {
		return err
	}
	r.ends = append(r.ends, func() error { return os.RemoveAll(r.scratch) })
	began := time.Now()
	r.program = filepath.Join(r.scratch, "roller")
	if err := assets.Build(ctx, r.program, r.root, "./roller/cmd"); err != nil {
		return err
	}
	r.tell.quote("roller is built, in " + seconds(time.Since(began)))
	return nil
}

// start starts an API server, a Kafka, and the replacement for the rest of Kubernetes.
func (r *roll) start(ctx context.Context) error {
	var err error
	if r.plane, err = controlplane.Start(ctx, controlplane.Options{}); err != nil {
		return err
	}
	r.ends = append(r.ends, r.plane.Stop)
	if err := r.plane.InstallCRDs(filepath.Join(r.root, "config", "crd", "bases")); err != nil {
		return err
	}
	r.tell.quote("the API server serves")
	began := time.Now()
	if r.kafka, err = realkafka.Start(ctx, realkafka.Options{Brokers: 3}); err != nil {
		return err
	}
	r.ends = append(r.ends, r.kafka.Close)
	r.tell.quote("Apache Kafka of three nodes, each broker and controller, serves after " + seconds(time.Since(began)))
	if r.admin, err = saramakafka.New(kafka.Config{Bootstrap: r.kafka.Bootstrap()}); err != nil {
		return err
	}
	r.ends = append(r.ends, func() error { r.admin.Close(); return nil })
	return r.deploy(ctx)
}

// deploy creates the StrimziPodSet, and waits for its pods.
func (r *roll) deploy(ctx context.Context) error {
	scheme, err := podsets.Scheme()
	if err != nil {
		return err
	}
	if r.k8s, err = client.New(r.plane.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	fixture, err := podsets.Run(context.WithoutCancel(ctx),
		podsets.Options{Config: r.plane.RESTConfig(), Namespace: rollNamespace, Kafka: r.kafka})
	if err != nil {
		return err
	}
	r.ends = append(r.ends, fixture.Close)
	r.pool = podsets.Pool{
		Namespace: rollNamespace, Cluster: rolled, ClusterID: r.kafka.ClusterID(), Name: "kafka", Broker: true, Controller: true,
		Nodes: r.kafka.NodeIDs(), Revision: "r1",
	}
	if err := fixture.Deploy(ctx, r.k8s, r.pool); err != nil {
		return err
	}
	_, err = r.kubectl(ctx, "wait", "--for=jsonpath={.status.readyPods}=3", "strimzipodset/"+r.pool.SetName(), "--timeout=60s")
	r.tell.quote("a StrimziPodSet has three pods; each is one of Kafka's processes")
	return err
}

// kubectl runs kubectl without showing it.
func (r *roll) kubectl(ctx context.Context, args ...string) (string, error) {
	return r.plane.Kubectl(ctx, args...)
}

// show runs kubectl, and shows the command and its output.
func (r *roll) show(ctx context.Context, args ...string) error {
	r.tell.say("$ kubectl %s", shellLine(args))
	out, err := r.kubectl(ctx, args...)
	r.tell.quote(out)
	r.tell.say("")
	return err
}

// roller runs a command of the roller, shows it and each line of its output, and checks its exit code.
func (r *roll) roller(ctx context.Context, exit int, args ...string) error {
	r.tell.say("$ roller %s", shellLine(args))
	c := exec.CommandContext(ctx, r.program, args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+r.plane.Kubeconfig(), "STRIMZI_NAMESPACE="+rollNamespace, "STRIMZI_CLUSTER_NAME="+rolled,
		"STRIMZI_KAFKA_BOOTSTRAP_SERVERS="+strings.Join(r.kafka.Bootstrap(), ","),
		"STRIMZI_KAFKA_BOOTSTRAP_CONTROLLERS="+strings.Join(r.kafka.ControllerBootstrap(), ","))
	said, theirs := io.Pipe()
	c.Stdout, c.Stderr = theirs, theirs
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := c.Wait()
		ended <- errors.Join(err, theirs.Close())
	}()
	for lines := bufio.NewScanner(said); lines.Scan(); {
		r.tell.quote(lines.Text() + "\n")
	}
	err := <-ended
	r.tell.say("")
	if code := c.ProcessState.ExitCode(); code != exit {
		return fmt.Errorf("roller %s ended with %d instead of %d: %w", shellLine(args), code, exit, err)
	}
	return nil
}
