// Package options reads the roller's settings: flags, and environment variables of the same meaning, which flags override.
package options

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/windows"
)

// Options are all settings.
type Options struct {
	// Namespaces are those in which Kafka clusters are rolled. With Cluster there is one, which is Namespace: the nodes are its pods that are labelled
	// strimzi.io/cluster=Cluster. Without, all Kafka clusters are served that are left to the roller (docs/decisions/who-rolls.md).
	Namespaces         settings.Namespaces
	Namespace, Cluster string
	// Home is the namespace of what belongs to the Deployment itself, and of the Secrets with kubeconfigs.
	Home string
	// Kafka describes how to reach the brokers, and Controllers at which addresses the controllers can be reached. Without addresses of brokers both follow from the
	// name of the Kafka cluster.
	Kafka       KafkaOptions
	Controllers []string
	// Remotes are further Kubernetes clusters with nodes of the same Kafka cluster, by id and Secret; Central is the id of the one where the
	// roller runs.
	Remotes string
	Central string

	Policy  roller.Policy
	Windows windows.Windows
	// StuckAfter is how long a pod must have been without a place or a container before that means that it is stuck.
	StuckAfter time.Duration
	// Interval is how often the roller looks when nothing seems to be to do.
	Interval time.Duration
	// Timeout bounds each part of an observation.
	Timeout time.Duration

	// Deployment only.
	HTTPAddress    string
	LeaderElection bool
	LogJSON        bool

	// Kubeconfig and Context say which Kubernetes cluster is meant, as kubectl does.
	Kubeconfig, Context string

	// plan, explain and roll only.
	Output  string
	Limit   time.Duration
	Yes     bool
	Command string
	Node    string
}

// texts are settings that are lists or names.
type texts struct {
	namespaces, controllers, forbid, windows string
	kafka                                    kafkaTexts
}

// variables are the environment variables, by flag.
var variables = map[string]string{
	"namespace": "STRIMZI_NAMESPACE", "cluster": "STRIMZI_CLUSTER_NAME",
	"bootstrap-servers": "STRIMZI_KAFKA_BOOTSTRAP_SERVERS", "bootstrap-controllers": "STRIMZI_KAFKA_BOOTSTRAP_CONTROLLERS",
	"tls-ca-file": "STRIMZI_TLS_CA_FILE", "tls-cert-file": "STRIMZI_TLS_CERT_FILE", "tls-key-file": "STRIMZI_TLS_KEY_FILE",
	"client-id": "STRIMZI_CLIENT_ID", "security-protocol": "STRIMZI_SECURITY_PROTOCOL", "cluster-namespace": "STRIMZI_CLUSTER_NAMESPACE",
	"tls-trusted-certs-secret-name": "STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME", "tls-secret-name": "STRIMZI_TLS_SECRET_NAME",
	"tls-cert-name": "STRIMZI_TLS_CERT_NAME", "tls-key-name": "STRIMZI_TLS_KEY_NAME",
	"ssl-endpoint-identification-algorithm": "STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM",
	"sasl-enabled":                          "STRIMZI_SASL_ENABLED", "sasl-mechanism": "STRIMZI_SASL_MECHANISM", "sasl-username": "STRIMZI_SASL_USERNAME",
	"sasl-password-file": "STRIMZI_SASL_PASSWORD_FILE", "sasl-secret-name": "STRIMZI_SASL_SECRET_NAME",
	"remote-kube-config": "STRIMZI_REMOTE_KUBE_CONFIG", "central-cluster-id": "STRIMZI_CENTRAL_CLUSTER_ID",
	"leader-election": "STRIMZI_LEADER_ELECTION_ENABLED", "maintenance-windows": "STRIMZI_MAINTENANCE_TIME_WINDOWS",
	"max-unavailable": "STRIMZI_ROLLER_MAX_UNAVAILABLE", "max-per-rack": "STRIMZI_ROLLER_MAX_PER_RACK", "max-leader-share": "STRIMZI_ROLLER_MAX_LEADER_SHARE",
	"forbid": "STRIMZI_ROLLER_FORBID", "patience": "STRIMZI_ROLLER_PATIENCE", "silence": "STRIMZI_ROLLER_SILENCE", "stall": "STRIMZI_ROLLER_STALL",
	"settle": "STRIMZI_ROLLER_SETTLE", "stuck-after": "STRIMZI_ROLLER_STUCK_AFTER", "interval": "STRIMZI_ROLLER_INTERVAL", "restarts-only": "STRIMZI_ROLLER_RESTARTS_ONLY",
}

