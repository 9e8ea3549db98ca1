package standin

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AssignAddresses sets the address of each Service of type LoadBalancer in a Kubernetes cluster, as a cloud's controller does, until the
// context ends. Address returns the n-th address, counted from 1; none is used twice.
func AssignAddresses(ctx context.Context, k8s client.Client, address func(n int) string) {
	given := map[types.UID]string{}
	for ctx.Err() == nil {
		var services corev1.ServiceList
		_ = k8s.List(ctx, &services) // the cluster may be unreachable: the next round tries again
		for i := range services.Items {
			s := &services.Items[i]
			if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Status.LoadBalancer.Ingress) > 0 {
				continue
			}
			if given[s.UID] == "" {
				given[s.UID] = address(len(given) + 1)
			}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: given[s.UID]}}
			_ = k8s.Status().Update(ctx, s) // after a conflict, the next round tries again
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}
