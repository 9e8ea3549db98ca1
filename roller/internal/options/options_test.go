package options_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// where are the arguments that each command line needs.
var where = []string{"--namespace=ns", "--cluster=my-cluster", "--bootstrap-servers=a:9092, b:9092"}

func parse(env map[string]string, args ...string) (options.Options, error) {
	o, _, err := options.Parse(args, in(env, io.Discard))
	return o, err
}

func in(env map[string]string, out io.Writer) options.Surroundings {
	return options.Surroundings{Program: "/bin/roller", Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Out: out}
}

func TestDefaultsAreAsCarefulAsStrimzi(t *testing.T) {
	g := NewWithT(t)
	o, err := parse(nil, append([]string{"run"}, where...)...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Command).To(Equal("run"))
	g.Expect(o.Policy).To(Equal(roller.DefaultPolicy()))
	g.Expect(o.Kafka.Bootstrap).To(Equal([]string{"a:9092", "b:9092"}))
}

func TestFlagsOverrideTheEnvironment(t *testing.T) {
	g := NewWithT(t)
	env := map[string]string{
		"STRIMZI_NAMESPACE": "from-env", "STRIMZI_CLUSTER_NAME": "c", "STRIMZI_KAFKA_BOOTSTRAP_SERVERS": "k:1",
		"STRIMZI_ROLLER_MAX_UNAVAILABLE": "5",
		"STRIMZI_ROLLER_FORBID":          "offline,unwritable", "STRIMZI_MAINTENANCE_TIME_WINDOWS": "* * 0-1 ? * SUN; * * 3 * * ?",
		"STRIMZI_ROLLER_PATIENCE": "90s",
	}
	o, err := parse(env, "plan", "--max-unavailable=7")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Namespace).To(Equal("from-env"))
	g.Expect(o.Policy.MaxUnavailable).To(Equal(7))
	g.Expect(o.Policy.Patience).To(Equal(90 * time.Second))
	g.Expect(o.Policy.Forbid).To(Equal([]roller.Risk{roller.RiskOffline, roller.RiskUnwritable}))
	g.Expect(o.Windows.Closed(time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC))).To(BeEmpty())
	g.Expect(o.Windows.Closed(time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC))).To(ContainSubstring("2026-11-22 00:00:00"))
}

