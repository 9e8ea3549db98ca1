package controller

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

func (w *world) pool(name string) *v1.KafkaNodePool {
	w.t.Helper()
	pool := &v1.KafkaNodePool{}
	w.get(pool, name)
	return pool
}

// change changes a pool as a user does.
func (w *world) change(name string, how func(*v1.KafkaNodePool)) {
	w.t.Helper()
	pool := w.pool(name)
	how(pool)
	w.Expect(w.k8s.Update(w.t.Context(), pool)).To(Succeed())
}

// seen returns the status that kstatus, and tools that use it, compute: InProgress, Failed or Current.
func seen(o client.Object) string {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err.Error()
	}
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		return err.Error()
	}
	return result.Status.String()
}

// pools returns the kstatus of pools a and b, with the reasons of their conditions.
func (w *world) pools() (all []string) {
	w.t.Helper()
	for _, name := range []string{"a", "b"} {
		pool := w.pool(name)
		text := name + " " + seen(pool)
		for _, c := range pool.Status.Conditions {
			if c.Reason != "" {
				text += " " + c.Reason
			}
		}
		all = append(all, text)
	}
	return all
}

// TestTheConfigMapOfARemovedPoolIsMissed plays what random histories found: nothing says what was in the ConfigMap of a node whose pool was
// removed, so it can't be healed, and the node would not start with it.
func TestTheConfigMapOfARemovedPoolIsMissed(t *testing.T) {
	for name, harm := range map[string]func(*history, *corev1.ConfigMap){
		"edited": func(h *history, c *corev1.ConfigMap) {
			change(h, c, c.Name, func(c *corev1.ConfigMap) { c.Data[core.ConfigMapServerConfig] = "broken" })
		},
		"deleted": func(h *history, c *corev1.ConfigMap) { h.must(h.k8s.Delete(h.t.Context(), c)) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHistory(t, 1)
			h.runs(newKafka(), nodePool("others", 1, v1.RoleController, v1.RoleBroker), nodePool("brokers", 1, v1.RoleBroker))
			h.brokers.replicas = map[int32]int{0: 3, 1: 3}
			h.must(h.k8s.Delete(t.Context(), h.object(facts.Key{Kind: "KafkaNodePool", Name: "brokers"})))
			h.passOver("my-cluster")
			g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "my-cluster-brokers-0"}}
			harm(h, config)
			h.passOver("my-cluster")
			g.Expect(h.kafka("my-cluster")).To(isReady("False", "Updating",
				"ConfigMap my-cluster-brokers-0 does not have its configuration any more, and KafkaNodePool brokers was removed: create it again"))
			h.runs(nodePool("brokers", 1, v1.RoleBroker))
			g.Expect(configOf(h.k8s.server, config.Name)).NotTo(BeEmpty())
		})
	}
}

func TestToolsThatWaitSeeHowAPoolIs(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController), nodePool("b", 1, v1.RoleBroker))
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(seen(k)).To(Equal("InProgress"), "nobody has looked at it")
	w.Expect(w.pools()).To(Equal([]string{"a InProgress", "b InProgress"}), "nobody has looked at them")
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a InProgress Creating", "b InProgress Creating"}))
	w.kubelet("a")
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b InProgress Creating"}))
	w.kubelet("b")
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b Current"}))
	w.Expect(w.ready().Status).To(Equal("True"))

	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b InProgress"}), "nobody has seen the change")
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b InProgress Creating"}))
	w.kubelet("b")
	w.kubelet("a")
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b Current"}))

	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.JvmOptions = &v1.JvmOptions{Xmx: "1g"} })
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b InProgress Updating"}))
	w.kubelet("b")
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b Current"}))

	nothing := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0")}
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Resources = &corev1.ResourceRequirements{Limits: nothing} })
	w.reconcile()
	const invalid = "InvalidResourceException"
	w.Expect(w.pools()).To(Equal([]string{"a Failed " + invalid + " " + invalid, "b Failed " + invalid + " " + invalid}))
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Resources = nil })
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a Current", "b Current"}))
	before := w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))

	w.get(k, "my-cluster")
	w.Expect(w.k8s.Delete(t.Context(), k)).To(Succeed())
	w.reconcile()
	w.Expect(w.pools()).To(Equal([]string{"a InProgress KafkaNotFound", "b InProgress KafkaNotFound"}))
	before = w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))
}

