//go:build linux

package realnodes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

// Component is a program of a node.
type Component string

// The components of a node. Those of the control plane run on the first node of a cluster only.
const (
	Containerd        Component = "containerd"
	Kubelet           Component = "kubelet"
	KubeProxy         Component = "kube-proxy"
	VolumeProvisioner Component = "volumes"
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
)

// Paths of the programs on a node. Each node has its own files there.
const (
	containerdSocket = "/run/containerd/containerd.sock"
	kubeletRoot      = "/var/lib/kubelet"
	containerdRoot   = "/var/lib/containerd"
	volumesRoot      = "/var/lib/volumes"
	etcdRoot         = "/var/lib/etcd"
)

// volumePlugins is the folder for volume plugins of the old kind. Without the flag, programs create a folder elsewhere on the machine.
const volumePlugins = kubeletRoot + "/volume-plugins"

const apiPort = 6443

// controlPlaneLabel marks the node with the control plane. A node can't set Kubernetes' own label for this.
const controlPlaneLabel = "realnodes.test/control-plane"

// kernelValues are the kernel parameters that kubelet requires, and would otherwise set for the whole machine.
var kernelValues = map[string]string{
	"/proc/sys/vm/overcommit_memory":      "1",
	"/proc/sys/vm/panic_on_oom":           "0",
	"/proc/sys/kernel/panic":              "10",
	"/proc/sys/kernel/panic_on_oops":      "1",
	"/proc/sys/kernel/keys/root_maxkeys":  "1000000",
	"/proc/sys/kernel/keys/root_maxbytes": "25000000",
}

// spec returns the description of the node for its first process.
func (n *Node) spec() *nodespec.Spec {
	p := n.cluster.lab.programs
	return &nodespec.Spec{
		Hostname:    n.name,
		Cgroup:      n.cluster.lab.scratch.cgroup(n.name),
		Hierarchies: p.hierarchies,
		Scratch:     []string{"/run", "/var/lib", "/var/log"},
		Folders: map[string]string{
			kubeletRoot:           n.path("kubelet"),
			containerdRoot:        n.path("containerd"),
			volumesRoot:           n.path("volumes"),
			etcdRoot:              n.path("etcd"),
			"/var/lib/cni":        n.path("cni"),
			"/var/log/pods":       n.path("pods"),
			"/var/log/containers": n.path("containers"),
		},
		Kernel:      kernelValues,
		Dir:         n.dir,
		Components:  n.components(),
		ImportImage: []string{filepath.Join(p.nodes, "ctr"), "--address", containerdSocket, "--namespace", "k8s.io", "images", "import"},
		// The programs find each other and nft by PATH.
		Env: []string{"PATH=" + p.nodes + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"},
	}
}

func (n *Node) components() []nodespec.Component {
	all := []nodespec.Component{n.containerd()}
	if n.number == 1 {
		all = append(all, n.etcd(), n.apiServer(), n.controllerManager(), n.scheduler())
	}
	return append(all, n.kubeProxy(), n.kubelet(), n.volumeProvisioner())
}

// served is the condition that the API server is ready, with the objects that it creates itself, such as the roles of the other programs.
func (n *Node) served() nodespec.Condition {
	return nodespec.Condition{URL: n.cluster.apiServer() + "/readyz"}
}

func (n *Node) component(name Component, program string, args []string, after ...nodespec.Condition) nodespec.Component {
	return nodespec.Component{Name: string(name), Args: append([]string{program}, args...), After: after}
}

func (n *Node) containerd() nodespec.Component {
	return n.component(Containerd, filepath.Join(n.cluster.lab.programs.nodes, "containerd"), []string{"--config", n.etc("containerd.toml")})
}

func (n *Node) etcd() nodespec.Component {
	const client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	return n.component(Etcd, filepath.Join(n.cluster.lab.programs.controlPlane, "etcd"), []string{
		"--name=" + n.name, "--data-dir=" + etcdRoot,
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + n.name + "=" + peer,
		// A simulated loss of power keeps the memory of the machine, so etcd needs no fsync.
		"--unsafe-no-fsync", "--log-level=warn",
	})
}

func (n *Node) apiServer() nodespec.Component {
	return n.component(APIServer, filepath.Join(n.cluster.lab.programs.controlPlane, "kube-apiserver"), append([]string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + n.Address().String(), "--bind-address=0.0.0.0", fmt.Sprintf("--secure-port=%d", apiPort),
		"--service-cluster-ip-range=" + servicePrefix(n.cluster.number).String(),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--tls-cert-file=" + n.etc("apiserver.crt"), "--tls-private-key-file=" + n.etc("apiserver.key"), "--client-ca-file=" + n.etc("ca.crt"),
		"--kubelet-client-certificate=" + n.etc("kubelet-client.crt"), "--kubelet-client-key=" + n.etc("kubelet-client.key"),
		"--kubelet-certificate-authority=" + n.etc("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + n.etc("service-accounts.key"), "--service-account-signing-key-file=" + n.etc("service-accounts.key"),
		"--profiling=false",
	}, slices.Concat(n.cluster.auditFlags, n.cluster.lab.options.APIServerArgs)...))
}

func (n *Node) controllerManager() nodespec.Component {
	kubeconfig := n.etc("controller-manager.kubeconfig")
	return n.component(ControllerManager, filepath.Join(n.cluster.lab.programs.controlPlane, "kube-controller-manager"), append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--service-account-private-key-file=" + n.etc("service-accounts.key"), "--root-ca-file=" + n.etc("ca.crt"),
		"--cluster-signing-cert-file=" + n.etc("ca.crt"), "--cluster-signing-key-file=" + n.etc("ca.key"),
		"--leader-elect=false", "--bind-address=127.0.0.1", "--profiling=false", "--flex-volume-plugin-dir=" + volumePlugins,
		// One identity for all controllers, and a high rate limit: otherwise, service accounts take up the first minute.
		"--use-service-account-credentials=false", "--kube-api-qps=200", "--kube-api-burst=400",
		"--node-monitor-period=1s", "--node-monitor-grace-period=" + n.cluster.lab.options.NodeGrace.Round(time.Second).String(),
	}, n.cluster.lab.options.ControllerManagerArgs...), n.served())
}

