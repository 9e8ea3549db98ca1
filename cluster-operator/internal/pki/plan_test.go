package pki

import (
	"bytes"
	"crypto/ecdsa"
	cryptorand "crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"software.sslmate.com/src/go-pkcs12"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func running(t *testing.T, change ...func(*sim)) *sim {
	t.Helper()
	s := newSim(3)
	for _, c := range change {
		c(s)
	}
	NewWithT(t).Expect(s.converge(s.check)).To(Succeed())
	return s
}

func cert(t *testing.T, secret *corev1.Secret, entry string) *x509.Certificate {
	t.Helper()
	certs, err := parseCerts(secret.Data[entry])
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s in Secret %s", entry, secret.Name)
	return certs[0]
}

// TestNewCluster checks that a new cluster gets the Secrets that Strimzi would make.
func TestNewCluster(t *testing.T) {
	g := NewWithT(t)
	s := newSim(1)
	s.in.NewKey = nil // generate keys as in production
	s.in.PKCS12 = true
	s.in.Labels = map[string]string{"app.kubernetes.io/instance": "c", "strimzi.io/kind": "not mine"}
	s.in.Nodes[0].Listeners = true
	s.in.Listeners = []Listener{{Name: "external", CertEntry: "external-9094.crt", KeyEntry: "external-9094.key",
		Wanted: &Pair{[]byte("x"), []byte("y")}}}
	r, err := Plan(s.read())
	g.Expect(err).NotTo(HaveOccurred())

	var order []string
	secrets := map[string]*corev1.Secret{}
	for _, d := range append(append(r.CAs, r.TrustBundle), r.Leaves...) {
		g.Expect(d.Change).To(Equal(Create))
		g.Expect(d.Namespace).To(Equal("kafka"))
		g.Expect(d.OwnerReferences).To(ConsistOf(HaveField("UID", BeEquivalentTo("u"))))
		g.Expect(d.Labels).To(And(HaveKeyWithValue("strimzi.io/kind", "Kafka"), HaveKeyWithValue("strimzi.io/cluster", "c"),
			HaveKeyWithValue("app.kubernetes.io/instance", "c")))
		order = append(order, d.Name)
		secrets[d.Name] = d.Secret
	}
	g.Expect(order).To(Equal([]string{
		"c-cluster-ca", "c-cluster-ca-cert", "c-clients-ca", "c-clients-ca-cert", "c-trustbundle", "c-cluster-operator-certs",
		"c-entity-topic-operator-certs", "c-p-0",
	}))
	g.Expect(secrets["c-cluster-ca"].Annotations).To(Equal(map[string]string{"strimzi.io/ca-key-generation": "0",
		"strimzi.io/owner-self": "Secret/kafka/c-cluster-ca"}))
	g.Expect(secrets["c-clients-ca-cert"].Annotations).To(Equal(map[string]string{"strimzi.io/ca-cert-generation": "0",
		"strimzi.io/owner-self": "Secret/kafka/c-clients-ca-cert", AnnotationStore: secrets["c-clients-ca-cert"].Annotations[AnnotationStore]}))
	g.Expect(secrets["c-p-0"].Annotations).To(Equal(map[string]string{"strimzi.io/cluster-ca-cert-generation": "0",
		"strimzi.io/owner-self": "Secret/kafka/c-p-0"}))
	g.Expect(secrets["c-p-0"].Labels).
		To(And(HaveKeyWithValue("strimzi.io/name", "c-kafka"), HaveKeyWithValue("strimzi.io/component-type", "kafka")))
	g.Expect(secrets["c-trustbundle"].Data).To(And(HaveKey("cluster-ca.crt"), HaveKey("clients-ca.crt")))

	ca := cert(t, secrets["c-cluster-ca-cert"], "ca.crt")
	g.Expect(ca.Subject.String()).To(Equal("CN=cluster-ca v0,O=io.strimzi"))
	g.Expect([]any{ca.IsCA, ca.MaxPathLen, ca.MaxPathLenZero, ca.KeyUsage, ca.SignatureAlgorithm, ca.PublicKey.(*rsa.PublicKey).N.BitLen()}).
		To(Equal([]any{true, 0, true, x509.KeyUsageCertSign | x509.KeyUsageCRLSign, x509.SHA512WithRSA, 4096}))
	id := sha1.Sum(x509.MarshalPKCS1PublicKey(ca.PublicKey.(*rsa.PublicKey)))
	g.Expect(ca.SubjectKeyId).To(Equal(id[:]), "as that of OpenSSL")
	g.Expect(ca.NotAfter).To(Equal(s.now.AddDate(0, 0, 365)))
	g.Expect(cert(t, secrets["c-clients-ca-cert"], "ca.crt").Subject.String()).To(Equal("CN=clients-ca v0,O=io.strimzi"))

	leaf := cert(t, secrets["c-p-0"], "c-p-0.crt")
	g.Expect(leaf.Subject.String()).To(Equal("CN=c-kafka,O=io.strimzi"))
	g.Expect(leaf.PublicKey).To(BeAssignableToTypeOf(&ecdsa.PublicKey{}))
	g.Expect(sansOf(leaf)).To(Equal([]string{"10.0.0.0", "c-kafka-bootstrap", "c-p-0.c-kafka-brokers.kafka.svc"}))
	g.Expect(leaf.ExtKeyUsage).To(BeEmpty())
	g.Expect(string(secrets["c-p-0"].Data["c-p-0.key"])).To(HavePrefix("-----BEGIN PRIVATE KEY-----")) // Kafka requires PKCS #8
	g.Expect(secrets["c-p-0"].Data).To(HaveKeyWithValue("external-9094.crt", []byte("x")))
	g.Expect(cert(t, secrets["c-cluster-operator-certs"], "cluster-operator.crt").Subject.String()).
		To(Equal("CN=cluster-operator,O=io.strimzi"))
	g.Expect(cert(t, secrets["c-entity-topic-operator-certs"], "entity-operator.crt").Subject.String()).
		To(Equal("CN=c-entity-topic-operator,O=io.strimzi"))
	g.Expect(verify(r.ClusterCA.TrustPEM, secrets["c-p-0"].Data["c-p-0.crt"], s.now)).To(Succeed())

	store, err := pkcs12.DecodeTrustStore(secrets["c-cluster-ca-cert"].Data["ca.p12"],
		string(secrets["c-cluster-ca-cert"].Data["ca.password"]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(store).To(HaveLen(1))
	g.Expect(store[0].Equal(ca)).To(BeTrue())

	g.Expect(r.PodAnnotations).To(HaveKeyWithValue("c-p-0", map[string]string{
		"strimzi.io/cluster-ca-cert-generation": "0", "strimzi.io/cluster-ca-key-generation": "0", "strimzi.io/clients-ca-cert-generation": "0",
		"strimzi.io/server-cert-hash": thumbprint(leaf),
	}))
	g.Expect(r.Next).To(Equal(s.now.AddDate(0, 0, 335)))
	g.Expect(r.Problems).To(BeEmpty())
}

// TestNothingToDo checks that a pass over a converged cluster changes nothing, byte for byte.
func TestNothingToDo(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) { s.in.PKCS12 = true })
	s.in.Rand = strings.NewReader("") // nothing random is needed
	r, err := Plan(s.read())
	g.Expect(err).NotTo(HaveOccurred())
	for _, d := range append(append(r.CAs, r.TrustBundle), r.Leaves...) {
		g.Expect(d.Change).To(Equal(Keep), d.Name)
	}
	g.Expect(r.Decisions).To(BeEmpty())
}

