//go:build linux

package stretch

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

// TestRandomHistoriesOnRealGarbageCollectors plays random histories of a Kafka over three control planes with Kubernetes' garbage
// collectors: what users create, change and delete, anchors that are deleted in each way, operators that are killed, clusters that are cut
// off, writes that fail, and namespaces that are deleted in the end. A few histories are played; make prove plays more, beside a second
// central cluster with a Kafka of the same name.
func TestRandomHistoriesOnRealGarbageCollectors(t *testing.T) {
	seed, histories, steps := int64(randomtest.Seed(t)), 2, 15 // it fits
	if full {
		histories, steps = 100, 30
	}
	r := newRealm(t)
	r.putFaultsBeforeEast()
	for _, id := range []string{eastID, westID, centralID} {
		r.start(id)
	}
	var rival *realm
	if full {
		rival = r.withRival()
	}
	begin := func(t *testing.T, namespace string, seed int64) *history {
		h := &history{realm: r.within(t, namespace), root: r, rand: rand.New(rand.NewSource(seed)),
			theirs: map[string]map[string]string{}, kept: map[types.UID]string{}, mayGo: map[string]bool{},
			ids: map[string]string{}, owners: map[types.UID]string{}}
		if rival != nil {
			h.rival = rival.within(t, namespace)
		}
		h.settleOthers()
		return h
	}
	t.Run("planted-faults", func(t *testing.T) { begin(t, "planted-faults", seed).findsPlantedFaults() })
	for i := range histories {
		namespace := fmt.Sprintf("history-%d", i)
		if !t.Run(namespace, func(t *testing.T) { begin(t, namespace, seed+int64(i)).play(steps) }) {
			t.Fatalf("PROVE_SEED=%d plays this history first", seed+int64(i))
		}
	}
	fmt.Printf("PROOF {\"name\":\"random histories on real garbage collectors\",\"count\":%d,\"violations\":0,\"seed\":%d}\n",
		histories*steps, seed)
}

// history is a random history of one Kafka in a namespace of its own.
type history struct {
	*realm
	// root is the realm whose operators outlive the history.
	root *realm
	rand *rand.Rand
	// theirs are the objects of other owners, by Kubernetes cluster, with their versions.
	theirs map[string]map[string]string
	// kept are the volumes that have to stay, and mayGo are the pools that had deleteClaim at some time.
	kept  map[types.UID]string
	mayGo map[string]bool
	// rival has another central cluster with a Kafka of this name; nil if there is none.
	rival *realm
	// ids are the ids of owners that Kafkas have had, with their central cluster, and owners are the first ones of objects.
	ids    map[string]string
	owners map[types.UID]string
}

