package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// quorumOf is a quorum of voters with ids from 0, each so long behind the leader, which is the last one.
func quorumOf(behind ...time.Duration) *kafka.Quorum {
	q := &kafka.Quorum{Leader: int32(len(behind)) - 1}
	for id, b := range behind {
		q.Voters = append(q.Voters, kafka.Replica{ID: int32(id), LastCaughtUp: 1e9 - b.Milliseconds()})
	}
	return q
}

// loseClaim deletes a claim that no scheduled pod uses. Nobody takes the finalizer off here that Kubernetes adds.
func (w *world) loseClaim(name string) {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, name)
	claim.Finalizers = nil
	w.Expect(w.k8s.Update(w.t.Context(), claim)).To(Succeed())
	w.Expect(w.k8s.Delete(w.t.Context(), claim)).To(Succeed())
}

func (w *world) hasClaim(name string) bool {
	w.t.Helper()
	err := w.k8s.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, &corev1.PersistentVolumeClaim{})
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return !apierrors.IsNotFound(err)
}

func TestNoMajorityOfControllersStartsEmpty(t *testing.T) {
	const first, second = "data-my-cluster-pool-0", "data-my-cluster-pool-1"
	begin := func(t *testing.T, replicas int32) *world {
		w := newWorld(t)
		w.create(newKafka(), nodePool("pool", replicas, v1.RoleBroker, v1.RoleController))
		w.reconcile()
		for name := range w.pods("pool") {
			w.bind("data-" + name)
		}
		w.now = w.now.Add(time.Hour)
		w.loseClaim(first)
		return w
	}
	gone := func(w *world, name, why string) {
		w.t.Helper()
		w.reconcile()
		w.Expect(w.hasClaim(name)).To(BeFalse())
		w.Expect(w.conditions()).To(blockedBy(why))
	}
	t.Run("of three", func(t *testing.T) {
		w := begin(t, 3)
		gone(w, first, "PersistentVolumeClaims data-my-cluster-pool-0 of node 0 are gone, and are not made again yet, because the node would "+
			"start without metadata: it is unknown which of the other controllers have all metadata, because the brokers did not answer the "+
			"operator (nobody knows)")
		w.brokers.quorum = &kafka.Quorum{Leader: -1}
		gone(w, first, "they have no leader: start them")
		w.brokers.quorum = quorumOf(time.Hour, 2*time.Second, 0)
		gone(w, first, "other controllers may lack metadata as well (1)")

		w.brokers.quorum = quorumOf(time.Hour, 1999*time.Millisecond, 0)
		w.reconcile()
		w.Expect(w.hasClaim(first)).To(BeTrue())
		w.Expect(w.conditions()).NotTo(blockedBy("are gone"))

		// The leader may not have noticed yet that node 0 has lost everything. All volumes here are new.
		w.now = time.Now()
		w.brokers.quorum = quorumOf(0, time.Hour, 0)
		w.loseClaim(second)
		gone(w, second, "other controllers may lack metadata as well (0, 2)")
		w.now = w.now.Add(2 * time.Minute)
		w.reconcile()
		w.Expect(w.hasClaim(second)).To(BeTrue())
	})
	t.Run("of two that are lost at once", func(t *testing.T) {
		w := begin(t, 3)
		w.brokers.quorum = quorumOf(0, 0, 0)
		w.loseClaim(second)
		gone(w, first, "(1)")
		gone(w, second, "(0)")
		w.Expect(w.pool("pool").Status.Conditions).NotTo(ContainElement(HaveField("Type", "Stalled")))
		w.brokers.quorum = nil
		gone(w, first, "only 1 of 3 controllers have a volume for their metadata, and more have to vote for a leader: restore volumes of the "+
			"others, or annotate the Kafka")
	})
	t.Run("the only one", func(t *testing.T) {
		w := begin(t, 1)
		w.brokers.quorum = quorumOf(0)
		w.editStatus(func(k *v1.Kafka) { k.Status.KafkaMetadataVersion = "4.3-IV0" })
		gone(w, first, "controller 0 is the only one")
	})
	t.Run("of two", func(t *testing.T) {
		w := begin(t, 2)
		w.reconcile()
		w.Expect(w.hasClaim(first)).To(BeTrue(), "the other one has what both had")
		w.bind(first)
		w.r.Cache = laterClaim{w.r.Cache, first, time.Hour}
		w.loseClaim(second)
		gone(w, second, "only 1 of 2 controllers have a volume for their metadata")
	})
	t.Run("unless the user allows it", func(t *testing.T) {
		w := begin(t, 3)
		w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"} })
		w.reconcile()
		w.Expect(w.hasClaim(first)).To(BeTrue())
	})
}