// TestLostKey checks that a missing or unreadable key of a CA is recreated only if nothing depends on it, or if a user requests that.
func TestLostKey(t *testing.T) {
	for name, tc := range map[string]struct {
		lose    func(*sim)
		unknown []string
		reason  string
		wantErr string
	}{
		"key missing": {func(s *sim) { delete(s.secrets, "c-cluster-ca") }, nil, ReasonCAKeyLost, "create it without data"},
		"key missing, and pods unknown": {func(s *sim) { delete(s.secrets, "c-cluster-ca") }, []string{"pods"}, ReasonCAKeyLost,
			"while Secret c-cluster-ca-cert, Secret c-trustbundle, "},
		"both keys missing": {func(s *sim) { delete(s.secrets, "c-cluster-ca"); delete(s.secrets, "c-clients-ca") }, nil, ReasonCAKeyLost,
			"Clients CA: Secret kafka/c-clients-ca is missing"},
		"Secret emptied": {func(s *sim) { s.secrets["c-cluster-ca"].Data = nil }, nil, ReasonCAKeyLost, "holds no ca.key"},
		"key garbage": {func(s *sim) { s.secrets["c-cluster-ca"].Data["ca.key"] = []byte("x") }, nil, ReasonCAKeyLost,
			"annotate it with strimzi.io/force-replace=true"},
		"key and certificate missing": {func(s *sim) { delete(s.secrets, "c-cluster-ca"); delete(s.secrets, "c-cluster-ca-cert") }, nil,
			ReasonCAKeyLost, "pod c-p-0"},
		"clients key and all that is trusted": {func(s *sim) {
			delete(s.secrets, "c-clients-ca")
			delete(s.secrets, "c-clients-ca-cert")
			delete(s.secrets, "c-trustbundle")
		}, nil, ReasonCAKeyLost, "pod c-p-0"},
		"clients key, without nodes": {func(s *sim) { keepOnly(s, "c-trustbundle", "c-cluster-ca", "c-cluster-ca-cert", "c-clients-ca-cert") },
			nil, ReasonCAKeyLost, "Clients CA: Secret kafka/c-clients-ca is missing"},
		"clients key of another CA, and the trust bundle": {func(s *sim) {
			s.secrets["c-clients-ca"].Data["ca.key"] = s.secrets["c-cluster-ca"].Data["ca.key"]
			delete(s.secrets, "c-trustbundle")
		}, nil, ReasonCAKeyMismatch, "Clients CA: ca.key in Secret kafka/c-clients-ca does not match"},
		"all but pods":                 {func(s *sim) { clear(s.secrets) }, nil, ReasonCAKeyLost, "pod c-p-0"},
		"all but what is declared":     {func(s *sim) { clear(s.secrets); clear(s.pods) }, nil, ReasonCAKeyLost, "pod c-p-0"},
		"all but a node's certificate": {func(s *sim) { keepOnly(s, "c-p-1") }, nil, ReasonCAKeyLost, "the certificate in Secret c-p-1"},
		"all but the trust bundle":     {func(s *sim) { keepOnly(s, "c-trustbundle") }, nil, ReasonCAKeyLost, "Secret c-trustbundle"},
		"all but the CA's certificate": {func(s *sim) { keepOnly(s, "c-cluster-ca-cert") }, nil, ReasonCAKeyLost, "Secret c-cluster-ca-cert"},
		"all, and pods unknown":        {func(s *sim) { keepOnly(s, "") }, []string{"pods"}, ReasonUnknown, "it can't read some pods"},
		"all, and one node unknown":    {func(s *sim) { keepOnly(s, "") }, []string{"c-p-1"}, ReasonUnknown, "it can't read Secret c-p-1"},
		"key unknown":                  {func(*sim) {}, []string{"c-cluster-ca"}, ReasonUnknown, "Secret kafka/c-cluster-ca can't be read"},
		"certificate unknown":          {func(*sim) {}, []string{"c-clients-ca-cert"}, ReasonUnknown, "timeout"},
		"trust bundle unknown":         {func(*sim) {}, []string{"c-trustbundle"}, ReasonUnknown, "timeout"},
		"key of another CA": {func(s *sim) { s.secrets["c-cluster-ca"].Data["ca.key"] = s.secrets["c-clients-ca"].Data["ca.key"] },
			nil, ReasonCAKeyMismatch, "Restore both Secrets from one backup"},
		"a Secret of somebody else": {func(s *sim) { s.secrets["c-cluster-ca"].Labels = nil }, nil, ReasonForeign,
			"does not belong to Kafka c"},
		"a Secret of another central cluster": {func(s *sim) {
			s.secrets["c-trustbundle"].Annotations = map[string]string{"strimzi.io/owner-id": "a"}
		}, nil, ReasonForeign, "strimzi.io/owner-id"},
		"a node's name taken": {func(s *sim) { s.secrets["c-p-1"].Labels["strimzi.io/cluster"] = "d" }, nil, ReasonForeign,
			"Secret kafka/c-p-1 belongs to cluster d"},
		"the trust bundle's name taken": {func(s *sim) { s.secrets["c-trustbundle"].Labels = nil }, nil, ReasonForeign,
			"Secret kafka/c-trustbundle exists"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t)
			tc.lose(s)
			r, err := Plan(s.read(tc.unknown...))
			var e *Error
			g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
			g.Expect(e.Reason).To(Equal(tc.reason), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
			g.Expect(r).To(Equal(Result{}))
		})
	}
}

func keepOnly(s *sim, names ...string) {
	maps.DeleteFunc(s.secrets, func(n string, _ *corev1.Secret) bool { return !slices.Contains(names, n) })
	clear(s.pods)
	clear(s.declared)
}

// TestUnusableClientsCA checks that nodes keep valid certificates, and the trust that they have, whatever becomes of the clients CA. Its
// Secrets stay as they are until its user fixes it.
func TestUnusableClientsCA(t *testing.T) {
	for name, tc := range map[string]struct {
		lose   func(*sim)
		reason string
		rolls  int // when a new key is asked for
	}{
		"key missing": {func(s *sim) { delete(s.secrets, "c-clients-ca") }, ReasonCAKeyLost, 2},
		"key garbage": {func(s *sim) { s.secrets["c-clients-ca"].Data["ca.key"] = []byte("x") }, ReasonCAKeyLost, 2},
		"key and certificate missing": {func(s *sim) { delete(s.secrets, "c-clients-ca"); delete(s.secrets, "c-clients-ca-cert") },
			ReasonCAKeyLost, 2},
		"key and trust bundle missing": {func(s *sim) { delete(s.secrets, "c-clients-ca"); delete(s.secrets, "c-trustbundle") },
			ReasonCAKeyLost, 2},
		"all pods gone": {func(s *sim) { delete(s.secrets, "c-clients-ca"); clear(s.pods); clear(s.declared) }, ReasonCAKeyLost, 2},
		"key of another CA": {func(s *sim) { s.secrets["c-clients-ca"].Data["ca.key"] = s.secrets["c-cluster-ca"].Data["ca.key"] },
			ReasonCAKeyMismatch, 2},
		"somebody else's": {func(s *sim) { s.secrets["c-clients-ca-cert"].Labels["strimzi.io/cluster"] = "d" }, ReasonForeign, 0},
		"supplied, and a Secret missing": {func(s *sim) { s.in.ClientsCA.Generate = false; delete(s.secrets, "c-clients-ca") },
			ReasonSuppliedCA, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t)
			trusted, served := s.secrets["c-trustbundle"].Data["clients-ca.crt"], s.secrets["c-p-0"].Data["c-p-0.crt"]
			tc.lose(s)
			lost := map[string]*corev1.Secret{"c-clients-ca": s.secrets["c-clients-ca"], "c-clients-ca-cert": s.secrets["c-clients-ca-cert"]}
			verify := func() error { return errors.Join(s.checkNodes(), s.checkClients()) }
			g.Expect(s.converge(verify)).To(Succeed())
			g.Expect(s.restarts).To(BeEmpty())
			g.Expect(s.last.ClientsCAError).To(HaveField("Reason", tc.reason))

			s.now = s.now.AddDate(0, 0, 340) // the cluster CA and the certificates of nodes are due
			clear(s.verified)
			g.Expect(s.converge(verify)).To(Succeed())
			g.Expect(s.last.ClientsCAError).To(HaveField("Reason", tc.reason))
			g.Expect(s.secrets["c-p-0"].Data["c-p-0.crt"]).NotTo(Equal(served))
			g.Expect(s.restarts).To(HaveEach(1))
			g.Expect(s.secrets["c-trustbundle"].Data["clients-ca.crt"]).To(Equal(trusted))
			for name, secret := range lost {
				g.Expect(s.secrets[name]).To(BeIdenticalTo(secret), name)
			}
			if tc.rolls == 0 {
				return
			}
			if s.secrets["c-clients-ca"] == nil {
				s.secrets["c-clients-ca"] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
					Name: "c-clients-ca", Labels: map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/cluster": "c"},
					Annotations: map[string]string{}}}
			}
			s.annotate("c-clients-ca", v1.AnnotationForceReplace)
			g.Expect(s.converge(verify)).To(Succeed())
			g.Expect(s.check()).To(Succeed())
			g.Expect(s.last.ClientsCAError).NotTo(HaveOccurred())
			g.Expect(s.restarts).To(HaveEach(tc.rolls))
		})
	}
}

