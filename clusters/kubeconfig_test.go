package clusters

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// written returns a kubeconfig with one context, changed by change.
func written(t *testing.T, change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	c, u := &clientcmdapi.Cluster{Server: "https://api.example.com:6443"}, &clientcmdapi.AuthInfo{Token: "t"}
	if change != nil {
		change(c, u)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"], config.AuthInfos["u"], config.CurrentContext = c, u, "x"
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	return encoded(t, config)
}

func encoded(t *testing.T, config *clientcmdapi.Config) []byte {
	t.Helper()
	data, err := clientcmd.Write(*config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return data
}

func TestAKubeconfigIsRead(t *testing.T) {
	g := NewWithT(t)
	a, err := ReadKubeconfig(written(t, nil), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Config.Host).To(Equal("https://api.example.com:6443"))
	g.Expect(a.Config.BearerToken).To(Equal("t"))
	g.Expect(a.Warnings).To(BeEmpty())
	g.Expect(a.Expires).To(BeZero())
}

func TestAKubeconfigThatRunsOrReadsIsRefused(t *testing.T) {
	for field, change := range map[string]func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo){
		"users[].user.exec": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "/bin/sh", APIVersion: "v1"}
		},
		"users[].user.auth-provider": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		},
		"certificate-authority-data": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthority = "/ca" },
		"client-certificate-data":    func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientCertificate = "/cert" },
		"client-key-data":            func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKey = "/key" },
		"users[].user.tokenFile": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.TokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
		},
	} {
		t.Run(field, func(t *testing.T) {
			g := NewWithT(t)
			_, err := ReadKubeconfig(written(t, change), "")
			g.Expect(err).To(MatchError(And(ContainSubstring(field), ContainSubstring("which is not allowed in a Secret"))))
			reason, refused := classify(err)
			g.Expect(refused).To(BeTrue())
			g.Expect(reason).To(Equal(ReasonKubeconfigUnsafe))
			g.Expect(hopeless(err)).To(BeTrue())
		})
	}
}

func TestOtherContextsOfAKubeconfigDoNotMatter(t *testing.T) {
	g := NewWithT(t)
	config, err := clientcmd.Load(written(t, nil))
	g.Expect(err).NotTo(HaveOccurred())
	config.AuthInfos["other"] = &clientcmdapi.AuthInfo{TokenFile: "/nowhere", Exec: &clientcmdapi.ExecConfig{Command: "x", APIVersion: "v1"}}
	config.Contexts["other"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "other"}
	a, err := ReadKubeconfig(encoded(t, config), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Config.BearerTokenFile).To(BeEmpty())
	g.Expect(a.Config.ExecProvider).To(BeNil())
}

func TestAKubeconfigThatMakesNoSenseIsRefused(t *testing.T) {
	broken := func(change func(*clientcmdapi.Config)) []byte {
		config, err := clientcmd.Load(written(t, nil))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		change(config)
		return encoded(t, config)
	}
	for name, kubeconfig := range map[string][]byte{
		"not YAML":     []byte("token: [hunter2"),
		"other YAML":   []byte("hunter2"),
		"empty":        {},
		"no context":   broken(func(c *clientcmdapi.Config) { c.CurrentContext = "" }),
		"no cluster":   broken(func(c *clientcmdapi.Config) { c.Clusters = nil }),
		"no server":    broken(func(c *clientcmdapi.Config) { c.Clusters["c"].Server = "" }),
		"odd server":   broken(func(c *clientcmdapi.Config) { c.Clusters["c"].Server = "ftp://x" }),
		"no user":      broken(func(c *clientcmdapi.Config) { c.AuthInfos = nil }),
		"broken proxy": broken(func(c *clientcmdapi.Config) { c.Clusters["c"].ProxyURL = "gopher://x" }),
		"cert, no key": broken(func(c *clientcmdapi.Config) { c.AuthInfos["u"].ClientCertificateData = []byte("x") }),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := ReadKubeconfig(kubeconfig, "")
			g.Expect(err).To(HaveOccurred())
			reason, _ := classify(err)
			g.Expect(reason).To(Equal(ReasonKubeconfigInvalid))
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"), "what may be a credential is not said")
		})
	}
}

func TestCredentialsThatCannotBeUsedAreFoundBeforeAnythingIsSent(t *testing.T) {
	g := NewWithT(t)
	for _, change := range []func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo){
		func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthorityData = []byte("x") },
		func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData, u.ClientKeyData = []byte("x"), []byte("y")
		},
	} {
		a, err := ReadKubeconfig(written(t, change), "")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = newLink(a, time.Second)
		g.Expect(hopeless(err)).To(BeTrue())
	}
}

func TestTheConfiguredURLTakesPrecedence(t *testing.T) {
	g := NewWithT(t)
	a, err := ReadKubeconfig(written(t, nil), "https://lb.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Config.Host).To(Equal("https://lb.example.com"))
	g.Expect(a.Config.ServerName).To(Equal("api.example.com"), "the certificate is checked for the name that the kubeconfig trusts")
	g.Expect(a.Warnings).To(ConsistOf(ContainSubstring("is ignored")))

	a, err = ReadKubeconfig(written(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.TLSServerName = "kubernetes" }),
		"https://lb.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Config.ServerName).To(Equal("kubernetes"))

	a, err = ReadKubeconfig(written(t, nil), "https://api.example.com:6443/")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Warnings).To(BeEmpty())
	g.Expect(a.Config.ServerName).To(BeEmpty())
}

func TestWeakConnectionsAreWarnedOf(t *testing.T) {
	g := NewWithT(t)
	a, err := ReadKubeconfig(written(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.InsecureSkipTLSVerify = true }), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Warnings).To(ConsistOf(ContainSubstring("insecure-skip-tls-verify")))
	a, err = ReadKubeconfig(written(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "http://x" }), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Warnings).To(ConsistOf(ContainSubstring("not encrypted")))
}

func TestTheEndOfCredentialsIsRead(t *testing.T) {
	g := NewWithT(t)
	end := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	token := func(claims string) string { return "h." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".s" }
	g.Expect(tokenExpiry(token(fmt.Sprintf(`{"sub":"x","exp":%d}`, end.Unix())))).To(Equal(end))
	for _, other := range []string{"", "opaque", "a.b.c", token(`{}`), token(`{"exp":"soon"}`), token(`{"exp":-1}`), token(`{"exp":1e300}`),
		token(`[]`)} {
		g.Expect(tokenExpiry(other)).To(BeZero(), other)
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(certificateExpiry(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))).To(Equal(end))
	g.Expect(certificateExpiry(nil)).To(BeZero())
	g.Expect(certificateExpiry(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))).To(BeZero())

	g.Expect(earliest(time.Time{}, end, end.Add(-time.Hour), time.Time{})).To(Equal(end.Add(-time.Hour)))
	g.Expect(earliest(time.Time{}, time.Time{})).To(BeZero())
}

func FuzzReadKubeconfig(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {tokenFile: /x}}]\n"), "https://y")
	f.Fuzz(func(t *testing.T, kubeconfig []byte, server string) {
		a, err := ReadKubeconfig(kubeconfig, server)
		if err != nil {
			return
		}
		g := NewWithT(t)
		g.Expect(a.Config.ExecProvider).To(BeNil())
		g.Expect(a.Config.AuthProvider).To(BeNil())
		g.Expect([]string{a.Config.BearerTokenFile, a.Config.CAFile, a.Config.CertFile, a.Config.KeyFile}).To(HaveEach(BeEmpty()))
	})
}