// laterClaim is a cache that shows a claim as made later.
type laterClaim struct {
	client.Reader
	name string
	by   time.Duration
}

func (c laterClaim) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Reader.List(ctx, list, opts...)
	if claims, is := list.(*corev1.PersistentVolumeClaimList); is {
		for i := range claims.Items {
			if claim := &claims.Items[i]; claim.Name == c.name {
				claim.CreationTimestamp.Time = claim.CreationTimestamp.Add(c.by)
			}
		}
	}
	return err
}

// TestAClaimThatExistsIsNotGone checks that nothing is said to be lost, or made, on the strength of a cache.
func TestAClaimThatExistsIsNotGone(t *testing.T) {
	const name = "data-my-cluster-pool-0"
	begin := func(t *testing.T) *world {
		w := newWorld(t)
		w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
		w.reconcile()
		w.bind(name)
		return w
	}
	t.Run("if it lacks its label", func(t *testing.T) {
		w := begin(t)
		w.editStatus(func(k *v1.Kafka) { k.Status.KafkaMetadataVersion = "4.3-IV0" })
		claim := &corev1.PersistentVolumeClaim{}
		w.get(claim, name)
		delete(claim.Labels, v1.LabelCluster)
		claim.OwnerReferences = nil
		w.Expect(w.k8s.Update(t.Context(), claim)).To(Succeed())
		w.pass("PersistentVolumeClaim " + w.namespace + "/" + name)
		w.Expect(w.conditions()).To(ContainElement(HaveField("Reason", "ObjectNotOwned")))
		w.Expect(w.conditions()).NotTo(blockedBy("are gone"))
	})
	t.Run("if it can't be read", func(t *testing.T) {
		w := begin(t)
		k8s, ok := w.k8s.(client.WithWatch)
		w.Expect(ok).To(BeTrue())
		failed := false
		w.r.Live = interceptor.NewClient(k8s, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if key.Name == name && !failed {
					failed = true
					return errors.New("timeout")
				}
				return c.Get(ctx, key, o, opts...)
			}})
		w.editStatus(func(k *v1.Kafka) { k.Status.KafkaMetadataVersion = "4.3-IV0" })
		w.loseClaim(name)
		w.pass("get PersistentVolumeClaim " + name + ": timeout")
		w.Expect(w.hasClaim(name)).To(BeFalse())
	})
}

// TestALogThatMovesIsWhereThePodRuns checks that only the volume with the metadata log counts as one, also after the pass that moves it.
func TestALogThatMovesIsWhereThePodRuns(t *testing.T) {
	const present, next = "data-0-my-cluster-pool-0", "data-1-my-cluster-pool-0"
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage = jbod(0)
	w.create(newKafka(), pool)
	w.reconcile()
	w.bind(present)
	w.start("pool")
	w.editStatus(func(k *v1.Kafka) { k.Status.KafkaMetadataVersion = "4.3-IV0" })
	w.get(pool, "pool")
	pool.Spec.Storage = jbod(0, 1)
	pool.Spec.Storage.Volumes[1].KraftMetadata = v1.KraftMetadataShared
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.Expect(w.hasClaim(next)).To(BeTrue())
	w.reconcile()

	w.loseClaim(next)
	w.reconcile()
	w.Expect(w.hasClaim(next)).To(BeTrue(), "it has nothing yet")
	w.loseClaim(present)
	w.reconcile()
	w.Expect(w.hasClaim(present)).To(BeFalse())
	w.Expect(w.conditions()).To(blockedBy("controller 0 is the only one"))
}