// TestRecovery checks the recovery from lost Secrets, with and without a user's help: nodes trust each other throughout.
func TestRecovery(t *testing.T) {
	asked := func(s *sim) {
		s.secrets["c-cluster-ca"] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Name: "c-cluster-ca", Labels: map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/cluster": "c"},
			Annotations: map[string]string{v1.AnnotationForceReplace: "true"},
		}}
	}
	for name, tc := range map[string]struct {
		lose  func(*sim)
		rolls int
	}{
		"key lost, and a new one asked for":       {func(s *sim) { asked(s) }, 3},
		"all of the CA lost, and a new one asked": {func(s *sim) { asked(s); delete(s.secrets, "c-cluster-ca-cert") }, 3},
		"and the trust bundle too": {func(s *sim) {
			asked(s)
			delete(s.secrets, "c-cluster-ca-cert")
			delete(s.secrets, "c-trustbundle")
		}, 3},
		"key of another CA, and a new one asked": {func(s *sim) {
			s.secrets["c-cluster-ca"].Data["ca.key"] = s.secrets["c-clients-ca"].Data["ca.key"]
			s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
		}, 3},
		"certificate of the CA deleted":         {func(s *sim) { delete(s.secrets, "c-cluster-ca-cert") }, 1},
		"certificate of the CA garbage":         {func(s *sim) { s.secrets["c-cluster-ca-cert"].Data["ca.crt"] = []byte("x") }, 1},
		"certificate of the clients CA deleted": {func(s *sim) { delete(s.secrets, "c-clients-ca-cert") }, 1},
		"trust bundle deleted":                  {func(s *sim) { delete(s.secrets, "c-trustbundle") }, 0},
		"generations deleted": {func(s *sim) {
			s.secrets["c-cluster-ca"].Annotations = nil
			s.secrets["c-cluster-ca-cert"].Annotations = nil
		}, 0},
		"generations of certificates deleted": {func(s *sim) { s.secrets["c-p-0"].Annotations = nil; s.secrets["c-p-1"].Annotations = nil },
			0},
		"key lost, a new one asked for, and generations of certificates deleted": {func(s *sim) {
			asked(s)
			for _, name := range []string{"c-p-0", "c-p-1", "c-p-2"} {
				s.secrets[name].Annotations = nil
			}
		}, 3},
		"replaced on request, and generations of certificates deleted": {func(s *sim) {
			s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
			_ = s.pass(1000, s.check)
			for _, name := range []string{"c-p-0", "c-p-1", "c-p-2"} {
				s.secrets[name].Annotations = nil
			}
		}, 3},
		"labels of a CA edited":                    {func(s *sim) { s.secrets["c-cluster-ca"].Labels["strimzi.io/name"] = "x" }, 0},
		"PKCS #12 stores":                          {func(s *sim) { s.in.PKCS12 = true }, 0},
		"the operator's certificate deleted":       {func(s *sim) { delete(s.secrets, "c-cluster-operator-certs") }, 0},
		"another CA in the Secrets":                {func(s *sim) { exchange(s, "") }, 2},
		"another CA in the Secrets, from a backup": {func(s *sim) { exchange(s, "7") }, 2},
		"another CA in the Secrets, with another generation of its certificate": {func(s *sim) { exchange(s, ""); announce(s, "7") }, 2},
		"renewed":                 {func(s *sim) { s.annotate("c-cluster-ca-cert", v1.AnnotationForceRenew) }, 1},
		"replaced on request":     {func(s *sim) { s.annotate("c-cluster-ca", v1.AnnotationForceReplace) }, 3},
		"renewed for it expires":  {func(s *sim) { s.now = s.now.AddDate(0, 0, 340) }, 1},
		"replaced for it expires": {func(s *sim) { s.in.ClusterCA.ReplaceKey = true; s.now = s.now.AddDate(0, 0, 340) }, 2},
		"clients CA renewed":      {func(s *sim) { s.annotate("c-clients-ca-cert", v1.AnnotationForceRenew) }, 1},
		"clients CA replaced":     {func(s *sim) { s.annotate("c-clients-ca", v1.AnnotationForceReplace) }, 1},
		"replaced while one that was before is not": {func(s *sim) {
			s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
			_ = s.pass(1, s.check)
			s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t)
			tc.lose(s)
			clear(s.verified)
			// Clients read what the user broke until the operator repairs it; nodes do not.
			trust := s.check
			if s.check() != nil {
				trust = s.checkNodes
			}
			g.Expect(s.converge(trust)).To(Succeed())
			g.Expect(s.check()).To(Succeed())
			g.Expect(s.checkClean()).To(Succeed())
			for _, n := range s.in.Nodes {
				g.Expect(s.restarts[n.PodName]).To(Equal(tc.rolls), "restarts of %s", n.PodName)
			}
		})
	}
}

// TestAllSecretsFromAnOldBackup checks Secrets of which all were restored from a backup that is older than the last replacement of the key.
// Nodes would move to a CA that those which run do not trust, so they stay as they are until the user has found the key or wants a new one.
func TestAllSecretsFromAnOldBackup(t *testing.T) {
	for name, generated := range map[string]bool{"generated": true, "the user's": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t)
			s.in.ClusterCA.Generate = generated
			backup := map[string]*corev1.Secret{}
			for name, secret := range s.secrets {
				backup[name] = secret.DeepCopy()
			}
			if generated {
				s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
			} else {
				exchangeAndKeep(s, "1")
			}
			g.Expect(s.converge(s.check)).To(Succeed())
			lost := s.secrets
			restarts, declared := maps.Clone(s.restarts), maps.Clone(s.declared)
			s.secrets = backup
			for _, unknown := range [][]string{nil, {"c-p-1"}} {
				err := s.pass(1000, s.check, unknown...)
				g.Expect(err).To(MatchError(ContainSubstring("pods run with generation 1 of the key, and Secret kafka/c-cluster-ca has generation 0")))
				g.Expect(s.declared).To(Equal(declared))
			}
			s.secrets = maps.Clone(lost)
			g.Expect(s.converge(s.check)).To(Succeed())
			g.Expect(s.restarts).To(Equal(restarts))

			s.secrets = backup
			if generated {
				s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
			} else {
				s.secrets["c-cluster-ca"].Annotations[v1.AnnotationCAKeyGeneration] = "2"
				s.secrets["c-cluster-ca-cert"].Annotations[v1.AnnotationCACertGeneration] = "2"
			}
			g.Expect(s.converge(func() error { return nil })).To(Succeed())
			g.Expect(s.check()).To(Succeed())
		})
	}
}

// TestAGenerationThatIsSetBack checks that an annotation alone is no other key.
func TestAGenerationThatIsSetBack(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
	g.Expect(s.converge(s.check)).To(Succeed())
	s.secrets["c-cluster-ca"].Annotations[v1.AnnotationCAKeyGeneration] = "0"
	g.Expect(s.converge(s.check)).To(Succeed())
}

// exchange replaces the CA in the Secrets by another one, with or without another generation.
func exchange(s *sim, generation string) {
	other := newSim(1)
	if err := other.converge(func() error { return nil }); err != nil {
		panic(err)
	}
	for _, name := range []string{"c-cluster-ca", "c-cluster-ca-cert"} {
		s.secrets[name].Data = other.secrets[name].Data
	}
	if generation != "" {
		s.secrets["c-cluster-ca"].Annotations[v1.AnnotationCAKeyGeneration] = generation
		s.secrets["c-cluster-ca-cert"].Annotations[v1.AnnotationCACertGeneration] = generation
	}
}

// exchangeAndKeep keeps the certificate of the former CA in the Secret, as documented for a user's own CA.
func exchangeAndKeep(s *sim, generation string) {
	former := s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
	exchange(s, generation)
	s.secrets["c-cluster-ca-cert"].Data[formerEntry] = former
}

const (
	formerEntry = "ca-2027-11-22T12-00-00Z.crt"
	formerKey   = "ca-2027-11-22T12-00-00Z.key"
)

// announce sets the generation of the certificate alone, as if it were another one of the same key.
func announce(s *sim, generation string) {
	s.secrets["c-cluster-ca-cert"].Annotations[v1.AnnotationCACertGeneration] = generation
}

