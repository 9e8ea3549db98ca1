package pki

import (
	"crypto/x509"
	"testing"

	. "github.com/onsi/gomega"
)

// A node that is not restarted for long keeps a replacement of the key from ending, and with it the former certificate in use.
func TestTheFormerCADoesNotExpireWhileItsKeyIsReplaced(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) { s.in.ClusterCA.ReplaceKey = true })
	s.now = s.now.AddDate(0, 0, 340)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Distributing))
	ends := s.now.AddDate(0, 0, 25)
	g.Expect(s.last.ClusterCA.Validity.Expires).To(Equal(ends))
	g.Expect(CAValidity(s.secrets[ClusterCACertSecret("c")], CAConfig{Generate: true}).Expires).To(Equal(ends))

	// Only the first node is restarted.
	rollFirst := func() {
		if outdated := s.outdated(); len(outdated) > 0 && outdated[0] == "c-p-0" {
			g.Expect(s.roll(func(int) int { return 0 })).To(BeTrue())
		}
	}
	rollFirst()
	ca := s.secrets[ClusterCACertSecret("c")]
	for entry, data := range ca.Data {
		if isRetained(entry) {
			ca.Data["old.crt"] = data // a copy that its user made stays
		}
	}
	s.now = s.now.AddDate(0, 0, 23)
	clear(s.verified)
	for range 3 {
		g.Expect(s.pass(1000, s.check)).To(Succeed())
		rollFirst()
		g.Expect(s.check()).To(Succeed())
	}
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Distributing))
	g.Expect(s.last.ClusterCA.Validity.Expires).To(BeTemporally(">", s.now.AddDate(0, 0, 300)))
	for _, problem := range s.last.Problems {
		g.Expect(problem.Message).NotTo(ContainSubstring("former certificate"))
	}
	before := s.version
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.version).To(Equal(before), "it is renewed once")
	g.Expect(s.converge(s.check)).To(Succeed())
	s.now = ends.AddDate(0, 0, 1)
	clear(s.verified)
	g.Expect(s.check()).To(Succeed())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
}

// TestTheCADoesNotExpireWhileItsKeyIsReplaced checks a replacement that a node holds up for as long as the new certificate is valid: that
// certificate is renewed, because all other nodes depend on it.
func TestTheCADoesNotExpireWhileItsKeyIsReplaced(t *testing.T) {
	for _, phase := range []Phase{Distributing, Switching} {
		t.Run(string(phase), func(t *testing.T) {
			g := NewWithT(t)
			s := running(t, func(s *sim) { s.in.ClusterCA.ReplaceKey = true })
			s.now = s.now.AddDate(0, 0, 340)
			g.Expect(s.pass(1000, s.check)).To(Succeed())
			for s.last.ClusterCA.Phase != phase {
				s.roll(func(int) int { return 0 })
				g.Expect(s.pass(1000, s.check)).To(Succeed())
			}
			unchecked := func() error { return nil } // the node that holds it up serves a certificate that expired
			ca := func() *x509.Certificate { return cert(t, s.secrets[ClusterCACertSecret("c")], entryCert) }
			before := ca()
			s.now = before.NotAfter.AddDate(0, 0, -2)
			g.Expect(s.pass(1000, unchecked)).To(Succeed())
			g.Expect(ca().NotAfter).To(BeTemporally(">", s.now.AddDate(0, 0, 300)))
			g.Expect(ca().PublicKey).To(Equal(before.PublicKey))
			g.Expect(s.last.ClusterCA.Phase).To(Equal(phase))
			g.Expect(s.pass(1000, unchecked)).To(Succeed())
			g.Expect(s.last.ClusterCA.Operation).To(Equal(None), "it is renewed once")

			g.Expect(s.converge(unchecked)).To(Succeed())
			s.now = before.NotAfter.AddDate(0, 0, 1)
			clear(s.verified)
			g.Expect(s.check()).To(Succeed())
			g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
		})
	}
}

func TestAFormerCAThatCannotBeRenewedIsReported(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) { s.in.ClusterCA.ReplaceKey = true })
	s.now = s.now.AddDate(0, 0, 340)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	for s.last.ClusterCA.Phase == Distributing {
		s.roll(func(int) int { return 0 })
		g.Expect(s.pass(1000, s.check)).To(Succeed())
	}
	g.Expect(s.last.Problems).To(BeEmpty())
	s.now = s.now.AddDate(0, 0, 23) // nodes serve it until their next restart
	g.Expect(s.pass(1000, func() error { return nil })).To(Succeed())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Switching))
	g.Expect(s.last.Problems).To(ConsistOf(And(HaveField("Reason", ReasonCAExpiring),
		HaveField("Message", ContainSubstring("the former certificate of the Cluster CA, which is in use until all nodes were restarted")))))
}

// A certificate that is valid for longer than its CA hides that this expires. One that lives as long is not made again and again.
func TestNoCertificateIsValidForLongerThanItsCA(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	ends := cert(t, s.secrets[ClusterCACertSecret("c")], entryCert).NotAfter
	s.now = ends.AddDate(0, 0, -10)
	s.in.Nodes = append(s.in.Nodes, node(7))
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(cert(t, s.secrets["c-p-7"], "c-p-7.crt").NotAfter).To(Equal(ends))
	before := s.version
	s.now = s.now.AddDate(0, 0, 8)
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.version).To(Equal(before))
}