// theirs are objects of another owner, with the label and a prefix of the Kafka's.
const theirs = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: my-cluster-notes, labels: {strimzi.io/cluster: my-cluster}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: my-cluster-theirs, labels: {strimzi.io/cluster: my-cluster}}}
---
apiVersion: v1
kind: Service
metadata: {name: my-cluster-theirs, labels: {strimzi.io/cluster: my-cluster}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-my-cluster-theirs-7, labels: {strimzi.io/cluster: my-cluster}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// settleOthers creates what others have in each Kubernetes cluster.
func (h *history) settleOthers() {
	h.t.Helper()
	for id := range h.planes {
		_, err := h.planes[id].KubectlInput(h.t.Context(), theirs, "apply", "--server-side", "-n", h.namespace, "-f", "-")
		h.Expect(err).NotTo(HaveOccurred())
		h.theirs[id] = h.made(id)
	}
}

// findsPlantedFaults does what no operator may do, and checks that it is found.
func (h *history) findsPlantedFaults() {
	h.t.Helper()
	volume := &corev1.PersistentVolumeClaim{}
	key := client.ObjectKey{Namespace: h.namespace, Name: "data-my-cluster-theirs-7"}
	h.Expect(h.k8s[eastID].Get(h.t.Context(), key, volume)).To(Succeed())
	volume = &corev1.PersistentVolumeClaim{Spec: volume.Spec, ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace,
		Name: "data-my-cluster-west-2", Labels: map[string]string{core.LabelPoolName: "west"}}}
	h.Expect(h.k8s[westID].Create(h.t.Context(), volume)).To(Succeed())
	h.judge()
	h.Expect(h.left(westID)).To(BeEmpty())
	h.Expect(h.k8s[westID].Delete(h.t.Context(), volume)).To(Succeed())
	h.Expect(h.violation(h.judge)).To(ContainSubstring("volume cluster-west data-my-cluster-west-2 is lost"))
	h.kept = map[types.UID]string{}

	notes := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "my-cluster-notes"}}
	h.Expect(h.k8s[eastID].Update(h.t.Context(), notes)).To(Succeed())
	h.Expect(h.violation(h.judge)).To(ContainSubstring("what others have in cluster-east"))
	h.ids["1"], h.ids["2"] = "the first", "the second"
	h.theirs[eastID] = h.made(eastID)
	notes.Name, notes.UID, notes.ResourceVersion = "my-cluster-anything", "", ""
	for _, id := range []string{"1", "2"} {
		notes.Annotations = map[string]string{ownership.MarkID: id}
		if id == "1" {
			h.Expect(h.k8s[eastID].Create(h.t.Context(), notes)).To(Succeed())
			h.judge()
		} else {
			h.Expect(h.k8s[eastID].Update(h.t.Context(), notes)).To(Succeed())
			h.Expect(h.violation(h.judge)).To(ContainSubstring("changed hands, from the first central cluster to the second"))
		}
	}
	h.Expect(h.k8s[eastID].Delete(h.t.Context(), notes)).To(Succeed())
	notes.Annotations = nil
	notes.Name = "my-cluster-kafka-gc"
	notes.ResourceVersion, notes.UID = "", ""
	h.Expect(h.k8s[eastID].Create(h.t.Context(), notes)).To(Succeed())
	h.Expect(h.left(eastID)).To(ConsistOf("ConfigMap my-cluster-kafka-gc"))
}

// violation returns what a check says that fails, "" if it does not.
func (h *history) violation(check func()) (found string) {
	honest := h.WithT
	failing, _ := NewGomega(func(message string, _ ...int) { panic(message) }).(*WithT)
	h.WithT = failing
	defer func() {
		h.WithT = honest
		found, _ = recover().(string)
	}()
	check()
	return ""
}

func (h *history) play(steps int) {
	h.t.Helper()
	h.apply()
	if h.rand.Intn(2) == 0 {
		h.spread()
	}
	for step := range steps {
		what := h.step()
		h.t.Logf("step %d: %s", step, what)
		if h.rand.Intn(2) == 0 {
			h.seen()
		}
		h.judge()
	}
	h.end()
}

func (h *history) one(of ...string) string { return of[h.rand.Intn(len(of))] }

