package clusters

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigKey is the key of the kubeconfig in its Secret.
const KubeconfigKey = "kubeconfig"

// Access is the content of a kubeconfig: the address of a cluster and the credentials for it.
type Access struct {
	// Config has the server, the credentials, and the certificate authority of the server. It has no names of files or commands.
	Config *rest.Config
	// Expires is when the credentials expire: the earlier of the ends of a client certificate and of a bearer token that is a JWT (whose
	// signature is not checked). Zero if it is unknown.
	Expires time.Time
	// Warnings are problems that don't prevent the use of the kubeconfig.
	Warnings []string
}

// ReadKubeconfig reads the current context of a kubeconfig. A non-empty server takes precedence over the one in the kubeconfig. The
// server's certificate is still checked for the name in the kubeconfig, for which the certificate authority issued it.
//
// A kubeconfig that runs a command (exec, auth-provider) or reads a file is refused. Otherwise, any user who may write the Secret could run
// programs in this process's container, or send its files (its service account's token, for example) to a server. Other contexts are not
// read.
func ReadKubeconfig(kubeconfig []byte, server string) (Access, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		// Not wrapped: the decoder may quote what it could not read, and that may be a credential.
		return Access{}, refuse(ReasonKubeconfigInvalid, "the kubeconfig is not valid YAML or JSON of a kubeconfig")
	}
	context, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return Access{}, refuse(ReasonKubeconfigInvalid, "the kubeconfig's current-context %q is not among its contexts", config.CurrentContext)
	}
	cluster, ok := config.Clusters[context.Cluster]
	if !ok || cluster.Server == "" && server == "" {
		return Access{}, refuse(ReasonKubeconfigInvalid, "the kubeconfig's current context names the cluster %q, which has no server",
			context.Cluster)
	}
	user, ok := config.AuthInfos[context.AuthInfo]
	if !ok {
		return Access{}, refuse(ReasonKubeconfigInvalid, "the kubeconfig's current context names the user %q, which does not exist",
			context.AuthInfo)
	}
	if err := checkHarmless(cluster, user); err != nil {
		return Access{}, err
	}
	return access(*config, cluster, user, server)
}

// checkHarmless refuses a kubeconfig that would run a command or read a file.
func checkHarmless(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) error {
	switch {
	case user.Exec != nil:
		return refuse(ReasonKubeconfigUnsafe,
			"the kubeconfig runs the command %q (users[].user.exec), which is not allowed in a Secret: use a token or a client certificate",
			user.Exec.Command)
	case user.AuthProvider != nil:
		return refuse(ReasonKubeconfigUnsafe,
			"the kubeconfig uses the plugin %q (users[].user.auth-provider), which is not allowed in a Secret: use a token or a client certificate",
			user.AuthProvider.Name)
	}
	for _, file := range []struct{ field, path, instead string }{
		{"clusters[].cluster.certificate-authority", cluster.CertificateAuthority, "certificate-authority-data"},
		{"users[].user.client-certificate", user.ClientCertificate, "client-certificate-data"},
		{"users[].user.client-key", user.ClientKey, "client-key-data"},
		{"users[].user.tokenFile", user.TokenFile, "token"},
	} {
		if file.path != "" {
			return refuse(ReasonKubeconfigUnsafe, "the kubeconfig reads the file %q (%s), which is not allowed in a Secret: use "+
				"%s", file.path, file.field,
				file.instead)
		}
	}
	return nil
}

func access(config clientcmdapi.Config, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo, server string) (Access, error) {
	var a Access
	if server != "" && !sameServer(server, cluster.Server) {
		a.Warnings = append(a.Warnings, fmt.Sprintf("the kubeconfig's server %q is ignored, because %q is configured", cluster.Server, server))
		if cluster.TLSServerName == "" {
			if named, err := url.Parse(cluster.Server); err == nil {
				cluster.TLSServerName = named.Hostname()
			}
		}
		cluster.Server = server
	}
	if err := checkURL(cluster.Server); err != nil {
		return Access{}, refuse(ReasonKubeconfigInvalid, "the kubeconfig's server: %v", err)
	}
	rc, err := clientcmd.NewDefaultClientConfig(config, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return Access{}, refuse(ReasonKubeconfigInvalid, "the kubeconfig is invalid: %v", err)
	}
	a.Config = rc
	if rc.Insecure {
		a.Warnings = append(a.Warnings,
			"the server's certificate is not verified (insecure-skip-tls-verify): anybody on the network path can steal the credentials")
	}
	if strings.HasPrefix(rc.Host, "http://") {
		a.Warnings = append(a.Warnings, "the connection is not encrypted (http): anybody on the network path can steal the credentials")
	}
	a.Expires = earliest(certificateExpiry(user.ClientCertificateData), tokenExpiry(user.Token))
	return a, nil
}

func sameServer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// earliest returns the earliest time that is not zero.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// certificateExpiry returns when the first certificate in the PEM, the client's own, expires; zero if there is none.
func certificateExpiry(data []byte) time.Time {
	block, _ := pem.Decode(data)
	if block == nil {
		return time.Time{}
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return certificate.NotAfter
}

// tokenExpiry returns when a JWT expires according to its claim exp (RFC 7519); zero for other tokens.
func tokenExpiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expires <= 0 || claims.Expires > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expires), 0).UTC()
}
