package realnodes

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig returns a kubeconfig with one context, which holds all it needs.
func kubeconfig(name, server string, authority []byte, client keyPair) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: client.certificate, ClientKeyData: client.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}
