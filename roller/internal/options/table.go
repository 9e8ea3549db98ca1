package options

import (
	"strconv"
	"strings"

	"github.com/kafka-operators/kafka-operators/api/windows"
	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/roller"
)

// The variables that are used in several places.
const (
	envNamespace   = "STRIMZI_NAMESPACE"
	envCluster     = "STRIMZI_CLUSTER_NAME"
	envControllers = "STRIMZI_KAFKA_BOOTSTRAP_CONTROLLERS"
	envCentral     = "STRIMZI_CENTRAL_CLUSTER_ID"
)

// table returns all settings, each once, with parsers that write to d.
func (d *draft) table() settings.Table {
	groups := []settings.Group{{Title: "What is rolled", Settings: d.scope()}, {Title: "How it is rolled", Settings: d.policy()}}
	groups = append(groups, d.kafkaGroups()...)
	return settings.Table{
		Program: "roller", Summary: "roller restarts the nodes of a Kafka cluster as fast as is safe.",
		Hints: settings.CommonHints(), LastFlagCounts: true,
		Groups: append(groups,
			settings.Group{Title: "Several Kubernetes clusters", Settings: d.stretch()},
			settings.Group{Title: "Time", Settings: d.times()},
			settings.Group{Title: "The Deployment", Settings: d.deployment()},
			settings.Group{Title: "The commands", Settings: d.commands()},
		),
	}
}

func (d *draft) scope() []settings.Setting {
	return []settings.Setting{
		{Env: envNamespace, DefaultDoc: "that of the context, for commands", Parse: settings.Into(&d.Namespaces, settings.ParseNamespaces),
			Doc: "The namespace of the nodes' pods. `run` without a Kafka cluster accepts a comma-separated list, or `*` for all."},
		{Env: envCluster, Flag: "cluster", DefaultDoc: "all, for run", Parse: settings.Into(&d.Cluster, settings.Text),
			Doc: "The name of the Kafka cluster: the value of the label `strimzi.io/cluster`. Without, `run` serves all whose StrimziPodSets are " +
				"annotated " +
				"`kafka-operators.io/rolled-by=roller`."},
		{Env: "STRIMZI_MAINTENANCE_TIME_WINDOWS", Added: true, Flag: "maintenance-windows", DefaultDoc: "always",
			Parse: settings.Into(&d.Windows, parseWindows),
			Doc: "Quartz cron expressions (second to day of week, year optional, UTC), separated by `;`. Outside of these windows the " +
				"roller starts nothing."},
	}
}