func TestAPoolOfAKafkaThatOthersLookAfterIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController), nodePool("b", 1, v1.RoleBroker))
	w.reconcile()
	before := w.versions()
	selects := interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch,
		key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, is := o.(*v1.Kafka); is {
			key.Name += "-not-selected"
		}
		return c.Get(ctx, key, o, opts...)
	}})
	w.r.Cache = selects
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))
}

func TestAWarningAboutAPoolIsShownByIt(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController), nodePool("b", 1, v1.RoleBroker))
	w.reconcile()
	w.change("b", func(p *v1.KafkaNodePool) {
		p.Annotations = map[string]string{v1.AnnotationNextNodeIDs: "ten"}
		p.Spec.Replicas = 2
		p.Spec.Storage = v1.Storage{Type: v1.StorageEphemeral}
		p.Spec.Template = &v1.KafkaNodePoolTemplate{PerPodRoute: &v1.ResourceTemplate{}}
	})
	w.change("a", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
	w.reconcile()
	reasons := func(conditions []v1.Condition) (all []string) {
		for _, c := range conditions {
			if c.Type == v1.ConditionWarning {
				all = append(all, c.Reason)
			}
		}
		return all
	}
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	a, b := w.pool("a").Status.Conditions, w.pool("b").Status.Conditions
	w.Expect(reasons(a)).To(Equal([]string{"ScaleDownPreventionCheck"}))
	w.Expect(reasons(b)).To(Equal([]string{"KafkaStorage", "InvalidAnnotation", v1.ReasonUnsupportedField}))
	for _, shown := range slices.Concat(a, b) {
		if shown.Type == v1.ConditionWarning {
			w.Expect(k.Status.Conditions).To(ContainElement(HaveField("Message", shown.Message)))
		}
	}

	w.change("b", func(p *v1.KafkaNodePool) {
		p.Annotations, p.Spec.Template, p.Spec.Storage = nil, nil, nodePool("b", 1).Spec.Storage
	})
	w.reconcile()
	w.Expect(reasons(w.pool("b").Status.Conditions)).To(BeEmpty())
	w.Expect(reasons(w.pool("a").Status.Conditions)).NotTo(BeEmpty())
}

// writes counts the writes to the statuses of pools, and rejects those for which refuse returns an error.
func (w *world) writes(refuse func(*v1.KafkaNodePool) error) (count func() int) {
	n := 0
	w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client,
		sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		if pool, is := o.(*v1.KafkaNodePool); is {
			n++
			if err := refuse(pool); err != nil {
				return err
			}
		}
		return c.SubResource(sub).Patch(ctx, o, patch, opts...)
	}})
	return func() int { return n }
}

func TestANewPoolIsWrittenOnceUntilItIsReady(t *testing.T) {
	w := newWorld(t)
	count := w.writes(func(*v1.KafkaNodePool) error { return nil })
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.reconcile()
	w.Expect(count()).To(Equal(1))
	w.kubelet("a")
	w.reconcile()
	w.reconcile()
	w.Expect(count()).To(Equal(2))
}

// TestAPoolThatRefusesItsStatusHoldsUpNoOther checks that the Kafka and the other pools get their statuses if the API server rejects the
// status of one pool, for example because of a policy.
func TestAPoolThatRefusesItsStatusHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController), nodePool("b", 1, v1.RoleBroker))
	w.reconcile()
	w.kubelet("a")
	w.kubelet("b")
	w.writes(func(pool *v1.KafkaNodePool) error {
		if pool.Name == "a" {
			return errors.New("the policy forbids it")
		}
		return nil
	})
	_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).To(MatchError(ContainSubstring("status of KafkaNodePool a: the policy forbids it")))
	w.Expect(w.ready().Status).To(Equal("True"))
	w.Expect(w.pools()).To(Equal([]string{"a InProgress Creating", "b Current"}))
}