func TestTheNodeOfExplainStandsAnywhere(t *testing.T) {
	g := NewWithT(t)
	for _, args := range [][]string{append([]string{"explain", "3"}, where...), append(append([]string{"explain"}, where...), "3")} {
		o, err := parse(nil, args...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(o.Node).To(Equal("3"))
	}
}

// Each wrong setting is reported with its value and the accepted values. All are reported at once, unless one hides another.
func TestWrongSettings(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"roll"}, "set --cluster or STRIMZI_CLUSTER_NAME"},
		{[]string{"run"}, "set --namespace or STRIMZI_NAMESPACE"},
		{[]string{"run", "--namespace=ns", "--bootstrap-servers=a:9092"}, "set --cluster or STRIMZI_CLUSTER_NAME, or remove the addresses"},
		{[]string{"run", "--namespace=a,b", "--cluster=my-cluster"},
			`STRIMZI_NAMESPACE="a,b": more than one namespace; name one: only run without --cluster takes several`},
		{[]string{"plan", "--namespace=*", "--cluster=my-cluster"}, `STRIMZI_NAMESPACE="*": more than one namespace`},
		{[]string{"run", "--namespace=A"}, `--namespace="A": not the name of a namespace`},
		{append([]string{"fly"}, where...), `unknown command "fly"`},
		{append([]string{"explain"}, where...), "no node given"},
		{append([]string{"plan", "--max-unavailable=0"}, where...), `--max-unavailable="0": Failed to parse`},
		{append([]string{"plan", "--max-leader-share=1.5"}, where...), `--max-leader-share="1.5": not a fraction; use a number from 0 to 1`},
		{append([]string{"plan", "--forbid=everything"}, where...), `--forbid="everything": unknown risk; use offline or unwritable`},
		{append([]string{"plan", "--maintenance-windows=soon"}, where...), `--maintenance-windows: "soon" has 1 fields`},
		{append([]string{"plan", "-o=yaml"}, where...), `--output="yaml": unknown format; use table or json`},
		{append([]string{"plan", "--sasl-enabled", "--sasl-mechanism=GSSAPI"}, where...), `STRIMZI_SASL_MECHANISM="GSSAPI"`},
		{append([]string{"plan", "--sasl-enabled", "--sasl-mechanism=PLAIN"}, where...), "SASL credentials are not set"},
		{append([]string{"plan", "--tls-cert-file=x"}, where...), "STRIMZI_TLS_KEY_FILE is not set"},
		{append([]string{"plan", "--patience=0s"}, where...), `--patience="0s": not more than 0`},
		{append(append([]string{"plan"}, where...), "rest"), `unknown argument "rest"`},
	} {
		t.Run(strings.ReplaceAll(strings.Join(c.args, " "), "/", "|"), func(t *testing.T) {
			_, err := parse(nil, c.args...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
	for _, c := range []struct{ env, value, want string }{
		{"STRIMZI_ROLLER_MAX_UNAVAILABLE", "many", `STRIMZI_ROLLER_MAX_UNAVAILABLE="many"`},
		{"STRIMZI_ROLLER_MAX_UNAVAILABLE", "-1", `STRIMZI_ROLLER_MAX_UNAVAILABLE="-1"`},
		{"STRIMZI_ROLLER_PATIENCE", "5", `STRIMZI_ROLLER_PATIENCE="5": not a duration`},
		{"STRIMZI_ROLLER_SILENCE", "-2m", `STRIMZI_ROLLER_SILENCE="-2m"`},
		{"STRIMZI_ROLLER_STALL", "soon", `STRIMZI_ROLLER_STALL="soon": not a duration`},
		{"STRIMZI_ROLLER_FORBID", "fun", `STRIMZI_ROLLER_FORBID="fun": unknown risk; use offline or unwritable`},
		{"STRIMZI_ROLLER_MAX_LEADER_SHARE", "50%", `STRIMZI_ROLLER_MAX_LEADER_SHARE="50%"`},
		{"STRIMZI_MAINTENANCE_TIME_WINDOWS", "* * * *", `"* * * *" has 4 fields`},
		{"STRIMZI_SASL_ENABLED", "yes", `STRIMZI_SASL_ENABLED="yes": neither true nor false`},
		{"STRIMZI_REMOTE_KUBE_CONFIG_MAP", "Bad Name", `STRIMZI_REMOTE_KUBE_CONFIG_MAP="Bad Name": not the name of a Kubernetes object`},
		{"STRIMZI_LOG_LEVEL", "loud", `STRIMZI_LOG_LEVEL="loud"`},
	} {
		t.Run(c.env+"="+c.value, func(t *testing.T) {
			_, err := parse(map[string]string{c.env: c.value}, append([]string{"run"}, where...)...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestHelpNamesEachVariable(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	_, _, err := options.Parse([]string{"--help"}, in(nil, &out))
	g.Expect(errors.Is(err, flag.ErrHelp)).To(BeTrue())
	for _, word := range []string{"roller plan", "explain NODE", "STRIMZI_ROLLER_MAX_UNAVAILABLE", "--maintenance-windows"} {
		if word != "roller plan" {
			g.Expect(out.String()).To(ContainSubstring(word))
		}
	}
}

// Without a command the program prints help, and does not run as a Deployment.
func TestNoCommandPrintsHelp(t *testing.T) {
	g := NewWithT(t)
	for _, args := range [][]string{nil, where} {
		var out bytes.Buffer
		_, _, err := options.Parse(args, in(nil, &out))
		g.Expect(err).To(MatchError(flag.ErrHelp))
		g.Expect(out.String()).To(ContainSubstring("explain NODE"))
	}
	var out bytes.Buffer
	around := in(nil, &out)
	around.Version = "v1.2.3"
	_, _, err := options.Parse([]string{"--version"}, around)
	g.Expect(err).To(MatchError(flag.ErrHelp))
	g.Expect(out.String()).To(Equal("roller v1.2.3\n"))
}

func TestAmongSeveralClustersThisOneHasAnId(t *testing.T) {
	g := NewWithT(t)
	for name, value := range map[string]string{
		"STRIMZI_REMOTE_KUBE_CONFIG": "east.url=https://east:6443\neast.secret=east", "STRIMZI_REMOTE_KUBE_CONFIG_MAP": "clusters",
	} {
		env := map[string]string{name: value}
		_, err := parse(env, append([]string{"run"}, where...)...)
		g.Expect(err).To(MatchError("other Kubernetes clusters are configured, and this one has no id: set STRIMZI_CENTRAL_CLUSTER_ID"), name)
		env["STRIMZI_CENTRAL_CLUSTER_ID"] = "here"
		o, err := parse(env, append([]string{"run"}, where...)...)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(o.Central).To(Equal("here"), name)
	}
	o, err := parse(nil, append([]string{"run"}, where...)...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Central).To(BeEmpty())
}

// Flags that users know from kubectl.
func TestFlagsAreThoseOfKubectl(t *testing.T) {
	g := NewWithT(t)
	o, err := parse(nil, "plan", "-n", "ns", "--cluster=c", "-o", "json", "--kubeconfig=/k", "--context", "there")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]string{o.Namespace, o.Output, *o.Connection.KubeConfig, *o.Connection.Context}).To(Equal([]string{"ns", "json", "/k", "there"}))

	asked := ""
	around := in(map[string]string{"STRIMZI_CLUSTER_NAME": "c"}, io.Discard)
	around.Namespace = func(c options.Connection) (string, error) {
		asked = *c.KubeConfig + " " + *c.Context
		return "of-the-context", nil
	}
	o, _, err = options.Parse([]string{"plan", "--kubeconfig=/k", "--context=there"}, around)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]string{o.Namespace, asked}).To(Equal([]string{"of-the-context", "/k there"}))
	_, _, err = options.Parse([]string{"run"}, around)
	g.Expect(err).To(MatchError(ContainSubstring("set --namespace or STRIMZI_NAMESPACE")), "the Deployment guesses nothing")
	around.Env = func(name string) (string, bool) {
		return map[string]string{"STRIMZI_NAMESPACE": "ns", "STRIMZI_CLUSTER_NAME": "c"}[name], true
	}
	o, _, err = options.Parse([]string{"plan"}, around)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Namespace).To(Equal("ns"), "what is said wins")
}

// A context that does not exist is no namespace that was forgotten.
func TestAContextThatDoesNotExist(t *testing.T) {
	g := NewWithT(t)
	around := in(nil, io.Discard)
	around.Namespace = func(options.Connection) (string, error) { return "", errors.New(`context "tpyo" does not exist`) }
	_, _, err := options.Parse([]string{"plan", "--cluster=c", "--context=tpyo"}, around)
	g.Expect(err).To(MatchError(`context "tpyo" does not exist`))
	_, _, err = options.Parse([]string{"plan", "--cluster=c", "--namespace=ns"}, around)
	g.Expect(err).NotTo(HaveOccurred(), "nobody asks for its namespace")
}

// --cluster names the Kafka cluster, and never one of the kubeconfig. The Deployment takes no flags that would harm it.
func TestFlagsOfTheConnection(t *testing.T) {
	g := NewWithT(t)
	for _, command := range [][]string{{"plan"}, {"explain", "3"}, {"roll"}} {
		args := append(command, where...)
		o, err := parse(nil, args...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(o.Cluster).To(Equal("my-cluster"))
		g.Expect(o.Connection.Given()).To(BeFalse(), "--cluster and --namespace are not of the connection")

		o, err = parse(nil, append(args, "--as=me", "--as-group=a", "--as-group=b", "-s", "https://k:6443", "--token=t")...)
		g.Expect(err).NotTo(HaveOccurred())
		c := o.Connection
		g.Expect([]any{*c.Impersonate, *c.ImpersonateGroup, *c.APIServer, *c.BearerToken, c.ClusterName, c.Given()}).To(
			Equal([]any{"me", []string{"a", "b"}, "https://k:6443", "t", (*string)(nil), true}))
	}
	o, err := parse(nil, append([]string{"run", "--kubeconfig=/k"}, where...)...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Connection.Given()).To(BeTrue())
	_, err = parse(nil, append([]string{"run", "--request-timeout=7s"}, where...)...)
	g.Expect(err).To(MatchError(ContainSubstring("unknown flag: --request-timeout")))
}

func TestCompletionAndThePluginOfKubectl(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	_, _, err := options.Parse([]string{"completion", "bash"}, in(nil, &out))
	g.Expect(err).To(MatchError(flag.ErrHelp))
	g.Expect(out.String()).To(ContainSubstring("__start_roller"))
	around := in(nil, &out)
	around.Program = "/bin/kubectl-roller"
	_, _, err = options.Parse([]string{"plan", "--help"}, around)
	g.Expect(err).To(MatchError(flag.ErrHelp))
	g.Expect(out.String()).To(ContainSubstring("kubectl roller plan [flags]"))
}

func TestFlagsOfOtherCommandsAreUnknown(t *testing.T) {
	_, err := parse(nil, append([]string{"plan", "--yes"}, where...)...)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("unknown flag: --yes")))
}

// All errors are reported at once, and unknown variables are named.
func TestAllErrorsAtOnce(t *testing.T) {
	g := NewWithT(t)
	around := in(map[string]string{"STRIMZI_ROLLER_STALL": "soon", "STRIMZI_ROLLER_FORBID": "fun"}, io.Discard)
	around.Variables = []string{"STRIMZI_ROLLER_MAX_UNAVAILABEL=2"}
	_, warnings, err := options.Parse([]string{"run", "--interval=0s", "--remote-kube-config=x"}, around)
	for _, wrong := range []string{
		`STRIMZI_ROLLER_STALL="soon": not a duration`, `STRIMZI_ROLLER_FORBID="fun": unknown risk`, `--interval="0s": not more than 0`,
		"--remote-kube-config",
		"no namespace given",
	} {
		g.Expect(err).To(MatchError(ContainSubstring(wrong)))
	}
	g.Expect(warnings).To(ConsistOf(ContainSubstring("did you mean STRIMZI_ROLLER_MAX_UNAVAILABLE?")))
}

// Command lines of earlier versions still work.
func TestFlagsThatWereRenamedOrRepeated(t *testing.T) {
	g := NewWithT(t)
	o, err := parse(nil, append([]string{"run", "--leader-election", "--log-json", "--http-address=:1", "--max-unavailable=2",
		"--max-unavailable=3"}, where...)...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]any{o.Election.Enabled, o.Log.JSON, o.HTTP.Address, o.Policy.MaxUnavailable}).To(Equal([]any{true, true, ":1", 3}))
	o, err = parse(nil, append([]string{"run", "--leader-elect=true", "--tls-skip-hostname-verification", "--tls"}, where...)...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]any{o.Election.Enabled, o.Kafka.TLS.SkipHostnameVerification,
		o.Kafka.Protocol}).To(Equal([]any{true, true, credentials.ProtocolSSL}))
}

