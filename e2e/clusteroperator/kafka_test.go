//go:build linux

package clusteroperator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// cluster is a Kafka of testdata in a namespace.
type cluster struct {
	namespace, name, manifest string
	nodes                     int
	// version replaces the version in the manifest.
	version string
}

// versionLine matches the version of Kafka in a manifest.
var versionLine = regexp.MustCompile(`(?m)^(    version: ).*$`)

func (k *cluster) path() string { return filepath.Join("testdata", k.manifest) }

// apply applies the manifest, waits until the Kafka is Ready, and returns how long that took.
func (k *cluster) apply() time.Duration {
	GinkgoHelper()
	began := time.Now()
	manifest, err := os.ReadFile(k.path())
	Expect(err).NotTo(HaveOccurred())
	if k.version != "" {
		manifest = versionLine.ReplaceAll(manifest, []byte("${1}"+k.version))
	}
	_, err = home.KubectlInput(ctx, string(manifest), "apply", "--server-side", "--force-conflicts", "-n", k.namespace, "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	k.ready()
	return time.Since(began)
}

// ready waits until the Kafka is Ready in its current generation.
func (k *cluster) ready() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := k.object(g)
		g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
		g.Expect(conditions(found.Status.Conditions)).To(HaveKeyWithValue(v1.ConditionReady, HavePrefix("True")))
		g.Expect(k.readyPods(g)).To(HaveLen(k.nodes))
	}).WithTimeout(rolling).Should(Succeed(), func() string { return said(k.namespace) })
}

// deployed returns what the Kafka is to other packages.
func (k *cluster) deployed() *deploy.Kafka {
	return &deploy.Kafka{Places: []*deploy.Place{home}, Namespace: k.namespace, Name: k.name}
}

func (k *cluster) object(g Gomega) *v1.Kafka {
	found, err := k.deployed().Object(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

// conditions returns the status, the reason and the message of each condition, by type.
func conditions(list []v1.Condition) map[string]string {
	all := map[string]string{}
	for _, c := range list {
		all[c.Type] += strings.TrimSpace(strings.Join([]string{c.Status, c.Reason, c.Message}, " ")) + "\n"
	}
	return all
}

// pods returns the pods of the Kafka's nodes.
func (k *cluster) pods(g Gomega) []corev1.Pod {
	pods, err := k.deployed().Pods(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return pods
}

// readyPods returns the uids of the ready nodes' pods, by name.
func (k *cluster) readyPods(g Gomega) map[string]types.UID {
	uids, err := k.deployed().ReadyPods(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return uids
}

// outside returns what a client outside of the Kubernetes cluster needs to reach the Kafka: the addresses in its status, and its CA, which
// is the only one that the client trusts.
func (k *cluster) outside() (addresses []string, authority []byte) {
	GinkgoHelper()
	authority, _, err := k.deployed().Authority(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(authority).NotTo(BeEmpty())
	return k.bootstrap("external"), authority
}

// bootstrap returns the addresses of a listener in the status of the Kafka.
func (k *cluster) bootstrap(listener string) []string {
	GinkgoHelper()
	addresses, err := k.deployed().Bootstrap(ctx, listener)
	Expect(err).NotTo(HaveOccurred())
	return addresses
}

// records returns the options for writing to and reading a topic from outside.
func (k *cluster) records(topic string) traffic.Options {
	GinkgoHelper()
	_, known, err := k.deployed().Authority(ctx)
	Expect(err).NotTo(HaveOccurred())
	var lock sync.Mutex
	return traffic.Options{
		Bootstrap: k.bootstrap("external"), Dial: lab.DialContext, TLS: &tls.Config{MinVersion: tls.VersionTLS12}, Topic: topic,
		Group: topic + "-readers",
		// Like a client that mounts the Secret: while the API server is unreachable, the last known certificates are used.
		Authorities: func() (*x509.CertPool, error) {
			lock.Lock()
			defer lock.Unlock()
			limited, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			if _, now, err := k.deployed().Authority(limited); err == nil {
				known = now
			}
			return known, nil
		},
	}
}

// admin returns a client of the brokers from outside.
func (k *cluster) admin() *saramakafka.Admin {
	GinkgoHelper()
	return connect(k.outside())
}

func connect(addresses []string, authority []byte) *saramakafka.Admin {
	GinkgoHelper()
	return connectAs(kafka.Config{Bootstrap: addresses, TLS: &kafka.TLS{TrustedCertificates: authority}})
}

// connectAs connects from outside with these credentials.
func connectAs(c kafka.Config) *saramakafka.Admin {
	GinkgoHelper()
	c.ClientID, c.RequestTimeout, c.Dial = "e2e", 10*time.Second, lab.DialContext
	admin, err := saramakafka.New(c)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(admin.Close)
	return admin
}

// write writes and reads records while during runs, at least least of them, and returns the acknowledged values.
func (k *cluster) write(topic string, least int, during func()) []string {
	GinkgoHelper()
	report, err := traffic.Through(ctx, k.records(topic), least, patience, func(*traffic.Traffic) { during() })
	Expect(err).NotTo(HaveOccurred())
	acknowledged.Add(int64(len(report.Acknowledged)))
	AddReportEntry("records to "+topic, ReportEntryVisibilityAlways,
		fmt.Sprintf("%d acknowledged, the slowest after %s; none refused, lost or doubled",
			len(report.Acknowledged), report.Longest.Round(time.Millisecond)))
	return report.Acknowledged
}

// holds checks that the topic has each of these values exactly once.
func (k *cluster) holds(topic string, values []string) {
	GinkgoHelper()
	Expect(values).NotTo(BeEmpty())
	Eventually(func(g Gomega) {
		limited, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		there, err := traffic.ReadAll(limited, k.records(topic))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(there).To(HaveLen(len(values)))
		for _, value := range values {
			g.Expect(there).To(HaveKeyWithValue(value, 1))
		}
	}).Should(Succeed(), func() string { return said(k.namespace) })
}

// inSync waits until all replicas of all partitions are in sync.
func (k *cluster) inSync(admin *saramakafka.Admin) {
	GinkgoHelper()
	Eventually(func() error { return deploy.InSync(ctx, admin) }).Should(Succeed(), func() string { return said(k.namespace) })
}
