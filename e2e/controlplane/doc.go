// Package controlplane runs a real Kubernetes control plane as processes of this machine: etcd and kube-apiserver by means
// of controller-runtime's envtest, and, if asked for, the real kube-controller-manager, without which nothing is garbage
// collected and no namespace ever goes away.
//
// The programs come from KUBEBUILDER_ASSETS, or are built once by hack/assets.sh. Several control planes can run at once;
// each has its own ports and one folder, and leaves nothing behind, even if the test process is killed.
package controlplane
