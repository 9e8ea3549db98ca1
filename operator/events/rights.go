package events

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientevents "k8s.io/client-go/tools/events"
)

// Denied reports whether the program may not create Events in any of the namespaces; no namespaces means all. client-go logs an ERROR for
// each rejected Event, so a program without the permission, such as one under the Role of Strimzi's standalone Topic Operator, uses
// [Discard]. If the API server does not answer, Denied returns false.
func Denied(ctx context.Context, config *rest.Config, namespaces []string) bool {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, ns := range namespaces {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: ns, Verb: "create", Group: "events.k8s.io", Resource: "events"}}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil || answer.Status.Allowed {
			return false
		}
	}
	return true
}

// Discard is a sink that drops every Event.
var Discard clientevents.EventRecorder = discard{}

type discard struct{}

// Eventf implements clientevents.EventRecorder.
func (discard) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
