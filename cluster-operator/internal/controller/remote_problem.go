package controller

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// remoteProblem describes to users why a Kubernetes cluster can't be read or written.
func remoteProblem(cluster string, member clusters.Status, err error) status.Problem {
	if foreign, is := errors.AsType[*apply.ForeignError](err); is {
		return status.Problem{Reason: reasonNotOwned, Message: fmt.Sprintf("In cluster '%s': %s", cluster, foreign)}
	}
	if failure, is := errors.AsType[*Failure](err); is && (failure.Reason == reasonConflict || failure.Reason == reasonTerminating) {
		return status.Problem{Reason: failure.Reason, Message: failure.Message}
	}
	switch {
	case lacksPodSets(member, err):
		return status.Problem{Reason: "MissingCRD",
			Message: fmt.Sprintf("Required CRD 'strimzipodsets.core.strimzi.io' not found in cluster '%s'. "+
				"Please ensure Strimzi CRDs are installed in all target clusters.", cluster)}
	case errors.Is(err, errVersions):
		return status.Problem{Reason: "VersionMismatch", Message: fmt.Sprintf("In cluster '%s': %s.", cluster, err)}
	}
	if problem := refusedThere(cluster, member, err); problem != nil {
		return *problem
	}
	if member.State == clusters.Connected && !clusters.IsUnreachable(err) {
		return status.Problem{Reason: "ClusterFailed", Message: fmt.Sprintf("In cluster '%s': %s", cluster, withoutLocalAddress(err.Error()))}
	}
	return noConnection(cluster, cause(member, err))
}

// noConnection has the reason and the message of the proposal of stretch clusters for Strimzi. Bad credentials count as well.
func noConnection(cluster, why string) status.Problem {
	return status.Problem{Reason: status.ConnectivityError, Message: fmt.Sprintf(
		"Cannot connect to cluster '%s': %s. Please check kubeconfig and network connectivity.", cluster, why)}
}

// lacksPodSets reports whether the API server of a Kubernetes cluster does not serve StrimziPodSets: from the start, so that nobody can
// join, or not any more, which is how it answers then.
func lacksPodSets(member clusters.Status, err error) bool {
	const kind, resource = "StrimziPodSet", "strimzipodsets"
	if meta.IsNoMatchError(err) {
		return strings.Contains(err.Error(), kind)
	}
	if clusters.IsUnreachable(err) {
		return member.Reason == clusters.ReasonKindMissing && strings.Contains(member.Message, kind)
	}
	answer, is := errors.AsType[*apierrors.StatusError](err)
	if !is || !apierrors.IsNotFound(err) || answer.ErrStatus.Details == nil || answer.ErrStatus.Details.Kind != resource {
		return false
	}
	return slices.ContainsFunc(answer.ErrStatus.Details.Causes,
		func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// forbidden matches the error of an API server about a missing right. Errors of quotas and admission have other texts.
var forbidden = regexp.MustCompile(`cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)

// refusedThere describes a request that the API server rejected; nil for other errors.
func refusedThere(cluster string, member clusters.Status, err error) *status.Problem {
	unauthorized := apierrors.IsUnauthorized(err)
	if unauthorized || member.State == clusters.Refused && member.Reason == clusters.ReasonCredentialsRefused {
		why := err.Error()
		if !unauthorized {
			why = cause(member, err)
		}
		return new(noConnection(cluster, fmt.Sprintf("its API server rejects the credentials in Secret %s (%s); "+
			"put a kubeconfig with valid ones into it, which the operator reloads immediately",
			cmp.Or(member.Secret, "that STRIMZI_REMOTE_KUBE_CONFIG names"), why)))
	}
	if missing := missingNamespace(err); missing != "" {
		return &status.Problem{Reason: "RemoteNamespaceMissing", Message: fmt.Sprintf("Namespace %s does not exist in cluster '%s': create it "+
			"there: a Kafka uses the same namespace in all of its clusters", missing, cluster)}
	}
	answer, denied := err.Error(), apierrors.IsForbidden(err)
	if member.Reason == clusters.ReasonForbidden { // its caches lost the right
		answer, denied = member.Message, true
	}
	right := forbidden.FindStringSubmatch(answer)
	if !denied || right == nil {
		return nil
	}
	resource, where := right[2], "in all namespaces"
	if right[3] != "" {
		resource += "." + right[3]
	}
	if right[4] != "" {
		where = "in namespace " + right[4]
	}
	return &status.Problem{Reason: "RemoteForbidden", Message: fmt.Sprintf("In cluster '%s', the operator may not %s %s %s: apply your "+
		"copy of the current config/cluster-operator/overlays/remote there again, or grant the account in the kubeconfig the same rights",
		cluster, right[1], resource, where)}
}

// missingNamespace returns the namespace that does not exist, from the API server's error about a create in it; else "".
func missingNamespace(err error) string {
	answer, is := errors.AsType[*apierrors.StatusError](err)
	if !is || !apierrors.IsNotFound(err) {
		return ""
	}
	if d := answer.Status().Details; d != nil && d.Kind == "namespaces" && d.Group == "" {
		return d.Name
	}
	return ""
}

// cause is why a Kubernetes cluster is not connected, without what differs from time to time.
func cause(member clusters.Status, err error) string {
	return withoutLocalAddress(cmp.Or(member.Message, err.Error()))
}

// localAddress matches this end of a connection in an error of package net. Each connection has another port.
var localAddress = regexp.MustCompile(`\b(tcp|udp) \S+->`)

func withoutLocalAddress(message string) string { return localAddress.ReplaceAllString(message, "$1 ") }