func (d *draft) policy() []settings.Setting {
	p := &d.Policy
	share := func(s settings.Setting) settings.Setting { // all of these are ours, and have flags without ROLLER
		s.Added, s.Flag = true, strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.Env, "STRIMZI_ROLLER_")), "_", "-")
		return s
	}
	all := []settings.Setting{
		{Env: "STRIMZI_ROLLER_MAX_UNAVAILABLE", Default: strconv.Itoa(p.MaxUnavailable),
			Parse: settings.Into(&p.MaxUnavailable, settings.Positive),
			Doc:   "How many brokers may be down at the same time. Fewer where availability requires it."},
		{Env: "STRIMZI_ROLLER_MAX_PER_RACK", Default: "0", Parse: settings.Into(&p.MaxPerRack, count),
			Doc: "How many of them may be in one rack. 0: no limit."},
		{Env: "STRIMZI_ROLLER_MAX_LEADER_SHARE", Default: "0", Parse: settings.Into(&p.MaxLeaderShare, fraction),
			Doc: "The share of all partitions that they may lead together, from 0 to 1. 0: no limit."},
		{Env: "STRIMZI_ROLLER_FORBID", DefaultDoc: "nothing", Parse: settings.Into(&p.Forbid, risks),
			Doc: "What a restart must not cause, although no data is lost: `offline`, `unwritable`, or both, separated by a comma."},
		{Env: "STRIMZI_ROLLER_PATIENCE", Default: p.Patience.String(), Parse: settings.Into(&p.Patience, settings.Duration(1)),
			Doc: "How long the roller waits for a node that is not ready, or for a controller that can't be restarted, such as `5m`."},
		{Env: "STRIMZI_ROLLER_SILENCE", Default: p.Silence.String(), Parse: settings.Into(&p.Silence, settings.Duration(1)),
			Doc: "How long a broker may be unresponsive before it is restarted."},
		{Env: "STRIMZI_ROLLER_STALL", Default: p.Stall.String(), Parse: settings.Into(&p.Stall, settings.Duration(1)),
			Doc: "How long replicas may catch up without progress before other nodes are restarted."},
		{Env: "STRIMZI_ROLLER_SETTLE", Default: "0s", Parse: settings.Into(&p.Settle, settings.Duration(0)),
			Doc: "How long the roller waits after a node is back."},
		{Env: "STRIMZI_ROLLER_RESTARTS_ONLY", Default: "false", Boolean: true, Parse: settings.Into(&p.NoReconfiguration, settings.Bool),
			Doc: "Whether to leave configurations unchanged and only restart nodes."},
		{Env: "STRIMZI_ROLLER_ELECT_LEADERS", Default: "true", Boolean: true, Parse: settings.Into(&p.NoElections, not),
			Doc: "Whether to elect a restarted broker as the leader of the partitions that prefer it, at the end of the roll or with " +
				"a restart a minute later or more. It never does so where its `auto.leader.rebalance.enable` is `false`. It needs the right " +
				"to `Alter` the `Cluster`."},
		{Env: "STRIMZI_ROLLER_STUCK_AFTER", Default: "2m0s", Parse: settings.Into(&d.StuckAfter, settings.Duration(1)),
			Doc: "How long a pod may be unschedulable, or its container be creating, before it counts as stuck."},
	}
	for i := range all {
		all[i] = share(all[i])
	}
	return all
}

// kafkaFlags are the flags that do not follow from the variables.
var kafkaFlags = map[string]string{"STRIMZI_KAFKA_BOOTSTRAP_SERVERS": "bootstrap-servers", envControllers: "bootstrap-controllers"}

// kafkaGroups returns the settings of all programs, and the roller's own.
func (d *draft) kafkaGroups() []settings.Group {
	groups := d.kafka.Groups()
	secrets := d.kafka.Namespace()
	secrets.DefaultDoc, secrets.Doc = "that of the nodes",
		"The namespace of all Secrets named below. Unset: that of each Kafka cluster's nodes."
	groups[0].Settings = append(groups[0].Settings, secrets,
		settings.Setting{Env: envControllers, DefaultDoc: "derived", Added: true, Parse: settings.Into(&d.Controllers, settings.Bootstrap),
			Doc: "Addresses of controllers, as comma-separated `host:port`. Unset: derived from the cluster's name, if those of the brokers " +
				"are; otherwise the brokers report the quorum."})
	groups[1].Settings = append(groups[1].Settings,
		settings.Setting{Flag: "tls", Default: "false", Boolean: true, Parse: settings.Into(&d.kafka.Encrypt, settings.Bool),
			Doc: "Whether to use TLS where neither a certificate nor a protocol is given."},
		settings.Setting{Flag: "tls-skip-hostname-verification", Default: "false", Boolean: true,
			Parse: settings.Into(&d.skipHostnames, settings.Bool),
			Doc:   "The same as an empty `--ssl-endpoint-identification-algorithm`."})
	for _, g := range groups {
		for i := range g.Settings {
			s := &g.Settings[i]
			if flag := kafkaFlags[s.Env]; flag != "" {
				s.Flag = flag
			}
			if s.Env == "STRIMZI_KAFKA_BOOTSTRAP_SERVERS" {
				s.DefaultDoc = "derived"
				s.Doc += " Unset: `<cluster>-kafka-brokers.<namespace>.svc:9091`, and port 9090 of its controllers, with the Secrets " +
					"`<cluster>-cluster-ca-cert` and `<cluster>-cluster-operator-certs` if they exist."
			}
		}
	}
	return groups
}

