//go:build linux

package stretch

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
)

const (
	podSets    = "strimzipodsets.core.strimzi.io"
	missingCRD = "False MissingCRD Required CRD 'strimzipodsets.core.strimzi.io' not found in cluster 'cluster-east'. " +
		"Please ensure Strimzi CRDs are installed in all target clusters."
)

// TestOperatorsOverThreeControlPlanes tests problems with other Kubernetes clusters: of installed kinds, of other owners of objects, and of
// access.
func TestOperatorsOverThreeControlPlanes(t *testing.T) {
	r := newRealm(t)
	r.uninstall()
	for _, id := range []string{eastID, westID, centralID} {
		r.start(id)
	}
	pids := map[string]int{}
	for id, p := range r.operators {
		pids[id] = p.PID()
	}
	passed := 0
	for _, part := range []struct {
		name, namespace string
		do              func(*realm)
		// long tests run only with make prove: an API server accepts a token for a minute longer than its lifetime.
		long bool
	}{
		{"a Kubernetes cluster lacks the kind StrimziPodSet", "kafka", (*realm).lacksTheKind, false},
		{"it loses the kind", "kafka", (*realm).losesTheKind, false},
		{"credentials end while they are in use", "kafka", (*realm).credentialsEnd, true},
		{"a deleted Kafka leaves nothing in any Kubernetes cluster", "kafka", (*realm).leavesNothing, false},
		{"somebody else's Kafka of the same name is in a remote Kubernetes cluster", "same-name", (*realm).sameName, false},
	} {
		if part.long && !full {
			continue
		}
		if !t.Run(part.name, func(t *testing.T) { part.do(r.within(t, part.namespace)) }) {
			t.FailNow()
		}
		passed++
	}
	for id, p := range r.operators {
		r.Expect(p.Running()).To(BeTrue(), "the operator of %s was not started again", id)
		r.Expect(p.PID()).To(Equal(pids[id]))
	}
	fmt.Printf("PROOF {\"name\":\"operators over three control planes\",\"count\":%d,\"violations\":0,\"seed\":0}\n", passed)
}

// uninstall removes the kind StrimziPodSet and all its objects from the cluster east.
func (r *realm) uninstall() {
	r.t.Helper()
	r.kubectl(eastID, "delete", "crd", podSets, "--wait", "--timeout=120s")
}

// reinstall installs the kind again.
func (r *realm) reinstall() {
	r.t.Helper()
	r.kubectl(eastID, "apply", "--server-side", "-f",
		filepath.Join("..", "..", "config", "crd", "bases", "core.strimzi.io_strimzipodsets.yaml"))
}

// spread waits until each Kubernetes cluster has a StrimziPodSet, and the pod that it lists.
func (r *realm) spread() {
	r.t.Helper()
	for _, id := range []string{centralID, eastID, westID} {
		pool := id[len("cluster-"):]
		r.Eventually(func(g Gomega) {
			set := &core.StrimziPodSet{}
			g.Expect(r.k8s[id].Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name + "-" + pool}, set)).To(Succeed())
			g.Expect(set.Spec.Pods).To(HaveLen(1))
			var pods corev1.PodList
			g.Expect(r.k8s[id].List(r.t.Context(), &pods, client.InNamespace(r.namespace),
				client.MatchingLabels{core.LabelPoolName: pool})).To(Succeed())
			g.Expect(pods.Items).To(ConsistOf(HaveField("DeletionTimestamp", BeNil())))
		}).Should(Succeed(), "%s: %v", id, func() string { return condition(r.kafka(r), v1.ConditionReady) })
	}
}

func (r *realm) lacksTheKind() {
	r.apply()
	r.told(v1.ConditionReady, missingCRD)
	for _, id := range []string{eastID, westID} {
		r.Expect(r.made(id)).To(BeEmpty(), "nobody knows what is there, so nothing is made, not even elsewhere")
	}
	r.reinstall()
	r.spread()
	r.told(v1.ConditionReady, "False Creating")
	for id := range r.planes {
		r.Expect(r.made(id)).To(And(HaveKey("PodDisruptionBudget "+name+"-kafka"), HaveKey("NetworkPolicy "+name+"-network-policy-kafka"),
			HaveKey("ServiceAccount "+name+"-kafka")), id)
	}
}

func (r *realm) losesTheKind() {
	west := r.made(westID)
	r.uninstall()
	// Without a change to make there, the operator learns of it only if it receives the deletions of the objects before the watch ends.
	r.kubectl(centralID, "patch", "kafkanodepool", "east", "-n", r.namespace, "--type=merge", "-p", `{"spec":{"jvmOptions":{"-Xmx":"300m"}}}`)
	r.told(v1.ConditionReady, missingCRD)
	r.told("Degraded", "True RemoteClusterFailed")
	r.reinstall()
	r.spread()
	r.told(v1.ConditionReady, "False Creating")
	r.Expect(r.made(westID)).To(Equal(west), "the others stay as they are")
}