// TestAClockThatWasAhead checks that certificates that were made while the operator's clock was ahead, and are not valid yet, are made
// again at once, whatever the operator was about to do.
func TestAClockThatWasAhead(t *testing.T) {
	for name, tc := range map[string]struct {
		days   int
		before func(*sim)
	}{
		"certificates of nodes":                {2, func(s *sim) { s.in.Nodes[0].SANs = []string{"x"} }},
		"all certificates, since they are due": {340, func(*sim) {}},
		"all certificates, since they expired": {400, func(*sim) {}},
		"while no window opens":                {340, func(s *sim) { s.in.Windows = []string{"* * * 1 1 ? 2099"} }},
		"that of a CA that is renewed":         {2, func(s *sim) { s.annotate("c-cluster-ca-cert", v1.AnnotationForceRenew) }},
		"that of a CA whose key is replaced":   {2, func(s *sim) { s.annotate("c-cluster-ca", v1.AnnotationForceReplace) }},
		"that of the clients CA, with its key": {2, func(s *sim) { s.annotate("c-clients-ca", v1.AnnotationForceReplace) }},
		"all certificates of a new cluster":    {2, func(s *sim) { clear(s.secrets); clear(s.pods); clear(s.declared) }},
		"a key that is due, while no window opens": {360, func(s *sim) {
			s.in.ClusterCA.ReplaceKey, s.in.Windows = true, []string{"* * * 1 1 ? 2099"}
		}},
	} {
		for _, writes := range []int{1, 2, 5, 1000} { // the operator ends between two writes
			t.Run(fmt.Sprint(name, " ", writes), func(t *testing.T) {
				g := NewWithT(t)
				s := running(t)
				now, unchecked := s.now, func() error { return nil }
				tc.before(s)
				s.now = now.AddDate(0, 0, tc.days)
				g.Expect(s.pass(writes, unchecked)).To(Succeed())
				s.roll(func(int) int { return 0 })
				s.now = now
				clear(s.verified)
				g.Expect(s.pass(1000, unchecked)).To(Succeed())
				g.Expect(s.converge(unchecked)).To(Succeed())
				g.Expect(s.check()).To(Succeed())
				g.Expect(s.checkClean()).To(Succeed())
				for _, secret := range s.secrets {
					for entry, data := range secret.Data {
						if certs, err := parseCerts(data); err == nil {
							for _, c := range certs {
								g.Expect(c.NotBefore.After(now)).To(BeFalse(), "%s in Secret %s", entry, secret.Name)
							}
						}
					}
				}
			})
		}
	}
}

// TestReplacementPhases checks the phases of a replacement of a key: which CA signs, which CAs are trusted, and what annotations pods have.
func TestReplacementPhases(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	old := s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
	s.annotate("c-cluster-ca", v1.AnnotationForceReplace)

	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA).To(And(HaveField("Phase", Distributing), HaveField("Operation", ReplaceKey), HaveField("KeyGeneration", 1),
		HaveField("CertGeneration", 1)))
	g.Expect(s.secrets["c-cluster-ca"].Annotations).NotTo(HaveKey(v1.AnnotationForceReplace))
	g.Expect(s.declared["c-p-0"]).
		To(And(HaveKeyWithValue(core.AnnotationClusterCAKeyGeneration, "1"), HaveKeyWithValue(core.AnnotationClusterCACertGeneration, "0")))
	entry := "ca-" + cert(t, &corev1.Secret{Data: map[string][]byte{"x": old}}, "x").NotAfter.Format("2006-01-02T15-04-05Z") + ".crt"
	g.Expect(s.secrets["c-cluster-ca-cert"].Data).To(HaveKeyWithValue(entry, old))

	// A node that joins, and a node whose names change, get certificates that all nodes trust.
	s.in.Nodes = append(s.in.Nodes, node(7))
	s.in.Nodes[0].SANs = append(s.in.Nodes[0].SANs, "new.example.com")
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	for _, name := range []string{"c-p-7", "c-p-0"} {
		g.Expect(verify(old, s.secrets[name].Data[name+".crt"], s.now)).To(Succeed(), name)
	}

	for len(s.outdated()) > 0 {
		g.Expect(s.last.ClusterCA.Phase).To(Equal(Distributing))
		s.roll(func(int) int { return 0 })
		g.Expect(s.check()).To(Succeed())
		g.Expect(s.pass(1000, s.check)).To(Succeed())
		if s.last.ClusterCA.Phase == Switching {
			break
		}
	}
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Switching))
	g.Expect(verify(s.secrets["c-cluster-ca-cert"].Data["ca.crt"], s.secrets["c-p-0"].Data["c-p-0.crt"], s.now)).To(Succeed())
	g.Expect(s.secrets["c-trustbundle"].Data["cluster-ca.crt"]).To(ContainSubstring(string(old)))

	// While a Kubernetes cluster does not respond, the replacement neither advances nor goes back.
	declared := maps.Clone(s.declared)
	g.Expect(s.pass(1000, s.check, "pods")).To(Succeed())
	g.Expect(s.declared).To(Equal(declared))

	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.secrets["c-trustbundle"].Data["cluster-ca.crt"]).NotTo(ContainSubstring(string(old)))
	g.Expect(s.secrets["c-cluster-ca"].Annotations).To(HaveKeyWithValue(AnnotationDistrustedKey, "0"))
	g.Expect(s.pods["c-p-1"].annotations).To(HaveKeyWithValue(AnnotationDistrustedKey, "0"))
	for _, pod := range s.pods {
		g.Expect(verify(pod.trusts, old, s.now)).NotTo(Succeed())
	}
}

// Each CA has two Secrets, and each annotation has an effect on one of them.
func TestAnnotationsOnTheWrongSecretOfACA(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(*sim) {})
	s.annotate("c-cluster-ca", v1.AnnotationForceRenew)
	s.annotate("c-clients-ca-cert", v1.AnnotationForceReplace)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.Problems).To(ConsistOf(
		Problem{ReasonAnnotation, "Cluster CA: Secret kafka/c-cluster-ca has the annotation strimzi.io/force-renew, which has no effect there: " +
			"remove it, and annotate Secret c-cluster-ca-cert for a new certificate of the same key"},
		Problem{ReasonAnnotation, "Clients CA: Secret kafka/c-clients-ca-cert has the annotation strimzi.io/force-replace, which has no effect " +
			"there: remove it, and annotate Secret c-clients-ca for a new key"}))
	g.Expect(s.last.ClusterCA).To(HaveField("Operation", None))
	g.Expect(s.last.ClientsCA).To(HaveField("Operation", None))
	s.in.ClusterCA.Generate, s.in.ClientsCA.Generate = false, false
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.Problems).NotTo(ContainElement(HaveField("Reason", ReasonAnnotation)), "on the other one, they have no effect, either")
}

// TestMaintenanceWindows checks that the renewal of a CA waits for a window, and that changes of serving certificates do not.
func TestMaintenanceWindows(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) { s.in.Windows = []string{"* * 2 ? * SUN"} }) // now is a Sunday, 12:00
	s.annotate("c-cluster-ca-cert", v1.AnnotationForceRenew)
	s.in.Nodes[1].SANs = append(s.in.Nodes[1].SANs, "other.example.com")
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA).To(And(HaveField("Operation", Postponed), HaveField("CertGeneration", 0)))
	g.Expect(s.last.Problems).To(ConsistOf(HaveField("Reason", ReasonPostponed)))
	g.Expect(s.last.Next).To(Equal(at("2026-11-29 02:00:00")))
	g.Expect(s.secrets["c-cluster-ca-cert"].Annotations).To(HaveKey(v1.AnnotationForceRenew))
	g.Expect(s.outdated()).To(Equal([]string{"c-p-1"})) // because of its names

	s.now = s.last.Next
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA).To(And(HaveField("Operation", RenewCert), HaveField("CertGeneration", 1)))

	g.Expect(s.converge(s.check)).To(Succeed())

	s.in.Windows = []string{"* * 2 ? * SUN", "gibberish"}
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.Problems).To(BeEmpty(), "the validation of the Kafka names the window that never opens")

	// No window opens before the CA expires.
	s.in.Windows = []string{"* * * 1 1 ? 2099"}
	s.now = at("2027-11-27 02:00:00")
	clear(s.verified)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA).To(And(HaveField("Operation", RenewCert), HaveField("CertGeneration", 2)))
}

// TestExpiringLeaf checks that certificates that expire are recreated without a change of the CA, and no others.
func TestExpiringLeaf(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) { s.in.ClusterCA.ValidityDays = 1000 })
	s.in.ClusterCA.ValidityDays = 100 // from now on
	s.in.Nodes = append(s.in.Nodes, node(9))
	g.Expect(s.converge(s.check)).To(Succeed())
	s.now = s.now.AddDate(0, 0, 75)
	clear(s.verified)
	before := s.secrets["c-p-0"].Data["c-p-0.crt"]
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.Decisions).To(ConsistOf(And(HaveField("Object", "c-p-9"), HaveField("Action", "make a certificate"),
		HaveField("Reason", ContainSubstring("it expires at 2027-03-02")))))
	g.Expect(s.secrets["c-p-0"].Data["c-p-0.crt"]).To(Equal(before))
}

