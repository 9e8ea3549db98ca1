//go:build linux

package clusteroperator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// rolling is how long several restarts of all nodes of a Kafka, one node at a time, may take on a busy machine.
const rolling = 15 * time.Minute

// createTopic creates a topic without a KafkaTopic.
func (k *cluster) createTopic(name string) {
	GinkgoHelper()
	admin := k.admin()
	defer admin.Close()
	Eventually(func(g Gomega) {
		made, err := admin.CreateTopics(ctx, []kafka.NewTopic{{Name: name, Partitions: 3, ReplicationFactor: 3}}, false)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(made[name].Err == nil || kafka.IsExists(made[name].Err)).To(BeTrue(), "%v", made[name].Err)
	}).Should(Succeed(), func() string { return said(k.namespace) })
}

func (k *cluster) secret(g Gomega, suffix string) *corev1.Secret {
	found := &corev1.Secret{}
	g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: k.name + suffix}, found)).To(Succeed())
	return found
}

// carries waits until all nodes are ready and their pods have these annotations.
func (k *cluster) carries(annotations map[string]string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.readyPods(g)).To(HaveLen(k.nodes))
		for _, pod := range k.pods(g) {
			for key, value := range annotations {
				g.Expect(pod.Annotations).To(HaveKeyWithValue(key, value), pod.Name)
			}
		}
	}).WithTimeout(rolling).Should(Succeed(), func() string { return said(k.namespace) })
}

// patch patches an object with kubectl.
func (k *cluster) patch(kind, name, patch string) {
	GinkgoHelper()
	kubectl("patch", kind, name, "-n", k.namespace, "--type=merge", "-p", patch)
}

// renewCA requests a new certificate of the cluster CA.
func (k *cluster) renewCA() {
	GinkgoHelper()
	before := k.secret(Default, "-cluster-ca-cert")
	kubectl("annotate", "secret", before.Name, "-n", k.namespace, "strimzi.io/force-renew=true")
	Eventually(func(g Gomega) {
		g.Expect(k.secret(g, "-cluster-ca-cert").Data["ca.crt"]).NotTo(Equal(before.Data["ca.crt"]))
	}).Should(Succeed(), func() string { return said(k.namespace) })
	k.carries(map[string]string{core.AnnotationClusterCACertGeneration: k.secret(Default,
		"-cluster-ca-cert").Annotations["strimzi.io/ca-cert-generation"]})
}

// replaceCAKey requests a new key of the cluster CA.
func (k *cluster) replaceCAKey() {
	GinkgoHelper()
	_, old := k.outside()
	kubectl("annotate", "secret", k.name+"-cluster-ca", "-n", k.namespace, "strimzi.io/force-replace=true")
	Eventually(func(g Gomega) {
		g.Expect(k.secret(g, "-cluster-ca-cert").Data["ca.crt"]).NotTo(Equal(old))
	}).Should(Succeed(), func() string { return said(k.namespace) })
	k.switched()
	k.settled(old)
}

// switched waits until all nodes trust and use the current CA.
func (k *cluster) switched() {
	GinkgoHelper()
	k.carries(map[string]string{
		core.AnnotationClusterCACertGeneration: k.secret(Default, "-cluster-ca-cert").Annotations["strimzi.io/ca-cert-generation"],
		core.AnnotationClusterCAKeyGeneration:  k.secret(Default, "-cluster-ca").Annotations["strimzi.io/ca-key-generation"],
	})
}

// settled waits until no certificate of an earlier CA remains.
func (k *cluster) settled(old []byte) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(slices.Sorted(maps.Keys(k.secret(g, "-cluster-ca-cert").Data))).NotTo(ContainElement(MatchRegexp(`^ca-.*\.crt$`)),
			"the old certificate is dropped")
	}).WithTimeout(rolling).Should(Succeed(), func() string { return said(k.namespace) })
	k.ready()
	addresses, _ := k.outside()
	_, err := connect(addresses, old).DescribeCluster(ctx)
	Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassAuthentication), "who trusts the old CA alone trusts nobody: %v", err)
}

// formerCA is the key under which a user keeps the certificate of a replaced CA, as long as clients and nodes have to trust it.
const formerCA = "ca-2020-01-01T00-00-00Z.crt"