// credentialsEnd gives the operators a token that expires soon, and after its expiry one that lasts.
func (r *realm) credentialsEnd() {
	const life = 40 * time.Second
	token, err := r.planes[eastID].ServiceAccountToken(r.t.Context(), deploy.Namespace, "central-operators", life)
	r.Expect(err).NotTo(HaveOccurred())
	end := time.Now().Add(life)
	r.admit(eastID, token)
	r.told(v1.ConditionWarning, "True CredentialsExpire The credentials for cluster 'cluster-east' expire within 24 hours, at ")
	r.Expect(time.Now()).To(BeTemporally("<", end), "it is told ahead of time")
	r.Expect(condition(r.kafka(r), "Degraded")).To(BeEmpty())

	r.told(v1.ConditionReady, "False ConnectivityError Cannot connect to cluster 'cluster-east': its API server rejects the credentials "+
		"in Secret "+deploy.Namespace+"/kubeconfig-cluster-east (")
	r.Expect(time.Now()).To(BeTemporally(">", end.Add(-time.Second)))
	r.told("Degraded", "True RemoteClusterUnreachable")
	r.told(v1.ConditionWarning, "True CredentialsExpire The credentials for cluster 'cluster-east' expired at ")

	// The other clusters are still reconciled, and nothing changes in the cluster without access.
	before := r.made(eastID)
	r.kubectl(centralID, "patch", "kafka", name, "-n", r.namespace, "--type=merge", "-p",
		`{"spec":{"kafka":{"config":{"log.retention.hours":7}}}}`)
	r.Eventually(r.configured).WithArguments(westID, name+"-west-2").Should(ContainSubstring("log.retention.hours=7\n"))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name + "-kafka-brokers"}}
	r.Expect(r.k8s[westID].Delete(r.t.Context(), service)).To(Succeed())
	r.Eventually(func() error { return r.k8s[westID].Get(r.t.Context(), client.ObjectKeyFromObject(service), service) }).Should(Succeed())
	r.Expect(r.made(eastID)).To(Equal(before))

	if token, err = r.planes[eastID].ServiceAccountToken(r.t.Context(), deploy.Namespace, "central-operators", 30*24*time.Hour); err != nil {
		r.t.Fatal(err)
	}
	r.admit(eastID, token)
	r.Eventually(r.configured).WithArguments(eastID, name+"-east-1").Should(ContainSubstring("log.retention.hours=7\n"))
	r.told(v1.ConditionReady, "False Creating")
	r.Eventually(func(g Gomega) {
		k := r.kafka(g)
		g.Expect(condition(k, "Degraded")).To(BeEmpty())
		g.Expect(condition(k, v1.ConditionWarning)).NotTo(ContainSubstring("CredentialsExpire"))
	}).Should(Succeed())
}

// configured returns the configuration of a node.
func (r *realm) configured(id, node string) string {
	config := &corev1.ConfigMap{}
	if err := r.k8s[id].Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: node}, config); err != nil {
		return err.Error()
	}
	return config.Data["server.config"]
}

func (r *realm) leavesNothing() {
	r.kubectl(centralID, "delete", "-n", r.namespace, "-f", filepath.Join("testdata", "kafka.yaml"), "--timeout=120s")
	for id := range r.planes {
		r.Eventually(func() []string {
			var left []string
			for key := range r.made(id) {
				left = append(left, key)
			}
			return left
		}).Should(ConsistOf(HavePrefix("PersistentVolumeClaim ")), "%s: its data is kept, as its deleteClaim says", id)
	}
}

// sameName creates a Kafka of the same name with a separate operator in the cluster east, and then a Kafka over all clusters.
func (r *realm) sameName() {
	r.kubectl(eastID, "apply", "--server-side", "-f", filepath.Join("..", "..", "config", "cluster-operator", "rbac", "role.yaml"))
	r.run(eastID, map[string]string{"STRIMZI_NAMESPACE": r.namespace})
	r.kubectl(eastID, "apply", "--server-side", "-n", r.namespace, "-f", filepath.Join("testdata", "alone.yaml"))
	r.Eventually(func(g Gomega) {
		set := &core.StrimziPodSet{}
		g.Expect(r.k8s[eastID].Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name + "-east"}, set)).To(Succeed())
		g.Expect(set.Status.Pods).To(Equal(int32(1)))
	}).Should(Succeed())
	before := r.made(eastID)
	r.Expect(before).To(And(HaveKey("StrimziPodSet "+name+"-east"), HaveKey("Secret "+name+"-cluster-ca"), HaveKey("Kafka "+name)))

	r.apply()
	r.told(v1.ConditionReady, "False OwnershipConflict cluster 'cluster-east' holds a Kafka same-name/my-cluster of its own (ConfigMap "+
		name+"-east-0 belongs to it): nothing is changed anywhere. Rename this Kafka")
	r.Expect(r.made(westID)).To(BeEmpty(), "nothing is made anywhere")
	r.Expect(r.kafka(r).Finalizers).To(BeEmpty())
	still := func() {
		r.t.Helper()
		r.Expect(r.made(eastID)).To(Equal(before))
	}
	still()
	r.kubectl(centralID, "delete", "-n", r.namespace, "-f", filepath.Join("testdata", "kafka.yaml"), "--timeout=120s")
	r.Eventually(func() error {
		return r.k8s[centralID].Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, &v1.Kafka{})
	}).Should(MatchError(apierrors.IsNotFound, "NotFound"))
	still()

	// The separate operator still reconciles its Kafka.
	r.kubectl(eastID, "patch", "kafka", name, "-n", r.namespace, "--type=merge", "-p",
		`{"spec":{"kafka":{"config":{"log.retention.hours":7}}}}`)
	r.Eventually(r.configured).WithArguments(eastID, name+"-east-0").Should(ContainSubstring("log.retention.hours=7\n"))
}
