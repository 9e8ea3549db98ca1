// Command volumes is a node's volume provisioner: it creates folders on the node as volumes for the claims of its pods.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/volumes"
)

// provisioner carries out plans.
type provisioner struct {
	api        client.WithWatch
	node, root string
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the kubeconfig to work with")
	node := flag.String("node", "", "the name of this node")
	root := flag.String("root", "", "the folder of the volumes")
	flag.Parse()
	if err := run(context.Background(), *kubeconfig, *node, *root); err != nil {
		fmt.Fprintln(os.Stderr, "volumes:", err)
		os.Exit(1)
	}
}

// run works until an error. The supervisor restarts it, so it does not handle lost connections.
func run(ctx context.Context, kubeconfig, node, root string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	p := &provisioner{api, node, root}
	claims, err := api.Watch(ctx, &corev1.PersistentVolumeClaimList{})
	if err != nil {
		return err
	}
	defer claims.Stop()
	present, err := api.Watch(ctx, &corev1.PersistentVolumeList{})
	if err != nil {
		return err
	}
	defer present.Stop()
	return p.follow(ctx, claims.ResultChan(), present.ResultChan())
}

// follow runs a pass after each change. It returns when a watch ends, which the API server causes after some minutes.
func (p *provisioner) follow(ctx context.Context, claims, present <-chan watch.Event) error {
	for {
		if err := p.pass(ctx); err != nil {
			return err
		}
		open := true
		select {
		case _, open = <-claims:
		case _, open = <-present:
		}
		if !open {
			return errors.New("a watch has ended")
		}
	}
}

func (p *provisioner) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var claims corev1.PersistentVolumeClaimList
	if err := p.api.List(ctx, &claims); err != nil {
		return err
	}
	var present corev1.PersistentVolumeList
	if err := p.api.List(ctx, &present); err != nil {
		return err
	}
	plan := volumes.For(p.node, p.root, claims.Items, present.Items)
	for _, v := range plan.Create {
		if err := p.create(ctx, &v); err != nil {
			return fmt.Errorf("create volume %s: %w", v.Name, err)
		}
	}
	for _, v := range plan.Delete {
		if err := os.RemoveAll(v.Spec.Local.Path); err != nil {
			return err
		}
		if err := p.api.Delete(ctx, &v); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete volume %s: %w", v.Name, err)
		}
	}
	return nil
}

// create creates the folder before the volume, which is used at once.
func (p *provisioner) create(ctx context.Context, v *corev1.PersistentVolume) error {
	folder := v.Spec.Local.Path
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	// Any user in the pod may write, regardless of this process's umask.
	if err := os.Chmod(folder, 0o777); err != nil {
		return err
	}
	if err := p.api.Create(ctx, v); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