// supplyCA replaces the cluster CA with a user's own, as Strimzi's users do.
func (k *cluster) supplyCA() {
	GinkgoHelper()
	_, old := k.outside()
	certificate, key := ownAuthority()
	k.pause()
	for suffix, change := range map[string]func(*corev1.Secret) string{
		"-cluster-ca": func(s *corev1.Secret) string { s.Data["ca.key"] = key; return "strimzi.io/ca-key-generation" },
		"-cluster-ca-cert": func(s *corev1.Secret) string {
			s.Data[formerCA], s.Data["ca.crt"] = old, certificate
			delete(s.Data, "ca.p12")
			delete(s.Data, "ca.password")
			return "strimzi.io/ca-cert-generation"
		},
	} {
		s := k.secret(Default, suffix)
		annotation := change(s)
		generation, err := strconv.Atoi(s.Annotations[annotation])
		Expect(err).NotTo(HaveOccurred())
		s.Annotations[annotation] = strconv.Itoa(generation + 1)
		Expect(k8s.Update(ctx, s)).To(Succeed())
	}
	k.patch("kafka", k.name, `{"spec":{"clusterCa":{"generateCertificateAuthority":false}}}`)
	k.resume()
	k.switched()
	k.ready()
	// The user owns the Secret, and removes the old certificate.
	own := k.secret(Default, "-cluster-ca-cert")
	Expect(own.Data).To(HaveKeyWithValue(formerCA, old), "a user's Secret is left as it is")
	delete(own.Data, formerCA)
	Expect(k8s.Update(ctx, own)).To(Succeed())
	k.settled(old)
	addresses, _ := k.outside()
	found, err := connect(addresses, certificate).DescribeCluster(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(found.ID).To(Equal(k.object(Default).Status.ClusterID))
}

// pause has the operator change nothing of the Kafka until resume.
func (k *cluster) pause() {
	GinkgoHelper()
	kubectl("annotate", "kafka", k.name, "-n", k.namespace, "strimzi.io/pause-reconciliation=true")
	Eventually(func(g Gomega) {
		g.Expect(conditions(k.object(g).Status.Conditions)).To(HaveKeyWithValue("ReconciliationPaused", HavePrefix("True")))
	}).Should(Succeed(), func() string { return said(k.namespace) })
}

func (k *cluster) resume() {
	GinkgoHelper()
	kubectl("annotate", "kafka", k.name, "-n", k.namespace, "strimzi.io/pause-reconciliation-")
}

// ownAuthority returns a new CA of a user, in PEM.
func ownAuthority() (certificate, key []byte) {
	GinkgoHelper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "our own CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	Expect(err).NotTo(HaveOccurred())
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// runs waits until all nodes run a version of Kafka and the status shows it.
func (k *cluster) runs(version, metadata string) {
	GinkgoHelper()
	k.version = version
	k.carries(map[string]string{v1.AnnotationKafkaVersion: version})
	Eventually(func(g Gomega) {
		s := k.object(g).Status
		g.Expect(s.KafkaVersion).To(Equal(version))
		g.Expect(s.KafkaMetadataVersion).To(Equal(metadata), "%v", conditions(s.Conditions))
	}).Should(Succeed(), func() string { return said(k.namespace) })
	admin := k.admin()
	defer admin.Close()
	features, err := admin.DescribeFeatures(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(kafka.MetadataVersion(features.Finalized[kafka.FeatureMetadataVersion]).String()).To(Equal(metadata))
}

// grow waits until the volumes of a pool have 2Gi, which its storage requests. The test resizes them, as a storage driver does.
func (k *cluster) grow(pool, storage string) {
	GinkgoHelper()
	before := k.readyPods(Default)
	size := resource.MustParse("2Gi")
	k.patch("kafkanodepool", pool, `{"spec":{"storage":`+storage+`}}`)
	var claims corev1.PersistentVolumeClaimList
	Eventually(func(g Gomega) {
		g.Expect(k8s.List(ctx, &claims, client.InNamespace(k.namespace), client.MatchingLabels{core.LabelPoolName: pool})).To(Succeed())
		// The operator keeps the claims of nodes that left unchanged.
		claims.Items = slices.DeleteFunc(claims.Items, func(c corev1.PersistentVolumeClaim) bool {
			return !slices.ContainsFunc(slices.Collect(maps.Keys(before)), func(pod string) bool { return strings.HasSuffix(c.Name, "-"+pod) })
		})
		g.Expect(claims.Items).NotTo(BeEmpty())
		for _, c := range claims.Items {
			g.Expect(c.Spec.Resources.Requests.Storage().Cmp(size)).To(BeZero(), c.Name)
		}
	}).Should(Succeed(), func() string { return said(k.namespace) })
	for i := range claims.Items {
		claim, volume := &claims.Items[i], &corev1.PersistentVolume{}
		Expect(k8s.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)).To(Succeed())
		smaller := volume.DeepCopy()
		volume.Spec.Capacity[corev1.ResourceStorage] = size
		Expect(k8s.Patch(ctx, volume, client.MergeFrom(smaller))).To(Succeed())
		was := claim.DeepCopy()
		claim.Status.Capacity[corev1.ResourceStorage] = size
		Expect(k8s.Status().Patch(ctx, claim, client.MergeFrom(was))).To(Succeed())
	}
	k.ready()
	Expect(k.readyPods(Default)).To(Equal(before), "no pod was restarted")
}

// scale changes the number of nodes of a pool, and waits until the Kafka has that many nodes.
func (k *cluster) scale(pool string, replicas, nodes int) {
	GinkgoHelper()
	k.patch("kafkanodepool", pool, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	k.nodes = nodes
	Eventually(func(g Gomega) {
		g.Expect(k.pods(g)).To(HaveLen(nodes))
		g.Expect(k.readyPods(g)).To(HaveLen(nodes))
	}).Should(Succeed(), func() string { return said(k.namespace) })
	k.ready()
}

// move moves the partitions of all topics to other replicas.
func (k *cluster) move(brokers func([]int32) []int32) {
	GinkgoHelper()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	Expect(traffic.Move(limited, k.records("any"), brokers)).To(Succeed())
}

// joinAndLeave adds brokers, moves partitions to them, checks that the operator keeps them while they hold partitions, and that it removes
// them afterwards.
func (k *cluster) joinAndLeave(pool string, present, more []int32) {
	GinkgoHelper()
	before := k.readyPods(Default)
	k.scale(pool, len(present)+len(more), k.nodes+len(more))
	k.move(func(replicas []int32) []int32 { return append(slices.Clone(more), replicas...)[:len(replicas)] })
	k.patch("kafkanodepool", pool, fmt.Sprintf(`{"spec":{"replicas":%d}}`, len(present)))
	Eventually(func(g Gomega) {
		warnings := conditions(k.object(g).Status.Conditions)
		for _, id := range more {
			g.Expect(warnings).To(HaveKeyWithValue("Warning", ContainSubstring(fmt.Sprintf("broker %d holds", id))))
		}
	}).Should(Succeed(), func() string { return said(k.namespace) })
	Expect(k.readyPods(Default)).To(HaveLen(k.nodes), "brokers that hold partitions stay")
	k.move(func(replicas []int32) []int32 {
		kept := slices.DeleteFunc(replicas, func(id int32) bool { return slices.Contains(more, id) })
		for _, id := range present {
			if len(kept) < 3 && !slices.Contains(kept, id) {
				kept = append(kept, id)
			}
		}
		return kept
	})
	k.scale(pool, len(present), k.nodes-len(more))
	admin := k.admin()
	defer admin.Close()
	Eventually(func(g Gomega) {
		found, err := admin.DescribeCluster(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found.Brokers).To(HaveLen(len(present)), "those that left are unregistered")
	}).Should(Succeed(), func() string { return said(k.namespace) })
	Expect(k.readyPods(Default)).To(Equal(before), "nobody else was restarted")
	Expect(strings.Contains(conditions(k.object(Default).Status.Conditions)["Warning"], "holds")).To(BeFalse())
}

// loseVolume removes a volume from the brokers of a pool, on which their topics are.
func (k *cluster) loseVolume(pool string, brokers []int32, without string) {
	GinkgoHelper()
	const dir = "/var/lib/kafka/data-%d/kafka-log%d"
	k.patch("kafkanodepool", pool, `{"spec":{"storage":`+without+`}}`)
	admin := k.admin()
	defer admin.Close()
	Eventually(func(g Gomega) {
		warnings := conditions(k.object(g).Status.Conditions)
		for _, id := range brokers {
			g.Expect(warnings).To(HaveKeyWithValue("Warning", MatchRegexp(`volume 1 of broker %d holds [1-9]\d* replicas`, id)))
			dirs, err := admin.DescribeLogDirs(ctx, id)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(dirs).To(ContainElement(And(HaveField("Path", fmt.Sprintf(dir, 1, id)), HaveField("Cordoned", true))))
		}
	}).Should(Succeed(), func() string { return said(k.namespace) })
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, id := range brokers {
		Expect(traffic.Drain(limited, k.records("any"), id, fmt.Sprintf(dir, 1, id), fmt.Sprintf(dir, 0, id))).To(Succeed())
	}
	Eventually(func(g Gomega) {
		for _, id := range brokers {
			dirs, err := admin.DescribeLogDirs(ctx, id)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(dirs).To(HaveExactElements(And(HaveField("Path", fmt.Sprintf(dir, 0, id)), HaveField("Cordoned", false))))
		}
		for _, id := range brokers {
			claim := client.ObjectKey{Namespace: k.namespace, Name: fmt.Sprintf("data-1-%s-%s-%d", k.name, pool, id)}
			g.Expect(apierrors.IsNotFound(k8s.Get(ctx, claim, &corev1.PersistentVolumeClaim{}))).To(BeTrue(), claim.Name)
		}
		configs, err := admin.DescribeConfigs(ctx, []kafka.ConfigResource{kafka.BrokerResource(brokers[0])}, []string{"cordoned.log.dirs"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(configs[kafka.BrokerResource(brokers[0])].Entries["cordoned.log.dirs"].Value).To(BeEmpty())
	}).WithTimeout(rolling).Should(Succeed(), func() string { return said(k.namespace) })
	k.ready()
}

// losePod kills a pod, waits until it is ready again, and returns its name. before are the ready pods.
func (k *cluster) losePod(before map[string]types.UID) string {
	GinkgoHelper()
	victim := slices.Sorted(maps.Keys(before))[1]
	Expect(k8s.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: victim}},
		client.GracePeriodSeconds(0))).To(Succeed())
	Eventually(func(g Gomega) { g.Expect(k.readyPods(g)).To(HaveKeyWithValue(victim, Not(Equal(before[victim])))) }).
		Should(Succeed(), func() string { return said(k.namespace) })
	return victim
}
