//go:build linux

package realnodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

// loopback is the address at which programs of this machine reach a cluster.
var loopback = netip.MustParseAddr("127.0.0.1")

// Cluster is one Kubernetes cluster.
type Cluster struct {
	lab    *Lab
	number int
	name   string
	nodes  []*Node

	authority       *authority
	serviceAccounts keyPair
	admin           keyPair
	forwarded       string // the API server's address on this machine's loopback
	auditFlags      []string
}

func newCluster(l *Lab, number int) (*Cluster, error) {
	c := &Cluster{lab: l, number: number, name: fmt.Sprintf("c%d", number)}
	for i := range l.options.Nodes {
		name := fmt.Sprintf("%s-n%d", c.name, i+1)
		c.nodes = append(c.nodes, &Node{cluster: c, number: i + 1, name: name, dir: l.path("nodes", name)})
	}
	var err error
	if c.authority, err = newAuthority(c.name); err != nil {
		return nil, err
	}
	if c.serviceAccounts, err = c.authority.issue(identity{user: "service-accounts"}); err != nil {
		return nil, err
	}
	if c.admin, err = c.authority.issue(identity{user: "admin", groups: []string{"system:masters"}}); err != nil {
		return nil, err
	}
	if c.forwarded, err = l.Forward(netip.AddrPortFrom(c.nodes[0].Address(), apiPort).String()); err != nil {
		return nil, err
	}
	if l.options.Audit {
		flags, err := c.AuditLog().Flags()
		if err != nil {
			return nil, err
		}
		for flag, value := range flags {
			c.auditFlags = append(c.auditFlags, "--"+flag+"="+value)
		}
	}
	config, err := kubeconfig(c.name, "https://"+c.forwarded, c.authority.pem.certificate, c.admin)
	if err != nil {
		return nil, err
	}
	return c, writeFiles(l.path("kubeconfigs"), map[string][]byte{c.name: config})
}

// bringUp starts the nodes and waits until the cluster is ready.
func (c *Cluster) bringUp(ctx context.Context, began time.Time) error {
	var starts errgroup.Group
	for _, n := range c.nodes {
		starts.Go(func() error {
			if err := n.prepare(); err != nil {
				return fmt.Errorf("node %s: %w", n.name, err)
			}
			return n.PowerOn()
		})
	}
	if err := starts.Wait(); err != nil {
		return err
	}
	stage := func(name string) {
		c.lab.say("%s: %s after %v", c.name, name, time.Since(began).Round(time.Millisecond))
	}
	if err := c.explain(c.waitServed(ctx)); err != nil {
		return err
	}
	stage("API served")
	if err := c.explain(c.applyAddons(ctx)); err != nil {
		return err
	}
	if err := c.explain(c.WaitReady(ctx)); err != nil {
		return err
	}
	stage("ready")
	return c.LoadImages(c.lab.options.Images...)
}

// explain adds the last lines of the logs of the first node and its programs to an error.
func (c *Cluster) explain(err error) error {
	if err == nil {
		return nil
	}
	said := []string{tail(c.nodes[0].path("node.log"), 30)}
	for _, component := range []Component{APIServer, ControllerManager, Kubelet, Containerd} {
		said = append(said, fmt.Sprintf("%s: %s", component, tail(c.nodes[0].LogFile(component), 5)))
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(said, "\n"))
}

func (c *Cluster) site() int { return c.number }

// Name returns the cluster's name, such as c1.
func (c *Cluster) Name() string { return c.name }

// Nodes returns the nodes. The first one has the control plane.
func (c *Cluster) Nodes() []*Node { return slices.Clone(c.nodes) }

// Addresses returns the prefix with all addresses of the cluster: of nodes, pods and services.
func (c *Cluster) Addresses() netip.Prefix { return sitePrefix(c.number) }

// apiServer returns the URL of the API server within the lab.
func (c *Cluster) apiServer() string {
	return "https://" + netip.AddrPortFrom(c.nodes[0].Address(), apiPort).String()
}

// RESTConfig returns a client configuration of an administrator, without a limit on the rate of requests. It dials with the lab, so it
// works in this process only, and cuts from Outside affect it.
func (c *Cluster) RESTConfig() *rest.Config {
	return &rest.Config{
		Host: c.apiServer(),
		Dial: c.lab.DialContext,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   slices.Clone(c.authority.pem.certificate),
			CertData: slices.Clone(c.admin.certificate),
			KeyData:  slices.Clone(c.admin.key),
		},
		QPS: -1,
	}
}

// Kubeconfig returns the path of a kubeconfig of an administrator for programs on this machine, such as kubectl. It works until
// Close.
func (c *Cluster) Kubeconfig() string { return c.lab.path("kubeconfigs", c.name) }

// AuditLog returns the log of the requests to the API server, if Options.Audit is set. It is there until Close.
func (c *Cluster) AuditLog() controlplane.AuditLog {
	return controlplane.AuditLog(c.lab.path("audit", c.name))
}

// LoadImages imports image archives into all nodes, which must have power.
func (c *Cluster) LoadImages(archives ...string) error {
	var imports errgroup.Group
	for _, n := range c.nodes {
		imports.Go(func() error {
			var errs []error
			for _, archive := range archives {
				errs = append(errs, n.loadImage(archive))
			}
			return errors.Join(errs...)
		})
	}
	return imports.Wait()
}

// KubectlPath returns the path of kubectl.
func (c *Cluster) KubectlPath() string { return filepath.Join(c.lab.programs.controlPlane, "kubectl") }

// Kubectl runs kubectl as an administrator and returns what it printed.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.KubectlInput(ctx, "", args...)
}

// KubectlInput is Kubectl with a standard input, for apply -f -.
func (c *Cluster) KubectlInput(ctx context.Context, stdin string, args ...string) (string, error) {
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, c.KubectlPath(), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &problem
	// The discovery cache must be in this lab's folder: another API server may later use the same port.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBECACHEDIR="+c.lab.path("kube-cache"))
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}
