//go:build linux

package realnodes

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/stock"
)

// object is an object of a configuration file. JSON is valid YAML.
type object = map[string]any

// configuration returns the configuration files of the node's programs.
func (n *Node) configuration() (map[string][]byte, error) {
	files := map[string][]byte{"containerd.toml": []byte(n.containerdConfig())}
	for name, content := range map[string]object{
		"kubelet.json":         n.kubeletConfig(),
		"kube-proxy.json":      n.kubeProxyConfig(),
		"scheduler.json":       n.schedulerConfig(),
		"cni/10-pods.conflist": n.cniConfig(),
	} {
		b, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	return files, nil
}

// containerdConfig returns the configuration of containerd. Without the right to raise priorities, as in many containers, a container's
// request for one must not fail it; and there is no hierarchy for huge pages. The plugin opt would create a folder on the machine.
func (n *Node) containerdConfig() string {
	return strings.NewReplacer(
		"$ROOT", containerdRoot, "$STATE", filepath.Dir(containerdSocket), "$SOCKET", containerdSocket,
		"$PAUSE", stock.Pause, "$BIN", n.cluster.lab.programs.nodes, "$CNI", n.etc("cni"),
	).Replace(`version = 3
root = "$ROOT"
state = "$STATE"
oom_score = 0
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.internal.v1.tracing"]
[grpc]
  address = "$SOCKET"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "$PAUSE"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$BIN"]
    conf_dir = "$CNI"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "$BIN/runc"
        SystemdCgroup = false
`)
}

func (n *Node) kubeletConfig() object {
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"failCgroupV1": false, "cgroupDriver": "cgroupfs",
		"containerRuntimeEndpoint": "unix://" + containerdSocket,
		"address":                  n.Address().String(),
		"healthzBindAddress":       "127.0.0.1",
		"tlsCertFile":              n.etc("kubelet.crt"),
		"tlsPrivateKeyFile":        n.etc("kubelet.key"),
		"authentication": object{
			"anonymous": object{"enabled": false}, "webhook": object{"enabled": true},
			"x509": object{"clientCAFile": n.etc("ca.crt")},
		},
		"authorization": object{"mode": "Webhook"},
		"clusterDomain": "cluster.local",
		"clusterDNS":    []string{dnsAddress(n.cluster.number).String()},
		// Pods can't reach the machine's own DNS.
		"resolvConf":  "",
		"oomScoreAdj": 0, "failSwapOn": false,
		// The disk is the whole machine's: its usage is not the node's.
		"evictionHard": object{
			"memory.available": "100Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%",
		},
		"imageGCHighThresholdPercent": 100,
		"makeIPTablesUtilChains":      false,
		// How soon volumes show a changed ConfigMap or Secret.
		"syncFrequency":   "3s",
		"volumePluginDir": volumePlugins,
		// A lease is renewed four times in its duration, and the duration is well below the grace period.
		"nodeLeaseDurationSeconds":  max(4, int(n.cluster.lab.options.NodeGrace.Seconds()/2)),
		"nodeStatusUpdateFrequency": "3s", "nodeStatusReportFrequency": "1m",
	}
}

func (n *Node) kubeProxyConfig() object {
	return object{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"mode":             "nftables",
		"clientConnection": object{"kubeconfig": n.etc("kube-proxy.kubeconfig")},
		// Pods of all clusters are treated like this cluster's: no address is translated.
		"clusterCIDR":        everything.String(),
		"hostnameOverride":   n.name,
		"bindAddress":        n.Address().String(),
		"nodePortAddresses":  []string{single(n.Address()).String()},
		"healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249",
		"oomScoreAdj": 0,
		// These settings belong to the machine and stay unchanged.
		"conntrack": object{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
		// Changes of a service's endpoints take effect at once.
		"nftables": object{"minSyncPeriod": "100ms", "syncPeriod": "30s"},
	}
}

func (n *Node) schedulerConfig() object {
	return object{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"clientConnection":         object{"kubeconfig": n.etc("scheduler.kubeconfig")},
		"leaderElection":           object{"leaderElect": false},
		"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1,
	}
}

// cniConfig returns a configuration that gives each pod its own link to the node, which routes. Without a bridge, a pod can reach itself
// through its service.
func (n *Node) cniConfig() object {
	return object{
		"cniVersion": "1.0.0", "name": "pods",
		"plugins": []object{
			{
				"type": "ptp", "ipMasq": false, "mtu": 1500,
				"ipam": object{
					"type": "host-local", "dataDir": "/run/cni-addresses",
					"ranges": [][]object{{{"subnet": podPrefix(n.cluster.number, n.number).String()}}},
					"routes": []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}, "backend": "nftables"},
		},
	}
}

func addresses(a ...netip.Addr) []netip.Addr { return a }

// certificates returns the keys of the node's programs, and the kubeconfigs with them.
func (n *Node) certificates() (map[string][]byte, error) {
	c := n.cluster
	files := map[string][]byte{"ca.crt": c.authority.pem.certificate}
	pairs := map[string]identity{
		"kubelet": {user: "system:node:" + n.name, groups: []string{"system:nodes"}, names: []string{n.name}, addresses: addresses(n.Address())},
	}
	clients := map[string]identity{
		"kube-proxy": {user: "system:kube-proxy"},
		"volumes":    {user: "volumes", groups: []string{"system:masters"}},
	}
	if n.number == 1 {
		files["ca.key"] = c.authority.pem.key
		files["service-accounts.key"] = c.serviceAccounts.key
		pairs["apiserver"] = identity{
			user:      "kube-apiserver",
			names:     []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"},
			addresses: addresses(n.Address(), apiServiceAddress(c.number), loopback),
		}
		pairs["kubelet-client"] = identity{user: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}}
		clients["controller-manager"] = identity{user: "system:kube-controller-manager", groups: []string{"system:masters"}}
		clients["scheduler"] = identity{user: "system:kube-scheduler"}
	}
	for name, who := range pairs {
		pair, err := c.authority.issue(who)
		if err != nil {
			return nil, err
		}
		files[name+".crt"], files[name+".key"] = pair.certificate, pair.key
		if name == "kubelet" {
			// Kubelet is a client and a server with the same certificate.
			if files["kubelet.kubeconfig"], err = kubeconfig(c.name, c.apiServer(), c.authority.pem.certificate, pair); err != nil {
				return nil, err
			}
		}
	}
	for name, who := range clients {
		pair, err := c.authority.issue(who)
		if err != nil {
			return nil, err
		}
		if files[name+".kubeconfig"], err = kubeconfig(c.name, c.apiServer(), c.authority.pem.certificate, pair); err != nil {
			return nil, fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
	}
	return files, nil
}
