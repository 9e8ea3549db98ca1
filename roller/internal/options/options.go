// Package options reads the roller's settings: flags, and environment variables of the same meaning, which flags override.
package options

//go:generate go test -run TestDocumentationIsUpToDate -update .

import (
	"errors"
	"fmt"
	"time"

	"github.com/kafka-operators/kafka-operators/api/windows"
	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/operator/credentials"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/lease"
)

// Options are all settings.
type Options struct {
	// Namespaces are those in which Kafka clusters are rolled. With Cluster there is only one, which is Namespace: the nodes are its pods
	// with the label strimzi.io/cluster=Cluster. Without Cluster, the roller serves all Kafka clusters that are assigned to it
	// (docs/decisions/who-rolls.md).
	Namespaces         settings.Namespaces
	Namespace, Cluster string
	// Home is the roller's own namespace: that of the Secrets with kubeconfigs. The commands in its pod use the same ones as the Deployment.
	Home string
	// Kafka describes how to reach the brokers, and Controllers contains the addresses of the controllers. Without addresses of brokers,
	// both follow from the name of the Kafka cluster.
	Kafka       KafkaOptions
	Controllers []string
	// Remotes are further Kubernetes clusters with nodes of the same Kafka cluster; Central is the id of the one where the roller runs.
	Remotes []clusters.Remote
	Central string
	// RemotesFrom names a ConfigMap in Home that lists the Remotes instead; empty if there is none.
	RemotesFrom string

	Policy  roller.Policy
	Windows windows.Windows
	// StuckAfter is how long a pod must have been unscheduled, or without a container, before it counts as stuck.
	StuckAfter time.Duration
	// Interval is how often the roller looks while there seems to be nothing to do.
	Interval time.Duration
	// Timeout bounds each part of an observation.
	Timeout time.Duration

	// Deployment only.
	HTTP     manager.HTTP
	Election election.Options
	Log      logging.Options

	// Connection leads to the Kubernetes cluster.
	Connection Connection

	// plan, explain and roll only.
	Output  string
	Limit   time.Duration
	Yes     bool
	Command string
	Node    string

	// Effective lists the effective settings as NAME="value", in one line, with secrets masked.
	Effective string
}

// draft contains the Options while they are being parsed.
type draft struct {
	Options
	kafka *credentials.Settings
	// skipHostnames and logJSON are flags with the same effect as other settings.
	skipHostnames, logJSON bool
}

func newDraft() *draft {
	return &draft{
		Options: Options{Policy: roller.DefaultPolicy(), Connection: NewConnection()},
		kafka: credentials.NewSettings(credentials.Program{
			ClientID: "kafka-operators-roller", Stable: true, BootstrapOptional: true, Files: true,
		}),
	}
}

// complete derives missing settings, and checks settings that depend on each other. contextNamespace returns the namespace of the
// kubeconfig's context.
func (d *draft) complete(r *settings.Reading, contextNamespace func(Connection) (string, error)) {
	if !r.Given(envNamespace) && d.Command != "run" && contextNamespace != nil {
		switch name, err := contextNamespace(d.Connection); {
		case err != nil:
			r.Fail(envNamespace, err)
		case name != "":
			d.Namespaces = settings.Namespaces{Names: []string{name}}
		}
	}
	if len(d.Namespaces.Names) == 1 {
		d.Namespace = d.Namespaces.Names[0]
	}
	d.Home = r.Home(d.Namespaces)
	leader, in := "roller-leader", d.Home
	if d.Cluster != "" { // its Lease also keeps commands from working on it at the same time
		leader, in = lease.Name(d.Cluster), d.Namespace
	}
	d.Election.Complete(r, leader, in)
	d.kafka.Complete(r, d.Namespace)
	d.kafka.Result.TLS.SkipHostnameVerification = d.kafka.Result.TLS.SkipHostnameVerification || d.skipHostnames
	d.Kafka = KafkaOptions{Settings: d.kafka.Result, Files: d.kafka.Files}
	d.HTTP.Complete(r)
	d.Log.JSON = d.Log.JSON || d.logJSON
	d.check(r)
}

// check rejects settings that can't work, before the program does anything.
func (d *draft) check(r *settings.Reading) {
	all := d.Command == "run" && d.Cluster == ""
	if d.Cluster == "" && d.Command != "run" {
		r.Fail(envCluster, fmt.Errorf("no Kafka cluster given: set --cluster or %s", envCluster))
	}
	switch chosen := d.Namespaces.String(); {
	case !r.OK(envNamespace):
	case chosen == "":
		r.Fail(envNamespace, fmt.Errorf("no namespace given: set --namespace or %s", envNamespace))
	case !all && d.Namespace == "":
		r.Reject(envNamespace, chosen, "more than one namespace", "name one: only run without --cluster takes several")
	}
	if all && len(d.Kafka.Bootstrap)+len(d.Controllers) > 0 {
		r.Fail(envCluster, fmt.Errorf("addresses are given without a Kafka cluster: set --cluster or %s, or remove the addresses", envCluster))
	}
	d.checkRemotes(r)
	if d.Command == "explain" && d.Node == "" {
		r.Fail("NODE", errors.New("no node given: use roller explain NODE, with its id or the name of its pod"))
	}
}

// checkRemotes rejects settings of other Kubernetes clusters that can't work.
func (d *draft) checkRemotes(r *settings.Reading) {
	if len(d.Remotes) > 0 && d.RemotesFrom != "" {
		r.Reject("STRIMZI_REMOTE_KUBE_CONFIG_MAP", d.RemotesFrom, "conflicts with STRIMZI_REMOTE_KUBE_CONFIG", "set one of the two")
	}
	if (len(d.Remotes) > 0 || d.RemotesFrom != "") && d.Central == "" && r.OK(envCentral) {
		r.Fail(envCentral, fmt.Errorf("other Kubernetes clusters are configured, and this one has no id: set %s", envCentral))
	}
}
