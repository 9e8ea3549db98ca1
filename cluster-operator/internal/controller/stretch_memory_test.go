package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/nodeport"
)

// The tests in this file play with the API servers of histories, which are quick.

// formInMemory creates a Kafka with a node in each Kubernetes cluster, after a user edits it, and waits until it is ready.
func formInMemory(t *testing.T, edit func(*v1.Kafka)) *stretched {
	h := newStretched(newHistory(t, 1))
	k := stretchedKafka()
	k.Namespace = historyNamespace
	edit(k)
	h.must(h.k8s.Create(t.Context(), k))
	for _, id := range []string{"central", "east", "west"} {
		h.targets[id] = id
		h.must(h.k8s.Create(t.Context(), h.pool(id, 1, v1.RoleBroker, v1.RoleController)))
	}
	h.rest()
	if ready := h.centrals[0].ready(); ready.Status != v1.ConditionTrue {
		h.failf("the Kafka is not ready: %+v", ready)
	}
	return h
}

func untouched(*v1.Kafka) {}

// leader is the operator that acts.
func (h *stretched) leader() *operator { return h.centrals[0].operators[0] }

// deleteWithoutFinalizer deletes the Kafka after a user took its finalizer off.
func (h *stretched) deleteWithoutFinalizer() {
	kafka := h.centrals[0].kafka().DeepCopy()
	kafka.Finalizers = nil
	h.must(h.k8s.Update(h.t.Context(), kafka))
	h.must(h.k8s.Delete(h.t.Context(), kafka))
}

// snapshot returns the versions of all objects in all Kubernetes clusters, except the users' ones.
func (h *stretched) snapshot() map[string]string {
	all := map[string]string{}
	for _, s := range h.servers {
		for key, o := range s.objects {
			if !strings.HasPrefix(key.Kind, "Kafka") {
				all[s.id+" "+key.Kind+" "+key.Name] = o.GetResourceVersion()
			}
		}
	}
	return all
}

func TestSecretsOfCAsThatOutliveTheKafkaAreAtRest(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, keptCAs)
	before := h.snapshot()
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.snapshot()).To(Equal(before))
	ca := facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca-cert"}
	g.Expect(h.servers[0].objects[ca].GetOwnerReferences()).To(BeEmpty())
	g.Expect(h.servers[2].objects[ca].GetOwnerReferences()).To(HaveLen(1), "it goes with the anchor")
}

// TestTheKeyOfACAStaysWhoeverPutItBesideTheCertificate checks Secrets of CAs into which a tool put the key beside the certificate. The key
// reaches no other Kubernetes cluster, whether the CA is generated or the user's own, and one that an earlier version copied goes.
func TestTheKeyOfACAStaysWhoeverPutItBesideTheCertificate(t *testing.T) {
	for name, generated := range map[string]bool{"generated": true, "the user's": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			name := "my-cluster-cluster-ca-cert"
			key := h.object(facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca"}).(*corev1.Secret).Data["ca.key"]
			copied := func(id string) *corev1.Secret {
				return h.leader().links[id].bound.objects[facts.Key{Kind: "Secret", Name: name}].object().(*corev1.Secret)
			}
			certificate := copied("east").Data["ca.crt"]
			earlier := copied("east").DeepCopy()
			earlier.Data["tls.key"] = key
			h.must(h.leader().links["east"].bound.client().Update(t.Context(), earlier))
			change(h.history, &v1.Kafka{}, "my-cluster", func(k *v1.Kafka) {
				k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateCertificateAuthority: &generated}
			})
			change(h.history, &corev1.Secret{}, name, func(s *corev1.Secret) {
				s.Data["tls.key"], s.Data["ca.crt"] = key, slices.Concat(key, s.Data["ca.crt"])
				if !generated {
					s.Data["ca.p12"], s.Data["ca.password"] = []byte("with the key"), []byte("secret")
				}
			})
			h.rest()
			for _, id := range []string{"east", "west"} {
				g.Expect(copied(id).Data).To(HaveKeyWithValue("ca.crt", certificate))
				g.Expect(fmt.Sprintf("%s", copied(id).Data)).NotTo(ContainSubstring("PRIVATE KEY"))
			}
			g.Expect(h.centrals[0].kafka().Status.Conditions).To(ContainElement(HaveField("Reason", "NotOnlyCertificates")))
			if generated {
				return
			}
			g.Expect(copied("east").Data["ca.p12"]).NotTo(Or(BeEmpty(), Equal([]byte("with the key"))), "a store of its certificates")
			g.Expect(copied("east").Data["ca.password"]).NotTo(Or(BeEmpty(), Equal([]byte("secret"))))
			before := h.snapshot()
			_, _ = h.pass(h.leader(), -1)
			g.Expect(h.snapshot()).To(Equal(before))
		})
	}
}

