//go:build linux

// Package deploy installs the operators in real Kubernetes clusters as users do: with kustomize, and images that are built as the
// Dockerfile builds them.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
)

// Namespace is the namespace of the operators.
const Namespace = "kafka-operators"

// patience is how long a Deployment may take to become ready on a busy machine.
const patience = 4 * time.Minute

// Place is a Kubernetes cluster with an administrator's client, which has no cache.
type Place struct {
	*realnodes.Cluster
	// ID is the id of the Kubernetes cluster in KafkaNodePools.
	ID     string
	Client client.Client
}

// Images builds the images registry/NAME:e2e of operators in dir, and returns their archives.
func Images(ctx context.Context, dir, registry string, names ...string) ([]string, error) {
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return nil, err
	}
	var archives []string
	for _, name := range names {
		archive, err := image.BuildOperator(ctx, dir, name, registry+"/"+name+":e2e", root, "./"+name+"/cmd")
		if err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// Connect returns a Place for a Kubernetes cluster.
func Connect(c *realnodes.Cluster, id string) (*Place, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme), core.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	k8s, err := client.New(c.RESTConfig(), client.Options{Scheme: scheme})
	return &Place{Cluster: c, ID: id, Client: k8s}, err
}

// Apply applies a kustomization, and waits until its Deployments are ready.
func (p *Place) Apply(ctx context.Context, kustomization string) error {
	if _, err := p.Kubectl(ctx, "apply", "--server-side", "-k", kustomization); err != nil {
		return err
	}
	return controlplane.WaitEstablished(ctx, p.Kubectl)
}

// Ready waits until all replicas of all Deployments of the operators are ready.
func (p *Place) Ready(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) (bool, error) {
		var all appsv1.DeploymentList
		var pods corev1.PodList
		if err := errors.Join(p.Client.List(ctx, &all, client.InNamespace(Namespace)),
			p.Client.List(ctx, &pods, client.InNamespace(Namespace))); err != nil {
			return false, err
		}
		wanted := 0
		for i := range all.Items {
			d := &all.Items[i]
			if d.Status.ObservedGeneration != d.Generation || d.Status.ReadyReplicas != *d.Spec.Replicas ||
				d.Status.UpdatedReplicas != *d.Spec.Replicas {
				return false, nil
			}
			wanted += int(*d.Spec.Replicas)
		}
		return len(all.Items) > 0 && len(pods.Items) == wanted, nil
	})
}

// Scale sets the number of replicas of all Deployments of the operators, and waits until they are ready.
func (p *Place) Scale(ctx context.Context, replicas int32) error {
	if _, err := p.Kubectl(ctx, "scale", "deployments", "--all", "-n", Namespace, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	return p.Ready(ctx)
}

// Stretch installs the operators in three Kubernetes clusters, the first of which is the central one, with the kustomizations central and
// remote in a folder. It gives the central operators credentials for the other clusters.
func Stretch(ctx context.Context, lab *realnodes.Lab, folder string) ([]*Place, error) {
	var places []*Place
	for i, c := range lab.Clusters() {
		p, err := Connect(c, []string{"cluster-central", "cluster-east", "cluster-west"}[i])
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	for i, p := range places {
		kustomization := "remote"
		if i == 0 {
			kustomization = "central"
		}
		if err := p.Apply(ctx, filepath.Join(folder, kustomization)); err != nil {
			return nil, err
		}
	}
	central := places[0]
	for _, remote := range places[1:] {
		kubeconfig, err := remote.admit(ctx)
		if err != nil {
			return nil, err
		}
		if err := central.Client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "kubeconfig-" + remote.ID}, Data: map[string][]byte{"kubeconfig": kubeconfig},
		}); err != nil {
			return nil, err
		}
	}
	for _, p := range places {
		if err := p.Ready(ctx); err != nil {
			return nil, fmt.Errorf("the operators of %s: %w", p.ID, err)
		}
	}
	return places, nil
}

// admit returns the kubeconfig for the central operators.
func (p *Place) admit(ctx context.Context) ([]byte, error) {
	var secret corev1.Secret
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: "central-operators-token"}, &secret)
		return err == nil && len(secret.Data[corev1.ServiceAccountTokenKey]) > 0, client.IgnoreNotFound(err)
	})
	if err != nil {
		return nil, err
	}
	return realnodes.TokenKubeconfig(p.RESTConfig().Host, &secret)
}

func poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, done)
}
