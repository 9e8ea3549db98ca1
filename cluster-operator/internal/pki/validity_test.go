package pki

import (
	"crypto/x509"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

func TestWhenARenewalIsDue(t *testing.T) {
	s := newSim(0)
	r, err := Plan(s.read())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var ca *corev1.Secret
	for _, d := range r.CAs {
		if d.Name == ClusterCACertSecret("c") {
			ca = d.Secret
		}
	}
	made := func(renewal int) Validity {
		return Validity{s.now.AddDate(0, 0, 365), s.now.AddDate(0, 0, 365-renewal)}
	}
	for name, c := range map[string]struct {
		got  Validity
		want Validity
	}{
		"a CA":                               {CAValidity(ca, CAConfig{}), made(30)},
		"a CA of other days":                 {CAValidity(ca, CAConfig{RenewalDays: 10}), made(10)},
		"the plan's":                         {r.ClusterCA.Validity, made(30)},
		"none":                               {CAValidity(nil, CAConfig{}), Validity{}},
		"a listener's, which one node lacks": {Listener{CertEntry: "ca.crt"}.Validity([]*corev1.Secret{{}, ca}), made(30)},
		"a listener's, which all nodes lack": {Listener{CertEntry: "ca.crt"}.Validity([]*corev1.Secret{{}}), Validity{}},
	} {
		NewWithT(t).Expect(c.got).To(Equal(c.want), name)
	}
}

func TestAShortCertificateOfAListenerIsDueInTheLastThirdOfItsLife(t *testing.T) {
	from := time.Unix(1e9, 0)
	short := &x509.Certificate{NotBefore: from, NotAfter: from.Add(9 * time.Hour)}
	NewWithT(t).Expect(listenerRenewal(short)).To(Equal(3 * time.Hour))
}
