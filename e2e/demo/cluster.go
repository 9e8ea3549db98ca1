package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

const (
	// operatorsNamespace is the namespace of the operators in config/default.
	operatorsNamespace = "kafka-operators"
	// clusterNamespace is the namespace of the Kafka in the cluster operator's demo, clusterName its name, and kubernetes the name of the
	// Kubernetes cluster.
	clusterNamespace = "kafka"
	clusterName      = "my-cluster"
	kubernetes       = "c1"
	// clusterPatience is the timeout of each wait in the story.
	clusterPatience = 5 * time.Minute
)

// onNodes is the demo of the cluster operator on a real Kubernetes cluster, which the command nodes (e2e/cmd/nodes) runs.
type onNodes struct {
	*Demo
	// name is the name of the folder with the manifests, and of the make target.
	name    string
	nodes   string // the program
	kubectl string
	config  string // kubectl's configuration
	k8s     client.Client
	began   time.Time
}

// newOnNodes returns a demo with its own folder.
func newOnNodes(d *Demo, name string) *onNodes {
	own := *d
	own.dir = filepath.Join(filepath.Dir(d.dir), ".demo-"+name)
	return &onNodes{Demo: &own, name: name, nodes: own.path("nodes")}
}

// manifest returns the path of a manifest of the demo.
func (o *onNodes) manifest(name string) string { return "e2e/demo/" + o.name + "/" + name }

// environment returns an environment with which the program nodes uses this demo's Kubernetes cluster, and no other.
func (o *onNodes) environment() []string {
	return append(os.Environ(), "NODES_SOCKET="+o.path("socket"))
}

// Cluster shows the cluster operator: a real Kubernetes cluster, the three operators, a Kafka of three nodes with a constant flow of
// records, a rolling change, and a pod that is killed. It leaves everything running.
func (d *Demo) Cluster(ctx context.Context) error {
	o := newOnNodes(d, "cluster")
	d.tell.section("Preparations (the first time takes some minutes)")
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	archives, err := o.build(ctx, "cluster-operator", "topic-operator", "roller", "records")
	if err != nil {
		return err
	}
	d.tell.section("A Kubernetes cluster, with the cluster operator and the roller")
	o.began = time.Now()
	if err := o.up(ctx, archives); err != nil {
		return errors.Join(err, o.problem(ctx))
	}
	for _, chapter := range []func(context.Context) error{o.applied, o.topics, o.used, o.rolled, o.killed} {
		if err := chapter(ctx); err != nil {
			return errors.Join(err, o.problem(ctx))
		}
	}
	o.howToGoOn()
	return nil
}

// ClusterDown stops the demo of the cluster operator. It succeeds if nothing runs.
func (d *Demo) ClusterDown(ctx context.Context) error { return newOnNodes(d, "cluster").down(ctx) }

func (o *onNodes) down(ctx context.Context) error {
	if _, err := os.Stat(o.nodes); err != nil {
		o.tell.say("The demo does not run.")
		return nil
	}
	if _, err := o.run(ctx, "status"); err == nil {
		if _, err := o.run(ctx, "down"); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(o.dir); err != nil {
		return err
	}
	o.tell.say("The demo is over; nothing of it is left.")
	return nil
}

// build builds the program that runs the Kubernetes cluster, and the images, whose archives it returns.
func (o *onNodes) build(ctx context.Context, names ...string) ([]string, error) {
	if err := assets.Build(ctx, o.nodes, o.root, "./e2e/cmd/nodes"); err != nil {
		return nil, err
	}
	if _, err := o.run(ctx, "status"); err == nil {
		return nil, fmt.Errorf("the demo is running already: make demo-%s-down ends it", o.name)
	}
	var archives []string
	for _, name := range names {
		folder := "./" + name + "/cmd"
		if name == "records" {
			folder = "./e2e/cmd/records"
		}
		began := time.Now()
		archive, err := image.BuildOperator(ctx, o.path("."), name, "demo.test/"+name+":demo", o.root, folder)
		if err != nil {
			return nil, err
		}
		archives = append(archives, archive)
		o.tell.quote(name + " is built, in " + seconds(time.Since(began)))
	}
	return archives, nil
}

// up starts the Kubernetes cluster, and installs the operators.
func (o *onNodes) up(ctx context.Context, archives []string) error {
	if err := o.start(ctx, 1, archives); err != nil {
		return err
	}
	if err := o.show(ctx, "get", "nodes"); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apply", "--server-side", "-k", o.manifest("operators")},
		{"create", "namespace", clusterNamespace},
	} {
		if _, err := o.quiet(ctx, args...); err != nil {
			return err
		}
	}
	if err := controlplane.WaitEstablished(ctx, o.quiet); err != nil {
		return err
	}
	for _, name := range []string{"cluster-operator", "roller"} {
		if err := o.show(ctx, "rollout", "status", "deployment/"+name, "-n", operatorsNamespace, "--timeout=2m"); err != nil {
			return err
		}
	}
	return nil
}