// TestAKafkaIsNotReadyBeforeItsPools checks that it waits for a pool whose status can't be written because the pool was changed, but not
// for ever.
func TestAKafkaIsNotReadyBeforeItsPools(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.kubelet("a")
	w.writes(func(pool *v1.KafkaNodePool) error {
		return apierrors.NewConflict(v1.GroupVersion.WithResource("kafkanodepools").GroupResource(), pool.Name, errors.New("it was changed"))
	})
	pass := func() (reconcile.Result, error) {
		return w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	}
	w.Expect(pass()).To(Equal(reconcile.Result{RequeueAfter: conflictDelay}))
	w.Expect(w.ready().Status).To(Equal("False"))
	w.now = w.now.Add(conflictTimeout)
	_, err := pass()
	w.Expect(err).To(MatchError(ContainSubstring("writes keep conflicting")))
	w.Expect(w.ready().Status).To(Equal("True"))
}

// A change that is not made is no failure of the Kafka, as with Strimzi, but its pool is not as its user wants it.
func TestAPoolWhoseChangeIsBlockedIsNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		pool    string
		change  func(*v1.KafkaNodePool)
		reason  string
		message string
		stalled bool
	}{
		"more voters": {"pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 5 }, "ScaleUpPrevented",
			"Scale-up of KafkaNodePool pool by 2 is blocked", true},
		"fewer voters": {"pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 1 }, "ScaleDownPreventionCheck",
			"Reverting scale-down of KafkaNodePool pool by changing number of replicas to 3: ", true},
		"other voters": {"brokers", func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleBroker, v1.RoleController} },
			"ScaleDownPreventionCheck",
			"Reverting role change of KafkaNodePool brokers (setting roles to [broker]) for nodes ", true},
		"fewer brokers": {"brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 1 }, "ScaleDownPreventionCheck",
			"Reverting scale-down of KafkaNodePool brokers by changing number of replicas to 2: ", false},
		"another size": {"brokers", func(p *v1.KafkaNodePool) { p.Spec.Storage.Size = "500Mi" }, "KafkaStorage",
			"contains changes which are not allowed", true},
		"fewer volumes": {"jbod", func(p *v1.KafkaNodePool) { p.Spec.Storage = jbod(0) }, "KafkaStorage",
			"Removal of volumes [1] from KafkaNodePool", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			volumes := nodePool("jbod", 1, v1.RoleBroker)
			volumes.Spec.Storage = jbod(0, 1)
			w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController), nodePool("brokers", 2, v1.RoleBroker), volumes)
			w.reconcile()
			pools := []string{"pool", "brokers", "jbod"}
			settle := func() {
				for _, pool := range pools {
					w.kubelet(pool)
				}
				w.reconcile()
			}
			settle()
			w.bindAll()
			before := w.pool(c.pool).Spec.DeepCopy()
			w.change(c.pool, c.change)
			w.reconcile()
			settle()
			w.Expect(w.ready().Status).To(Equal("True"))
			w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", "Warning"), HaveField("Reason", c.reason),
				HaveField("Message", ContainSubstring(c.message)))))
			has := func(kind, status string) gomegatypes.GomegaMatcher {
				return ContainElement(And(HaveField("Type", kind), HaveField("Status", status), HaveField("Reason", "ChangeBlocked"),
					HaveField("Message", ContainSubstring(c.message))))
			}
			stalled := has("Stalled", "True")
			if !c.stalled {
				stalled = Not(ContainElement(HaveField("Type", "Stalled")))
			}
			for _, pool := range pools {
				s := w.pool(pool).Status
				w.Expect(s.ObservedGeneration).To(Equal(w.pool(pool).Generation))
				if pool == c.pool {
					w.Expect(s.Conditions).To(And(has("Ready", "False"), stalled))
				} else {
					w.Expect(status.PoolReady(s)).To(BeTrue())
				}
			}
			w.change(c.pool, func(p *v1.KafkaNodePool) { p.Spec = before.DeepCopy() })
			w.reconcile()
			settle()
			w.Expect(status.PoolReady(w.pool(c.pool).Status)).To(BeTrue())
		})
	}
}
