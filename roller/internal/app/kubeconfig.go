package app

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
)

// KubernetesConfig returns the configuration for a kubeconfig and a context, as kubectl interprets them. Without a kubeconfig it uses that
// of KUBECONFIG, the pod's own cluster, or ~/.kube/config; a context is one of a kubeconfig, never the pod's own cluster.
func KubernetesConfig(kubeconfig, context string) (*rest.Config, error) {
	return kubernetesConfig(kubeconfig, context, ctrlconfig.GetConfig)
}

func kubernetesConfig(kubeconfig, context string, unnamed func() (*rest.Config, error)) (*rest.Config, error) {
	if kubeconfig == "" && context == "" {
		return unnamed()
	}
	return clientConfig(kubeconfig, context).ClientConfig()
}

// ContextNamespace returns the namespace of a context; empty if it can't be read.
func ContextNamespace(kubeconfig, context string) string {
	namespace, _, err := clientConfig(kubeconfig, context).Namespace()
	if err != nil {
		return ""
	}
	return namespace
}

func clientConfig(kubeconfig, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
}
