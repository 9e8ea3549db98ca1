package app

import (
	"k8s.io/client-go/rest"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// KubernetesConfig returns the configuration for a connection, as kubectl interprets its flags. Without any it uses the kubeconfig of
// KUBECONFIG, the pod's own cluster, or ~/.kube/config; a context is one of a kubeconfig, never the pod's own cluster.
func KubernetesConfig(c options.Connection) (*rest.Config, error) {
	return kubernetesConfig(c, ctrlconfig.GetConfig)
}

func kubernetesConfig(c options.Connection, unnamed func() (*rest.Config, error)) (*rest.Config, error) {
	if !c.Given() {
		return unnamed()
	}
	return c.ToRESTConfig()
}

// ContextNamespace returns the namespace of a connection's context, or that of the pod if there is no kubeconfig.
func ContextNamespace(c options.Connection) (string, error) {
	namespace, _, err := c.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}