// step does something at random, and says what.
func (h *history) step() string {
	id, pool := h.one(eastID, westID), h.one("central", "east", "west")
	err := h.k8s[centralID].Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, &v1.Kafka{})
	if err != nil && h.rand.Intn(2) == 0 {
		h.apply()
		return "apply the Kafka and its pools"
	}
	switch n := h.rand.Intn(12); n {
	case 0, 1:
		return h.try(centralID, "patch", "kafka", name, "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"kafka":{"config":{"log.retention.hours":%d}}}}`, 1+h.rand.Intn(9)))
	case 2:
		remove := h.rand.Intn(2) == 0
		h.mayGo[pool] = h.mayGo[pool] || remove
		return h.try(centralID, "patch", "kafkanodepool", pool, "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"storage":{"deleteClaim":%v}}}`, remove))
	case 3:
		return h.morePool(id)
	case 4, 5:
		return h.deleteAnchor(id)
	case 6:
		h.operators[centralID].Kill()
		<-h.operators[centralID].Exited()
		h.root.start(centralID)
		return "kill the central operator"
	case 7:
		return h.connection(id)
	case 8:
		return h.deleteSomething(h.one(centralID, eastID, westID))
	case 9, 10:
		if n == 10 && h.rival != nil {
			return h.rivalry()
		}
		writes, after := 1+h.rand.Intn(3), h.rand.Intn(2) == 0
		h.faults.failWrites(writes, after)
		return fmt.Sprintf("%d writes to %s fail, after they were carried out: %v", writes, eastID, after)
	}
	return h.try(centralID, "delete", "kafka", name, "--wait=false", "--cascade="+h.one("background", "foreground"))
}

// rivalry creates the Kafka in the other central cluster, or deletes it.
func (h *history) rivalry() string {
	if h.rand.Intn(2) == 0 {
		h.rival.apply()
		return "apply the Kafka in another central cluster"
	}
	h.rival.kubectl(centralID, "delete", "kafka", name, "-n", h.namespace, "--wait=false", "--ignore-not-found")
	return "delete the Kafka in the other central cluster"
}

// try runs kubectl in the namespace, and returns what it ran. What is changed may be gone, or change at the same time.
func (h *history) try(id string, args ...string) string {
	h.t.Helper()
	_, err := h.planes[id].Kubectl(h.t.Context(), append(args, "-n", h.namespace)...)
	if err != nil && !strings.Contains(err.Error(), "NotFound") && !strings.Contains(err.Error(), "Conflict") {
		h.Expect(err).NotTo(HaveOccurred())
	}
	return id + ": kubectl " + strings.Join(args, " ")
}

// morePool creates a pool of brokers, or deletes it.
func (h *history) morePool(id string) string {
	pool := &v1.KafkaNodePool{}
	key := client.ObjectKey{Namespace: h.namespace, Name: "more"}
	if h.k8s[centralID].Get(h.t.Context(), key, pool) == nil {
		return h.try(centralID, "delete", "kafkanodepool", "more")
	}
	remove := h.rand.Intn(2) == 0
	h.mayGo["more"] = h.mayGo["more"] || remove
	pool = &v1.KafkaNodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "more", Labels: map[string]string{v1.LabelCluster: name},
			Annotations: map[string]string{v1.AnnotationTargetCluster: id}},
		Spec: &v1.KafkaNodePoolSpec{Replicas: 2, Roles: []v1.ProcessRole{v1.RoleBroker},
			Storage: v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi", DeleteClaim: &remove}},
	}
	h.Expect(h.k8s[centralID].Create(h.t.Context(), pool)).To(Succeed())
	return fmt.Sprintf("create a pool in %s, deleteClaim %v", id, remove)
}

// deleteAnchor deletes the anchor in a Kubernetes cluster. What it owned and no longer has an owner is to get one again: without that, it
// would be kept by its user's wish.
func (h *history) deleteAnchor(id string) string {
	cascade := h.one("background", "foreground", "orphan")
	kafka, anchor := &v1.Kafka{}, &corev1.ConfigMap{}
	orphan := cascade == "orphan"
	if orphan && (h.rivals() || h.k8s[centralID].Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, kafka) != nil ||
		kafka.DeletionTimestamp != nil ||
		h.k8s[id].Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name + "-kafka-gc"}, anchor) != nil) {
		return "nothing"
	}
	if orphan {
		h.heal(id)
	}
	what := h.try(id, "delete", "configmap", name+"-kafka-gc", "--wait=false", "--cascade="+cascade)
	if orphan {
		h.Eventually(h.ownerless).WithArguments(id).Should(BeEmpty(), "%s has an owner again", id)
	}
	return what
}

// rivals reports whether the other central cluster has the Kafka, so that this one's may have to do without its objects.
func (h *history) rivals() bool {
	key := client.ObjectKey{Namespace: h.namespace, Name: name}
	return h.rival != nil && h.rival.k8s[centralID].Get(h.t.Context(), key, &v1.Kafka{}) == nil
}

