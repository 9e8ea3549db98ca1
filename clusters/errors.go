package clusters

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Reason is a short, stable identifier of why a member is not connected, or why its newest credentials are not used.
type Reason string

// The reasons.
const (
	// ReasonStarting: the first attempt has not begun, or has not ended.
	ReasonStarting Reason = "Starting"
	// ReasonSecretUnread: the Secret could not be read yet, so its content is unknown.
	ReasonSecretUnread Reason = "SecretUnread"
	// ReasonSecretMissing: the Secret does not exist, or was deleted. Its credentials are no longer used.
	ReasonSecretMissing Reason = "SecretMissing"
	// ReasonKubeconfigInvalid: the Secret has no kubeconfig, or an invalid one.
	ReasonKubeconfigInvalid Reason = "KubeconfigInvalid"
	// ReasonKubeconfigUnsafe: the kubeconfig would run a command or read a file.
	ReasonKubeconfigUnsafe Reason = "KubeconfigUnsafe"
	// ReasonCredentialsRefused: the API server responds with 401 or 403, or the credentials don't permit to read the cluster's identity.
	ReasonCredentialsRefused Reason = "CredentialsRefused"
	// ReasonKindMissing: the API server does not serve a kind that the caches need. The member retries until it does.
	ReasonKindMissing Reason = "KindMissing"
	// ReasonForbidden: the API server does not permit any more to list or watch a kind that the caches hold. The member retries until it does.
	ReasonForbidden Reason = "Forbidden"
	// ReasonSameCluster: another id leads to the same cluster.
	ReasonSameCluster Reason = "SameCluster"
	// ReasonIdentityChanged: the id leads to another cluster than before, or than required.
	ReasonIdentityChanged Reason = "IdentityChanged"
	// ReasonNoAnswer: the API server does not respond, not in time, or with internal errors.
	ReasonNoAnswer Reason = "NoAnswer"
	// ReasonResuming: the API server responds again, but the caches are not up to date yet.
	ReasonResuming Reason = "Resuming"
	// ReasonLeft: the cluster is no longer configured, or the process ends.
	ReasonLeft Reason = "Left"
)

// refusal explains why credentials or a cluster are not accepted. A retry without a change may help for some reasons only: see hopeless.
type refusal struct {
	reason  Reason
	message string
}

func refuse(reason Reason, format string, args ...any) error {
	return &refusal{reason: reason, message: fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string { return r.message }

// classify returns the reason of a failed attempt, and whether the attempt was refused rather than got no response.
func classify(err error) (reason Reason, refused bool) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.reason, true
	}
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
		return ReasonCredentialsRefused, true
	}
	if meta.IsNoMatchError(err) {
		return ReasonKindMissing, true
	}
	return ReasonNoAnswer, false
}

// hopeless reports whether the same kubeconfig can never work. The member does not try it again before it changes.
func hopeless(err error) bool {
	reason, _ := classify(err)
	return reason == ReasonKubeconfigInvalid || reason == ReasonKubeconfigUnsafe
}

// UnreachableError means that the contents of a cluster are unknown, because it is not connected.
// A read that fails with it means "unknown", never "gone". After a write that fails with it, the write may or may not have happened.
type UnreachableError struct {
	// Status is the member's status at that time.
	Status Status
	// Err is the error of the request that was under way when the connection was lost; nil if the request was not started.
	Err error
}

// Error returns the id of the cluster and the reason.
func (e *UnreachableError) Error() string {
	s := e.Status
	if s.State == Connected && e.Err != nil { // it broke after the latest probe
		return fmt.Sprintf("the connection to cluster %s broke: %v", s.ID, e.Err)
	}
	return fmt.Sprintf("cluster %s is not connected (%s, %s): %s", s.ID, s.State, s.Reason, s.Message)
}

// Unwrap returns the error of the request that was under way.
func (e *UnreachableError) Unwrap() error { return e.Err }

// IsUnreachable reports whether err, or what it wraps, is an UnreachableError.
func IsUnreachable(err error) bool {
	_, ok := errors.AsType[*UnreachableError](err)
	return ok
}

// UnknownError means that no cluster of that id is configured.
type UnknownError struct {
	// ID is the requested id.
	ID string
}

// Error names the id.
func (e *UnknownError) Error() string { return fmt.Sprintf("no cluster %q is configured", e.ID) }
