package realkafka

import (
	"fmt"
	"io"
	"time"
)

// Options describe a cluster. The zero value is one node, broker and controller at once, with a plaintext listener.
type Options struct {
	// Brokers is the number of brokers, 1 if not set. Their ids count from 0.
	Brokers int
	// Controllers is the number of nodes that are only controllers; their ids follow those of the brokers.
	// If 0, every broker is a controller too.
	Controllers int
	// ClusterID is the id to format with, random if empty: 22 characters of URL-safe base64.
	ClusterID string
	// Release is the release of Kafka (4.2) or the metadata.version (4.2-IV1) whose features the storage is formatted with; the newest if
	// empty.
	Release string
	// Config are settings for all nodes, which override the package's own.
	Config map[string]string
	// NodeConfig, if set, returns settings for one node, which override Config.
	NodeConfig func(id int32) map[string]string
	// Racks are assigned to the brokers in turn; none if empty.
	Racks []string
	// SASL, if set, adds a listener that authenticates users (SASL_PLAINTEXT, and SASL_SSL if TLS is set too).
	SASL *SASL
	// TLS, if set, adds a TLS listener, with certificates made by the package.
	TLS *TLS
	// ACL, if set, turns the authorizer on.
	ACL *ACL
	// HeapMB is the heap of each node, 256 if not set. Twenty thousand partitions on one broker need 1024, and as many open files: see
	// ulimit -Hn. Only a privileged process can raise that limit, which the package then does; with a lower limit use two brokers.
	HeapMB int
	// JVMFlags are added to the nodes' command line. By default the JVM compiles with its fast compiler only, which
	// halves the CPU time of a start; benchmarks that load the broker pass -XX:TieredStopAtLevel=4.
	JVMFlags []string
	// Dir is the folder for the nodes' files; a temporary one if empty, in memory (/dev/shm) if there is room. Close removes
	// it either way.
	Dir string
	// Log, if set, receives the package's progress.
	Log io.Writer
	// StartTimeout bounds the wait for each node, 90 s if not set.
	StartTimeout time.Duration
}

// SASL lists who can log in to the SASL listeners. Every user can do so by PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512.
type SASL struct {
	// Users are the passwords by user name. The SCRAM credentials are part of the formatted metadata.
	Users map[string]string
	// OAuthBearer also accepts unsecured JSON web tokens (alg none): Kafka's own development mode. The subject is the user.
	OAuthBearer bool
}

// TLS configures the TLS listener.
type TLS struct {
	// ClientAuth is Kafka's ssl.client.auth: none, requested or required. If empty it is requested, and required if ACL is set, because a
	// client without a certificate would be User:ANONYMOUS and thus a super user.
	ClientAuth string
}

// ACL enables Kafka's authorizer. Clients of the plaintext listener (the nodes, tests) are User:ANONYMOUS, a super user, so only the SASL
// and TLS listeners are restricted.
type ACL struct {
	// SuperUsers are principals such as User:admin.
	SuperUsers []string
}

// withDefaults returns the options with all defaults, or an error if they are invalid.
func (o Options) withDefaults() (Options, error) {
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	if o.Brokers < 0 || o.Controllers < 0 {
		return o, fmt.Errorf("a cluster of %d brokers and %d controllers", o.Brokers, o.Controllers)
	}
	if o.ClusterID == "" {
		o.ClusterID = randomUUID()
	}
	if o.HeapMB == 0 {
		o.HeapMB = 256
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 90 * time.Second
	}
	if o.TLS != nil && o.TLS.ClientAuth == "" {
		o.TLS = &TLS{ClientAuth: "requested"}
		if o.ACL != nil {
			o.TLS.ClientAuth = "required"
		}
	}
	return o, nil
}