func TestACentralClusterKeepsItsNameWhileAllOthersAreAway(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	o := h.leader()
	h.start(o) // as after a restart, no cluster is connected yet
	o.links["east"].lost, o.links["west"].lost = true, true
	o.r.Stretching.Central = "other"
	pool := h.object(facts.Key{Kind: "KafkaNodePool", Name: "central"}).DeepCopyObject().(*v1.KafkaNodePool)
	pool.Annotations[v1.AnnotationTargetCluster] = "other"
	h.must(h.k8s.Update(t.Context(), pool))
	before := h.snapshot()
	_, _ = h.pass(o, -1)
	g.Expect(h.snapshot()).To(Equal(before))
	g.Expect(h.centrals[0].ready()).To(And(HaveField("Reason", "CentralClusterRenamed"),
		HaveField("Message", ContainSubstring("STRIMZI_CENTRAL_CLUSTER_ID back to 'central'"))))
}

func TestACentralClusterIsRenamedBeforeThereAreOthers(t *testing.T) {
	g := NewWithT(t)
	h := newStretched(newHistory(t, 1))
	h.create(h.centrals[0])
	h.targets["a"] = "central"
	h.must(h.k8s.Create(t.Context(), h.pool("a", 1, v1.RoleBroker, v1.RoleController)))
	h.rest()
	pool := h.object(facts.Key{Kind: "KafkaNodePool", Name: "a"}).DeepCopyObject().(*v1.KafkaNodePool)
	pool.Annotations[v1.AnnotationTargetCluster] = "other"
	h.must(h.k8s.Update(t.Context(), pool))
	h.leader().r.Stretching.Central = "other"
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
}

// mistaken is a member whose cache is not as it should be.
type mistaken struct {
	Member
	by func(client.Reader) client.Reader
}

func (m mistaken) Reader() client.Reader { return m.by(m.Member.Reader()) }

// see has the leader see a Kubernetes cluster wrongly, until it is started again, or sees correctly.
func (h *stretched) see(cluster string, by func(client.Reader) client.Reader) (correctly func()) {
	stretching := h.leader().r.Stretching
	members := stretching.Members
	wrong := members()
	for i, m := range wrong {
		if m.ID() == cluster {
			wrong[i] = mistaken{m, by}
		}
	}
	stretching.Members = func() []Member { return wrong }
	return func() { stretching.Members = members }
}

// withoutRight is a cache whose credentials do not permit to watch Kubernetes nodes any more.
type withoutRight struct{ client.Reader }

func (w withoutRight) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, node := o.(*corev1.Node); node {
		return w.List(ctx, &corev1.NodeList{})
	}
	return w.Reader.Get(ctx, key, o, opts...)
}

func (w withoutRight) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, nodes := list.(*corev1.NodeList); nodes {
		return apierrors.NewForbidden(corev1.Resource("nodes"), "",
			errors.New(`User "east" cannot watch resource "nodes" in API group "" at the cluster scope`))
	}
	return w.Reader.List(ctx, list, opts...)
}

func TestTheLostRightToKubernetesNodesIsNamed(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	h.see("east", func(r client.Reader) client.Reader { return withoutRight{r} })
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.centrals[0].kafka().Status.Conditions).
		To(warning("In cluster 'east', the operator may not watch nodes in all namespaces: apply"))
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
}

