package pki

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// A CA that another program made keeps the identifier of its key in each certificate that is made of this key: Java and OpenSSL reject what
// names another one.
func TestTheIdentifierOfACAStays(t *testing.T) {
	for name, tc := range map[string]struct {
		ca     string
		change func(*sim)
	}{
		"renewed on request":     {"c-cluster-ca-cert", func(s *sim) { s.annotate("c-cluster-ca-cert", v1.AnnotationForceRenew) }},
		"renewed for it expires": {"c-cluster-ca-cert", func(s *sim) { s.now = s.now.AddDate(0, 0, 340) }},
		"certificate deleted":    {"c-cluster-ca-cert", func(s *sim) { delete(s.secrets, "c-cluster-ca-cert") }},
		"and the trust bundle too": {"c-cluster-ca-cert", func(s *sim) {
			delete(s.secrets, "c-cluster-ca-cert")
			delete(s.secrets, "c-trustbundle")
		}},
		"clients CA renewed":             {"c-clients-ca-cert", func(s *sim) { s.annotate("c-clients-ca-cert", v1.AnnotationForceRenew) }},
		"certificate of clients deleted": {"c-clients-ca-cert", func(s *sim) { delete(s.secrets, "c-clients-ca-cert") }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t, func(s *sim) { g.Expect(s.adopt()).To(Succeed()) })
			before := cert(t, s.secrets[tc.ca], "ca.crt")
			tc.change(s)
			clear(s.verified)
			g.Expect(s.converge(s.check)).To(Succeed())
			after := cert(t, s.secrets[tc.ca], "ca.crt")
			g.Expect(after.Raw).NotTo(Equal(before.Raw))
			g.Expect(after.SubjectKeyId).To(Equal([]byte{1, 2, 3}))
			g.Expect(after.RawSubject).To(Equal(before.RawSubject))
			g.Expect(s.restarts).To(HaveEach(1))
		})
	}
}

// A former key signs until all nodes trust the new one, and its certificate may have to be renewed in that time.
func TestTheIdentifierOfAFormerCAStays(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) {
		g.Expect(s.adopt()).To(Succeed())
		s.in.ClusterCA.ReplaceKey = true
	})
	s.now = s.now.AddDate(0, 0, 340)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	s.now = s.now.AddDate(0, 0, 23)
	clear(s.verified)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Distributing))
	g.Expect(cert(t, s.secrets["c-p-0"], "c-p-0.crt").AuthorityKeyId).To(Equal([]byte{1, 2, 3}))
	g.Expect(s.converge(s.check)).To(Succeed())
}

// A certificate with another identifier, which somebody put in the place of that of a generated CA, is made again before it signs anything.
func TestAnotherIdentifierOfAGeneratedCA(t *testing.T) {
	for _, ca := range []string{"c-cluster-ca", "c-clients-ca"} {
		for _, annotation := range []string{"other", v1.AnnotationForceReplace} {
			t.Run(ca+" "+annotation, func(t *testing.T) {
				g := NewWithT(t)
				s := running(t)
				before := cert(t, s.secrets[ca+"-cert"], "ca.crt").SubjectKeyId
				certify(s, ca, identify)
				s.annotate(ca, annotation)
				g.Expect(s.pass(1000, s.checkNodes)).To(Succeed())
				g.Expect(cert(t, s.secrets[ca+"-cert"], "ca.crt").SubjectKeyId).To(Equal(before))
				g.Expect(s.converge(s.check)).To(Succeed())
				g.Expect(s.checkClean()).To(Succeed())
			})
		}
	}
}

// Clients whose certificates name the former identifier stay trusted if the user keeps the former certificate of a clients CA.
func TestBothIdentifiersOfASuppliedClientsCA(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	old := s.secrets["c-clients-ca-cert"].Data["ca.crt"]
	certify(s, "c-clients-ca", identify)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.ClientsCAError).To(MatchError(ContainSubstring("or keep the former one as entry " + formerEntry)))
	g.Expect(string(s.secrets["c-trustbundle"].Data["clients-ca.crt"])).To(Equal(string(old)))
	s.secrets["c-clients-ca-cert"].Data[formerEntry] = old
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.last.ClientsCAError).NotTo(HaveOccurred())
	g.Expect(string(s.secrets["c-trustbundle"].Data["clients-ca.crt"])).To(ContainSubstring(string(old)))
	delete(s.secrets["c-clients-ca-cert"].Data, formerEntry)
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.last.ClientsCAError).NotTo(HaveOccurred())
}