// ownerless returns the names of the StrimziPodSets and ConfigMaps of the Kafka that lack an owner, and of its anchor if that is missing.
func (h *history) ownerless(id string) (names []string) {
	anchor := name + "-kafka-gc"
	var configs corev1.ConfigMapList
	var sets core.StrimziPodSetList
	for _, list := range []client.ObjectList{&configs, &sets} {
		if err := h.k8s[id].List(h.t.Context(), list, client.InNamespace(h.namespace), client.HasLabels{v1.LabelCluster}); err != nil {
			return []string{err.Error()}
		}
	}
	found := false
	for _, c := range configs.Items {
		found = found || c.Name == anchor && c.DeletionTimestamp == nil
		if _, others := h.theirs[id]["ConfigMap "+c.Name]; !others && c.Name != anchor && len(c.OwnerReferences) == 0 {
			names = append(names, c.Name)
		}
	}
	for _, s := range sets.Items {
		if len(s.OwnerReferences) == 0 {
			names = append(names, s.Name)
		}
	}
	if !found {
		names = append(names, anchor)
	}
	return names
}

// connection cuts the operators off from a Kubernetes cluster, or ends that.
func (h *history) connection(id string) string {
	if h.rand.Intn(2) == 0 {
		h.heal(id)
		return id + " is connected"
	}
	h.Expect(client.IgnoreNotFound(h.k8s[centralID].Delete(h.t.Context(), kubeconfigOf(id)))).To(Succeed())
	return id + " is cut off"
}

func kubeconfigOf(id string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: deploy.Namespace, Name: "kubeconfig-" + id}}
}

func (h *history) heal(id string) {
	if h.k8s[centralID].Get(h.t.Context(), client.ObjectKeyFromObject(kubeconfigOf(id)), &corev1.Secret{}) != nil {
		h.connect(id)
	}
}

// deleteSomething deletes an object of the operator, other than a volume and the Secrets of CAs.
func (h *history) deleteSomething(id string) string {
	var keys []string
	for key := range h.made(id) {
		_, others := h.theirs[id][key]
		if !others && !strings.HasPrefix(key, "Kafka") && !strings.HasPrefix(key, "PersistentVolumeClaim ") &&
			!strings.HasPrefix(key, "Secret ") && !strings.HasSuffix(key, "-kafka-gc") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return "nothing"
	}
	slices.Sort(keys)
	kind, what, _ := strings.Cut(h.one(keys...), " ")
	return h.try(id, "delete", strings.ToLower(kind), what, "--wait=false")
}

// seen waits until the operator has seen the last change of a Kafka that is not deleted.
func (h *history) seen() {
	h.t.Helper()
	h.Eventually(func(g Gomega) {
		kafka := &v1.Kafka{}
		err := h.k8s[centralID].Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, kafka)
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err == nil && kafka.DeletionTimestamp == nil {
			g.Expect(kafka.Status.ObservedGeneration).To(Equal(kafka.Generation))
		}
	}).Should(Succeed())
}

// judge checks that no volume was lost, that nothing of others was touched, and that no object went from the Kafka of one central cluster
// to that of another.
func (h *history) judge() {
	h.t.Helper()
	there := map[types.UID]bool{}
	for id := range h.planes {
		var claims corev1.PersistentVolumeClaimList
		h.Expect(h.k8s[id].List(h.t.Context(), &claims, client.InNamespace(h.namespace))).To(Succeed())
		for _, c := range claims.Items {
			pool := c.Labels[core.LabelPoolName]
			there[c.UID] = c.DeletionTimestamp == nil
			if h.mayGo[pool] {
				delete(h.kept, c.UID)
			} else if pool != "" && there[c.UID] {
				h.kept[c.UID] = id + " " + c.Name
			}
		}
		now := h.made(id)
		maps.DeleteFunc(now, func(key, _ string) bool { _, others := h.theirs[id][key]; return !others })
		h.Expect(now).To(Equal(h.theirs[id]), "what others have in %s", id)
	}
	for uid, what := range h.kept {
		h.Expect(there[uid]).To(BeTrue(), "volume %s is lost", what)
	}
	h.judgeOwners()
}

