package pki

import (
	"crypto/x509"
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
	return Validity{cert.NotAfter, cert.NotAfter.Add(-c.withDefaults().renewal())}
}

// Validity returns that of the listener's certificate in Secrets of nodes that expires first.
func (l Listener) Validity(secrets []*corev1.Secret) (first Validity) {
	for _, secret := range secrets {
		cert := certificate(secret, l.CertEntry)
		if cert == nil || !first.Expires.IsZero() && !cert.NotAfter.Before(first.Expires) {
			continue
		}
		first = Validity{cert.NotAfter, cert.NotAfter.Add(-listenerRenewal(cert))}
	}
	return first
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
