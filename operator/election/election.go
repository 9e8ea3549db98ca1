// Package election defines the settings of leader election between replicas of an operator.
//
// The variables are those of Strimzi's cluster operator, with its defaults: election is off unless STRIMZI_LEADER_ELECTION_ENABLED is true,
// because the Roles of Strimzi's other operators do not allow Leases. The manifests of this project set it to true.
package election

import (
	"fmt"
	"time"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// The variables that are used in several places.
const (
	envName          = "STRIMZI_LEADER_ELECTION_LEASE_NAME"
	envNamespace     = "STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE"
	envLeaseDuration = "STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS"
	envRenewDeadline = "STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS"
	envRetryPeriod   = "STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS"
)

// Options describe the Lease over which replicas elect a leader. Settings and Complete fill them.
type Options struct {
	// Enabled is false for an operator that is the only replica (STRIMZI_LEADER_ELECTION_ENABLED).
	Enabled bool
	// Name and Namespace identify the Lease (STRIMZI_LEADER_ELECTION_LEASE_NAME, STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE).
	Name, Namespace string
	// Identity is the text that the leader writes into the Lease (STRIMZI_LEADER_ELECTION_IDENTITY). It must be unique for each replica.
	// Empty means the host name and a random part.
	Identity string
	// LeaseDuration > RenewDeadline > 1.2 * RetryPeriod, as client-go requires (STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS,
	// STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS, STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS).
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Settings returns the settings of the election, for a table. nameDoc describes the default of the Lease's name.
func Settings(o *Options, nameDoc string) []settings.Setting {
	millis := func(place *time.Duration) settings.Parser { return settings.Into(place, settings.Millis(1)) }
	return []settings.Setting{
		{Env: "STRIMZI_LEADER_ELECTION_ENABLED", Flag: "leader-elect", Default: "false", Boolean: true,
			Parse: settings.Into(&o.Enabled, settings.Bool),
			Doc:   "Whether replicas elect a leader; needs a Role for Leases. Without it, run exactly one replica with strategy Recreate."},
		{Env: envName, DefaultDoc: nameDoc, Parse: settings.Into(&o.Name, settings.Name),
			Doc: "The name of the Lease. Replicas with the same configuration share it; others must not."},
		{Env: envNamespace, DefaultDoc: "the operator's namespace", Parse: settings.Into(&o.Namespace, settings.Namespace),
			Doc: "The Lease's namespace. Unset: the namespace the operator runs in, else the first one watched, else `default`."},
		{Env: "STRIMZI_LEADER_ELECTION_IDENTITY", DefaultDoc: "the host name and a random part", Parse: settings.Into(&o.Identity, settings.Text),
			Doc: "The holder identity that the leader writes into the Lease. Each replica needs its own, such as the name of its pod."},
		{Env: envLeaseDuration, Default: "15000", Parse: millis(&o.LeaseDuration),
			Doc: "How long the other replicas wait for a leader that does not renew the Lease, in milliseconds."},
		{Env: envRenewDeadline, Default: "10000", Parse: millis(&o.RenewDeadline),
			Doc: "How long a leader tries to renew the Lease before it stops, in milliseconds. Less than the lease's duration."},
		{Env: envRetryPeriod, Default: "2000", Parse: millis(&o.RetryPeriod),
			Doc: "How long replicas wait between tries, in milliseconds. Less than the renew deadline divided by 1.2."},
	}
}

// Complete derives missing settings, and checks those that depend on each other. name is the default name of the Lease, home the namespace
// that the operator runs in.
func (o *Options) Complete(r *settings.Reading, name, home string) {
	r.Derive(envName, &o.Name, name)
	r.Derive(envNamespace, &o.Namespace, home)
	if r.OK(envLeaseDuration, envRenewDeadline) && o.LeaseDuration <= o.RenewDeadline {
		r.Reject(envRenewDeadline, fmt.Sprint(o.RenewDeadline.Milliseconds()),
			fmt.Sprintf("must be less than %s (%d)", envLeaseDuration, o.LeaseDuration.Milliseconds()),
			"a leader must stop before others take over: lower it")
	}
	// client-go adds up to 20 % to the period.
	if r.OK(envRetryPeriod, envRenewDeadline) && float64(o.RenewDeadline) <= 1.2*float64(o.RetryPeriod) {
		r.Reject(envRetryPeriod, fmt.Sprint(o.RetryPeriod.Milliseconds()),
			fmt.Sprintf("must be less than %s (%d) / 1.2", envRenewDeadline, o.RenewDeadline.Milliseconds()),
			"leave room for more than one try: lower it")
	}
}
