package pki

import (
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// While a Kubernetes cluster is away, certificates of the nodes that are left are made again, although the CA's Secret has a certificate of
// another key: a former one that clients may still need, or one that a user added.
func TestCertificatesAreMadeWhileAClusterIsAway(t *testing.T) {
	for name, prepare := range map[string]func(*sim){
		"a user's own CA, and its former one": func(s *sim) {
			s.in.ClusterCA.Generate = false
			exchangeAndKeep(s, "1")
		},
		"and the former key": func(s *sim) {
			s.in.ClusterCA.Generate = false
			key := s.secrets["c-cluster-ca"].Data["ca.key"]
			exchangeAndKeep(s, "1")
			s.secrets["c-cluster-ca"].Data[formerKey] = key
		},
		"a user's entry": func(s *sim) {
			s.secrets["c-cluster-ca-cert"].Data["old.crt"] = pemOf(levels(t, s, "partner", "root")...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t, func(s *sim) { s.in.ClusterCA.ValidityDays = 1000 })
			s.in.ClusterCA.ValidityDays = 100 // of certificates of nodes
			prepare(s)
			g.Expect(s.converge(s.check)).To(Succeed())
			s.in.Nodes[0].SANs = append(s.in.Nodes[0].SANs, "new.example.com")
			s.in.Nodes = append(s.in.Nodes, node(8))
			ca := cert(t, s.secrets["c-cluster-ca-cert"], "ca.crt")
			for _, days := range []int{0, 75} {
				s.now = s.now.AddDate(0, 0, days)
				clear(s.verified)
				before := cert(t, s.secrets["c-p-0"], "c-p-0.crt")
				g.Expect(s.pass(1000, s.checkNodes, "pods")).To(Succeed())
				g.Expect(s.last.Problems).To(BeEmpty())
				after := cert(t, s.secrets["c-p-0"], "c-p-0.crt")
				g.Expect(after.Raw).NotTo(Equal(before.Raw))
				g.Expect(after.DNSNames).To(ContainElement("new.example.com"))
				g.Expect(signed(ca, after)).To(BeTrue())
				g.Expect(s.declared["c-p-0"]).To(HaveKeyWithValue(core.AnnotationClusterCACertGeneration,
					strconv.Itoa(s.last.ClusterCA.CertGeneration)))
				for s.roll(func(int) int { return 0 }) {
					g.Expect(s.check()).To(Succeed())
				}
			}
		})
	}
}

// A certificate that a user added to those of a generated CA keeps nothing from being renewed or replaced while a Kubernetes cluster is
// away; but it counts as soon as nodes depend on it.
func TestAUsersEntryIsNoReplacement(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	s.secrets["c-cluster-ca-cert"].Data["old.crt"] = pemOf(levels(t, s, "partner", "root")...)
	g.Expect(s.converge(s.check)).To(Succeed())
	s.annotate("c-cluster-ca-cert", v1.AnnotationForceRenew)
	g.Expect(s.pass(1000, s.check, "pods")).To(Succeed())
	g.Expect(s.last.ClusterCA).To(And(HaveField("Operation", RenewCert), HaveField("Phase", Settled)))
	g.Expect(s.converge(s.check)).To(Succeed())

	s.secrets["c-cluster-ca-cert"].Data["old.crt"] = s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
	s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
	for range 2 {
		g.Expect(s.pass(1000, s.check, "pods")).To(Succeed())
		g.Expect(s.last.ClusterCA.Phase).To(Equal(Distributing))
	}
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
}
