//go:build linux

package realnodes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/stock"
)

const pollInterval = 50 * time.Millisecond

// poll asks until there is no reason to wait any more. The error is the context's, with the last reason.
func poll(ctx context.Context, reason func(context.Context) error) error {
	for {
		err := reason(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(pollInterval):
		}
	}
}

// waitServed waits until the API server serves.
func (c *Cluster) waitServed(ctx context.Context) error {
	config := c.RESTConfig()
	config.Timeout = 5 * time.Second
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer httpClient.CloseIdleConnections()
	return poll(ctx, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := httpClient.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz: %s", response.Status)
		}
		return nil
	})
}

// addons are the manifests of what a cluster has besides Kubernetes' own programs. The words in capitals are replaced.
//
//go:embed addons.yaml
var addons string

func (c *Cluster) applyAddons(ctx context.Context) error {
	manifests := strings.NewReplacer("$COREDNS", stock.CoreDNS, "$DNS_ADDRESS", dnsAddress(c.number).String()).Replace(addons)
	return poll(ctx, func(ctx context.Context) error {
		_, err := c.KubectlInput(ctx, manifests, "apply", "--server-side", "-f", "-")
		return err
	})
}

// WaitReady waits until the cluster is ready for use: all nodes that have power are ready, DNS answers, and pods have the account
// they run with.
func (c *Cluster) WaitReady(ctx context.Context) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	var reader client.Client
	return poll(ctx, func(ctx context.Context) error {
		if reader == nil {
			// It asks the API server for its kinds.
			made, err := client.New(c.RESTConfig(), client.Options{Scheme: scheme})
			if err != nil {
				return err
			}
			reader = made
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return errors.Join(c.nodesReady(ctx, reader), dnsReady(ctx, reader), accountReady(ctx, reader))
	})
}

func (c *Cluster) nodesReady(ctx context.Context, reader client.Client) error {
	for _, n := range c.nodes {
		if !n.hasPower() {
			continue
		}
		var node corev1.Node
		if err := reader.Get(ctx, client.ObjectKey{Name: n.name}, &node); err != nil {
			return err
		}
		if !nodeReady(&node) {
			return fmt.Errorf("node %s is not ready", n.name)
		}
	}
	return nil
}

func (n *Node) hasPower() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running != nil
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func dnsReady(ctx context.Context, reader client.Client) error {
	var dns appsv1.Deployment
	if err := reader.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "coredns"}, &dns); err != nil {
		return err
	}
	if dns.Status.ObservedGeneration != dns.Generation || dns.Status.AvailableReplicas < *dns.Spec.Replicas {
		return errors.New("DNS is not ready")
	}
	return nil
}

// accountReady: a pod is refused while its namespace has no service account.
func accountReady(ctx context.Context, reader client.Client) error {
	return reader.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
}