func TestKubernetesNodesThatMayNotBeListedChangeAndHangNothing(t *testing.T) {
	for name, edit := range map[string]func(*v1.Kafka){
		"the network provider reads them": untouched,
		"a listener reads them": func(k *v1.Kafka) {
			k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners,
				v1.Listener{Name: "outside", Port: 9094, Type: v1.ListenerNodePort, TLS: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, edit)
			r := h.leader().r
			r.WatchTimeout = 100 * time.Millisecond
			addresses := func() []string {
				config := h.servers[2].objects[facts.Key{Kind: "ConfigMap", Name: "my-cluster-east-1"}].object().(*corev1.ConfigMap)
				all := []string{voters.FindString(config.Data["server.config"])}
				for _, l := range h.centrals[0].kafka().Status.Listeners {
					for _, a := range l.Addresses {
						all = append(all, jsonText(a))
					}
				}
				return all
			}
			more := func() client.Object {
				return h.servers[2].objects[facts.Key{Kind: "ConfigMap", Name: "my-cluster-more-3"}].object()
			}
			set := func() string {
				return h.servers[2].objects[facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-east"}].GetResourceVersion()
			}
			before, was := addresses(), set()
			correctly := h.see("east", func(r client.Reader) client.Reader { return unlistable{r, "Node"} })
			h.told = append(h.told, h.carryOut(changeHeap, ""))
			h.acting = h.leader()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: "my-cluster"}})
			g.Expect(err).NotTo(HaveOccurred())
			warned := ContainElement(And(HaveField("Reason", "KubernetesNodesUnread"), HaveField("Message", And(
				ContainSubstring("of cluster 'east'"), ContainSubstring("*v1.Node Informer"), ContainSubstring("don't permit to list and watch it")))))
			g.Expect(h.centrals[0].kafka().Status.Conditions).To(warned)
			g.Expect(set()).NotTo(Equal(was), "all else goes on")
			h.targets["more"] = "east"
			h.must(h.k8s.Create(t.Context(), h.pool("more", 1, v1.RoleBroker)))
			h.rest()
			g.Expect(h.centrals[0].kafka().Status.Conditions).To(warned)
			g.Expect(addresses()).To(ConsistOf(before))
			g.Expect(more()).To(BeNil(), "its address is unknown")

			correctly()
			h.rest()
			g.Expect(h.centrals[0].kafka().Status.Conditions).NotTo(warned)
			g.Expect(more()).NotTo(BeNil())
		})
	}
}

// addressed has the leader reach each Kubernetes cluster at an address that its settings name, so that none depends on a Kubernetes node.
func (h *stretched) addressed() {
	provider, err := nodeport.New(map[string]string{
		nodeport.SettingAddress + "central": "192.0.2.1", nodeport.SettingAddress + "east": "192.0.2.2",
		nodeport.SettingAddress + "west": "192.0.2.3"})
	h.must(err)
	h.leader().r.Stretching.Provider = provider
}

func TestKubernetesNodesThatNoAddressDependsOnAreNotMissed(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	h.addressed()
	h.leader().r.WatchTimeout = 100 * time.Millisecond
	h.see("east", func(r client.Reader) client.Reader { return unlistable{r, "Node"} })
	h.targets["more"] = "east"
	h.must(h.k8s.Create(t.Context(), h.pool("more", 1, v1.RoleBroker)))
	h.rest()
	g.Expect(h.servers[2].objects).To(HaveKey(facts.Key{Kind: "ConfigMap", Name: "my-cluster-more-3"}))
	g.Expect(h.centrals[0].kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "KubernetesNodesUnread")))
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
}

// TestKubernetesNodesThatOnlyRacksNeedAreNotMissed checks a pod that waits for its rack: no address depends on its Kubernetes node.
func TestKubernetesNodesThatOnlyRacksNeedAreNotMissed(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, func(k *v1.Kafka) { k.Annotations[v1.AnnotationStretchRack] = v1.StretchRackZone })
	h.addressed()
	h.rest()
	pod := h.servers[2].objects[facts.Key{Kind: "Pod", Name: "my-cluster-east-1"}].object().(*corev1.Pod).DeepCopy()
	pod.Spec.NodeName = "node-0"
	h.must(h.servers[2].client().Update(t.Context(), pod))
	missing, err := placement.Missing(pod)
	h.must(err)
	g.Expect(missing).NotTo(BeEmpty())
	h.see("east", func(r client.Reader) client.Reader { return withoutRight{r} })
	before := h.snapshot()
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.centrals[0].kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "KubernetesNodesUnread")))
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	g.Expect(h.snapshot()).To(Equal(before))
}