// TestRenewOnly checks a node whose pool was removed, or whose Kafka can't be reconciled: the operator renews its certificate and ignores
// changes of its specification.
func TestRenewOnly(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *sim)
		sans   []string // the names of the certificate afterwards; nil if there is none
		made   bool     // whether the certificate is a new one
	}{
		"names change":                 {func(s *sim) { s.in.Nodes[0].SANs = []string{"other"} }, node(0).SANs, false},
		"names are not known":          {func(s *sim) { s.in.Nodes[0].SANs = nil }, node(0).SANs, false},
		"it expires":                   {func(s *sim) { s.in.Nodes[0].SANs, s.now = nil, s.now.AddDate(0, 0, 340) }, node(0).SANs, true},
		"it is gone":                   {func(s *sim) { delete(s.secrets, "c-p-0") }, node(0).SANs, true},
		"it is gone with its names":    {func(s *sim) { s.in.Nodes[0].SANs = nil; delete(s.secrets, "c-p-0") }, nil, false},
		"it can't be read any more":    {func(s *sim) { s.secrets["c-p-0"].Data["c-p-0.crt"] = []byte("garbage") }, node(0).SANs, true},
		"the key of the CA is new":     {func(s *sim) { s.annotate(ClusterCAKeySecret("c"), v1.AnnotationForceReplace) }, node(0).SANs, true},
		"a listener is served no more": {func(s *sim) { s.in.Listeners = nil }, node(0).SANs, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t, func(s *sim) {
				s.in.Nodes[0].Listeners = true
				s.in.Listeners = []Listener{{Name: "own", CertEntry: "own.crt", KeyEntry: "own.key", Wanted: &Pair{[]byte("x"), []byte("y")}}}
			})
			before := s.secrets["c-p-0"].Data["c-p-0.crt"]
			s.in.Nodes[0].RenewOnly, s.in.Nodes[0].Listeners = true, name == "a listener is served no more"
			c.change(s)
			clear(s.verified)
			g.Expect(s.converge(func() error { return nil })).To(Succeed())
			secret := s.secrets["c-p-0"]
			if c.sans == nil {
				g.Expect(secret).To(BeNil())
				g.Expect(s.last.Problems).To(ConsistOf(And(HaveField("Reason", ReasonNotRenewed), HaveField("Message", ContainSubstring("c-p-0")))))
				return
			}
			g.Expect(sansOf(cert(t, secret, "c-p-0.crt"))).To(Equal(normalSANs(c.sans)))
			g.Expect(bytes.Equal(secret.Data["c-p-0.crt"], before)).NotTo(Equal(c.made))
			if name != "it is gone" {
				g.Expect(secret.Data).To(HaveKeyWithValue("own.crt", []byte("x")), "other entries stay")
			}
			g.Expect(s.pods["c-p-0"].serves).To(Equal(secret.Data["c-p-0.crt"]), "the node is restarted with it")
		})
	}
}

// TestRenewalAsLongAsValidity checks a renewal period as long as the validity: certificates that are due as soon as they are made would
// restart nodes forever.
func TestRenewalAsLongAsValidity(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) { s.in.ClusterCA.ValidityDays, s.in.ClusterCA.RenewalDays = 30, 30 })
	g.Expect(s.last.Problems).To(ConsistOf(HaveField("Reason", ReasonRenewal)))
	s.now = s.now.AddDate(0, 0, 1)
	clear(s.verified)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.Decisions).To(BeEmpty())
}

// TestStore checks that the PKCS #12 store is recreated when certificates change, with the password that clients have.
func TestStore(t *testing.T) {
	g := NewWithT(t)
	s := running(t, func(s *sim) { s.in.PKCS12 = true })
	before := s.secrets["c-cluster-ca-cert"].Data
	s.annotate("c-cluster-ca", v1.AnnotationForceReplace)
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	after := s.secrets["c-cluster-ca-cert"].Data
	g.Expect(after["ca.password"]).To(Equal(before["ca.password"]))
	store, err := pkcs12.DecodeTrustStore(after["ca.p12"], string(after["ca.password"]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(store).To(HaveLen(2))
}

// TestAStoreThatIsNotOfTheCertificates checks that the PKCS #12 store is restored, or goes if none is wanted any more. One without a hash,
// which an earlier version made, stays as it is until certificates change.
func TestAStoreThatIsNotOfTheCertificates(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, s *sim, ca *corev1.Secret)
		certs  int
		kept   bool
	}{
		"nothing":       {func(*testing.T, *sim, *corev1.Secret) {}, 1, true},
		"store edited":  {func(_ *testing.T, _ *sim, ca *corev1.Secret) { ca.Data["ca.p12"] = []byte("x") }, 1, false},
		"store deleted": {func(_ *testing.T, _ *sim, ca *corev1.Secret) { delete(ca.Data, "ca.p12") }, 1, false},
		"another word":  {func(_ *testing.T, _ *sim, ca *corev1.Secret) { ca.Data["ca.password"] = []byte("x") }, 1, false},
		"no word":       {func(_ *testing.T, _ *sim, ca *corev1.Secret) { delete(ca.Data, "ca.password") }, 1, false},
		"a word that no store can have": {func(_ *testing.T, _ *sim, ca *corev1.Secret) {
			ca.Data["ca.password"] = []byte("\U0001F511")
		}, 1, false},
		"an entry added": {func(t *testing.T, s *sim, ca *corev1.Secret) {
			ca.Data["partner.crt"] = pemOf(levels(t, s, "a", "b")...)
		}, 3, false},
		"an entry added, without a hash": {func(t *testing.T, s *sim, ca *corev1.Secret) {
			ca.Data["partner.crt"] = pemOf(levels(t, s, "a", "b")...)
			delete(ca.Annotations, AnnotationStore)
		}, 1, true},
		"switched off and on": {func(t *testing.T, s *sim, _ *corev1.Secret) {
			s.in.PKCS12 = false
			NewWithT(t).Expect(s.converge(s.check)).To(Succeed())
			s.in.PKCS12 = true
		}, 1, true},
		"switched off and on, and renewed": {func(t *testing.T, s *sim, _ *corev1.Secret) {
			s.in.PKCS12 = false
			s.annotate("c-cluster-ca-cert", v1.AnnotationForceRenew)
			NewWithT(t).Expect(s.converge(s.check)).To(Succeed())
			NewWithT(t).Expect(s.secrets["c-cluster-ca-cert"].Data).NotTo(Or(HaveKey("ca.p12"), HaveKey("ca.password")))
			NewWithT(t).Expect(s.secrets["c-cluster-ca-cert"].Annotations).NotTo(HaveKey(AnnotationStore))
			s.in.PKCS12 = true
		}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := running(t, func(s *sim) { s.in.PKCS12 = true })
			before := s.secrets["c-cluster-ca-cert"].Data["ca.p12"]
			tc.change(t, s, s.secrets["c-cluster-ca-cert"])
			g.Expect(s.converge(s.check)).To(Succeed())
			ca := s.secrets["c-cluster-ca-cert"]
			store, err := pkcs12.DecodeTrustStore(ca.Data["ca.p12"], string(ca.Data["ca.password"]))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(store).To(HaveLen(tc.certs))
			g.Expect(store).To(ContainElement(HaveField("Raw", cert(t, ca, "ca.crt").Raw)))
			g.Expect(bytes.Equal(ca.Data["ca.p12"], before)).To(Equal(tc.kept))
			g.Expect(ca.Annotations).To(HaveKey(AnnotationStore))
		})
	}
}

// TestAUsersStoreStays checks a store that a user made where the operator makes none, or none any more.
func TestAUsersStoreStays(t *testing.T) {
	for _, before := range []bool{false, true} {
		g := NewWithT(t)
		s := running(t, func(s *sim) { s.in.PKCS12 = before })
		s.in.PKCS12 = false
		ca := s.secrets["c-cluster-ca-cert"]
		ca.Data["ca.p12"], ca.Data["ca.password"] = []byte("theirs"), []byte("x")
		s.annotate("c-cluster-ca-cert", v1.AnnotationForceRenew)
		g.Expect(s.converge(s.check)).To(Succeed())
		g.Expect(s.secrets["c-cluster-ca-cert"].Data).To(HaveKeyWithValue("ca.p12", []byte("theirs")), "stores before: %t", before)
	}
}