func (d *draft) stretch() []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_REMOTE_KUBE_CONFIG", DefaultDoc: "none", Parse: settings.Into(&d.Remotes, clusters.ParseRemotes),
			Doc: "Further Kubernetes clusters with nodes of the same Kafka cluster: a line `<id>.url=<address of the API server>` and a line " +
				"`<id>.secret=<name of a Secret with a kubeconfig>` for each."},
		{Env: "STRIMZI_REMOTE_KUBE_CONFIG_MAP", Added: true, DefaultDoc: "none", Parse: settings.Into(&d.RemotesFrom, settings.Name),
			Doc: "Instead of `STRIMZI_REMOTE_KUBE_CONFIG`: a ConfigMap in the roller's namespace that holds the same text under the key " +
				"`clusters`. Kubernetes clusters join and leave when it changes, without a restart."},
		{Env: envCentral, DefaultDoc: "none", Parse: settings.Into(&d.Central, clusters.ParseID),
			Doc: "The id of this Kubernetes cluster. Required if there are others."},
	}
}

func (d *draft) times() []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_ROLLER_INTERVAL", Flag: "interval", Default: "2m0s", Added: true, Parse: settings.Into(&d.Interval, settings.Duration(1)),
			Doc: "How often the roller observes the cluster while there is nothing to do. The alert RollerNotLooking fires if it is more than " +
				"15 minutes: lengthen its 15 minutes, too."},
		{Flag: "timeout", Default: "20s", Parse: settings.Into(&d.Timeout, settings.Duration(1)),
			Doc: "The timeout of a request to Kubernetes or Kafka."},
	}
}

func (d *draft) deployment() []settings.Setting {
	all := election.Settings(&d.Election, "`roller-leader`, or `<cluster>-roller-leader` with `--cluster`")
	all = append(all, manager.Settings(&d.HTTP)...)
	all = append(all, logging.Settings(&d.Log)...)
	return append(all, settings.Setting{Flag: "log-json", Default: "false", Boolean: true, Parse: settings.Into(&d.logJSON, settings.Bool),
		Doc: "The same as `--log-format=json`."})
}

func (d *draft) commands() []settings.Setting {
	return []settings.Setting{
		{Flag: "output", Default: "table", Parse: settings.Into(&d.Output, settings.Choice("format", "table", "json")),
			Doc: "The format of `plan` and `explain`: `table` or `json`."},
		{Flag: "limit", Default: "0s", Parse: settings.Into(&d.Limit, settings.Duration(0)),
			Doc: "How long `roll` may take before it gives up. 0: forever."},
		{Flag: "yes", Default: "false", Boolean: true, Parse: settings.Into(&d.Yes, settings.Bool),
			Doc: "Whether `roll` restarts nodes without confirmation."},
	}
}

func count(text string) (int, error) {
	n, err := settings.Long(0, 1<<31-1)(text)
	return int(n), err
}

func fraction(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, settings.Invalid("not a fraction", "use a number from 0 to 1")
	}
	return f, nil
}

// not parses a boolean, and returns its opposite.
func not(text string) (bool, error) {
	value, err := settings.Bool(text)
	return !value, err
}

func risks(text string) ([]roller.Risk, error) {
	var all []roller.Risk
	for _, word := range settings.List(text) {
		risk, err := settings.Choice("risk", roller.RiskOffline, roller.RiskUnwritable)(word)
		if err != nil {
			return nil, err
		}
		all = append(all, risk)
	}
	return all, nil
}

func parseWindows(text string) (windows.Windows, error) {
	var expressions []string
	for e := range strings.SplitSeq(text, ";") {
		if e = strings.TrimSpace(e); e != "" {
			expressions = append(expressions, e)
		}
	}
	return windows.ParseAll(expressions)
}
