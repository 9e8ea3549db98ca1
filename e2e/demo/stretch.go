package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// onThree is the demo of a Kafka over three Kubernetes clusters.
type onThree struct {
	*onNodes
	remotes []remote
}

// remote is a Kubernetes cluster other than the central one.
type remote struct {
	// name is the name of the cluster for the command nodes, id its id in KafkaNodePools.
	name, id string
	// server is the address of its API server, which is always the same (e2e/realnodes/addresses.go).
	server string
	config string
}

// Stretch shows a Kafka with a node in each of three Kubernetes clusters. One of them loses its power while records are written, and
// returns. It leaves everything running.
func (d *Demo) Stretch(ctx context.Context) error {
	o := &onThree{onNodes: newOnNodes(d, "stretch"), remotes: []remote{
		{name: "c2", id: "cluster-east", server: "https://10.102.0.1:6443"}, {name: "c3", id: "cluster-west", server: "https://10.103.0.1:6443"},
	}}
	d.tell.section("Preparations (the first time takes some minutes)")
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	archives, err := o.build(ctx, "cluster-operator", "topic-operator", "roller", "records")
	if err != nil {
		return err
	}
	o.began = time.Now()
	for _, chapter := range []func(context.Context) error{
		func(ctx context.Context) error { return o.up(ctx, archives) }, o.applied, o.topics, o.used, o.lost, o.returned,
	} {
		if err := chapter(ctx); err != nil {
			return errors.Join(err, o.problem(ctx))
		}
	}
	o.howToGoOn()
	return nil
}

// StretchDown stops the demo of a stretched Kafka. It succeeds if nothing runs.
func (d *Demo) StretchDown(ctx context.Context) error { return newOnNodes(d, "stretch").down(ctx) }

// up starts three Kubernetes clusters, installs the operators, and gives the central ones access to the other clusters.
func (o *onThree) up(ctx context.Context, archives []string) error {
	o.tell.section("Three Kubernetes clusters: c1 is the central one, c2 and c3 are remote")
	if err := o.start(ctx, 3, archives); err != nil {
		return err
	}
	for i := range o.remotes {
		if err := o.install(ctx, &o.remotes[i]); err != nil {
			return err
		}
	}
	if err := o.show(ctx, "apply", "--server-side", "-k", o.manifest("central")); err != nil {
		return err
	}
	if err := controlplane.WaitEstablished(ctx, o.quiet); err != nil {
		return err
	}
	for i := range o.remotes {
		if err := o.admit(ctx, &o.remotes[i]); err != nil {
			return err
		}
	}
	if _, err := o.quiet(ctx, "create", "namespace", clusterNamespace); err != nil {
		return err
	}
	for _, name := range []string{"cluster-operator", "roller"} {
		if err := o.show(ctx, "rollout", "status", "deployment/"+name, "-n", operatorsNamespace, "--timeout=3m"); err != nil {
			return err
		}
	}
	return nil
}

// install installs the operator that creates pods in a remote cluster.
func (o *onThree) install(ctx context.Context, r *remote) error {
	answer, err := o.run(ctx, "kubeconfig", r.name)
	if err != nil {
		return err
	}
	_, r.config, _ = strings.Cut(strings.TrimSpace(answer), "\n")
	in := func(ctx context.Context, args ...string) (string, error) { return o.in(ctx, r, args...) }
	o.tell.say("$ kubectl --context %s apply --server-side -k %s", r.name, o.manifest("remote"))
	if _, err := in(ctx, "apply", "--server-side", "-k", o.manifest("remote")); err != nil {
		return err
	}
	if err := controlplane.WaitEstablished(ctx, in); err != nil {
		return err
	}
	_, err = in(ctx, "create", "namespace", clusterNamespace)
	return err
}

