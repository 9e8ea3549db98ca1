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
	// Connected: the API server responds, it is the right one, and watches run.
	Connected State = "Connected"
	// Unreachable: the content of the cluster is unknown.
	Unreachable State = "Unreachable"
	// Refused: the kubeconfig, its credentials or its cluster are not accepted; a user has to correct them.
	Refused State = "Refused"
	// Left: the cluster is no longer configured. This is the last state of a Member.
	Left State = "Left"
)

// Status is the status of the connection to a member.
type Status struct {
	// ID is the id of the member.
	ID string
	// State is the state of the connection.
	State State
	// Since is when State last changed.
	Since time.Time
	// Reason and Message say why the member is not Connected. For a Connected member they are empty, or say why the newest credentials in the
	// Secret are not used while the earlier ones still are.
	Reason  Reason
	Message string
	// Identity is the uid of the cluster's namespace kube-system, which identifies the cluster. Empty until the cluster was first reached.
	Identity types.UID
	// LastSeen is when the API server last responded successfully; zero if it never did.
	LastSeen time.Time
	// Secret is the namespace/name of the Secret with the kubeconfig; empty for the home cluster.
	Secret string
	// CredentialsExpire is when the credentials in use expire; zero if that is unknown.
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
	// secretName is the namespace/name of the Secret.
	secretName string
	// candidate is why the Secret's kubeconfig is not in use; nil if it is in use, or has not been tried.
	candidate error
	// linked is true if there are credentials in use.
	linked bool
	// foreign is set if the credentials in use turned out to lead to another cluster.
	foreign error
	// health is the health of the credentials in use, and successes how many consecutive successes it takes to become healthy.
	health    Health
	successes int
	// pending names the informers that are not up to date since the connection was last lost.
	pending []string
	// unserved names the informers whose kinds the API server does not serve any more, and forbidden has its refusals to permit others.
	unserved, forbidden []string
	// joinErr is why the member could not be announced to the greeters.
	joinErr error
}

// verdict is the state that facts imply, with its reason and message.
type verdict struct {
	state   State
	reason  Reason
	message string
}

// judge returns the verdict on the facts. It is pure.
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
		v := verdict{Unreachable, ReasonNoAnswer, fmt.Sprintf("the API server responds again; waiting for %d consecutive successful probes",
			f.successes)}
		if f.health.Err != nil {
			v = failed(f.health.Err)
		}
		if f.candidate != nil {
			v.message += fmt.Sprintf("; the Secret %s has changed since, but its credentials do not work either: %v", f.secretName, f.candidate)
		}
		return v
	case len(f.unserved) > 0:
		return verdict{Refused, ReasonKindMissing, "kinds that the API server does not serve any more: " + strings.Join(f.unserved, ", ")}
	case len(f.forbidden) > 0:
		return verdict{Refused, ReasonForbidden, "the credentials don't permit any more what caches need: " + strings.Join(f.forbidden, "; ")}
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
	if refused {
		return verdict{Refused, reason, err.Error()}
	}
	return verdict{Unreachable, reason, err.Error()}
}