func TestASweepKeepsWhatADeletionWasToKeep(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	// The garbage collector has taken the Kafka off its record, and a user takes the finalizer off, because a cluster is away.
	record := h.object(facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}).DeepCopyObject().(*corev1.ConfigMap)
	record.OwnerReferences = nil
	h.must(h.k8s.Update(t.Context(), record))
	h.deleteWithoutFinalizer()
	for range 4 {
		_, err := h.pass(h.leader(), -1)
		g.Expect(err).NotTo(HaveOccurred())
		h.now = h.now.Add(2 * h.leader().r.Interval)
	}
	for _, s := range h.servers[2:4] {
		g.Expect(s.objects).To(HaveKey(anchorKey), s.id)
	}
	h.servers[0].terminate(facts.Key{Kind: "ConfigMap", Name: record.Name})
	for range 2 {
		_, err := h.pass(h.leader(), -1)
		g.Expect(err).NotTo(HaveOccurred())
		h.now = h.now.Add(2 * h.leader().r.Interval)
	}
	g.Expect(h.servers[2].objects).NotTo(HaveKey(anchorKey), "without its record it is a Kafka that was just deleted")
}

func TestNodesKeepTheirAddressesThoughTheRecordIsEmpty(t *testing.T) {
	for _, text := range []string{"", "{}"} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			configs := func() (all []string) {
				for i, s := range []*apiServer{h.servers[0], h.servers[2], h.servers[3]} {
					name := []string{"my-cluster-central-0", "my-cluster-east-1", "my-cluster-west-2"}[i]
					config := s.objects[facts.Key{Kind: "ConfigMap", Name: name}].object().(*corev1.ConfigMap)
					all = append(all, config.Data["server.config"])
				}
				return all
			}
			before := configs()
			honest := h.leader().r.Stretching.Provider
			h.leader().r.Stretching.Provider = liar{honest, nil, func(r network.Resolution) network.Resolution {
				delete(r.Endpoints, 1)
				r.Pending[1] = "Service my-cluster-east-1-nodeport has no node port yet"
				return r
			}}
			record := h.object(facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}).DeepCopyObject().(*corev1.ConfigMap)
			record.Data[recordKey] = text
			h.must(h.k8s.Update(t.Context(), record))
			h.rest()
			g.Expect(configs()).To(Equal(before))
			h.leader().r.Stretching.Provider = honest
			h.rest()
			g.Expect(configs()).To(Equal(before))
		})
	}
}

// keptCAs edits a Kafka so that its CAs outlive it.
func keptCAs(k *v1.Kafka) {
	k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateSecretOwnerReference: new(false)}
	k.Spec.ClientsCa = k.Spec.ClusterCa
}

// again deletes the Kafka without its finalizers, and creates it again when the garbage is collected.
func (h *stretched) again() {
	h.deleteWithoutFinalizer()
	h.collect()
	next := stretchedKafka()
	next.Namespace = historyNamespace
	keptCAs(next)
	h.must(h.k8s.Create(h.t.Context(), next))
}

func TestNothingIsRenewedElsewhereBeforeTheAnchorIsTheKafkas(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, keptCAs)
	h.again()
	epoch := func() string { return h.centrals[0].kafka().Annotations[v1.AnnotationOwnerEpoch] }
	for writes := 1; epoch() != "2"; writes++ {
		_, _ = h.pass(h.leader(), writes) // the operator is killed after that many
	}
	kafka := h.centrals[0].kafka()
	kafka.Spec.Kafka.Version = "0.1.0"
	h.must(h.k8s.Update(t.Context(), kafka))
	_, _ = h.pass(h.leader(), -1)
	for _, key := range []facts.Key{anchorKey, {Kind: "Secret", Name: "my-cluster-cluster-ca-cert"}} {
		g.Expect(h.leader().links["east"].bound.objects[key].GetAnnotations()[ownership.MarkTerm]).To(HavePrefix("1."), key.Name)
	}

	h.again()
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
}