// TestLabelsOfUsersOnTheCertificateOfTheCA checks that they come and go with the template, and that no others do.
func TestLabelsOfUsersOnTheCertificateOfTheCA(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	plain := s.secrets["c-cluster-ca-cert"].DeepCopy()
	s.secrets["c-cluster-ca-cert"].Annotations["theirs"] = "1"
	s.in.ClusterCACert = Metadata{map[string]string{"team": "a", "strimzi.io/cluster": "other"}, map[string]string{"reflect": "true"}}
	g.Expect(s.converge(s.check)).To(Succeed())
	secret := s.secrets["c-cluster-ca-cert"]
	g.Expect(secret.Labels).To(And(HaveKeyWithValue("team", "a"), HaveKeyWithValue("strimzi.io/cluster", "c")))
	g.Expect(secret.Annotations).To(HaveKeyWithValue("reflect", "true"))
	g.Expect(s.secrets["c-clients-ca-cert"].Labels).NotTo(HaveKey("team"))
	g.Expect(s.restarts).To(BeEmpty())
	version := secret.ResourceVersion
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.secrets["c-cluster-ca-cert"].ResourceVersion).To(Equal(version))

	s.in.ClusterCACert = Metadata{Labels: map[string]string{"owner": "b"}}
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.secrets["c-cluster-ca-cert"].Labels).To(And(HaveKeyWithValue("owner", "b"), Not(HaveKey("team"))))
	s.in.ClusterCACert = Metadata{}
	g.Expect(s.converge(s.check)).To(Succeed())
	plain.Annotations["theirs"] = "1"
	g.Expect(s.secrets["c-cluster-ca-cert"].ObjectMeta).To(And(HaveField("Labels", plain.Labels), HaveField("Annotations", plain.Annotations)))
}

// TestLabelsOfTheKafkaOnSecrets checks that they come and go with those of the Kafka, and that no others do.
func TestLabelsOfTheKafkaOnSecrets(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	plain := map[string]*corev1.Secret{}
	for name, secret := range s.secrets {
		secret.Labels["theirs"] = "1"
		plain[name] = secret.DeepCopy()
	}
	fixed := s.in.Labels
	s.in.Labels = map[string]string{"team": "a", "cost": "b"}
	maps.Copy(s.in.Labels, fixed)
	s.in.CopiedLabels = []string{"cost", "team"}
	s.in.ClusterCACert = Metadata{Labels: map[string]string{"team": "of the template"}}
	g.Expect(s.converge(s.check)).To(Succeed())
	for name, secret := range s.secrets {
		g.Expect(secret.Labels).To(And(HaveKeyWithValue("team", "a"), HaveKeyWithValue("cost", "b"), HaveKeyWithValue("theirs", "1")), name)
	}
	delete(s.in.Labels, "team")
	s.in.CopiedLabels = []string{"cost"}
	g.Expect(s.converge(s.check)).To(Succeed())
	for name, secret := range s.secrets {
		if name == "c-cluster-ca-cert" {
			g.Expect(secret.Labels).To(HaveKeyWithValue("team", "of the template"))
			continue
		}
		g.Expect(secret.Labels).To(And(HaveKeyWithValue("cost", "b"), Not(HaveKey("team"))), name)
	}
	s.in.Labels, s.in.CopiedLabels, s.in.ClusterCACert = fixed, nil, Metadata{}
	g.Expect(s.converge(s.check)).To(Succeed())
	for name, secret := range s.secrets {
		g.Expect(secret.Labels).To(Equal(plain[name].Labels), name)
		g.Expect(secret.Annotations).To(Equal(plain[name].Annotations), name)
	}
	g.Expect(s.restarts).To(BeEmpty())
}

// supplied returns a running cluster with CAs that a user supplies.
func supplied(t *testing.T) *sim {
	s := running(t)
	s.in.ClusterCA.Generate, s.in.ClientsCA.Generate = false, false
	NewWithT(t).Expect(s.converge(s.check)).To(Succeed())
	return s
}

func TestSuppliedCA(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*sim)
		wantErr string
	}{
		"no Secrets": {func(s *sim) { delete(s.secrets, "c-cluster-ca-cert") },
			"Cluster CA should not be generated, but the secrets were not found."},
		"no clients Secret": {func(s *sim) { delete(s.secrets, "c-clients-ca") },
			"Clients CA should not be generated, but the secrets were not found."},
		"no key": {func(s *sim) { delete(s.secrets["c-cluster-ca"].Data, "ca.key") },
			"Secret kafka/c-cluster-ca for CA CLUSTER_CA does not contain ca.key"},
		"key garbage": {func(s *sim) { s.secrets["c-cluster-ca"].Data["ca.key"] = []byte("x") }, "holds an unreadable ca.key"},
		"certificate": {func(s *sim) { s.secrets["c-cluster-ca-cert"].Data["ca.crt"] = []byte("x") }, "does not contain a readable ca.crt"},
		"chain": {func(s *sim) {
			d := s.secrets["c-cluster-ca-cert"].Data
			d["ca.crt"] = append(bytes.Clone(d["ca.crt"]), s.secrets["c-clients-ca-cert"].Data["ca.crt"]...)
		}, "Failed to validate User supplied Cluster CA cert chain in ca.crt"},
		"no CA": {func(s *sim) {
			certify(s, "c-cluster-ca", func(c *x509.Certificate) { c.IsCA, c.MaxPathLenZero, c.MaxPathLen = false, false, 0 })
		},
			"Cluster CA: ca.crt in Secret kafka/c-cluster-ca-cert is not the certificate of a CA"},
		"no constraints": {func(s *sim) {
			certify(s, "c-clients-ca", func(c *x509.Certificate) { c.BasicConstraintsValid = false })
		},
			"Clients CA: ca.crt in Secret kafka/c-clients-ca-cert is not the certificate of a CA"},
		"key usages": {func(s *sim) {
			certify(s, "c-cluster-ca", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature })
		},
			"ca.crt in Secret kafka/c-cluster-ca-cert may not sign certificates"},
		"not valid yet": {func(s *sim) {
			certify(s, "c-cluster-ca", func(c *x509.Certificate) { c.NotBefore = s.now.Add(clockSkew + time.Minute) })
		}, "ca.crt in Secret kafka/c-cluster-ca-cert is not valid before 2026-11-22T12:06:00Z"},
		"another identifier": {func(s *sim) { certify(s, "c-cluster-ca", identify) },
			"ca.crt in Secret kafka/c-cluster-ca-cert has another subject key identifier (010203)"},
		"another identifier of the clients CA": {func(s *sim) { certify(s, "c-clients-ca", identify) },
			"or keep the former one as entry " + formerEntry},
		"another identifier, before there are nodes": {func(s *sim) {
			certify(s, "c-cluster-ca", identify)
			clear(s.pods)
			clear(s.declared)
		}, ""},
		"no key usages": {func(s *sim) { certify(s, "c-cluster-ca", func(c *x509.Certificate) { c.KeyUsage = 0 }) }, ""},
		"clocks differ": {func(s *sim) {
			certify(s, "c-cluster-ca", func(c *x509.Certificate) { c.NotBefore = s.now.Add(clockSkew - time.Minute) })
		}, ""},
		"generation of a key": {func(s *sim) {
			exchangeAndKeep(s, "1")
			g := NewWithT(t)
			g.Expect(s.converge(s.checkNodes)).To(Succeed())
			s.secrets["c-cluster-ca"].Annotations = nil
		}, "annotation: strimzi.io/ca-key-generation on Secret c-cluster-ca"},
		"generation of a certificate": {func(s *sim) {
			s.secrets["c-clients-ca-cert"].Annotations[v1.AnnotationCACertGeneration] = "1"
			g := NewWithT(t)
			g.Expect(s.converge(s.checkNodes)).To(Succeed())
			s.secrets["c-clients-ca-cert"].Annotations = nil
		}, "annotation: strimzi.io/ca-cert-generation on Secret c-clients-ca-cert"},
		"generation that is none": {func(s *sim) { s.secrets["c-cluster-ca"].Annotations[v1.AnnotationCAKeyGeneration] = "first" },
			"annotation: strimzi.io/ca-key-generation on Secret c-cluster-ca"},
		"exchanged, without generations": {func(s *sim) {
			exchange(s, "")
			s.secrets["c-cluster-ca"].Annotations, s.secrets["c-cluster-ca-cert"].Annotations = nil, nil
		}, "its annotation strimzi.io/ca-key-generation was not raised"},
		"exchanged, not announced": {func(s *sim) { exchange(s, "") }, "its annotation strimzi.io/ca-key-generation was not raised"},
		"exchanged, the old certificate kept, only the key announced": {func(s *sim) {
			exchangeAndKeep(s, "")
			s.secrets["c-cluster-ca"].Annotations[v1.AnnotationCAKeyGeneration] = "1"
		}, "the CA in Secret kafka/c-cluster-ca-cert was replaced, but its annotation strimzi.io/ca-cert-generation was not raised"},
		"exchanged, announced as the same key": {func(s *sim) { exchange(s, ""); announce(s, "1") },
			"its annotation strimzi.io/ca-key-generation was not raised"},
		"exchanged, the old certificate kept, announced as the same key": {func(s *sim) {
			exchangeAndKeep(s, "")
			announce(s, "1")
		}, "its annotation strimzi.io/ca-key-generation was not raised"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := supplied(t)
			tc.change(s)
			r, err := Plan(s.read())
			if tc.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			if r.ClientsCAError != nil {
				err = r.ClientsCAError
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
		})
	}
}

