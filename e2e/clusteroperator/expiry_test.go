//go:build linux

package clusteroperator

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"reflect"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// expireWithoutOperators has all nodes start with certificates that have expired, and no operator run. It brings the operators back, waits
// until the Kafka is ready, and returns how long that took.
func (k *cluster) expireWithoutOperators() time.Duration {
	GinkgoHelper()
	authority := k.secret(Default, "-cluster-ca-cert")
	k.pause()
	k.expire(authority.Data["ca.crt"], k.secret(Default, "-cluster-ca").Data["ca.key"])
	before := k.readyPods(Default)
	for name := range before {
		Expect(k8s.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: name}}, client.GracePeriodSeconds(0))).
			To(Succeed())
	}
	var expired map[string]types.UID
	Eventually(func(g Gomega) {
		expired = k.differ(g, before)
		g.Expect(expired).To(HaveLen(k.nodes))
	}).Should(Succeed(), func() string { return said(k.namespace) })
	By("having no broker, because nobody trusts anybody")
	for name := range expired {
		if strings.Contains(name, "-brokers-") {
			Eventually(func() (string, error) { return home.Kubectl(ctx, "logs", "-n", k.namespace, name) }).
				Should(ContainSubstring("CertificateExpiredException"), func() string { return said(k.namespace) })
		}
	}
	back := stopOperators()
	k.resume()
	Expect(k.readyPods(Default)).NotTo(HaveKey(ContainSubstring("-brokers-")))
	Expect(k.differ(Default, before)).To(Equal(expired))
	By("having the operators back")
	began := time.Now()
	back()
	Eventually(func(g Gomega) { g.Expect(k.differ(g, expired)).To(HaveLen(k.nodes)) }).WithTimeout(rolling).
		Should(Succeed(), func() string { return said(k.namespace) })
	k.ready()
	k.carries(map[string]string{core.AnnotationClusterCACertGeneration: k.secret(Default,
		"-cluster-ca-cert").Annotations[v1.AnnotationCACertGeneration]})
	Expect(k.secret(Default, "-cluster-ca-cert").Annotations[v1.AnnotationCACertGeneration]).
		NotTo(Equal(authority.Annotations[v1.AnnotationCACertGeneration]), "its CA got a new certificate")
	return time.Since(began)
}

// differ returns the uids of the nodes' pods that are not in before, by name.
func (k *cluster) differ(g Gomega, before map[string]types.UID) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range k.pods(g) {
		if pod.DeletionTimestamp == nil && pod.UID != before[pod.Name] {
			uids[pod.Name] = pod.UID
		}
	}
	return uids
}

// stopOperators stops all operators, and returns a function that starts them, with a roller that is less patient than by default.
func stopOperators() (start func()) {
	GinkgoHelper()
	patient := []string{"STRIMZI_ROLLER_PATIENCE", "STRIMZI_ROLLER_STALL"}
	replicas := map[string]int32{}
	for _, name := range []string{"cluster-operator", "roller"} {
		var found appsv1.Deployment
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: name}, &found)).To(Succeed())
		replicas[name] = *found.Spec.Replicas
		kubectl("scale", "deployment", name, "-n", operatorNamespace, "--replicas=0")
	}
	Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(k8s.List(ctx, &pods, client.InNamespace(operatorNamespace))).To(Succeed())
		g.Expect(pods.Items).To(BeEmpty())
	}).Should(Succeed(), func() string { return said(operatorNamespace) })
	set := func(value string) {
		for _, name := range patient {
			kubectl("set", "env", "deployment/roller", "-n", operatorNamespace, name+value)
		}
	}
	set("=1m")
	DeferCleanup(func() {
		set("-")
		operatorsReady()
	})
	return func() {
		GinkgoHelper()
		for name, wanted := range replicas {
			kubectl("scale", "deployment", name, "-n", operatorNamespace, fmt.Sprintf("--replicas=%d", wanted))
		}
	}
}

// expire replaces the certificate of a CA, and all certificates that it signed, by ones that have expired and are the same otherwise.
func (k *cluster) expire(certificate, key []byte) {
	GinkgoHelper()
	ca, signer := certificates(certificate)[0], privateKey(key)
	var secrets corev1.SecretList
	Expect(k8s.List(ctx, &secrets, client.InNamespace(k.namespace), client.MatchingLabels{v1.LabelCluster: k.name})).To(Succeed())
	changed := 0
	for i := range secrets.Items {
		s := &secrets.Items[i]
		before := s.DeepCopy()
		for entry, text := range s.Data {
			if !strings.HasSuffix(entry, ".crt") {
				continue
			}
			s.Data[entry] = nil
			for _, c := range certificates(text) {
				if c.CheckSignatureFrom(ca) == nil {
					c = expired(c, ca, signer)
				}
				s.Data[entry] = append(s.Data[entry], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
			}
		}
		if !reflect.DeepEqual(s.Data, before.Data) {
			Expect(k8s.Patch(ctx, s, client.MergeFrom(before))).To(Succeed())
			changed++
		}
	}
	Expect(changed).To(BeNumerically(">=", k.nodes+3), "those of the nodes, the operator, the CA and the trust bundle")
}

// expired returns a certificate that expired an hour ago.
func expired(c, ca *x509.Certificate, signer any) *x509.Certificate {
	GinkgoHelper()
	template := *c
	template.NotBefore, template.NotAfter = c.NotBefore.AddDate(-1, 0, 0), c.NotBefore.Add(-time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, &template, ca, c.PublicKey, signer)
	Expect(err).NotTo(HaveOccurred())
	made, err := x509.ParseCertificate(der)
	Expect(err).NotTo(HaveOccurred())
	return made
}

// certificates returns those of a file in PEM.
func certificates(text []byte) (all []*x509.Certificate) {
	GinkgoHelper()
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		Expect(err).NotTo(HaveOccurred())
		all = append(all, c)
	}
	Expect(all).NotTo(BeEmpty())
	return all
}

// privateKey returns the key in a file in PEM.
func privateKey(text []byte) any {
	GinkgoHelper()
	block, _ := pem.Decode(text)
	Expect(block).NotTo(BeNil())
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	return key
}
