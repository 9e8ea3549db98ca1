//go:build linux

package realnodes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/stock"
)

const pollInterval = 50 * time.Millisecond

// poll calls reason until it returns nil. When the context ends, poll returns the context's error with the last reason.
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

// waitServed waits until the API server is ready.
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

// addons are the manifests of a cluster besides Kubernetes' own programs. applyAddons replaces the words in capitals.
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

// WaitReady waits until the cluster is ready: all nodes with power are ready, DNS responds, and the default service account of pods exists.
func (c *Cluster) WaitReady(ctx context.Context) error {
	reader, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return err
	}
	return poll(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return errors.Join(c.nodesReady(ctx, reader), c.dnsReady(ctx, reader), accountReady(ctx, reader))
	})
}

func (c *Cluster) nodesReady(ctx context.Context, reader kubernetes.Interface) error {
	for _, n := range c.nodes {
		since, power := n.powerSince()
		if !power {
			continue
		}
		node, err := reader.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !nodeReady(node, since) {
			return fmt.Errorf("node %s is not ready", n.name)
		}
	}
	return nil
}

// powerSince returns since when the node has power, and whether it has.
func (n *Node) powerSince() (since time.Time, power bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running == nil {
		return time.Time{}, false
	}
	// Times in Kubernetes are whole seconds.
	return n.running.since.Truncate(time.Second), true
}

// nodeReady reports whether a node has reported since some time that it is ready. A report from before a loss of power does not count.
func nodeReady(node *corev1.Node, since time.Time) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && !condition.LastHeartbeatTime.Time.Before(since)
		}
	}
	return false
}

// dnsReady checks that a pod of the DNS is ready and has run since its node got power.
func (c *Cluster) dnsReady(ctx context.Context, reader kubernetes.Interface) error {
	pods, err := reader.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
	if err != nil {
		return err
	}
	for _, n := range c.nodes {
		since, power := n.powerSince()
		if power && slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.NodeName == n.name && runsReady(&pod, since) }) {
			return nil
		}
	}
	return errors.New("DNS is not ready")
}

// runsReady reports whether all containers of a pod are ready and started after some time.
func runsReady(pod *corev1.Pod, since time.Time) bool {
	for _, container := range pod.Status.ContainerStatuses {
		if !container.Ready || container.State.Running == nil || container.State.Running.StartedAt.Time.Before(since) {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

// accountReady checks that the default service account exists: pods are rejected in a namespace without one.
func accountReady(ctx context.Context, reader kubernetes.Interface) error {
	_, err := reader.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	return err
}