// editStatus changes the status of the Kafka.
func (w *world) editStatus(how func(*v1.Kafka)) {
	w.t.Helper()
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	how(k)
	w.Expect(w.k8s.Status().Update(w.t.Context(), k)).To(Succeed())
}

// A user may delete volumes that can't be provisioned, to correct their class.
func TestControllersThatNeverRanGetTheirClaimsAgain(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	for name := range w.pods("pool") {
		w.loseClaim("data-" + name)
	}
	w.reconcile()
	w.keepsClaims("pool", 3)
}

// Without a majority there was no quorum, though volumes of some controllers could be provisioned.
func TestAMajorityThatNeverRanGetsItsClaimsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		scheduled map[string]bool
		made      bool
	}{
		"one ran":  {map[string]bool{"my-cluster-pool-0": true}, true},
		"two ran":  {map[string]bool{"my-cluster-pool-0": true, "my-cluster-pool-1": true}, false},
		"no pods":  {nil, false},
		"one pod":  {map[string]bool{"my-cluster-pool-0": false}, false},
		"two pods": {map[string]bool{"my-cluster-pool-0": true, "my-cluster-pool-2": false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.bind("data-my-cluster-pool-0")
			for name, listed := range w.pods("pool") {
				scheduled, exists := c.scheduled[name]
				if !exists && !c.made {
					continue
				}
				pod := listed.DeepCopy()
				if pod.ResourceVersion, pod.Spec.ServiceAccountName = "", ""; scheduled {
					pod.Spec.NodeName = "worker"
				}
				w.Expect(w.k8s.Create(t.Context(), pod)).To(Succeed())
			}
			for _, name := range []string{"data-my-cluster-pool-1", "data-my-cluster-pool-2"} {
				w.loseClaim(name)
			}
			w.reconcile()
			for _, name := range []string{"data-my-cluster-pool-1", "data-my-cluster-pool-2"} {
				w.Expect(w.hasClaim(name)).To(Equal(c.made))
			}
		})
	}
}

func TestACaughtUpVoterHasAllMetadata(t *testing.T) {
	g := NewWithT(t)
	g.Expect(caughtUp(*quorumOf(time.Second, 2*time.Second, 0))).To(Equal(map[int32]bool{0: true, 2: true}))
	unknown := quorumOf(0, 0, 0)
	unknown.Voters[0].LastCaughtUp = -1
	g.Expect(caughtUp(*unknown)).To(Equal(map[int32]bool{1: true, 2: true}))
	unknown.Voters[2].LastCaughtUp = -1
	g.Expect(caughtUp(*unknown)).To(BeNil())
	unknown.Leader = 7
	g.Expect(caughtUp(*unknown)).To(BeNil())
	g.Expect(caughtUp(kafka.Quorum{Leader: -1})).To(BeNil())
}

