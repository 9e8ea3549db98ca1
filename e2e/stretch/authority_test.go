//go:build linux

package stretch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keyRolls is how often a new key of the CA that a user asks for restarts each node: to trust it, to use it, and to distrust the old one.
const keyRolls = 3

// authorities returns the certificates that clients have to trust, as of now.
func authorities() (*x509.CertPool, error) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, trusted, err := deployed().Authority(limited)
	return trusted, err
}

// lives are the uids of the pods that each node has had, the first one first.
type lives map[string][]types.UID

// observe adds the present pods.
func (l lives) observe(g Gomega) (now []corev1.Pod) {
	now, err := deployed().Pods(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	for i := range now {
		if had := l[now[i].Name]; len(had) == 0 || had[len(had)-1] != now[i].UID {
			l[now[i].Name] = append(had, now[i].UID)
		}
	}
	return now
}

// each is how many pods each node has had.
func (l lives) each() []int {
	var counts []int
	for _, uids := range l {
		counts = append(counts, len(uids))
	}
	return counts
}

// replaceCAKey asks for a new key of the cluster CA, and waits until nodes use nothing else.
func replaceCAKey() {
	GinkgoHelper()
	_, old := outside()
	nodesLives := lives{}
	nodesLives.observe(Default)
	Expect(nodesLives.each()).To(HaveLen(nodes))
	places[0].kubectl("annotate", "secret", name+"-cluster-ca", "-n", namespace, "strimzi.io/force-replace=true")
	Eventually(func(g Gomega) {
		pods, counts := nodesLives.observe(g), nodesLives.each()
		if slices.Max(counts)-slices.Min(counts) > 1 {
			StopTrying(fmt.Sprintf("a node is in the next phase before all are in this one: %v", nodesLives)).Now()
		}
		g.Expect(pods).To(HaveLen(nodes))
		for i := range pods {
			g.Expect(pods[i].Annotations).To(HaveKey("kafka-operators.io/distrusted-ca-key-generation"), pods[i].Name)
		}
		g.Expect(readyPods(g)).To(HaveLen(nodes))
	}).WithTimeout(15*time.Minute).Should(Succeed(), whatWasSaid)
	ready()
	inSync(admin())

	var secret corev1.Secret
	Expect(places[0].Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-cluster-ca-cert"}, &secret)).To(Succeed())
	Expect(slices.Sorted(maps.Keys(secret.Data))).NotTo(ContainElement(MatchRegexp(`^ca-.*\.crt$`)), "the old certificate is dropped")
	Expect(secret.Data["ca.crt"]).NotTo(Equal(old))
	serveCertificatesOf(secret.Data["ca.crt"], old)
	for _, pod := range nodesLives.observe(Default) {
		for _, c := range pod.Status.ContainerStatuses {
			Expect(c.RestartCount).To(BeZero(), pod.Name)
		}
	}
	Expect(nodesLives.each()).To(HaveEach(1+keyRolls), "a roll for each phase")
}

// serveCertificatesOf checks that each node serves a certificate of a CA, and none of another one.
func serveCertificatesOf(ca, other []byte) {
	GinkgoHelper()
	cluster, err := admin().DescribeCluster(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.Brokers).To(HaveLen(nodes))
	for _, b := range cluster.Brokers {
		handshake := func(trusted []byte) error {
			limited, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			pool := x509.NewCertPool()
			Expect(pool.AppendCertsFromPEM(trusted)).To(BeTrue())
			conn, err := lab.DialContext(limited, "tcp", net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			return tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: b.Host}).HandshakeContext(limited)
		}
		Expect(handshake(ca)).To(Succeed(), "node %d", b.ID)
		var unknown x509.UnknownAuthorityError
		Expect(errors.As(handshake(other), &unknown)).To(BeTrue(), "node %d", b.ID)
	}
}