// change edits a KafkaNodePool.
func (h *stretched) change(pool string, edit func(*v1.KafkaNodePool)) {
	changed := h.object(facts.Key{Kind: "KafkaNodePool", Name: pool}).DeepCopyObject().(*v1.KafkaNodePool)
	edit(changed)
	h.must(h.k8s.Update(h.t.Context(), changed))
}

// refuse has the API server of a Kubernetes cluster refuse all writes to an object.
func (h *stretched) refuse(cluster string, key facts.Key, err error) {
	l := h.leader().links[cluster]
	l.live = interceptor.NewClient(l.live, interceptor.Funcs{
		Patch: func(ctx context.Context, k8s client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if l.bound.keyOf(o) == key {
				return err
			}
			return k8s.Patch(ctx, o, p, opts...)
		},
		Apply: func(ctx context.Context, k8s client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if l.bound.keyOf(o) == key {
				return err
			}
			return k8s.Apply(ctx, o, opts...)
		},
	})
}

func TestAWriteThatIsRefusedBeforeNodesAreAssignedChangesNoNode(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	h.change("east", func(pool *v1.KafkaNodePool) { pool.Spec.Storage.DeleteClaim = new(true) })
	h.rest()
	claim := facts.Key{Kind: "PersistentVolumeClaim", Name: "data-my-cluster-east-1"}
	g.Expect(h.servers[2].objects[claim].GetOwnerReferences()).NotTo(BeEmpty())
	h.change("east", func(pool *v1.KafkaNodePool) { pool.Spec.Storage.DeleteClaim = new(false) })
	h.refuse("east", claim, apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), claim.Name, errors.New("a webhook")))
	nodes := func() map[string]string {
		all := h.snapshot()
		maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasSuffix(key, model.RecordName("my-cluster")) })
		return all
	}
	before := nodes()
	_, _ = h.pass(h.leader(), -1)
	g.Expect(nodes()).To(Equal(before))
	g.Expect(h.centrals[0].ready()).To(And(HaveField("Status", v1.ConditionFalse), HaveField("Message", ContainSubstring("a webhook"))))
}

func TestANodeWithoutASetElsewhereEndsNoOperator(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	h.change("east", func(pool *v1.KafkaNodePool) { pool.Spec.Storage.DeleteClaim = new(true) })
	h.rest()
	h.change("east", func(pool *v1.KafkaNodePool) { pool.Spec.Storage.DeleteClaim = new(false) })
	claim := facts.Key{Kind: "PersistentVolumeClaim", Name: "data-my-cluster-east-1"}
	h.refuse("east", claim, apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), claim.Name, errors.New("a webhook")))
	h.servers[2].terminate(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-east"}) // with --cascade=orphan
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", ContainSubstring("a webhook")))
}

// nodePort changes the node port of a planned Service.
func (h *stretched) nodePort(s *apiServer, name string) {
	service := s.objects[facts.Key{Kind: "Service", Name: name}].object().(*corev1.Service).DeepCopy()
	service.Spec.Ports[0].NodePort++
	h.must(s.client().Update(h.t.Context(), service))
}