// admit creates a Secret in the central cluster with a kubeconfig for a remote one.
func (o *onThree) admit(ctx context.Context, r *remote) error {
	var token corev1.Secret
	err := o.await(ctx, "Kubernetes makes a token", func(ctx context.Context) (bool, error) {
		text, err := o.in(ctx, r, "get", "secret", "central-operators-token", "-n", operatorsNamespace, "-o", "json")
		if err != nil {
			return false, err
		}
		err = json.Unmarshal([]byte(text), &token)
		return len(token.Data[corev1.ServiceAccountTokenKey]) > 0, err
	})
	if err != nil {
		return err
	}
	kubeconfig, err := realnodes.TokenKubeconfig(r.server, &token)
	if err != nil {
		return err
	}
	file := o.path("kubeconfig-" + r.id)
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		return err
	}
	return o.show(ctx, "create", "secret", "generic", "kubeconfig-"+r.id, "-n", operatorsNamespace, "--from-file=kubeconfig="+file)
}

// in runs kubectl on a remote cluster.
func (o *onThree) in(ctx context.Context, r *remote, args ...string) (string, error) {
	return runKubectl(ctx, o.kubectl, o.root, r.config, o.path("kube-cache-"+r.name), args)
}

func (o *onThree) applied(ctx context.Context) error {
	o.tell.section("A Kafka with a node in each of them")
	if err := o.makeKafka(ctx); err != nil {
		return err
	}
	if err := o.show(ctx, "get", "kafka,kafkanodepool,pods", "-n", clusterNamespace); err != nil {
		return err
	}
	for i := range o.remotes {
		out, err := o.in(ctx, &o.remotes[i], "get", "pods", "-n", clusterNamespace)
		if err != nil {
			return err
		}
		o.tell.say("$ kubectl --context %s get pods -n %s", o.remotes[i].name, clusterNamespace)
		o.tell.quote(out)
	}
	return nil
}

func (o *onThree) lost(ctx context.Context) error {
	o.tell.section("Cluster c3 loses its power, while records are written with acks=all")
	began := time.Now()
	o.tell.say("$ nodes off c3-n1")
	if _, err := o.run(ctx, "off", "c3-n1"); err != nil {
		return err
	}
	if err := o.awaitReady(ctx, began, "False"); err != nil {
		return err
	}
	if err := o.flows(ctx); err != nil {
		return err
	}
	return o.show(ctx, "get", "kafka", clusterName, "-n", clusterNamespace, "-o",
		"jsonpath={range .status.stretchClusters[*]}{.name}: {.state}, nodes {.nodeIds}, ready {.readyNodes}{\"\\n\"}{end}")
}

func (o *onThree) returned(ctx context.Context) error {
	o.tell.section("Its power comes back")
	began := time.Now()
	o.tell.say("$ nodes on c3-n1")
	if _, err := o.run(ctx, "on", "c3-n1"); err != nil {
		return err
	}
	if err := o.awaitReady(ctx, began, "True"); err != nil {
		return err
	}
	return o.flows(ctx)
}

// howToGoOn describes what a user can try next.
func (o *onThree) howToGoOn() {
	o.tell.section("Go on playing")
	o.tell.say("    export KUBECONFIG=%s   # the central cluster; %s and %s are the others", o.config, o.remotes[0].config,
		o.remotes[1].config)
	for _, line := range [][2]string{
		{"kubectl get kafka my-cluster -n kafka -o yaml", "what is known of each Kubernetes cluster"},
		{"kubectl logs -f -n kafka deploy/records", "records that are written and read"},
		{fmt.Sprintf("NODES_SOCKET=%s %s off c2-n1", o.path("socket"), o.nodes), "take a cluster's power; on gives it back"},
		{"kubectl delete kafka my-cluster -n kafka", "nothing but volumes is left anywhere"},
	} {
		o.tell.say("    %-76s # %s", line[0], line[1])
	}
	o.tell.say("\nFrom the start of the Kubernetes clusters to here it took %s. To end it all: make demo-stretch-down",
		seconds(time.Since(o.began)))
}
