package pki

import (
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"

	. "github.com/onsi/gomega"
	"software.sslmate.com/src/go-pkcs12"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// levels returns CAs of which each is signed by the next one: the issuing one first, and the root last.
func levels(t *testing.T, s *sim, names ...string) []*issued {
	t.Helper()
	g := NewWithT(t)
	cas := make([]*issued, len(names))
	for i := len(names) - 1; i >= 0; i-- {
		key := ecKey(t)
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: names[i]}, NotBefore: s.now,
			NotAfter: s.now.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		by := &issued{key, template}
		if i+1 < len(names) {
			by = cas[i+1]
		}
		der, err := x509.CreateCertificate(cryptorand.Reader, template, by.cert, key.Public(), by.key)
		g.Expect(err).NotTo(HaveOccurred())
		cert, err := x509.ParseCertificate(der)
		g.Expect(err).NotTo(HaveOccurred())
		cas[i] = &issued{key, cert}
	}
	return cas
}

// pemOf returns the certificates of CAs.
func pemOf(cas ...*issued) []byte {
	var text []byte
	for _, ca := range cas {
		text = append(text, encodeCerts(ca.cert)...)
	}
	return text
}

// supply makes a CA that of the user's Secrets, with the certificates of its issuers.
func supply(t *testing.T, s *sim, generation string, ca ...*issued) {
	t.Helper()
	key, cert := s.secrets["c-cluster-ca"], s.secrets["c-cluster-ca-cert"]
	key.Data["ca.key"], cert.Data["ca.crt"] = pkcs8(t, ca[0].key), pemOf(ca...)
	key.Annotations[v1.AnnotationCAKeyGeneration], cert.Annotations[v1.AnnotationCACertGeneration] = generation, generation
}

// TestChainsOfSuppliedCAs checks that nodes present all issuers of the user's CA: clients may trust its root alone.
func TestChainsOfSuppliedCAs(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	before := s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
	first := levels(t, s, "issuing", "intermediate", "root")
	supply(t, s, "1", first...)
	s.secrets["c-cluster-ca-cert"].Data["ca-2027-11-22T12-00-00Z.crt"] = before
	g.Expect(s.converge(s.checkNodes)).To(Succeed())
	delete(s.secrets["c-cluster-ca-cert"].Data, "ca-2027-11-22T12-00-00Z.crt")
	g.Expect(s.converge(s.checkNodes)).To(Succeed())
	for _, name := range []string{"c-p-0", "c-p-1", "c-p-2"} {
		presented := s.secrets[name].Data[name+".crt"]
		g.Expect(verify(pemOf(first[2]), presented, s.now)).To(Succeed())
		g.Expect(Pair{presented, s.secrets[name].Data[name+".key"]}.Check(s.now)).To(Succeed())
	}
	restarts := s.restarts["c-p-1"]

	// A certificate that an earlier operator made, without the issuers of the CA, stays.
	certs, err := parseCerts(s.secrets["c-p-1"].Data["c-p-1.crt"])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(certs).To(HaveLen(4))
	short := encodeCerts(certs[:2]...)
	s.secrets["c-p-1"].Data["c-p-1.crt"] = short
	g.Expect(s.converge(s.checkNodes)).To(Succeed())
	g.Expect(s.secrets["c-p-1"].Data["c-p-1.crt"]).To(Equal(short))
	g.Expect(s.restarts["c-p-1"]).To(Equal(restarts))

	// The issuers of a CA that is replaced stay trusted with it.
	second := levels(t, s, "issuing", "intermediate", "root")
	supply(t, s, "2", second...)
	s.secrets["c-cluster-ca-cert"].Data["ca-2027-11-23T12-00-00Z.crt"] = pemOf(first...)
	g.Expect(s.converge(s.checkNodes)).To(Succeed())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
	g.Expect(s.restarts["c-p-1"] - restarts).To(Equal(2))
	g.Expect(string(s.last.ClusterCA.TrustPEM)).To(Equal(string(pemOf(append(second, first...)...))))
	g.Expect(verify(pemOf(second[2]), s.secrets["c-p-1"].Data["c-p-1.crt"], s.now)).To(Succeed())
}

// TestAllCertificatesOfAnEntryAreTrusted checks that nodes and clients trust each certificate that a user adds to those of a CA, and that
// this restarts nothing.
func TestAllCertificatesOfAnEntryAreTrusted(t *testing.T) {
	for name, generated := range map[string]bool{"a CA that the operator generates": true, "a user's own CA": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t, func(s *sim) { s.in.PKCS12 = true })
			s.in.ClusterCA.Generate, s.in.ClientsCA.Generate = generated, generated
			restarts := len(s.restarts)
			added := pemOf(append(levels(t, s, "partner", "root"), levels(t, s, "other")...)...)
			for _, secret := range []string{"c-cluster-ca-cert", "c-clients-ca-cert"} {
				s.secrets[secret].Data["partner.crt"], s.secrets[secret].Data["ca-2027-11-22T12-00-00Z.crt"] = added, added
			}
			g.Expect(s.converge(s.check)).To(Succeed())
			for _, entry := range []string{"cluster-ca.crt", "clients-ca.crt"} {
				g.Expect(string(s.secrets["c-trustbundle"].Data[entry])).To(ContainSubstring(string(added)))
			}
			g.Expect(string(s.last.ClusterCA.TrustPEM)).To(ContainSubstring(string(added)))
			g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
			g.Expect(s.secrets["c-clients-ca-cert"].Data).To(HaveKeyWithValue("partner.crt", added))
			g.Expect(s.restarts).To(HaveLen(restarts))
			if !generated {
				return
			}
			data := s.secrets["c-clients-ca-cert"].Data
			store, err := pkcs12.DecodeTrustStore(data["ca.p12"], string(data["ca.password"]))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(encodeCerts(store...))).To(ContainSubstring(string(added)))
		})
	}
}

// TestAChainEndsWhereNoIssuerIsKnown checks chains of certificates that are not in order, or not complete.
func TestAChainEndsWhereNoIssuerIsKnown(t *testing.T) {
	s := newSim(1)
	cas := levels(t, s, "issuing", "intermediate", "root")
	other := levels(t, s, "other", "root")
	for name, c := range map[string]struct {
		signer  *issued
		trusted []*issued
		want    []*issued
	}{
		"all":             {cas[0], cas, cas},
		"in other order":  {cas[0], []*issued{other[0], other[1], cas[2], cas[1], cas[0]}, cas},
		"no root":         {cas[0], cas[:2], cas[:2]},
		"no intermediate": {cas[0], []*issued{cas[0], cas[2]}, cas[:1]},
		"a root":          {cas[2], []*issued{cas[2], other[1]}, cas[2:]},
	} {
		i := issuer{signer: pair{cert: c.signer.cert}}
		for _, ca := range c.trusted {
			i.trusted = append(i.trusted, ca.cert)
		}
		NewWithT(t).Expect(encodeCerts(i.chain()...)).To(Equal(pemOf(c.want...)), name)
	}
}