func TestNothingIsWrittenOnceAnAnchorShowsAnotherHolder(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		next   func(own ownership.Owner) ownership.Owner
	}{
		"it was taken over": {reasonFenced, func(own ownership.Owner) ownership.Owner {
			return ownership.Owner{ID: own.ID, Epoch: own.Epoch + 1, Holder: ownership.Holder{Central: "next", Cluster: "a", Object: "b"}}
		}},
		"it is another Kafka's": {reasonConflict, func(ownership.Owner) ownership.Owner {
			return ownership.Owner{ID: "other", Epoch: 1, Holder: ownership.Holder{Central: "next", Cluster: "a", Object: "b"}}
		}},
		"the central cluster was renamed": {reasonRenamed, func(own ownership.Owner) ownership.Owner {
			own.Holder.Central = "renamed"
			return own
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			h.now = h.now.AddDate(0, 11, 15) // certificates are to be renewed
			for i, set := range map[int]string{0: "my-cluster-central", 2: "my-cluster-east", 3: "my-cluster-west"} {
				paused := h.servers[i].objects[facts.Key{Kind: "StrimziPodSet", Name: set}].object().(*core.StrimziPodSet).DeepCopy()
				paused.Annotations = with(paused.Annotations, core.AnnotationHold, model.HoldPaused)
				h.must(h.servers[i].client().Update(t.Context(), paused))
			}
			h.nodePort(h.servers[2], "my-cluster-east-1-nodeport") // the first object that is to be written there
			l := h.leader().links["east"]
			l.view = maps.Clone(l.bound.objects)
			kafka := h.centrals[0].kafka()
			next := c.next(ownership.Owner{ID: kafka.Annotations[ownership.MarkID], Epoch: 1,
				Holder: ownership.Holder{Central: "central", Cluster: "central", Object: kafka.UID}})
			anchor := l.bound.objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
			ownership.Mark(anchor, "ConfigMap", next)
			anchor.Data[anchorHolder] = next.Holder.String()
			h.must(l.bound.client().Update(t.Context(), anchor))
			before := h.snapshot()
			_, _ = h.pass(h.leader(), -1)
			g.Expect(h.centrals[0].ready()).To(HaveField("Reason", c.reason))
			g.Expect(h.snapshot()).To(Equal(before))
		})
	}
}

func TestAPlannedObjectThatWasReadTooEarlyIsReadAgain(t *testing.T) {
	for id, node := range map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1"} {
		t.Run(id, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			l := h.leader().links[id]
			h.nodePort(l.bound, node+"-nodeport")
			l.view = maps.Clone(l.bound.objects)
			h.nodePort(l.bound, node+"-nodeport")
			result, err := h.pass(h.leader(), -1)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(Equal(conflictDelay))
			g.Expect(h.centrals[0].kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "NetworkProviderFailed")))
		})
	}
}

func TestANewNodeDoesNotTakeOverTheAddressOfAnEarlierOne(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	// A node of this id was to be in east, and never was.
	record := h.object(facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}).DeepCopyObject().(*corev1.ConfigMap)
	for _, s := range h.servers[3].objects {
		if service, is := s.Object.(*corev1.Service); is && service.Name == "my-cluster-west-2-nodeport" {
			record.Data[recordKey] = strings.Replace(record.Data[recordKey], `"peers":{`, fmt.Sprintf(
				`"peers":{"3":{"tcp-replication":{"Host":"192.0.2.3","Port":%d}},`, service.Spec.Ports[1].NodePort), 1)
		}
	}
	h.must(h.k8s.Update(t.Context(), record))
	h.targets["a"] = "west"
	h.must(h.k8s.Create(t.Context(), h.pool("a", 1, v1.RoleBroker)))
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
}

func TestAVoterThatIsListedTwiceIsFound(t *testing.T) {
	h := formInMemory(t, untouched)
	l := h.leader().links["central"]
	key := facts.Key{Kind: "ConfigMap", Name: "my-cluster-central-0"}
	config := l.bound.objects[key].object().(*corev1.ConfigMap).DeepCopy()
	h.acting = h.leader()
	found := h.violation(func() {
		config.Data["server.config"] = voters.ReplaceAllString(config.Data["server.config"], "controller.quorum.voters=$1,$1")
		h.must(l.live.Update(t.Context(), config))
	})
	NewWithT(t).Expect(found).To(ContainSubstring("is listed twice"))
}

func TestAVolumeThatGoesWithItsAnchorIsFound(t *testing.T) {
	for name, plant := range map[string]func(*corev1.PersistentVolumeClaim){
		"":                          func(*corev1.PersistentVolumeClaim) {},
		"claims seem to stay":       func(c *corev1.PersistentVolumeClaim) { c.Annotations, c.OwnerReferences = nil, nil },
		"claims seem to be deleted": func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = new(metav1.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newStretched(newHistory(t, 1))
			h.create(h.centrals[0])
			h.targets["a"], h.targets["b"] = "central", "east"
			h.must(h.k8s.Create(t.Context(), h.pool("a", 1, v1.RoleBroker, v1.RoleController)))
			b := h.pool("b", 1, v1.RoleBroker)
			b.Spec.Storage.DeleteClaim = new(true)
			h.must(h.k8s.Create(t.Context(), b))
			h.emptyAll()
			h.rest()
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))

			h.must(h.k8s.Delete(t.Context(), b))
			for h.leader().links["east"].bound.objects[facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-b"}] != nil {
				_, _ = h.pass(h.leader(), 1) // the operator is killed after that write
			}
			g.Expect(h.leader().links["east"].bound.objects).To(HaveKey(anchorKey))
			h.brokers.replicas[1] = 1 // it got one before it stopped
			h.see("east", func(r client.Reader) client.Reader { return wrongClaims{r, plant} })
			found := h.violation(h.rest)
			if name == "" {
				g.Expect(found).To(BeEmpty())
				g.Expect(h.leader().links["east"].bound.objects).To(HaveKey(anchorKey))
				return
			}
			g.Expect(found).To(ContainSubstring("node 1 was dropped with 1 replicas"))
		})
	}
}

