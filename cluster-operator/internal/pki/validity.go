package pki

import (
	"crypto/x509"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Validity is how long a certificate is valid; zero if that is unknown.
type Validity struct {
	// Expires is when it expires, and Due when it should be renewed.
	Expires, Due time.Time
}

// CAValidity returns the validity of a CA's certificate, from the Secret of ClusterCACertSecret or ClientsCACertSecret.
func CAValidity(ca *corev1.Secret, c CAConfig) Validity {
	cert := certificate(ca, entryCert)
	if cert == nil {
		return Validity{}
	}
	renewal := c.withDefaults().renewal()
	v := Validity{cert.NotAfter, cert.NotAfter.Add(-renewal)}
	for entry := range ca.Data {
		// A former one of the cluster CA is in use until the key is replaced. Those of the clients CA sign nothing.
		if former := certificate(ca, entry); c.Generate && isRetained(entry) && former != nil && signsNodes(ca) {
			v = v.first(Validity{former.NotAfter, former.NotAfter.Add(-renewal)})
		}
	}
	return v
}

// signsNodes reports whether a Secret is that of a cluster CA's certificates.
func signsNodes(ca *corev1.Secret) bool { return strings.HasSuffix(ca.Name, ClusterCACertSecret("")) }

// NodesValidity returns that of the certificate in Secrets of nodes that expires first. Other Secrets do not matter.
func NodesValidity(secrets []*corev1.Secret, c CAConfig) (first Validity) {
	renewal := c.withDefaults().renewal()
	for _, secret := range secrets {
		if cert := certificate(secret, secret.Name+suffixCert); cert != nil {
			first = first.first(Validity{cert.NotAfter, cert.NotAfter.Add(-renewal)})
		}
	}
	return first
}

// Validity returns that of the listener's certificate in Secrets of nodes that expires first.
func (l Listener) Validity(secrets []*corev1.Secret) (first Validity) {
	for _, secret := range secrets {
		if cert := certificate(secret, l.CertEntry); cert != nil {
			first = first.first(Validity{cert.NotAfter, cert.NotAfter.Add(-listenerRenewal(cert))})
		}
	}
	return first
}

// first returns the validity that ends first.
func (v Validity) first(other Validity) Validity {
	if v.Expires.IsZero() || other.Expires.Before(v.Expires) {
		return other
	}
	return v
}

// listenerRenewal is how long before a certificate of a listener expires its user should have replaced it: 30 days, or a third of its life
// if that is shorter.
func listenerRenewal(cert *x509.Certificate) time.Duration {
	return min(days(CAConfig{}.withDefaults().RenewalDays), cert.NotAfter.Sub(cert.NotBefore)/3)
}

// certificate returns the certificate in an entry of a Secret, nil if there is none.
func certificate(secret *corev1.Secret, entry string) *x509.Certificate {
	if secret == nil {
		return nil
	}
	certs, err := parseCerts(secret.Data[entry])
	if err != nil {
		return nil
	}
	return certs[0]
}