// start starts that many Kubernetes clusters with the images, and connects to the first one.
func (o *onNodes) start(ctx context.Context, clusters int, archives []string) error {
	cmd := exec.CommandContext(ctx, o.nodes, "up", "-clusters", strconv.Itoa(clusters))
	var progress bytes.Buffer // for users only if it fails
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.root, o.environment(), &progress, o.tell
	if err := cmd.Run(); err != nil {
		_, _ = progress.WriteTo(o.tell)
		return fmt.Errorf("nodes up: %w", err)
	}
	for _, archive := range archives {
		if _, err := o.run(ctx, "load", archive); err != nil {
			return err
		}
	}
	answer, err := o.run(ctx, "kubeconfig", kubernetes)
	if err != nil {
		return err
	}
	o.kubectl, o.config, _ = strings.Cut(strings.TrimSpace(answer), "\n")
	return o.connect()
}

func (o *onNodes) connect() error {
	// Without this, the client prints a stack trace in the middle of the story.
	log.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", o.config)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return err
	}
	o.k8s, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// run runs the program that holds the Kubernetes cluster, and returns its output.
func (o *onNodes) run(ctx context.Context, args ...string) (string, error) {
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, o.nodes, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.root, o.environment(), &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", shellLine(append([]string{"nodes"}, args...)), err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// show runs kubectl, and shows the command and its output.
func (o *onNodes) show(ctx context.Context, args ...string) error {
	o.tell.say("$ kubectl %s", shellLine(args))
	out, err := o.quiet(ctx, args...)
	o.tell.quote(out)
	o.tell.say("")
	return err
}

func (o *onNodes) quiet(ctx context.Context, args ...string) (string, error) {
	return runKubectl(ctx, o.kubectl, o.root, o.config, o.path("kube-cache"), args)
}

// runKubectl runs kubectl in a folder, and returns its output.
func runKubectl(ctx context.Context, program, dir, config, cache string, args []string) (string, error) {
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &problem
	cmd.Env = append(os.Environ(), "KUBECONFIG="+config, "KUBECACHEDIR="+cache)
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", shellLine(args), err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// problem shows the logs of the operators and nodes after a failure. The Kubernetes cluster keeps running for inspection.
func (o *onNodes) problem(ctx context.Context) error {
	if o.kubectl == "" || ctx.Err() != nil {
		return nil
	}
	for _, args := range [][]string{
		{"get", "kafka,kafkanodepool,kafkatopic,strimzipodset,pods,pvc", "-n", clusterNamespace},
		{"logs", "-n", operatorsNamespace, "-l", "app.kubernetes.io/name=cluster-operator", "--tail=15"},
	} {
		out, err := o.quiet(ctx, args...)
		o.tell.quote(lastLines(out, 40))
		if err != nil {
			return err
		}
	}
	return nil
}

// howToGoOn describes what a user can try next.
func (o *onNodes) howToGoOn() {
	o.tell.section("Go on playing")
	path := ""
	if _, err := exec.LookPath("kubectl"); err != nil {
		path = " PATH=$PATH:" + filepath.Dir(o.kubectl)
	}
	o.tell.say("    export KUBECONFIG=%s%s", o.config, path)
	for _, line := range [][2]string{
		{"kubectl get kafka,kafkanodepool,kafkatopic,strimzipodset,pods -n kafka", "what there is"},
		{"kubectl logs -f -n kafka deploy/records", "records that are written and read"},
		{"kubectl logs -f -n kafka-operators -l app.kubernetes.io/name=cluster-operator", "what the cluster operator does"},
		{"kubectl exec -n kafka-operators deploy/roller -- /operator plan --namespace=kafka --cluster=my-cluster",
			"what would be restarted, and why"},
		{"kubectl edit kafka my-cluster -n kafka", "change something"},
		{"kubectl delete service my-cluster-kafka-bootstrap -n kafka", "break something"},
	} {
		o.tell.say("    %-76s # %s", line[0], line[1])
	}
	o.tell.say("\nFrom the start of the Kubernetes cluster to here it took %s. To end it all: make demo-cluster-down",
		seconds(time.Since(o.began)))
}
