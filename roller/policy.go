package roller

import (
	"strconv"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Policy configures what the roller may do. Its zero value is not usable: start from DefaultPolicy.
type Policy struct {
	// MaxUnavailable is how many brokers the roller may take down at the same time (docs/decisions/availability.md). It always restarts voters
	// of the quorum one at a time.
	MaxUnavailable int `json:"maxUnavailable"`
	// MaxPerRack is how many of them may be of one rack; 0 means any number.
	MaxPerRack int `json:"maxPerRack,omitempty"`
	// MaxLeaderShare is the largest share of all partitions that they may lead, from 0 to 1; 0 means any. A single node may always go.
	MaxLeaderShare float64 `json:"maxLeaderShare,omitempty"`
	// Forbid lists risks that a restart must not take although the availability rule allows it.
	Forbid []Risk `json:"forbid,omitempty"`

	// Patience is how long the roller waits for an unready node, a restarted one, or a controller that can't be restarted, before it
	// continues without it (Strimzi's operational timeout).
	Patience time.Duration `json:"patience"`
	// Silence is how long a node must be silent before that is a reason to restart it.
	Silence time.Duration `json:"silence"`
	// Stall is how long the replicas of a restarted broker may make no progress before the roller continues without them.
	Stall time.Duration `json:"stall"`
	// Settle is how long a restarted node must have been back before the next one goes.
	Settle time.Duration `json:"settle,omitempty"`

	// QuorumFetchTimeout applies if a node's desired configuration has no controller.quorum.fetch.timeout.ms (docs/decisions/quorum.md).
	QuorumFetchTimeout time.Duration `json:"quorumFetchTimeout"`
	// NoReconfiguration leaves configurations alone, so that the roller only restarts.
	NoReconfiguration bool `json:"noReconfiguration,omitempty"`
	// NoElections leaves leaders on the brokers to which a restart moved them.
	NoElections bool `json:"noElections,omitempty"`
	// Paused explains why no restart may begin; empty if restarts may begin. Restarts that have begun are finished.
	Paused string `json:"paused,omitempty"`
	// Closed describes the maintenance window that the roller waits for; empty if one is open, or none is defined. It applies to restarts
	// and reconfigurations.
	Closed string `json:"closed,omitempty"`
}

// DefaultPolicy is as careful as Strimzi: one node at a time, five minutes of patience.
func DefaultPolicy() Policy {
	return Policy{
		MaxUnavailable:     1,
		Patience:           5 * time.Minute,
		Silence:            2 * time.Minute,
		Stall:              5 * time.Minute,
		QuorumFetchTimeout: 2 * time.Second,
	}
}

// Risk is an effect of a restart on clients that the availability rule allows.
type Risk string

const (
	// RiskOffline is that a partition with a single replica is offline while its node is down.
	RiskOffline Risk = "offline"
	// RiskUnwritable is that producers with acks=all can't write to a partition while the node is down, because min.insync.replicas is as high
	// as the number of replicas.
	RiskUnwritable Risk = "unwritable"
)

// fetchTimeoutKey is the property after which time a voter counts as behind.
const fetchTimeoutKey = "controller.quorum.fetch.timeout.ms"

// fetchTimeout returns the timeout of the quorum check: the node's desired one, else the policy's.
func (p Policy) fetchTimeout(n *Node) time.Duration {
	desired, known := n.Desired.Get()
	if !known {
		desired = n.Config.Or(brokerconfig.Config{}).Desired
	}
	if ms, err := strconv.Atoi(desired[fetchTimeoutKey]); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return p.QuorumFetchTimeout
}
