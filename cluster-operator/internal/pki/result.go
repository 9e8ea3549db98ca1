package pki

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Change is the write to a Secret.
type Change string

// What to do about a Secret.
const (
	// Keep: the Secret is up to date.
	Keep Change = "Keep"
	// Create it; if it already exists, requeue.
	Create Change = "Create"
	// Update it, if it still has this resourceVersion and uid; else requeue.
	Update Change = "Update"
)

// Desired is a Secret as it should be, and how it gets there.
type Desired struct {
	*corev1.Secret
	Change Change
}

// Operation is the change of a CA in one pass.
type Operation string

// What is done about a CA in one pass. Source: Strimzi, whose names these are.
const (
	None       Operation = "None"
	CreateCA   Operation = "Create"
	RenewCert  Operation = "RenewCert"
	ReplaceKey Operation = "ReplaceKey"
	Postponed  Operation = "Postponed"
	Supplied   Operation = "Supplied"  // by the user
	TrustOnly  Operation = "TrustOnly" // it can't be used, and stays as it is
)

// Phase is the progress of the replacement of a CA's key.
type Phase string

// The phases of the replacement of a CA's key.
const (
	// Settled: no replacement is going on.
	Settled Phase = "Settled"
	// Distributing: some running nodes may not trust the new key yet. The old one signs.
	Distributing Phase = "Distributing"
	// Switching: all nodes trust both keys. The new one signs; some nodes may still serve certificates of the old one.
	Switching Phase = "Switching"
)

// CAState describes a CA after the pass.
type CAState struct {
	Operation      Operation
	Reason         string // of the operation, for users
	Phase          Phase
	CertGeneration int
	KeyGeneration  int
	// TrustPEM are all certificates that clients should trust: the current one first, and the old ones while nodes may serve certificates that
	// they signed.
	TrustPEM []byte
	// Validity is that of the current certificate.
	Validity Validity
}

// Problem is something that a user should know. What Plan cannot do at all is an error and not a Problem.
type Problem struct {
	Reason  string
	Message string
}

// Decision is something that Plan decided, with its reason, for logs and Events.
type Decision struct {
	Object string // name of the Secret
	Action string
	Reason string
}

// Result is the desired state. It is applied in the order of its fields: CAs, TrustBundle (in each Kubernetes cluster), Leaves, and then
// StrimziPodSets with PodAnnotations. If one write fails, those after it are left for the next pass: an annotation promises that the
// Secrets were there before the pod.
type Result struct {
	// CAs are the Secrets of generated CAs. They stay in the central Kubernetes cluster.
	CAs []Desired
	// TrustBundle has the certificates that nodes trust. Change applies to the Secret in the facts; other Kubernetes clusters get the same
	// content.
	TrustBundle Desired
	// Leaves are the Secrets of nodes, of the operator and of the topic operator.
	Leaves []Desired
	// PodAnnotations are the annotations that each node's pod must carry, by the pod's name. A pod that carries others must be restarted.
	PodAnnotations map[string]map[string]string

	// Listeners are the certificates that nodes serve on listeners with certificates from users, by listener name. A listener without one is
	// missing.
	Listeners map[string]Pair

	ClusterCA, ClientsCA CAState
	// ClientsCAError is why the clients CA can't be used: its Secrets stay as they are, and nodes trust what they trusted. A user has to fix
	// that.
	ClientsCAError *Error
	Decisions      []Decision
	Problems       []Problem
	// Next is when to requeue without an event: a certificate is due, or a window opens. Zero if nothing is due.
	Next time.Time
}

// Reasons of errors and problems.
const (
	// ReasonUnknown: a Secret could not be read. Trying again helps.
	ReasonUnknown = "SecretUnknown"
	// ReasonCAKeyLost: the key of a CA is missing or unreadable, and certificates depend on it, or pods run with a later key than all
	// Secrets have.
	ReasonCAKeyLost = "CAKeyLost"
	// ReasonCAKeyMismatch: the key and the certificate of a CA do not belong together.
	ReasonCAKeyMismatch = "CAKeyMismatch"
	// ReasonForeign: a Secret with a required name belongs to another owner.
	ReasonForeign = "SecretNotOurs"
	// ReasonSuppliedCA: a CA that the user supplies is missing or invalid. Source: Strimzi, whose messages are kept.
	ReasonSuppliedCA = "InvalidResourceException"
	// ReasonCAExpiring: a CA, or a listener's certificate of its user's, expires soon, and nothing renews it.
	ReasonCAExpiring = "CertificateExpiring"
	// ReasonPostponed: something waits for a maintenance window.
	ReasonPostponed = "MaintenancePostponed"
	// ReasonRenewal: renewalDays is not less than validityDays.
	ReasonRenewal = "InvalidRenewalDays"
	// ReasonNotCertificates: something else is among the certificates of a CA, such as its key.
	ReasonNotCertificates = "NotOnlyCertificates"
	// ReasonAnnotation: an annotation has no effect where it is.
	ReasonAnnotation = "InvalidAnnotation"
	// ReasonNotRenewed: certificates of running nodes can't be renewed.
	ReasonNotRenewed = "CertificatesNotRenewed"
	// ReasonOldKeyGone: certificates cannot be made with the old key while not all nodes trust the new one.
	ReasonOldKeyGone = "OldCAKeyMissing"
)

// Error explains why certificates cannot be decided about. Nothing may be changed that depends on them.
type Error struct {
	Reason  string
	Message string
	Err     error // what made a Secret unknown
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap is why a Secret could not be read.
func (e *Error) Unwrap() error { return e.Err }