func TestNoMajorityOfControllersOfAnEarlierKafkaStartsEmpty(t *testing.T) {
	const first, second, third = "data-my-cluster-pool-0", "data-my-cluster-pool-1", "data-my-cluster-pool-2"
	pool := func(replicas int32) *v1.KafkaNodePool {
		return nodePool("pool", replicas, v1.RoleBroker, v1.RoleController)
	}
	// begin leaves the claims of a Kafka with that many controllers, but for some that are lost.
	begin := func(t *testing.T, replicas int32, lost ...string) *world {
		w := newWorld(t)
		w.create(newKafka(), pool(replicas))
		w.reconcile()
		w.loseKafka("pool")
		for _, name := range lost {
			w.loseClaim(name)
		}
		return w
	}
	stalled := func(w *world) {
		w.t.Helper()
		w.reconcile()
		w.Expect(w.hasClaim(second)).To(BeFalse())
		w.Expect(w.ready()).To(And(HaveField("Reason", "KafkaStorage"), HaveField("Message", HavePrefix("PersistentVolumeClaims "+
			"data-my-cluster-pool-2 belong to an earlier Kafka "+w.namespace+"/my-cluster, and there are no PersistentVolumeClaims "+
			"data-my-cluster-pool-0, data-my-cluster-pool-1, so a majority of the controllers would start without metadata"))))
		w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", "Stalled"), HaveField("Status", v1.ConditionTrue))))
	}
	makesAll := func(w *world, replicas int) {
		w.t.Helper()
		w.reconcile()
		w.keepsClaims("pool", replicas)
		w.Expect(w.pods("pool")).To(HaveLen(replicas))
	}
	t.Run("until its volume is restored", func(t *testing.T) {
		w := begin(t, 3, first)
		restored := &corev1.PersistentVolumeClaim{}
		w.get(restored, second)
		w.loseClaim(second)
		w.create(newKafka(), pool(3))
		stalled(w)
		stalled(w)
		restored.ResourceVersion = ""
		w.create(restored)
		makesAll(w, 3)
	})
	t.Run("also if its pools stayed", func(t *testing.T) {
		w := begin(t, 3, first, second)
		earlier := pool(3)
		w.create(newKafka(), earlier)
		earlier.Status = v1.KafkaNodePoolStatus{NodeIDs: []int32{0, 1, 2}, Roles: earlier.Spec.Roles}
		w.Expect(w.k8s.Status().Update(t.Context(), earlier)).To(Succeed())
		w.r.Cache = laterClaim{w.r.Cache, third, -time.Hour}
		stalled(w)
	})
	t.Run("also if a backup restored its StrimziPodSets", func(t *testing.T) {
		w := newWorld(t)
		w.create(newKafka(), pool(3))
		w.reconcile()
		w.orphan()
		w.Expect(w.k8s.Delete(t.Context(), w.pool("pool"))).To(Succeed())
		for _, pod := range w.pods("pool") { // which wait for a Kubernetes node
			pod.ResourceVersion, pod.Spec.ServiceAccountName = "", ""
			w.create(&pod)
		}
		w.bind(third)
		w.loseClaim(first)
		w.loseClaim(second)
		w.create(newKafka(), pool(3))
		stalled(w)
		stalled(w)
	})
	t.Run("unless its user allows it", func(t *testing.T) {
		w := begin(t, 3, first, second)
		k := newKafka()
		k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"}
		w.create(k, pool(3))
		makesAll(w, 3)
	})
	t.Run("but a minority", func(t *testing.T) {
		w := begin(t, 3, first)
		w.create(newKafka(), pool(3))
		makesAll(w, 3)
	})
	t.Run("but one beside a volume that is about to go", func(t *testing.T) {
		w := begin(t, 3, first, second)
		w.deleteVolume(third)
		w.create(newKafka(), pool(3))
		w.reconcile()
		w.Expect(w.hasClaim(first)).To(BeTrue())
		w.Expect(w.hasClaim(second)).To(BeTrue())
	})
	t.Run("but all of them", func(t *testing.T) {
		w := begin(t, 3, first, second, third)
		w.create(newKafka(), pool(3))
		makesAll(w, 3)
	})
	t.Run("but those that are ephemeral anyway", func(t *testing.T) {
		w := begin(t, 1)
		ephemeral := nodePool("voters", 2, v1.RoleController)
		ephemeral.Spec.Storage = v1.Storage{Type: v1.StorageEphemeral}
		w.create(newKafka(), pool(1), ephemeral)
		makesAll(w, 1)
		w.Expect(w.pods("voters")).To(HaveLen(2))
	})
	t.Run("but those of this Kafka whose claims a quota held up", func(t *testing.T) {
		w := newWorld(t)
		w.create(newKafka(), pool(3))
		w.limitClaims(1)
		w.pass("exceeded quota")
		w.Expect(w.hasClaim(second)).To(BeFalse())
		w.bind(first)
		w.r.Live = w.k8s
		makesAll(w, 3)
	})
}