// flags are those of all commands. Which ones a command takes, the command line says.
func (o *Options) flags() (*flag.FlagSet, *texts) {
	t := &texts{}
	set := flag.NewFlagSet("roller", flag.ContinueOnError)
	set.StringVar(&t.namespaces, "namespace", "", "`namespace` of the nodes' pods, else that of the context; run without --cluster takes several, with commas between, or * for all")
	set.StringVar(&o.Cluster, "cluster", "", "`name` of the Kafka cluster: the value of the label strimzi.io/cluster. Without it, run serves all whose StrimziPodSets are annotated kafka-operators.io/rolled-by=roller")
	o.kafkaFlags(set, &t.kafka)
	set.StringVar(&t.controllers, "bootstrap-controllers", "", "`host:port` of controllers, with commas between. Without them, and with --bootstrap-servers, the brokers are asked for the quorum")
	set.StringVar(&o.Remotes, "remote-kube-config", "", "further Kubernetes `clusters` with nodes of the same Kafka cluster: <id>.url=<url> and <id>.secret=<name of a Secret>, a line each")
	set.StringVar(&o.Central, "central-cluster-id", "central", "`id` of this Kubernetes cluster, if there are others")
	o.policyFlags(set, t)
	set.DurationVar(&o.StuckAfter, "stuck-after", 2*time.Minute, "how long a pod is unschedulable, or its container being created, before it counts as stuck")
	set.DurationVar(&o.Interval, "interval", 2*time.Minute, "how often to look when nothing seems to be to do")
	set.DurationVar(&o.Timeout, "timeout", 20*time.Second, "how long Kubernetes, and Kafka, may take to answer")
	set.StringVar(&o.HTTPAddress, "http-address", ":8080", "where /healthy, /ready and /metrics are served")
	set.BoolVar(&o.LeaderElection, "leader-election", false, "let only one of several replicas work")
	set.BoolVar(&o.LogJSON, "log-json", false, "log JSON")
	set.StringVar(&o.Output, "output", "table", "`format`: table or json")
	set.DurationVar(&o.Limit, "limit", 0, "give up after so long; 0: never")
	set.BoolVar(&o.Yes, "yes", false, "do not ask before nodes are restarted")
	set.StringVar(&o.Kubeconfig, "kubeconfig", "", "`file` with the Kubernetes cluster and how to log in there; else KUBECONFIG, the pod's own cluster, or ~/.kube/config")
	set.StringVar(&o.Context, "context", "", "`name` of the context in the kubeconfig")
	return set, t
}

func (o *Options) policyFlags(set *flag.FlagSet, t *texts) {
	p := &o.Policy
	set.IntVar(&p.MaxUnavailable, "max-unavailable", p.MaxUnavailable, "how many brokers may be away at once; availability allows fewer where it must")
	set.IntVar(&p.MaxPerRack, "max-per-rack", 0, "how many of them may be of one rack; 0: any number")
	set.Float64Var(&p.MaxLeaderShare, "max-leader-share", 0, "how large a share of all partitions they may lead, from 0 to 1; 0: any")
	set.StringVar(&t.forbid, "forbid", "", "what a restart must not cause although it is safe: offline, unwritable")
	set.DurationVar(&p.Patience, "patience", p.Patience, "how long a node that is not ready, or a controller that can't be restarted, is waited for")
	set.DurationVar(&p.Silence, "silence", p.Silence, "after how long without an answer a broker is restarted")
	set.DurationVar(&p.Stall, "stall", p.Stall, "how long replicas that are to catch up may make no progress before others go on")
	set.DurationVar(&p.Settle, "settle", 0, "how long to wait after a node is back")
	set.BoolVar(&p.NoReconfiguration, "restarts-only", false, "leave configurations alone")
	set.StringVar(&t.windows, "maintenance-windows", "", "cron `expressions` (second to day of week, UTC), with ; between: outside of them nothing begins")
}

