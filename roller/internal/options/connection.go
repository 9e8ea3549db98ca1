package options

import (
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// Connection contains kubectl's flags for the connection to a Kubernetes cluster.
type Connection struct {
	*genericclioptions.ConfigFlags
	flags *pflag.FlagSet
}

// NewConnection returns the flags without values. kubectl's --cluster is not among them, because here it names the Kafka cluster. Neither
// is --namespace, which is a setting with a variable, nor --cache-dir, because nothing is cached.
func NewConnection() Connection {
	c := Connection{genericclioptions.NewConfigFlags(false), pflag.NewFlagSet("connection", pflag.ContinueOnError)}
	c.ClusterName, c.Namespace, c.CacheDir = nil, nil, nil
	c.AddFlags(c.flags)
	return c
}

// Given reports whether a flag has a value.
func (c Connection) Given() (given bool) {
	c.flags.VisitAll(func(f *pflag.Flag) { given = given || f.Value.String() != f.DefValue })
	return given
}

// deployments are the flags that run takes as well. The others are for people: --request-timeout, for example, would end run's watches.
var deployments = []string{"kubeconfig", "context"}

// addTo adds the flags of a command.
func (c Connection) addTo(set *pflag.FlagSet, command string) {
	c.flags.VisitAll(func(f *pflag.Flag) {
		if command != "run" || slices.Contains(deployments, f.Name) {
			set.AddFlag(f)
		}
	})
}