// newInThree returns a history with a Kafka with a node in each of three Kubernetes clusters, before the first pass.
func newInThree(t *testing.T) *stretched {
	h := newStretched(newHistory(t, 1))
	h.create(h.centrals[0])
	for _, id := range []string{"central", "east", "west"} {
		h.targets[id] = id
		h.must(h.k8s.Create(t.Context(), h.pool(id, 1, v1.RoleBroker, v1.RoleController)))
	}
	return h
}

func TestAKafkaThatLosesItsFirstRaceMakesNothing(t *testing.T) {
	g := NewWithT(t)
	h := newInThree(t)
	east := h.leader().links["east"]
	live := east.live
	h.refuse("east", anchorKey, errors.New("no quorum"))
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", ContainSubstring("no quorum")))
	g.Expect(h.recorded()).NotTo(BeEmpty())

	east.live = live
	anchor := h.servers[3].objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
	other := ownership.Owner{ID: "other", Epoch: 1, Holder: ownership.Holder{Central: "next", Cluster: "a", Object: "b"}}
	ownership.Mark(anchor, "ConfigMap", other)
	anchor.Data[anchorHolder], anchor.ResourceVersion, anchor.UID = other.Holder.String(), "", ""
	h.must(east.bound.client().Create(t.Context(), anchor))
	before := h.snapshot()
	for range 2 {
		_, _ = h.pass(h.leader(), -1)
		g.Expect(h.centrals[0].ready()).To(HaveField("Reason", reasonConflict))
		g.Expect(h.snapshot()).To(Equal(before))
	}

	h.servers[2].terminate(anchorKey)
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	g.Expect(h.recorded()).NotTo(ContainSubstring("claiming"))
}

func TestAKafkaThatRunsIsNotClaimedAgain(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, keptCAs)
	h.again()
	h.refuse("east", anchorKey, errors.New("no quorum"))
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", ContainSubstring("no quorum")))
	h.leader().links["east"].lost = true
	h.rest()
	g.Expect(h.servers[0].objects).To(HaveKey(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-central"}))
}

func TestAKafkaThatRunsIsNotClaimedAgainForAnOldRecord(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	record := h.servers[0].objects[recordMapKey].object().(*corev1.ConfigMap).DeepCopy()
	record.Data[recordKey] = strings.Replace(record.Data[recordKey], "{", `{"claiming":true,`, 1)
	h.must(h.k8s.Update(t.Context(), record))
	h.leader().links["east"].lost = true
	before := configOf(h.servers[0], "my-cluster-central-0")
	kafka := h.centrals[0].kafka()
	kafka.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
	h.must(h.k8s.Update(t.Context(), kafka))
	h.rest()
	g.Expect(configOf(h.servers[0], "my-cluster-central-0")).NotTo(Equal(before))
	g.Expect(h.recorded()).NotTo(ContainSubstring("claiming"))
	g.Expect(h.recorded()).To(ContainSubstring(`"east"`))
}

func TestAnOldRecordForgetsNoCluster(t *testing.T) {
	g := NewWithT(t)
	h := newStretched(newHistory(t, 1))
	h.create(h.centrals[0])
	h.targets["east"], h.targets["west"] = "east", "west"
	h.must(h.k8s.Create(t.Context(), h.pool("east", 1, v1.RoleBroker, v1.RoleController)))
	h.must(h.k8s.Create(t.Context(), h.pool("west", 1, v1.RoleBroker)))
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	record := h.servers[0].objects[recordMapKey].object().(*corev1.ConfigMap).DeepCopy()
	old := map[string]any{}
	h.must(json.Unmarshal([]byte(record.Data[recordKey]), &old))
	old["claiming"], old["clusters"] = true, map[string]any{"east": map[string]any{}, "west": map[string]any{}}
	record.Data[recordKey] = jsonText(old)
	h.must(h.k8s.Update(t.Context(), record))
	h.unlist("west")
	h.must(h.k8s.Delete(t.Context(), h.object(facts.Key{Kind: "KafkaNodePool", Name: "west"}).DeepCopyObject().(*v1.KafkaNodePool)))
	h.rest()
	g.Expect(h.recorded()).To(ContainSubstring(`"west"`))
	g.Expect(h.centrals[0].kafka().Status.StretchClusters).To(ContainElement(HaveField("Name", "west")))
}

func TestAKubernetesClusterThatWasToBeClaimedIsLeftOut(t *testing.T) {
	g := NewWithT(t)
	h := newInThree(t)
	h.refuse("west", anchorKey, errors.New("no quorum"))
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.recorded()).To(ContainSubstring("claiming"))
	h.unlist("west")
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Message", ContainSubstring("'west': the cluster is no longer configured")))

	h.must(h.k8s.Delete(t.Context(), h.object(facts.Key{Kind: "KafkaNodePool", Name: "west"}).DeepCopyObject().(*v1.KafkaNodePool)))
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	g.Expect(h.recorded()).NotTo(Or(ContainSubstring("claiming"), ContainSubstring(`"west"`)))
}

