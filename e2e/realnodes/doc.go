// Package realnodes runs whole Kubernetes clusters on this machine, without Docker and without a registry: for each node a real kubelet,
// containerd, runc, CNI and kube-proxy (nftables), for each cluster a real etcd, API server, controller manager, scheduler and CoreDNS, and
// persistent volumes. Pods run as on any other node, and pods of all clusters reach each other.
//
//	lab, err := realnodes.Start(ctx, realnodes.Options{Clusters: 3})
//	defer lab.Close()
//	c1 := lab.Clusters()[0]
//	k8s, err := client.New(c1.RESTConfig(), client.Options{})
//	err = lab.Cut(c1, lab.Clusters()[1])
//	err = c1.Nodes()[0].PowerOff(ctx)
//
// Command e2e/cmd/nodes starts clusters from a shell: go run ./e2e/cmd/nodes up.
//
// # Requirements
//
// Linux, root, and cgroup hierarchies of version 1 (the pinned versions of kubelet and containerd still support them; version 2 alone is
// not supported, because it could not be tested). A folder for temporary files (TMPDIR) that is not on an overlay. The programs come from
// hack/assets.sh (controlplane, nodes, images), which compiles them once from their Go modules. Besides Go, that needs a C compiler and
// libseccomp for runc, nft, and a JDK and Maven for Kafka's image. [Available] returns a one-line error that says what is missing.
//
// # How it works
//
// A node is a tree of processes in their own namespaces (mount, pid, network, UTS, IPC, cgroup), as with kind, but without a container
// engine. Its root is the machine's, but the folders that programs write to are covered by the node's own. So every program keeps its usual
// paths, and nothing is written outside of the lab's folder. The first process of a node (internal/supervise) creates the mounts, runs the
// programs, restarts each one that ends, and serves the requests of [Node].
//
// Each node has one link to a router, which is also a network namespace; so has the test process ([Outside]). The router has routes to the
// pods of every node. A cut is a pair of rules there that drop the packets from one cluster to another. It affects nodes, pods and node
// ports alike, remains when a node is restarted, and causes no error messages. None of these namespaces has a name. All addresses (see
// addresses.go) exist only in them, so labs can run side by side and cannot collide with the machine's network. Programs on the machine
// connect with [Lab.DialContext], or through a forwarded port: [Lab.Forward], [Cluster.Kubeconfig].
//
// # Cleanup
//
// Close stops and removes everything. If the test process dies instead: the first process of each node reads its requests from a pipe, and
// exits when the pipe is closed, and the kernel then kills all other processes of the node. Network namespaces and mounts disappear with
// the last process in them. A reaper, which also waits at a pipe, kills remaining processes and removes cgroups and the folder. If the
// reaper is killed too, the next Start removes the rest: a lab's folder is locked as long as its owner lives.
//
// # Limitations
//
//   - Images are not pulled from anywhere. A pod's image has to be one of [Options.Images], [Cluster.LoadImages], or [KafkaImage];
//     package image makes one of any static program. Use full names, and tags other than latest.
//   - The storage class of volumes is "standard", the default. A volume is a folder of the node, so its pod stays with the node.
//   - A node port masquerades clients, as in all clusters, unless the service's externalTrafficPolicy is Local.
//   - There are no load balancers, no network policies (no engine for them), and no IPv6.
//   - The DNS of a cluster has the names of that cluster only, and pods don't reach the internet or its DNS.
//   - etcd does not flush to disk: a node's loss of power loses no data, the machine's does.
//   - The kernel's settings other than the network's are shared and read-only, and so is the clock.
//   - Exec probes cost most: for many pods, prefer http and tcp probes, with more than a second between them.
//   - Each node takes about 17 of the machine's inotify instances (fs.inotify.max_user_instances, often 128).
package realnodes