func (h *history) judgeOwners() {
	h.t.Helper()
	centrals := map[string]client.Client{"the first": h.k8s[centralID]}
	if h.rival != nil {
		centrals["the second"] = h.rival.k8s[centralID]
	}
	for which, k8s := range centrals {
		kafka := &v1.Kafka{}
		h.Expect(client.IgnoreNotFound(k8s.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, kafka))).To(Succeed())
		h.ids[kafka.Annotations[ownership.MarkID]] = which
	}
	delete(h.ids, "")
	for _, id := range []string{eastID, westID} {
		for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.SecretList{},
			&corev1.PersistentVolumeClaimList{}, &core.StrimziPodSetList{}} {
			h.Expect(h.k8s[id].List(h.t.Context(), list, client.InNamespace(h.namespace))).To(Succeed())
			h.Expect(meta.EachListItem(list, func(item runtime.Object) error {
				o, _ := item.(client.Object)
				owner := h.ids[o.GetAnnotations()[ownership.MarkID]]
				if first := h.owners[o.GetUID()]; owner != "" && first != "" && owner != first {
					return fmt.Errorf("%T %s in %s changed hands, from %s central cluster to %s", o, o.GetName(), id, first, owner)
				}
				h.owners[o.GetUID()] = cmp.Or(owner, h.owners[o.GetUID()])
				return nil
			})).To(Succeed())
		}
	}
}

// end restores the connections and deletes the Kafka, perhaps after or with namespaces of it, and checks that nothing of it remains except
// the volumes that are kept.
func (h *history) end() {
	h.t.Helper()
	for _, id := range []string{eastID, westID} {
		h.heal(id)
	}
	h.faults.failWrites(0, false)
	if h.rival != nil {
		h.rival.kubectl(centralID, "delete", "kafka,kafkanodepools", "--all", "-n", h.namespace, "--wait=false")
	}
	if h.rand.Intn(2) == 0 {
		h.deleteNamespace(h.one(eastID, westID))
	}
	if h.rand.Intn(2) == 0 {
		h.deleteNamespace(centralID)
	} else {
		h.try(centralID, "delete", "kafka", name, "--wait=false", "--ignore-not-found")
		h.try(centralID, "delete", "kafkanodepools", "--all", "--wait=false")
	}
	for id := range h.planes {
		h.Eventually(h.left).WithArguments(id).Should(BeEmpty(), "%s: %v", id, func() string {
			return h.kubectl(centralID, "get", "kafka", "-n", h.namespace, "-o", "jsonpath={.items[*].status.conditions}")
		})
	}
	h.Eventually(h.rivals).Should(BeFalse(), "the Kafka of the other central cluster is deleted")
	h.judge()
}

// deleteNamespace deletes the namespace in a Kubernetes cluster, with what others have there, and waits until it is gone.
func (h *history) deleteNamespace(id string) {
	h.t.Helper()
	h.t.Logf("the namespace in %s is deleted", id)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}}
	h.Expect(h.k8s[id].Delete(h.t.Context(), namespace)).To(Succeed())
	h.Eventually(func() error {
		return h.k8s[id].Get(h.t.Context(), client.ObjectKeyFromObject(namespace), namespace)
	}).Should(MatchError(apierrors.IsNotFound, "NotFound"), func() string {
		return fmt.Sprint(namespace.Status.Conditions, h.made(id),
			h.kubectl(centralID, "get", "kafka", "-n", h.namespace, "-o", "jsonpath={.items[*].status.conditions}"))
	})
	h.theirs[id] = map[string]string{}
	maps.DeleteFunc(h.kept, func(_ types.UID, what string) bool { return strings.HasPrefix(what, id+" ") })
}

// left returns what remains in a Kubernetes cluster.
func (h *history) left(id string) (keys []string, err error) {
	for key := range h.made(id) {
		if _, others := h.theirs[id][key]; others {
			continue
		}
		if claim, is := strings.CutPrefix(key, "PersistentVolumeClaim "); is {
			c := &corev1.PersistentVolumeClaim{}
			if err := h.k8s[id].Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: claim}, c); err != nil {
				return nil, err
			}
			if c.Annotations[v1.AnnotationDeleteClaim] != "true" {
				continue
			}
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}
