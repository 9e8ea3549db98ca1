package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// alterRoles makes the controllers brokers as well, or no longer; their user may have moved all replicas off them before.
func (h *history) alterRoles() string {
	pool := &v1.KafkaNodePool{}
	h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "controllers"}, pool))
	if !slices.Contains(pool.Spec.Roles, v1.RoleBroker) {
		pool.Spec.Roles = []v1.ProcessRole{v1.RoleController, v1.RoleBroker}
		h.must(h.k8s.Update(h.t.Context(), pool))
		return "make the controllers brokers"
	}
	pool.Spec.Roles = []v1.ProcessRole{v1.RoleController}
	h.must(h.k8s.Update(h.t.Context(), pool))
	if h.rand.Intn(2) == 0 {
		return "make the controllers no brokers any more"
	}
	h.emptyAll()
	return "make the controllers no brokers any more, once they are empty"
}

// onHold reports whether the roller must not restart a pod.
func onHold(set *core.StrimziPodSet, pod client.Object) bool {
	_, held := core.HoldReason(pod.GetAnnotations())
	_, all := core.HoldReason(set.Annotations)
	return held || all
}

// judgeRestart checks that a broker that is none after its restart holds no replicas.
func (h *history) judgeRestart(before, after client.Object) {
	h.t.Helper()
	if h.judgeMore != nil || !core.RolesIn(before.GetLabels()).Broker || core.RolesIn(after.GetLabels()).Broker {
		return // the operator may not reach the pods of a stretched Kafka
	}
	if id, ok := core.NodeID(after.GetName()); ok {
		h.judgeLeaves(id)
	}
}

// withoutHolds is the operator's client, and puts no pod on hold.
func withoutHolds(h *history) client.WithWatch {
	return interceptor.NewClient(h.guarded(h.k8s, func() *Reconciler { return h.r }, h.write), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, is := o.(*corev1.Pod); is {
				return nil
			}
			return c.Patch(ctx, o, patch, opts...)
		}})
}
