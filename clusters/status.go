package clusters

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is the state of the connection to a member.
type State string

// The states. Only a Connected member is read from or written to.
const (
	// Joining: the first attempt to connect has not ended yet.
	Joining State = "Joining"
	// Connected: the API server answers, it is the right one, and watches run.
	Connected State = "Connected"
	// Unreachable: nothing can be said about what is in the cluster.
	Unreachable State = "Unreachable"
	// Refused: the kubeconfig, the credentials or the cluster that they lead to are not accepted; a user has to correct them.
	Refused State = "Refused"
	// Left: the cluster is not configured any more. This is the last state of a Member.
	Left State = "Left"
)

// Status is the status of the connection to a member.
type Status struct {
	// ID is the member's.
	ID string
	// State is the state of the connection.
	State State
	// Since is when State was taken on.
	Since time.Time
	// Reason and Message say why the member is not Connected. With Connected they are empty, or say why the Secret's newest credentials are
	// not used while the earlier ones still are.
	Reason  Reason
	Message string
	// Identity is the uid of the cluster's namespace kube-system, by which clusters are told apart. Empty until the cluster was first reached.
	Identity types.UID
	// LastSeen is when the API server last gave a good answer; zero if it never did.
	LastSeen time.Time
	// Secret is namespace/name of the one with the kubeconfig; empty for the home cluster.
	Secret string
	// CredentialsExpire is when the credentials in use end; zero if that is unknown.
	CredentialsExpire time.Time
	// Warnings are problems with the credentials in use that don't prevent their use.
	Warnings []string
}

// secretView is the observed state of the Secret of a member.
type secretView int

const (
	secretUnread secretView = iota
	secretMissing
	secretRead
)

// facts determine the state of a member.
type facts struct {
	left   bool
	secret secretView
	// secretErr is why the Secret could not be read.
	secretErr error
	// secretName is namespace/name.
	secretName string
	// candidate is why the Secret's kubeconfig is not in use; nil if it is, or has not been tried.
	candidate error
	// linked: there are credentials in use.
	linked bool
	// foreign is set if the credentials in use were found to lead to another cluster.
	foreign error
	// health is that of the credentials in use.
	health Health
	// pending names the informers that are not up to date since the connection was last lost.
	pending []string
	// joinErr is why the member could not be announced to the greeters.
	joinErr error
}

// verdict is the state that facts imply, with its reason.
type verdict struct {
	state   State
	reason  Reason
	message string
}

// judge is pure: the same facts give the same verdict.
func (f facts) judge() verdict {
	switch {
	case f.left:
		return verdict{Left, ReasonLeft, "the cluster is no longer configured"}
	case f.secret == secretMissing:
		return verdict{Unreachable, ReasonSecretMissing, fmt.Sprintf("the Secret %s with its kubeconfig does not exist", f.secretName)}
	case f.foreign != nil:
		return failed(f.foreign)
	case !f.linked:
		return f.judgeUnlinked()
	case !f.health.Up:
		v := failed(f.health.Err)
		if f.candidate != nil {
			v.message += fmt.Sprintf("; the Secret %s has changed since, but its credentials do not work either: %v", f.secretName, f.candidate)
		}
		return v
	case len(f.pending) > 0:
		return verdict{Unreachable, ReasonResuming, "catching up with changes: " + strings.Join(f.pending, ", ")}
	case f.candidate != nil:
		reason, _ := classify(f.candidate)
		return verdict{Connected, reason, fmt.Sprintf("the Secret %s has changed, but the previous credentials stay in use: %v", f.secretName,
			f.candidate)}
	case f.joinErr != nil:
		return verdict{Connected, ReasonStarting, fmt.Sprintf("the cluster is not set up yet: %v", f.joinErr)}
	}
	return verdict{state: Connected}
}

func (f facts) judgeUnlinked() verdict {
	switch {
	case f.candidate != nil:
		return failed(f.candidate)
	case f.secret == secretUnread && f.secretErr != nil:
		return verdict{Joining, ReasonSecretUnread, fmt.Sprintf("the Secret %s can't be read: %v", f.secretName, f.secretErr)}
	}
	return verdict{Joining, ReasonStarting, "connecting for the first time"}
}

func failed(err error) verdict {
	reason, refused := classify(err)
	switch {
	case err == nil: // not healthy yet, after a failure and then fewer successes than it takes
		return verdict{Unreachable, ReasonNoAnswer, "the API server answers again, but not often enough yet"}
	case refused:
		return verdict{Refused, reason, err.Error()}
	}
	return verdict{Unreachable, reason, err.Error()}
}