// fromEnvironment sets what the environment has and the command line does not.
func fromEnvironment(set *flag.FlagSet, env func(string) (string, bool), given func(flag string) bool) error {
	var errs []error
	set.VisitAll(func(f *flag.Flag) {
		value, ok := env(variables[f.Name])
		if variables[f.Name] == "" || given(f.Name) || !ok || value == "" && f.Name != "ssl-endpoint-identification-algorithm" { // there, empty is a value
			return
		}
		if err := f.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s=%q: %w", variables[f.Name], value, err))
		}
	})
	return errors.Join(errs...)
}

// takeNamespaces understands the choice of namespaces.
func (o *Options) takeNamespaces(text string, env func(string) (string, bool)) (err error) {
	if text == "" {
		return nil // check says so, with all else that is wrong
	}
	if o.Namespaces, err = settings.ParseNamespaces(text); err != nil {
		return fmt.Errorf("--namespace=%s: %w", text, err)
	}
	if len(o.Namespaces.Names) == 1 {
		o.Namespace = o.Namespaces.Names[0]
	}
	pod, _ := env(settings.PodNamespace)
	o.Home = cmp.Or(pod, o.Namespace, "default")
	if o.Cluster != "" {
		o.Home = o.Namespace
	}
	return nil
}

// take understands lists and names.
func (o *Options) take(t *texts) (err error) {
	o.Controllers = list(t.controllers, ",")
	if err := o.Kafka.complete(&t.kafka, o.Namespace); err != nil {
		return err
	}
	for _, risk := range list(t.forbid, ",") {
		if !slices.Contains([]roller.Risk{roller.RiskOffline, roller.RiskUnwritable}, roller.Risk(risk)) {
			return fmt.Errorf("--forbid=%s: want %s or %s", risk, roller.RiskOffline, roller.RiskUnwritable)
		}
		o.Policy.Forbid = append(o.Policy.Forbid, roller.Risk(risk))
	}
	o.Windows, err = windows.Parse(list(t.windows, ";"))
	return err
}

func list(text, separator string) []string {
	var items []string
	for item := range strings.SplitSeq(text, separator) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// check finds what can't work before anything is done.
func (o *Options) check() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.Cluster == "" && o.Command != "run", "the Kafka cluster is not named: set --cluster or %s", variables["cluster"])
	all := o.Command == "run" && o.Cluster == ""
	wrong(o.Namespaces.String() == "", "the namespace is not named: set --namespace or %s", variables["namespace"])
	wrong(!all && o.Namespaces.String() != "" && o.Namespace == "", "--namespace=%s: one namespace; only run without --cluster takes several", o.Namespaces)
	wrong(all && len(o.Kafka.Bootstrap)+len(o.Controllers) > 0, "addresses are given, but not whose they are: set --cluster or %s, or leave the addresses out", variables["cluster"])
	wrong(o.Policy.MaxUnavailable < 1, "--max-unavailable=%d: at least 1", o.Policy.MaxUnavailable)
	wrong(o.Policy.MaxPerRack < 0, "--max-per-rack=%d: at least 0", o.Policy.MaxPerRack)
	wrong(o.Policy.MaxLeaderShare < 0 || o.Policy.MaxLeaderShare > 1, "--max-leader-share=%g: from 0 to 1", o.Policy.MaxLeaderShare)
	wrong(o.Output != "table" && o.Output != "json", "--output=%s: table or json", o.Output)
	wrong(o.Command == "explain" && o.Node == "", "which node? roller explain NODE, by its id or its pod's name")
	for name, d := range map[string]time.Duration{"patience": o.Policy.Patience, "silence": o.Policy.Silence, "stall": o.Policy.Stall, "timeout": o.Timeout, "interval": o.Interval} {
		wrong(d <= 0, "--%s=%s: more than 0", name, d)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
