//go:build linux

package clusteroperator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/e2e/standin"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// machine is the address of the only machine, on which all pods of the Kafka run.
const machine = "10.101.0.1"

var _ = Describe("a Kafka with users", Ordered, func() {
	if full {
		return // as in life_test.go
	}
	k := &cluster{namespace: "guarded", name: "guarded", manifest: "guarded.yaml", nodes: 1}
	alice := &kafka.SASL{Mechanism: kafka.SASLScramSHA512, Username: "alice", Password: "secret of alice"}
	var own *realkafka.Authority // signs the listener's own certificate
	var boss kafka.Config        // the super user

	BeforeAll(func() {
		createNamespace(k.namespace)
		assigning, cancel := context.WithCancel(ctx)
		DeferCleanup(cancel)
		go standin.AssignAddresses(assigning, k8s, home.LoadBalancerAddress)
		var err error
		own, err = realkafka.NewAuthority("the company")
		Expect(err).NotTo(HaveOccurred())
		issued, err := own.Issue("kafka", net.ParseIP(machine))
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: "own"},
			Data: map[string][]byte{"tls.crt": issued.Cert, "tls.key": issued.Key}})).To(Succeed())
	})

	It("is Ready, and so is a topic: the topic operator may do what it has to", func() {
		report("a node with users from apply to Ready", k.apply())
		kubectl("wait", "--for=condition=Ready", "-n", k.namespace, "kafkatopic/orders", "--timeout=120s")
	})

	It("lets a super user in by a certificate of the clients' CA", func() {
		clients, err := realkafka.ParseAuthority(k.secret(Default, "-clients-ca-cert").Data["ca.crt"],
			k.secret(Default, "-clients-ca").Data["ca.key"])
		Expect(err).NotTo(HaveOccurred())
		issued, err := clients.Issue("boss")
		Expect(err).NotTo(HaveOccurred())
		boss = kafka.Config{Bootstrap: k.bootstrap("balanced"), TLS: &kafka.TLS{
			TrustedCertificates: k.secret(Default, "-cluster-ca-cert").Data["ca.crt"], Certificate: issued.Cert, Key: issued.Key}}
		described, err := connectAs(boss).DescribeCluster(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(described.Brokers).To(HaveLen(1))
		Expect(described.Brokers[0].Rack).To(Equal(k.pods(Default)[0].Spec.NodeName), "the label of the machine is the rack")
	})

	It("lets nobody in by a certificate of another CA, or without any", func() {
		stranger := boss
		issued, err := own.Issue("boss")
		Expect(err).NotTo(HaveOccurred())
		for _, certificate := range []realkafka.Certificate{issued, {}} {
			stranger.TLS = &kafka.TLS{TrustedCertificates: boss.TLS.TrustedCertificates, Certificate: certificate.Cert, Key: certificate.Key}
			_, err = connectAs(stranger).DescribeCluster(ctx)
			Expect(err).To(HaveOccurred())
		}
	})

	It("shows the user's own certificate on the listener that has one", func() {
		c := kafka.Config{Bootstrap: k.bootstrap("external"), SASL: alice, TLS: &kafka.TLS{TrustedCertificates: boss.TLS.TrustedCertificates}}
		_, err := connectAs(c).DescribeCluster(ctx)
		Expect(err).To(MatchError(ContainSubstring("certificate signed by unknown authority")))
	})

	It("lets a user do what ACLs allow, and nothing else", func() {
		c := kafka.Config{Bootstrap: k.bootstrap("external"), SASL: alice, TLS: &kafka.TLS{TrustedCertificates: own.PEM()}}
		_, err := connectAs(c).DescribeCluster(ctx)
		Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassAuthentication), "nobody knows alice: %v", err)

		k.tool("SCRAM-SHA-512=password="+alice.Password+"\n", "kafka.admin.ConfigCommand", "--alter", "--entity-type", "users", "--entity-name",
			alice.Username, "--add-config-file", "/dev/stdin")
		admin := connectAs(c)
		Eventually(func(g Gomega) {
			described, err := admin.DescribeTopics(ctx, []string{"orders"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(described["orders"].Err).To(MatchError(ContainSubstring("TopicAuthorizationException")))
		}).Should(Succeed())

		k.tool("", "org.apache.kafka.tools.AclCommand", "--add", "--allow-principal", "User:"+alice.Username, "--operation", "All",
			"--topic", "orders", "--group", "*")
		Eventually(func(g Gomega) {
			described, err := admin.DescribeTopics(ctx, []string{"orders"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(described["orders"].Err).NotTo(HaveOccurred())
		}).Should(Succeed())
		known := x509.NewCertPool()
		Expect(known.AppendCertsFromPEM(own.PEM())).To(BeTrue())
		flow, err := traffic.Start(ctx, traffic.Options{Bootstrap: c.Bootstrap, Dial: lab.DialContext, Topic: "orders", Group: "readers",
			TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: known}, User: alice.Username, Password: alice.Password})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() int { return flow.Progress().Read }).Should(BeNumerically(">", 10))
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		Expect(flow.Stop(limited).Err()).NotTo(HaveOccurred())
	})

	It("can be reached from inside by the Services of its listeners", func() {
		for _, address := range []string{"guarded-kafka-bootstrap:9092", "guarded-kafka-proxied-bootstrap:9093"} {
			out := kubectl("exec", "-n", k.namespace, k.pods(Default)[0].Name, "-c", "kafka", "--",
				"java", "-cp", "/opt/kafka/libs/*", "org.apache.kafka.tools.BrokerApiVersionsCommand", "--bootstrap-server", address)
			Expect(out).To(ContainSubstring("(id: 0 rack: "), "at %s", address)
		}
	})

	It("loses what nobody wants any more: a broker without data and its volume, and the topic operator", func() {
		kubectl("apply", "--server-side", "-n", k.namespace, "-f", filepath.Join("testdata", "spare.yaml"))
		k.nodes = 2
		k.ready()
		there := func() string {
			return kubectl("get", "strimzipodsets,pods,persistentvolumeclaims,services,ingresses,configmaps,secrets,deployments,serviceaccounts,"+
				"networkpolicies,roles,rolebindings", "-n", k.namespace, "-o", "name")
		}
		Expect(there()).To(And(ContainSubstring("guarded-spare"), ContainSubstring("guarded-entity-operator")))
		began := time.Now()
		k.scale("spare", 0, 1)
		kubectl("delete", "kafkanodepool", "spare", "-n", k.namespace)
		k.patch("kafka", k.name, `{"spec":{"entityOperator":null}}`)
		Eventually(there).Should(Not(Or(ContainSubstring("guarded-spare"), ContainSubstring("guarded-entity"))),
			func() string { return said(k.namespace) })
		report("what nobody wants any more is gone", time.Since(began))
		k.ready()
	})
})

// tool runs a program of Kafka in the pod of the only node, as docs/cluster-operator/users.md describes, with the node's own certificate,
// which is a super user's. The image of the tests has the programs without their scripts.
func (k *cluster) tool(input, class string, args ...string) {
	GinkgoHelper()
	const script = `cd /opt/kafka/certificates
cat node.key node.crt > /tmp/node.pem
cat > /tmp/admin.properties <<END
security.protocol=SSL
ssl.keystore.type=PEM
ssl.keystore.location=/tmp/node.pem
ssl.truststore.type=PEM
ssl.truststore.location=$PWD/cluster-ca.crt
END
java -cp '/opt/kafka/libs/*' "$0" --bootstrap-server "$(hostname -f):9091" --command-config /tmp/admin.properties "$@"`
	_, err := home.KubectlInput(ctx, input, append([]string{"exec", "-i", "-n", k.namespace, k.pods(Default)[0].Name, "-c", "kafka", "--",
		"bash", "-c", script, class}, args...)...)
	Expect(err).NotTo(HaveOccurred())
}