// TestKeysAmongTheCertificatesOfACA checks that an entry with a key beside the certificate is reported, which a tool may write: the roller
// and the topic operator reject it. It is no error, because nodes may run with it.
func TestKeysAmongTheCertificatesOfACA(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	certs := s.secrets["c-cluster-ca-cert"].Data
	certs["ca.crt"] = slices.Concat(s.secrets["c-cluster-ca"].Data["ca.key"], certs["ca.crt"])
	s.secrets["c-clients-ca-cert"].Data["more.crt"] = slices.Concat(certs["ca.crt"], []byte("-----BEGIN X-----\n-----END X-----\n"))
	r, err := Plan(s.read())
	g.Expect(err).NotTo(HaveOccurred())
	about := func(entry string) any {
		return And(HaveField("Reason", ReasonNotCertificates), HaveField("Message", ContainSubstring(entry)))
	}
	g.Expect(r.Problems).To(ConsistOf(about("Cluster CA: ca.crt in Secret kafka/c-cluster-ca-cert has"),
		about("Clients CA: more.crt in Secret kafka/c-clients-ca-cert has")))
}

// TestPublicSecretsOfCAs checks that other Kubernetes clusters get certificates, and a store of them that the operator made, and nothing
// else: what is not for them is empty, and not missing, so that it overwrites what is there.
func TestPublicSecretsOfCAs(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	ca, key := s.secrets["c-cluster-ca-cert"].Data["ca.crt"], s.secrets["c-cluster-ca"].Data["ca.key"]
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		"ca.crt": slices.Concat(key, ca), "tls.crt": ca, "tls.key": key, "ca.key": key, "tls-combined.pem": slices.Concat(ca, key),
		"key.crt": key, "ca.p12": []byte("store"), "ca.password": []byte("password"), "notes": []byte("x"),
	}}
	before := secret.DeepCopy()
	want := map[string][]byte{"ca.crt": ca, "tls.crt": ca, "tls.key": {}, "ca.key": {}, "tls-combined.pem": {}, "key.crt": {}, "ca.p12": {},
		"ca.password": {}, "notes": {}}
	public := Public(secret, false).Data
	store, err := pkcs12.DecodeTrustStore(public["ca.p12"], string(public["ca.password"]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(store).To(HaveEach(HaveField("Raw", cert(t, secret, "tls.crt").Raw)))
	g.Expect(Public(secret, false).Data).To(Equal(public), "the same in each pass")
	g.Expect(fmt.Sprintf("%s", public)).NotTo(ContainSubstring("PRIVATE KEY"))
	delete(public, "ca.p12")
	delete(public, "ca.password")
	made := maps.Clone(want)
	delete(made, "ca.p12")
	delete(made, "ca.password")
	g.Expect(public).To(Equal(made))
	without := secret.DeepCopy()
	delete(without.Data, "ca.p12")
	g.Expect(Public(without, false).Data).To(And(HaveKeyWithValue("ca.password", []byte{}), Not(HaveKey("ca.p12"))))
	without.Data = map[string][]byte{"ca.p12": secret.Data["ca.p12"]}
	g.Expect(Public(without, false).Data).To(Equal(map[string][]byte{"ca.p12": {}}), "there are no certificates")
	want["ca.p12"], want["ca.password"] = secret.Data["ca.p12"], secret.Data["ca.password"]
	g.Expect(Public(secret, true).Data).To(Equal(want))
	g.Expect(secret).To(Equal(before), "the cache's object stays")
}

// TestSuppliedCAWithoutGenerations checks that they are 0 from the first node on, and can be raised from there.
func TestSuppliedCAWithoutGenerations(t *testing.T) {
	g := NewWithT(t)
	made := running(t).secrets
	s := newSim(3)
	s.in.ClusterCA.Generate, s.in.ClientsCA.Generate = false, false
	for _, name := range []string{"c-cluster-ca", "c-cluster-ca-cert", "c-clients-ca", "c-clients-ca-cert"} {
		s.secrets[name] = made[name].DeepCopy()
		s.secrets[name].Annotations = map[string]string{}
	}
	g.Expect(s.converge(s.checkNodes)).To(Succeed())
	g.Expect(s.last.ClusterCA).To(And(HaveField("KeyGeneration", 0), HaveField("CertGeneration", 0), HaveField("Phase", Settled)))
	g.Expect(s.pass(1000, s.checkNodes)).To(Succeed())
	restarts := s.restarts["c-p-1"]
	_, err := Plan(s.read("pods"))
	g.Expect(err).To(MatchError(ContainSubstring("missing or invalid annotation")), "a pod may have another generation")
	exchangeAndKeep(s, "1")
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.restarts["c-p-1"] - restarts).To(Equal(2))
}

// TestSuppliedCAReplaced replaces the key of a user's CA, and keeps the old certificate, as documented. The operator writes none of the
// user's Secrets.
func TestSuppliedCAReplaced(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	old := s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
	exchangeAndKeep(s, "1")
	version := s.secrets["c-cluster-ca"].ResourceVersion + s.secrets["c-cluster-ca-cert"].ResourceVersion
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.CAs).To(BeEmpty())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Distributing))

	// A new node gets a certificate that not all nodes trust, because the old key is lost, and a problem tells the user.
	s.in.Nodes = append(s.in.Nodes, node(5))
	s.in.Nodes[0].SANs = s.in.Nodes[0].SANs[:1]
	before := s.secrets["c-p-0"].Data["c-p-0.crt"]
	r, err := Plan(s.read())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Problems).
		To(ContainElement(And(HaveField("Reason", ReasonOldKeyGone), HaveField("Message", And(ContainSubstring("Secret c-p-5"),
			ContainSubstring("put it into Secret c-cluster-ca as "+formerKey))))))
	s.in.Nodes = s.in.Nodes[:3]

	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.secrets["c-p-0"].Data["c-p-0.crt"]).NotTo(Equal(before))
	g.Expect(s.restarts["c-p-1"]).To(Equal(2))
	g.Expect(s.secrets["c-cluster-ca"].ResourceVersion + s.secrets["c-cluster-ca-cert"].ResourceVersion).To(Equal(version))

	// The old certificate is trusted as long as the user keeps it. Its removal restarts nothing.
	g.Expect(bytes.Contains(s.last.ClusterCA.TrustPEM, old)).To(BeTrue())
	delete(s.secrets["c-cluster-ca-cert"].Data, formerEntry)
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(bytes.Contains(s.last.ClusterCA.TrustPEM, old)).To(BeFalse())
	g.Expect(s.restarts["c-p-1"]).To(Equal(2))
}

// TestSuppliedCAReplacedWithItsKeyKept keeps the old key too: certificates that are made meanwhile are trusted by all nodes.
func TestSuppliedCAReplacedWithItsKeyKept(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	old := cert(t, s.secrets["c-cluster-ca-cert"], "ca.crt")
	key := s.secrets["c-cluster-ca"].Data["ca.key"]
	exchangeAndKeep(s, "1")
	s.secrets["c-cluster-ca"].Data[formerKey] = key
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	s.in.Nodes = append(s.in.Nodes, node(5))
	s.in.Nodes[0].SANs = append(s.in.Nodes[0].SANs, "new.example.com")
	g.Expect(s.pass(1000, s.check)).To(Succeed())
	g.Expect(s.last.Problems).To(BeEmpty())
	for _, name := range []string{"c-p-0", "c-p-5"} {
		g.Expect(signed(old, cert(t, s.secrets[name], name+".crt"))).To(BeTrue(), name)
	}
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
	delete(s.secrets["c-cluster-ca-cert"].Data, formerEntry)
	delete(s.secrets["c-cluster-ca"].Data, formerKey)
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.restarts["c-p-1"]).To(Equal(2))
}

