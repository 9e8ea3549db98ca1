// Package realnodes runs whole Kubernetes clusters on this machine, without Docker and without a registry: for each node a real
// kubelet, containerd, runc, CNI and kube-proxy (nftables), for each cluster a real etcd, API server, controller manager, scheduler
// and CoreDNS, and volumes that last. Pods run as they do anywhere, and those of all clusters reach each other.
//
//	lab, err := realnodes.Start(ctx, realnodes.Options{Clusters: 3})
//	defer lab.Close()
//	c1 := lab.Clusters()[0]
//	k8s, err := client.New(c1.RESTConfig(), client.Options{})
//	err = lab.Cut(c1, lab.Clusters()[1])
//	err = c1.Nodes()[0].PowerOff(ctx)
//
// The same to play with, from a shell: go run ./e2e/cmd/nodes up.
//
// # What it needs
//
// Linux, root, and cgroup hierarchies of version 1 (kubelet and containerd of the versions pinned here still serve them; version 2
// alone is not supported, as it could not be tried). A folder for temporary files (TMPDIR) that is not on an overlay. The programs
// come from hack/assets.sh (controlplane, nodes, images), which compiles them once from their Go modules; besides Go that takes a C
// compiler and libseccomp for runc, nft, a JDK and Maven for Kafka's image. [Available] says in one line what is missing.
//
// # How it works
//
// A node is a tree of processes in namespaces of its own (mount, pid, network, UTS, IPC, cgroup), as it is with kind, only that no
// container engine makes them. Its root is that of the machine, with the folders that programs write to covered by its own; so
// every program keeps its usual paths, and nothing is written outside of the lab's folder. The first process of a node
// (internal/supervise) mounts what should be mounted, runs the programs, each again when it ends, and does what [Node] asks for.
//
// Each node has one link, to a router that is a network namespace too; so has the test process ([Outside]). The router knows the
// pods of every node. A cut is a pair of rules there that lose what one cluster sends to another: it reaches nodes, pods and node
// ports alike, lasts when a node starts again, and nobody is told. None of these namespaces has a name. All addresses (see
// addresses.go) exist in them only, so labs can run side by side and none can collide with the machine's network. What runs on the
// machine gets in by [Lab.DialContext], or by a forwarded port: [Lab.Forward], [Cluster.Kubeconfig].
//
// # How it ends
//
// Close ends and removes everything. If the test process dies instead, however it does: a node's first process reads its requests
// from a pipe, ends with it, and the kernel ends all others of the node; network namespaces and mounts go with the last process
// that has them; a reaper, which waits at a pipe as well, kills what should be left and removes cgroups and folder. Should somebody
// kill the reaper too, then the next Start sweeps the rest away: a lab's folder is locked as long as its owner lives.
//
// # What to know
//
//   - Images are not pulled from anywhere. A pod's image has to be one of [Options.Images], [Cluster.LoadImages], or [KafkaImage];
//     package image makes one of any static program. Use full names, and tags other than latest.
//   - A volume's class is "standard", the default. It is a folder of the node, so its pod stays with the node.
//   - A node port masquerades who comes in, as everywhere, unless the service's externalTrafficPolicy is Local.
//   - There are no load balancers, no network policies (no engine for them), and no IPv6.
//   - The DNS of a cluster knows that cluster only, and pods don't reach the internet, nor its DNS.
//   - etcd does not flush to disk: a node's loss of power loses nothing, the machine's does.
//   - The kernel's settings other than the network's are shared and read-only, and so is the clock.
//   - Probes that exec cost most of all: prefer http and tcp, and more than a second between them, for pods in numbers.
//   - Each node takes about 17 of the machine's inotify instances (fs.inotify.max_user_instances, often 128).
package realnodes
