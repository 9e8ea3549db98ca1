// Package controlplane runs a real Kubernetes control plane as processes of this machine: etcd and kube-apiserver with controller-runtime's
// envtest, and optionally the real kube-controller-manager, without which no garbage is collected and no namespace is ever removed.
//
// The programs come from KUBEBUILDER_ASSETS, or are built once by hack/assets.sh. Several control planes can run at the same time. Each has
// its own ports and one folder, and leaves nothing behind, even if the test process is killed.
package controlplane
