// Package options reads the settings of the cluster-operator.
package options

//go:generate go test -run TestDocumentationIsUpToDate -update .

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// name is Strimzi's name of the operator, used in Leases and the user agent.
const name = "strimzi-cluster-operator"

// Values of Options.ExporterImage that are no images.
const (
	OwnImage = "own"
	NoImage  = "none"
)

// Options are all settings of the cluster-operator. Parse fills them.
type Options struct {
	// Namespaces are the watched ones.
	Namespaces settings.Namespaces
	// Selector chooses Kafka objects by their labels.
	Selector settings.Selector
	// Images maps each supported version of Kafka to its image.
	Images map[string]string
	// TopicOperatorImage is the image of the topic operators that Kafkas ask for.
	TopicOperatorImage string
	// ExporterImage is the image that brings the JMX exporter to nodes, OwnImage or NoImage.
	ExporterImage string
	// PullPolicy and PullSecrets are for all pods; empty leaves them to Kubernetes and to templates.
	PullPolicy  corev1.PullPolicy
	PullSecrets []string
	// RollerAccount is the roller's ServiceAccount, as namespace/name; empty if there is none to give rights to.
	RollerAccount string
	// DNSDomain is the Kubernetes cluster's.
	DNSDomain string
	// NetworkPolicies and DisruptionBudgets mean that the operator creates these, and PKCS12 that Secrets have stores of that format.
	NetworkPolicies, DisruptionBudgets, PKCS12 bool
	// Restricted keeps pods to the Pod Security Standard of that name.
	Restricted bool
	// OperatorNamespace and OperatorLabels select the operator's pods' namespace in network policies.
	OperatorNamespace string
	OperatorLabels    settings.Selector
	// ExcludedLabels matches labels of users' objects that are not copied.
	ExcludedLabels func(string) bool
	// Interval is how often each Kafka is reconciled without an event.
	Interval time.Duration
	// OperationTimeout is how long nodes wait for addresses of load balancers at most.
	OperationTimeout time.Duration
	// Concurrency is how many Kafkas are reconciled at the same time.
	Concurrency int
	// PodSetsOnly runs the StrimziPodSet controller alone.
	PodSetsOnly bool
	// Stretch is for Kafkas over several Kubernetes clusters.
	Stretch Stretch

	Election election.Options
	HTTP     manager.HTTP
	Log      logging.Options

	// Effective lists the effective settings as NAME="value", in one line.
	Effective string
}

// Stretch has the settings for stretched Kafkas.
type Stretch struct {
	// Central is the id of the Kubernetes cluster that the operator runs in, and Remotes are the others.
	Central string
	Remotes []clusters.Remote
	// RemotesFrom names the ConfigMap, in the operator's namespace, that lists the others instead; empty without.
	RemotesFrom string
	// Provider names the network provider, and Path is where programs of providers are.
	Provider, Path string
	// Settings names the ConfigMap, in the operator's namespace, with the provider's settings; empty without.
	Settings string
}

// Configured reports whether Kafkas can be stretched.
func (s Stretch) Configured() bool { return len(s.missing()) == 0 }

// missing are the required variables that are not set.
func (s Stretch) missing() []string {
	var missing []string
	for _, required := range []struct {
		name string
		set  bool
	}{
		{envCentral, s.Central != ""}, {envRemotes, len(s.Remotes) > 0 || s.RemotesFrom != ""},
		{envProvider, s.Provider != ""}, {envPath, s.Path != ""},
	} {
		if !required.set {
			missing = append(missing, required.name)
		}
	}
	return missing
}

// complete checks what belongs together.
func (s Stretch) complete(r *settings.Reading) {
	if missing := s.missing(); len(missing) > 0 && len(missing) < 4 {
		r.Warn("Kafkas can't be stretched over several Kubernetes clusters: %s must be set as well", strings.Join(missing, ", "))
	}
	if len(s.Remotes) > 0 && s.RemotesFrom != "" {
		r.Reject(envRemotesFrom, s.RemotesFrom, "conflicts with "+envRemotes, "set one of the two")
	}
	for _, remote := range s.Remotes {
		if remote.ID == s.Central {
			r.Reject(envRemotes, remote.ID, "the id of the central cluster ("+envCentral+")", "give each Kubernetes cluster an id of its own")
		}
	}
}

// DefaultVersion is the newest version that has an image.
func (o Options) DefaultVersion() string {
	newest := ""
	for version := range o.Images {
		if newest == "" || model.NewerVersion(version, newest) {
			newest = version
		}
	}
	return newest
}

// Parse reads the options from flags (without the program's name) and the environment. The strings are warnings, for the log.
//
// The error holds everything that is wrong. It is flag.ErrHelp or settings.ErrVersion if the command line asks for these; see Help.
func Parse(args []string, env settings.Environment) (Options, []string, error) {
	o := &Options{}
	r, err := o.table().Parse(args, env)
	if err != nil {
		return Options{}, nil, err
	}
	home := r.Home(o.Namespaces)
	if o.RollerAccount == ownRoller {
		o.RollerAccount = home + "/roller"
	}
	if o.OperatorNamespace == "" {
		o.OperatorNamespace = home
	}
	o.Election.Complete(r, name, home)
	o.HTTP.Complete(r)
	o.Stretch.complete(r)
	if model.IsStrimziOperator(o.TopicOperatorImage) {
		r.Warn("Topic operators do not start with Strimzi's image %s: remove %s, or name an image of this topic operator", o.TopicOperatorImage,
			envTopicOperatorImage)
	}
	o.Effective = r.String()
	return *o, r.Warnings(), r.Err()
}

// Help returns the text of --help.
func Help() string { return new(Options).table().Help() }