// TestSuppliedCADropped drops the old certificate of a user's CA when its key is replaced: neither the roller nor the operator would trust
// a node, so that nothing would ever be restarted. The replacement waits for the entry that the error names.
func TestSuppliedCADropped(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	old := s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
	exchange(s, "1")
	_, err := Plan(s.read())
	g.Expect(err).To(MatchError(And(ContainSubstring("Secret kafka/c-cluster-ca-cert lacks the CA"),
		ContainSubstring("which Secret c-trustbundle has, as entry "+formerEntry))))
	g.Expect(s.secrets["c-trustbundle"].Data["cluster-ca.crt"]).To(Equal(old))
	_, err = Plan(s.read("pods"))
	g.Expect(err).NotTo(HaveOccurred(), "while pods are unknown, so is what they serve")
	s.secrets["c-cluster-ca-cert"].Data[formerEntry] = old
	g.Expect(s.converge(s.check)).To(Succeed())
	g.Expect(s.restarts["c-p-1"]).To(Equal(2))
}

// TestSuppliedCADroppedEarly drops the old certificate at each moment of a replacement. As long as a node serves a certificate of the old
// CA, the operator asks for the entry and changes nothing, and nodes keep trusting each other, whichever is restarted. With the entry, or
// once no node needs it, the replacement goes on.
func TestSuppliedCADroppedEarly(t *testing.T) {
	served := func(s *sim, old []byte) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(s.pods)), func(p *simPod) bool { return verify(old, p.serves, s.now) == nil })
	}
	for i := range 20 {
		moment, restore := i/2, i%2 == 1
		t.Run(fmt.Sprintf("after %d steps, restored: %t", moment, restore), func(t *testing.T) {
			g := NewWithT(t)
			s := supplied(t)
			old := s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
			exchangeAndKeep(s, "1")
			for range moment {
				g.Expect(s.pass(1000, s.check)).To(Succeed())
				s.roll(func(int) int { return 0 })
			}
			delete(s.secrets["c-cluster-ca-cert"].Data, formerEntry)
			for served(s, old) {
				bundle := s.secrets["c-trustbundle"].Data["cluster-ca.crt"]
				g.Expect(s.pass(1000, s.checkNodes)).To(MatchError(ContainSubstring("as entry " + formerEntry)))
				g.Expect(s.secrets["c-trustbundle"].Data["cluster-ca.crt"]).To(Equal(bundle))
				for name := range s.pods {
					s.reload(name, true, false)
				}
				g.Expect(s.checkNodes()).To(Succeed())
				if restore || !s.roll(func(int) int { return 0 }) {
					s.secrets["c-cluster-ca-cert"].Data[formerEntry] = old
					break
				}
				g.Expect(s.checkNodes()).To(Succeed())
			}
			g.Expect(s.converge(s.check)).To(Succeed())
			g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
			g.Expect(s.restarts).To(HaveEach(2))
		})
	}
}

// TestSuppliedCARenewedAndDropped renews the certificate of a user's CA, as documented, and drops what precedes it in the same edit: the
// former CA, whose key was replaced earlier, or the issuer of the CA. No node serves a certificate of what is dropped.
func TestSuppliedCARenewedAndDropped(t *testing.T) {
	t.Run("the former CA", func(t *testing.T) {
		g := NewWithT(t)
		s := supplied(t)
		exchangeAndKeep(s, "1")
		g.Expect(s.converge(s.check)).To(Succeed())
		certify(s, "c-cluster-ca", func(c *x509.Certificate) { c.NotAfter = c.NotAfter.AddDate(1, 0, 0) })
		announce(s, "2")
		delete(s.secrets["c-cluster-ca-cert"].Data, formerEntry)
		g.Expect(s.converge(s.check)).To(Succeed())
		g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
		g.Expect(s.restarts).To(HaveEach(3))
	})
	for name, length := range map[string]int{"the issuer of the CA": 1, "the issuer of the CA, for another": 2} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := supplied(t)
			first, second := levels(t, s, "issuing", "root"), levels(t, s, "issuing", "other root")
			s.secrets["c-cluster-ca-cert"].Data[formerEntry] = s.secrets["c-cluster-ca-cert"].Data["ca.crt"]
			supply(t, s, "1", first...)
			g.Expect(s.converge(s.check)).To(Succeed())
			delete(s.secrets["c-cluster-ca-cert"].Data, formerEntry)
			g.Expect(s.converge(s.check)).To(Succeed())
			der, err := x509.CreateCertificate(cryptorand.Reader, first[0].cert, second[1].cert, first[0].key.Public(), second[1].key)
			g.Expect(err).NotTo(HaveOccurred())
			first[0].cert, err = x509.ParseCertificate(der)
			g.Expect(err).NotTo(HaveOccurred())
			s.secrets["c-cluster-ca-cert"].Data["ca.crt"] = pemOf([]*issued{first[0], second[1]}[:length]...)
			announce(s, "2")
			g.Expect(s.converge(s.check)).To(Succeed())
			g.Expect(s.last.ClusterCA.Phase).To(Equal(Settled))
			g.Expect(s.restarts).To(HaveEach(3))
		})
	}
}

// certify gives a user's CA another certificate of its key.
func certify(s *sim, secret string, change func(*x509.Certificate)) {
	key, err := parseKey(s.secrets[secret].Data["ca.key"])
	if err != nil {
		panic(err)
	}
	certs, err := parseCerts(s.secrets[secret+"-cert"].Data["ca.crt"])
	if err != nil {
		panic(err)
	}
	template := certs[0]
	change(template)
	der, err := x509.CreateCertificate(cryptorand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	s.secrets[secret+"-cert"].Data["ca.crt"] = encodeCerts(&x509.Certificate{Raw: der})
}

// TestExpiryWarnings checks that a CA that is about to expire is reported in time.
func TestExpiryWarnings(t *testing.T) {
	g := NewWithT(t)
	s := supplied(t)
	for days, want := range map[int]string{300: "", 340: "which the user supplies, expires at 2027-11-22", 366: "expired at 2027-11-22"} {
		s.now = at("2026-11-22 12:00:00").AddDate(0, 0, days)
		r, err := Plan(s.read())
		g.Expect(err).NotTo(HaveOccurred())
		if want == "" {
			g.Expect(r.Problems).To(BeEmpty())
			continue
		}
		g.Expect(r.Problems).To(ContainElement(HaveField("Message", ContainSubstring(want))), fmt.Sprint(days))
	}
}

func FuzzSecrets(f *testing.F) {
	s := newSim(1)
	if err := s.converge(s.check); err != nil {
		f.Fatal(err)
	}
	f.Add(s.secrets["c-cluster-ca"].Data["ca.key"], s.secrets["c-cluster-ca-cert"].Data["ca.crt"], "0", "c-p-0")
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"), []byte(""), "-1", "c-cluster-ca")
	f.Fuzz(func(t *testing.T, key, crt []byte, generation, name string) {
		in := s.read()
		in.Now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		in.Rand = cryptorand.Reader
		for _, secret := range []string{"c-cluster-ca", "c-cluster-ca-cert", name} {
			if in.Secrets[secret].State != Present {
				continue
			}
			d := in.Secrets[secret].Secret
			d.Annotations = map[string]string{v1.AnnotationCAKeyGeneration: generation, v1.AnnotationCACertGeneration: generation}
			d.Data = map[string][]byte{"ca.key": key, "ca.crt": crt, "ca-2027-11-22T12-00-00Z.crt": crt, "ca-2027-11-22T12-00-00Z.key": key,
				name + ".crt": crt, name + ".key": key}
		}
		r, err := Plan(in)
		if err != nil {
			return
		}
		// Whatever the Secrets contained, the certificates of running nodes stay trusted.
		NewWithT(t).Expect(verify(r.TrustBundle.Data[bundleCluster], s.pods["c-p-0"].serves, in.Now)).To(Succeed(),
			"a node is made to distrust another")
	})
}
