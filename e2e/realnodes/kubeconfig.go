package realnodes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig returns a kubeconfig with one context, for a client with a certificate.
func kubeconfig(name, server string, authority []byte, client keyPair) ([]byte, error) {
	return withOneContext(name, server, authority, clientcmdapi.AuthInfo{ClientCertificateData: client.certificate, ClientKeyData: client.key})
}

// TokenKubeconfig returns a kubeconfig for the account of a token Secret (type kubernetes.io/service-account-token) that Kubernetes has
// filled in.
func TokenKubeconfig(server string, token *corev1.Secret) ([]byte, error) {
	return withOneContext("cluster", server, token.Data[corev1.ServiceAccountRootCAKey],
		clientcmdapi.AuthInfo{Token: string(token.Data[corev1.ServiceAccountTokenKey])})
}

// withOneContext returns a kubeconfig without references to files.
func withOneContext(name, server string, authority []byte, user clientcmdapi.AuthInfo) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos[name] = &user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}