// agents returns the namespace of its operator that each StrimziPodSet names, by Kubernetes cluster.
func (h *stretched) agents() map[string]string {
	named := map[string]string{}
	for _, s := range h.servers {
		for key, o := range s.objects {
			if key.Kind == "StrimziPodSet" {
				named[s.id] = o.GetAnnotations()[core.AnnotationAgentNamespace]
			}
		}
	}
	return named
}

func TestSetsElsewhereNameTheOperatorsNamespace(t *testing.T) {
	begin := func(t *testing.T) *stretched {
		h := formInMemory(t, untouched)
		for _, o := range h.centrals[0].operators {
			o.r.Settings.OperatorNamespace = "before"
		}
		h.rest()
		for _, o := range h.centrals[0].operators {
			o.r.Settings.OperatorNamespace = "now"
		}
		kafka := h.centrals[0].kafka()
		kafka.Spec.Kafka.Version = "0.1.0"
		h.must(h.k8s.Update(t.Context(), kafka))
		return h
	}
	t.Run("all", func(t *testing.T) {
		g := NewWithT(t)
		h := begin(t)
		g.Expect(h.agents()).To(Equal(map[string]string{"central": "before", "east": "before", "west": "before"}))
		_, _ = h.pass(h.leader(), -1)
		g.Expect(h.agents()).To(Equal(map[string]string{"central": "now", "east": "now", "west": "now"}))
		g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionFalse))
		before := h.snapshot()
		_, _ = h.pass(h.leader(), -1)
		g.Expect(h.snapshot()).To(Equal(before))
	})
	t.Run("not where the anchor was not claimed yet", func(t *testing.T) {
		h := begin(t)
		anchor := h.leader().links["east"].bound.objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
		mark := anchor.Annotations[ownership.MarkTerm]
		anchor.Annotations[ownership.MarkTerm] = "0" + mark[strings.Index(mark, "."):]
		h.must(h.leader().links["east"].bound.client().Update(t.Context(), anchor))
		_, _ = h.pass(h.leader(), -1)
		NewWithT(t).Expect(h.agents()).To(Equal(map[string]string{"central": "now", "east": "before", "west": "now"}))
	})
	t.Run("not where they can't be written", func(t *testing.T) {
		h := begin(t)
		h.refuse("east", facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-east"}, errors.New("no quorum"))
		_, _ = h.pass(h.leader(), -1)
		NewWithT(t).Expect(h.agents()).To(Equal(map[string]string{"central": "now", "east": "before", "west": "now"}))
	})
}