func (n *Node) scheduler() nodespec.Component {
	kubeconfig := n.etc("scheduler.kubeconfig")
	return n.component(Scheduler, filepath.Join(n.cluster.lab.programs.nodes, "kube-scheduler"), []string{
		"--config=" + n.etc("scheduler.json"), "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
	}, n.served())
}

func (n *Node) kubeProxy() nodespec.Component {
	return n.component(KubeProxy, filepath.Join(n.cluster.lab.programs.nodes, "kube-proxy"),
		[]string{"--config=" + n.etc("kube-proxy.json")}, n.served())
}

func (n *Node) kubelet() nodespec.Component {
	labels := "topology.kubernetes.io/zone=" + n.name + ",topology.kubernetes.io/region=" + n.cluster.name
	if n.number == 1 {
		labels += "," + controlPlaneLabel + "="
	}
	return n.component(Kubelet, filepath.Join(n.cluster.lab.programs.nodes, "kubelet"), []string{
		"--config=" + n.etc("kubelet.json"), "--kubeconfig=" + n.etc("kubelet.kubeconfig"), "--root-dir=" + kubeletRoot,
		"--hostname-override=" + n.name, "--node-ip=" + n.Address().String(),
		"--node-labels=" + labels,
	}, nodespec.Condition{Socket: containerdSocket}, n.served())
}

func (n *Node) volumeProvisioner() nodespec.Component {
	return n.component(VolumeProvisioner, filepath.Join(n.cluster.lab.programs.agent, "volumes"), []string{
		"-kubeconfig=" + n.etc("volumes.kubeconfig"), "-node=" + n.name, "-root=" + volumesRoot,
	}, n.served())
}

// etc returns the path of a file of the node's configuration.
func (n *Node) etc(file string) string { return n.path("etc", file) }

func (n *Node) path(elements ...string) string {
	return filepath.Join(append([]string{n.dir}, elements...)...)
}

// writeFiles writes files that only this user can read: keys are among them.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