// The variables of the election mean the same as in the other operators. Two rollers in one namespace need Leases of their own.
func TestElection(t *testing.T) {
	g := NewWithT(t)
	env := map[string]string{"STRIMZI_NAMESPACE": "a", "POD_NAMESPACE": "operators"}
	o, err := parse(env, "run")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Election).To(Equal(election.Options{Name: "roller-leader", Namespace: "operators", LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}))
	o, err = parse(env, "run", "--cluster=orders")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]string{o.Election.Name, o.Election.Namespace}).To(Equal([]string{"orders-roller-leader", "a"}))
	env["STRIMZI_LEADER_ELECTION_LEASE_NAME"], env["STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE"] = "second", "b"
	env["STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS"], env["STRIMZI_LEADER_ELECTION_IDENTITY"] = "60000", "pod-1"
	o, err = parse(env, "run")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Election).To(Equal(election.Options{Name: "second", Namespace: "b", Identity: "pod-1", LeaseDuration: time.Minute,
		RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}))
	env["STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS"] = "70000"
	_, err = parse(env, "run")
	g.Expect(err).To(MatchError(ContainSubstring("must be less than STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS (60000)")))
}

// Without a name, the roller serves all Kafka clusters of the namespaces, at addresses derived from their names.
func TestWhatADeploymentServes(t *testing.T) {
	g := NewWithT(t)
	o, err := parse(map[string]string{"STRIMZI_NAMESPACE": "b, a", "POD_NAMESPACE": "operators"}, "run")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Namespaces.Names).To(Equal([]string{"a", "b"}))
	g.Expect([]string{o.Namespace, o.Cluster, o.Home}).To(Equal([]string{"", "", "operators"}))
	o, err = parse(map[string]string{"STRIMZI_NAMESPACE": "*"}, "run")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Namespaces.All).To(BeTrue())
	o, err = parse(map[string]string{"POD_NAMESPACE": "operators"}, "run", "--namespace=kafka", "--cluster=my-cluster")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]string{o.Namespace, o.Home, o.Election.Namespace}).To(Equal([]string{"kafka", "operators", "kafka"}))
}

// A command in the roller's pod finds the other Kubernetes clusters where the Deployment does. Outside of a pod, that is the Kafka
// cluster's namespace.
func TestWhereCommandsFindTheOtherClusters(t *testing.T) {
	g := NewWithT(t)
	for pod, home := range map[string]string{"operators": "operators", "": "kafka"} {
		o, err := parse(map[string]string{"POD_NAMESPACE": pod}, "plan", "--namespace=kafka", "--cluster=my-cluster")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect([]string{o.Namespace, o.Home, o.Election.Namespace}).To(Equal([]string{"kafka", home, "kafka"}))
	}
}
