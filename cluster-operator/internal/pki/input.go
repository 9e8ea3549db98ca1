package pki

import (
	"crypto"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State tells whether an object exists, or that this is unknown.
type State int

// The states of an object. Unknown is the zero value: an object that was not read does not count as absent.
const (
	Unknown State = iota
	Absent
	Present
)

// Fact is one Secret as it was read.
type Fact struct {
	State  State
	Secret *corev1.Secret // if Present
	Err    error          // why Unknown, if the read failed
}

// Found is the fact that a Secret exists.
func Found(secret *corev1.Secret) Fact { return Fact{State: Present, Secret: secret} }

// Missing is the fact that a Secret does not exist: the API server said so.
func Missing() Fact { return Fact{State: Absent} }

// Unread is the fact that a Secret could not be read.
func Unread(err error) Fact { return Fact{State: Unknown, Err: err} }

// CAConfig configures a CA: spec.clusterCa or spec.clientsCa of a Kafka, with defaults.
type CAConfig struct {
	// Generate is false if the user supplies the CA: then its Secrets are only read.
	Generate bool
	// OwnerReference makes the Kafka own the CA's Secrets, so that they go with it.
	OwnerReference bool
	// ValidityDays is how long new certificates are valid; 0 means 365.
	ValidityDays int
	// RenewalDays is how long before they expire certificates are renewed; 0 means 30.
	RenewalDays int
	// ReplaceKey makes a CA that expires get a new key, and not only a new certificate of the same key.
	ReplaceKey bool
}

// Metadata are labels and annotations.
type Metadata struct {
	Labels, Annotations map[string]string
}

// Node is a node that needs a certificate.
type Node struct {
	// PodName names the pod, its Secret and the entries in it.
	PodName string
	// SANs are the DNS names and IP addresses that the certificate is for. Their order does not matter.
	SANs []string
	// Listeners reports whether the node serves Input.Listeners.
	Listeners bool
	// RenewOnly keeps the names that a certificate is for, and what else the Secret holds. A node without a certificate gets one for SANs;
	// none if these are unknown.
	RenewOnly bool
}

// Pod is a pod of a node, as it exists or as a StrimziPodSet declares it: one of each where both exist.
type Pod struct {
	Name string
	// Annotations are the pod's; only those with generations of CAs are read.
	Annotations map[string]string
}

// Input is the input of Plan.
type Input struct {
	Namespace string
	Cluster   string // name of the Kafka
	// Owner is a reference to the Kafka for the Secrets that go with it; nil leaves them without an owner.
	Owner *metav1.OwnerReference
	// Labels are added to all Secrets, in addition to those of pki.
	Labels map[string]string
	// CopiedLabels are the keys of those of Labels that are the user's: they go when the user removes them.
	CopiedLabels []string

	ClusterCA, ClientsCA CAConfig
	// ClusterCACert has labels and annotations of the user's for the Secret with the certificates of the cluster CA.
	ClusterCACert Metadata
	// Windows are the times when certificates may be renewed, as Quartz cron expressions in GMT. None means always.
	Windows []string
	// PKCS12 adds the certificates of CAs as PKCS #12 stores: ca.p12, with its password in ca.password.
	PKCS12 bool
	// TopicOperator asks for the certificate of a topic operator.
	TopicOperator bool

	// Listeners are the listeners with certificates from users.
	Listeners []Listener

	// Secrets are facts by name. One that is not in the map is Unknown.
	Secrets map[string]Fact
	Nodes   []Node
	// Pods are all pods of nodes that exist, and all that StrimziPodSets declare, in all Kubernetes clusters.
	Pods []Pod
	// PodsKnown is false if some pods or StrimziPodSets could not be read. Then no certificate that may be needed is given up.
	PodsKnown bool

	Now time.Time
	// Rand is the source of serial numbers and passwords.
	Rand io.Reader
	// NewKey generates keys; nil means GenerateKey.
	NewKey func(Use) (crypto.Signer, error)
}

func (in *Input) fact(name string) Fact { return in.Secrets[name] }

func (in *Input) newKey(use Use) (crypto.Signer, error) {
	if in.NewKey != nil {
		return in.NewKey(use)
	}
	return GenerateKey(use)
}
