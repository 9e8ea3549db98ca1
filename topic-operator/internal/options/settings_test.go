package options

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// settingCases has for each setting accepted and rejected values. TestEverySettingHasACase checks that none is missing.
var settingCases = map[string]struct {
	get func(Options) any
	// unset is the value without the setting, when only the mandatory settings of with are set.
	unset any
	read  map[string]any
	wrong []string
}{
	"STRIMZI_NAMESPACE": {func(o Options) any { return o.Namespaces }, settings.Namespaces{Names: []string{"my-namespace"}},
		map[string]any{"*": settings.Namespaces{All: true}, " b , a,a": settings.Namespaces{Names: []string{"a", "b"}}},
		[]string{"*,a", "A", "a_b", ",", "a;b", strings.Repeat("a", 64)}},
	"STRIMZI_RESOURCE_LABELS": {func(o Options) any { return o.Selector }, settings.Selector(nil),
		map[string]any{"strimzi.io/cluster=a, x=": settings.Selector{"strimzi.io/cluster": "a", "x": ""}},
		[]string{"a", "=b", "a=b=c", "a in (b)", "a!=b", "-/a=b", "a=b,a=b"}},
	"STRIMZI_CLUSTER_NAMESPACE": {func(o Options) any { return o.Kafka.SecretNamespace }, "my-namespace", map[string]any{"kafka": "kafka"},
		[]string{"*", "A"}},
	"STRIMZI_KAFKA_BOOTSTRAP_SERVERS": {func(o Options) any { return o.Kafka.Bootstrap }, []string{"localhost:1234"},
		map[string]any{"a:1, b.c:2 ,": []string{"a:1", "b.c:2"}, "[::1]:9092": []string{"[::1]:9092"}, "SSL://a:1": []string{"a:1"}},
		[]string{"a", ":1", "a:0", "a:65536", "a:b", "a:1;b:1", "::1:9092", ","}},
	"STRIMZI_CLIENT_ID": {nil, nil, map[string]any{"me": nil}, nil},
	"STRIMZI_SECURITY_PROTOCOL": {func(o Options) any { return o.Kafka.Protocol }, credentials.ProtocolPlaintext,
		map[string]any{"SSL": credentials.ProtocolSSL, " Ssl\n": credentials.ProtocolSSL, "plaintext": credentials.ProtocolPlaintext},
		[]string{"TLS", "SASL_SSL", "SASL_PLAINTEXT"}},
	"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": {func(o Options) any { return o.Kafka.TLS.TrustSecret }, "", map[string]any{"ca.x-1": "ca.x-1"},
		[]string{"A", "a/b"}},
	"STRIMZI_TLS_SECRET_NAME": {func(o Options) any { return o.Kafka.TLS }, credentials.TLS{},
		map[string]any{"me": credentials.TLS{IdentitySecret: "me", KeyEntry: "tls.key", CertEntry: "tls.crt"}}, []string{"A"}},
	"STRIMZI_TLS_KEY_NAME":  {func(o Options) any { return o.Kafka.TLS.KeyEntry }, "", map[string]any{"a.key": ""}, nil},
	"STRIMZI_TLS_CERT_NAME": {func(o Options) any { return o.Kafka.TLS.CertEntry }, "", map[string]any{"a.crt": ""}, nil},
	"STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": {func(o Options) any { return o.Kafka.TLS.SkipHostnameVerification }, false,
		map[string]any{"": true, "https": false, "HTTPS": false}, []string{"LDAPS", "none"}},
	"STRIMZI_SASL_ENABLED": {func(o Options) any { return o.Kafka.SASL.Mechanism }, kafka.SASLMechanism(""),
		map[string]any{"False": kafka.SASLMechanism("")}, []string{"true", "no", "0"}},
	"STRIMZI_SASL_MECHANISM": {func(o Options) any { return o.Kafka.SASL }, credentials.SASL{},
		map[string]any{"plain": credentials.SASL{}}, nil},
	"STRIMZI_SASL_USERNAME": {func(o Options) any { return o.Kafka.SASL }, credentials.SASL{},
		map[string]any{"me": credentials.SASL{}}, nil},
	"STRIMZI_SASL_PASSWORD": {func(o Options) any { return o.Kafka.SASL }, credentials.SASL{},
		map[string]any{"secret": credentials.SASL{}}, nil},
	"STRIMZI_SASL_SECRET_NAME": {func(o Options) any { return o.Kafka.SASL }, credentials.SASL{},
		map[string]any{"login": credentials.SASL{}}, []string{"A"}},
	"STRIMZI_SASL_CUSTOM_CONFIG_JSON": {func(o Options) any { return o.Kafka.SASL }, credentials.SASL{},
		map[string]any{"{}": credentials.SASL{}}, nil},
	"STRIMZI_USE_FINALIZERS": {func(o Options) any { return o.UseFinalizers }, true, map[string]any{"false": false, " TRUE ": true},
		[]string{"1", "flase"}},
	"STRIMZI_DELETION_DISABLED_POLICY": {func(o Options) any { return o.DeletionDisabled }, DeletionDisabledRelease,
		map[string]any{"keep": DeletionDisabledKeep, "Release": DeletionDisabledRelease}, []string{"delete"}},
	"STRIMZI_NAMESPACE_POLICY_FILE": {func(o Options) any { return o.NamespacePolicyFile }, "",
		map[string]any{" /etc/policy/policy.yaml ": "/etc/policy/policy.yaml"}, nil},
	"STRIMZI_CONFLICT_POLICY": {func(o Options) any { return o.ConflictPolicy }, ConflictRejectAll,
		map[string]any{"oldest-wins": ConflictOldestWins, " Reject-All": ConflictRejectAll}, []string{"reject", "oldest_wins", "newest-wins"}},
	"STRIMZI_CLUSTER_ID_UNKNOWN_POLICY": {func(o Options) any { return o.ClusterIDUnknown }, ClusterIDUnknownProceed,
		map[string]any{"block-deletion": ClusterIDUnknownBlock, "PROCEED": ClusterIDUnknownProceed}, []string{"block", "true"}},
	"STRIMZI_ALTERABLE_TOPIC_CONFIG": {func(o Options) any { return o.Alterable }, AlterableConfig{},
		map[string]any{"": AlterableConfig{}, "NONE": AlterableConfig{limited: true, keys: map[string]bool{}},
			"b, a": AlterableConfig{limited: true, keys: map[string]bool{"a": true, "b": true}}, "all": AlterableConfig{}}, nil},
	"STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW": {func(o Options) any { return o.SkipClusterConfigReview }, false, map[string]any{"true": true},
		[]string{"y"}},
	"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": {func(o Options) any { return o.ReconciliationInterval }, 2 * time.Minute,
		map[string]any{"1500": 1500 * time.Millisecond}, []string{"0", "-1", "2m", "9223372036854775807", "99999999999999999999"}},
	"STRIMZI_FEATURE_GATES": {func(o Options) any { return len(o.FeatureGates) }, 0, map[string]any{" , ": 0, "+A,-B": 0},
		[]string{"A", "+A,-A"}},
	"STRIMZI_CONCURRENCY": {func(o Options) any { return o.Concurrency }, 256, map[string]any{"1": 1},
		[]string{"0", "-1", "1.5", "2147483648"}},
	"STRIMZI_MAX_BATCH_SIZE": {func(o Options) any { return o.Batch.MaxSize }, 500, map[string]any{"100": 100},
		[]string{"0", "-1", "x"}},
	"STRIMZI_MAX_BATCH_LINGER_MS": {func(o Options) any { return o.Batch.MaxLinger }, time.Duration(0),
		map[string]any{"100": 100 * time.Millisecond, "0": time.Duration(0)}, []string{"-1"}},
	"STRIMZI_LEADER_ELECTION_ENABLED": {func(o Options) any { return o.LeaderElection.Enabled }, false, map[string]any{"true": true},
		[]string{"off"}},
	"STRIMZI_LEADER_ELECTION_LEASE_NAME": {func(o Options) any { return o.LeaderElection.Name }, "strimzi-topic-operator-a435facf",
		map[string]any{"mine": "mine"}, []string{"Mine", "a..b"}},
	"STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE": {func(o Options) any { return o.LeaderElection.Namespace }, "my-namespace",
		map[string]any{"ops": "ops"}, []string{"a.b"}},
	"STRIMZI_LEADER_ELECTION_IDENTITY": {func(o Options) any { return o.LeaderElection.Identity }, "",
		map[string]any{"pod-0": "pod-0"}, nil},
	"STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS": {func(o Options) any { return o.LeaderElection.LeaseDuration }, 15 * time.Second,
		map[string]any{"20000": 20 * time.Second}, []string{"10000", "0"}},
	"STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS": {func(o Options) any { return o.LeaderElection.RenewDeadline }, 10 * time.Second,
		map[string]any{"9000": 9 * time.Second}, []string{"15000", "2400"}},
	"STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS": {func(o Options) any { return o.LeaderElection.RetryPeriod }, 2 * time.Second,
		map[string]any{"1000": time.Second}, []string{"9000"}},
	"STRIMZI_LOG_LEVEL": {func(o Options) any { return o.Log.Level }, slog.LevelInfo,
		map[string]any{"TRACE": slog.Level(-8), "debug": slog.LevelDebug, "WARN": slog.LevelWarn, "ERROR": slog.LevelError,
			"OFF": slog.Level(12)}, []string{"5"}},
	"STRIMZI_LOG_FORMAT": {func(o Options) any { return o.Log.JSON }, false, map[string]any{"json": true, "TEXT": false},
		[]string{"xml"}},
	"STRIMZI_ENABLE_ADDITIONAL_METRICS": {func(o Options) any { return o.AdditionalMetrics }, false, map[string]any{"true": true},
		[]string{"on"}},
	"STRIMZI_HTTP_ADDRESS": {func(o Options) any { return o.HTTP.Address }, ":8080", map[string]any{"127.0.0.1:0": "127.0.0.1:0"},
		[]string{"8080", ":http", ":70000", "a b:1"}},
	"STRIMZI_PPROF_ADDRESS": {func(o Options) any { return o.HTTP.PprofAddress }, "",
		map[string]any{"0": "", "localhost:6060": "localhost:6060"}, []string{":8080", "6060"}},
	"STRIMZI_CRUISE_CONTROL_ENABLED": {nil, nil, map[string]any{"false": nil, "true": nil}, []string{"perhaps"}},
	"STRIMZI_CRUISE_CONTROL_PORT":    {nil, nil, map[string]any{"9090": nil, "tcp://10.0.0.1:9090": nil}, []string{"-7000", "0", "x"}},
	"STRIMZI_MAX_QUEUE_SIZE":         {nil, nil, map[string]any{"1024": nil}, []string{"0", "x"}},
}

func TestSettings(t *testing.T) {
	for env, c := range settingCases {
		t.Run(env, func(t *testing.T) {
			if c.get != nil {
				o, _ := with().parse(t)
				equal(t, "unset", c.get(o), c.unset)
			}
			for text, want := range c.read {
				o, warnings := with(env, text).parse(t)
				if c.get != nil {
					equal(t, fmt.Sprintf("from %q", text), c.get(o), want)
				}
				NewWithT(t).Expect(warnings).NotTo(ContainElement(ContainSubstring("no such setting")))
			}
		})
	}
}

// The error names the wrong value and its setting, and says what to do.
func TestWrongValuesOfSettings(t *testing.T) {
	for env, c := range settingCases {
		for _, text := range c.wrong {
			t.Run(strings.ReplaceAll(env+"="+text, "/", "|"), func(t *testing.T) {
				g := NewWithT(t)
				_, _, err := Parse(nil, settings.Environment{Lookup: with(env, text).lookup})
				var wrong *settings.Error
				g.Expect(errors.As(err, &wrong)).To(BeTrue(), "%v", err)
				t.Log(err)
				g.Expect(wrong.Remedy).NotTo(BeEmpty(), "it says what to do")
				prefix, _, _ := strings.Cut(env, "_ENABLED") // without a case for the login, the error names its settings
				for _, problem := range strings.Split(err.Error(), "\n") {
					g.Expect(problem).To(ContainSubstring(prefix), "no other setting is blamed")
				}
				if prefix == env {
					g.Expect(err).To(MatchError(ContainSubstring(text)), "the value is named")
				}
			})
		}
	}
}

func TestFlagsWinOverEnvironment(t *testing.T) {
	for env, c := range settingCases {
		for text, want := range c.read {
			s := find(t, env)
			if s.Secret || text == "" || c.get == nil {
				continue
			}
			e := with()
			for _, other := range c.wrong[:min(1, len(c.wrong))] {
				e[env] = other // would fail if Parse read it
			}
			o, _, err := Parse([]string{"--" + s.FlagName() + "=" + text}, e.env())
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), "--%s=%s", s.FlagName(), text)
			equal(t, "--"+s.FlagName(), c.get(o), want)
		}
	}
}

func TestAnUnknownPolicyIsToldTogetherWithTheLegalOnes(t *testing.T) {
	for env, legal := range map[string]string{
		"STRIMZI_DELETION_DISABLED_POLICY":  "use release or keep",
		"STRIMZI_CONFLICT_POLICY":           "use reject-all or oldest-wins",
		"STRIMZI_CLUSTER_ID_UNKNOWN_POLICY": "use proceed or block-deletion",
	} {
		with(env, "perhaps").fails(t, env+`="perhaps": unknown policy; `+legal)
	}
}

func find(t *testing.T, env string) settings.Setting {
	t.Helper()
	var found []settings.Setting
	for _, g := range table(newDraft()).Groups {
		for _, s := range g.Settings {
			if s.Env == env {
				found = append(found, s)
			}
		}
	}
	NewWithT(t).Expect(found).To(HaveLen(1), env)
	return found[0]
}

func TestTableIsSound(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, group := range table(newDraft()).Groups {
		for _, s := range group.Settings {
			for _, name := range []string{s.Env, s.FlagName()} {
				g.Expect(seen).NotTo(HaveKey(name), "it stands once")
				seen[name] = true
			}
			if group.Title != "Accepted without effect" {
				g.Expect(settingCases).To(HaveKey(s.Env))
			}
			g.Expect(s.Env).To(HavePrefix("STRIMZI_"))
			g.Expect(s.Doc).NotTo(BeEmpty(), s.Env)
			g.Expect(s.Parse).NotTo(BeNil(), s.Env)
		}
	}
	for env := range hints() {
		g.Expect(seen).NotTo(HaveKey(env), "a setting has no hint that it has no effect")
	}
}

func TestFlags(t *testing.T) {
	g := NewWithT(t)
	refused := map[string][]string{
		"--no-such-flag":            {"--no-such-flag=1"},
		"argument without a flag":   {"--leader-elect", "false"},
		"an unknown subcommand":     {"polcy", "check", "-"},
		"no flag for a secret":      {"--sasl-password=x"},
		"no flag for the JSON":      {"--sasl-custom-config-json={}"},
		"value missing":             {"--namespace"},
		"same flag twice, as equal": {"--concurrency=1", "--concurrency=1"},
	}
	for name, args := range refused {
		_, _, err := Parse(args, settings.Environment{Lookup: with().lookup})
		g.Expect(err).To(HaveOccurred(), name)
	}
	_, _, err := Parse([]string{"--sasl-password", "hunter2"}, settings.Environment{Lookup: with().lookup})
	g.Expect(err).To(MatchError(Not(ContainSubstring("hunter2"))), "a password on the command line")
	_, _, err = Parse([]string{"polcy", "check", "-"}, settings.Environment{Lookup: with().lookup})
	g.Expect(err).To(MatchError(ContainSubstring(`unknown subcommand: "polcy"; --help lists`)))
	// Strimzi's manifests start the image with a script.
	o, _ := with().parse(t, "/opt/strimzi/bin/topic_operator_run.sh", "--log-level=DEBUG")
	equal(t, "level", o.Log.Level, slog.LevelDebug)
	o, _ = with("STRIMZI_LEADER_ELECTION_ENABLED", "false").parse(t, "--leader-elect", "-namespace", "other")
	equal(t, "leader election", o.LeaderElection.Enabled, true)
	equal(t, "namespaces", o.Namespaces.String(), "other")
}

func TestProtocol(t *testing.T) {
	trust := []string{"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME", "ca"}
	identity := []string{"STRIMZI_TLS_SECRET_NAME", "me"}
	login := []string{"STRIMZI_SASL_ENABLED", "true", "STRIMZI_SASL_MECHANISM", "SCRAM-SHA-512", "STRIMZI_SASL_SECRET_NAME", "login"}
	cases := []struct {
		name  string
		given string
		more  []string
		want  credentials.SecurityProtocol
		wrong string
	}{
		{"nothing", "", nil, credentials.ProtocolPlaintext, ""},
		{"trust", "", trust, credentials.ProtocolSSL, ""},
		{"identity", "", identity, credentials.ProtocolSSL, ""},
		{"login", "", login, credentials.ProtocolSASLPlaintext, ""},
		{"trust and login", "", append(slices.Clone(trust), login...), credentials.ProtocolSASLSSL, ""},
		{"SSL with the system's authorities", "SSL", nil, credentials.ProtocolSSL, ""},
		{"SASL_SSL with the system's authorities", "SASL_SSL", login, credentials.ProtocolSASLSSL, ""},
		{"PLAINTEXT with trust", "PLAINTEXT", trust, "", "use SSL, or unset the Secrets"},
		{"SASL_PLAINTEXT with trust", "SASL_PLAINTEXT", append(slices.Clone(trust), login...), "", "use SASL_SSL, or unset the Secrets"},
		{"PLAINTEXT with login", "PLAINTEXT", login, "", "use SASL_PLAINTEXT, or set STRIMZI_SASL_ENABLED=false"},
		{"SSL with login", "SSL", login, "", "use SASL_SSL"},
		{"SASL_SSL without login", "SASL_SSL", nil, "", "set STRIMZI_SASL_ENABLED=true, or use SSL"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := with(append([]string{"STRIMZI_SECURITY_PROTOCOL", c.given}, c.more...)...)
			if c.wrong != "" {
				e.fails(t, "STRIMZI_SECURITY_PROTOCOL=", c.wrong)
				return
			}
			o, _ := e.parse(t)
			equal(t, "protocol", o.Kafka.Protocol, c.want)
			NewWithT(t).Expect(o.Effective).To(ContainSubstring(fmt.Sprintf("STRIMZI_SECURITY_PROTOCOL=%q", c.want)))
		})
	}
}

func TestIdentityEntries(t *testing.T) {
	o, _ := with("STRIMZI_TLS_SECRET_NAME", "me", "STRIMZI_TLS_KEY_NAME", "user.key", "STRIMZI_TLS_CERT_NAME", "user.crt").parse(t)
	equal(t, "TLS", o.Kafka.TLS, credentials.TLS{IdentitySecret: "me", KeyEntry: "user.key", CertEntry: "user.crt"})
	with("STRIMZI_TLS_SECRET_NAME", "me", "STRIMZI_TLS_KEY_NAME", "user.key").fails(t, "STRIMZI_TLS_CERT_NAME is not set")
	with("STRIMZI_TLS_SECRET_NAME", "me", "STRIMZI_TLS_CERT_NAME", "user.crt").fails(t, "STRIMZI_TLS_KEY_NAME is not set")
	_, warnings := with("STRIMZI_TLS_KEY_NAME", "user.key").parse(t)
	equal(t, "warnings", len(warnings), 1)
}

func TestHomeNamespace(t *testing.T) {
	pod := func(content string, err error) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return []byte(content), err }
	}
	none := errors.New("no such file")
	cases := []struct {
		name, namespaces, variable string
		file                       func(string) ([]byte, error)
		want                       string
	}{
		{"the pod's namespace", "b,a", "", pod("ops\n", nil), "ops"},
		{"the variable before the file", "b,a", "mine", pod("ops", nil), "mine"},
		{"outside of a pod, the first one watched", "b,a", "", pod("", none), "a"},
		{"outside of a pod, all watched", "*", "", pod("", none), "default"},
		{"a file with nonsense", "a", "", pod("not a namespace", nil), "a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o, _, err := Parse(nil, settings.Environment{Lookup: settings.InPod(with("STRIMZI_NAMESPACE", c.namespaces, settings.PodNamespace,
				c.variable).lookup, c.file)})
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			equal(t, "Secrets", o.Kafka.SecretNamespace, c.want)
			equal(t, "Lease", o.LeaderElection.Namespace, c.want)
		})
	}
	_, ok := settings.InPod(environment{}.lookup, pod("x", nil))("STRIMZI_NAMESPACE")
	NewWithT(t).Expect(ok).To(BeFalse(), "the file does not answer for other variables")
}

func TestLeaseNameFollowsWhatIsManaged(t *testing.T) {
	lease := func(more ...string) string {
		o, _ := with(more...).parse(t)
		return o.LeaderElection.Name
	}
	same := lease("STRIMZI_NAMESPACE", "a,b", "STRIMZI_RESOURCE_LABELS", "x=1,y=2")
	equal(t, "order of addresses", lease("STRIMZI_NAMESPACE", "a", "STRIMZI_KAFKA_BOOTSTRAP_SERVERS", "y:1,x:1"),
		lease("STRIMZI_NAMESPACE", "a", "STRIMZI_KAFKA_BOOTSTRAP_SERVERS", "x:1,y:1"))
	equal(t, "order of entries", lease("STRIMZI_NAMESPACE", "b, a", "STRIMZI_RESOURCE_LABELS", "y=2,x=1"), same)
	for _, other := range []string{lease("STRIMZI_NAMESPACE", "a,b"), lease("STRIMZI_NAMESPACE", "*", "STRIMZI_RESOURCE_LABELS", "x=1,y=2"),
		lease("STRIMZI_NAMESPACE", "a,b", "STRIMZI_RESOURCE_LABELS", "x=1")} {
		NewWithT(t).Expect(other).NotTo(Equal(same), "operators for different KafkaTopics share no Lease")
	}
}

func TestOperatorsOfDifferentKafkaClustersShareNoLease(t *testing.T) {
	for name, planted := range map[string]bool{"the operator": false, "and a name without the Kafka cluster is found": true} {
		t.Run(name, func(t *testing.T) {
			lease := func(address string) string {
				if planted {
					address = "localhost:1234"
				}
				o, _ := with("STRIMZI_KAFKA_BOOTSTRAP_SERVERS", address).parse(t)
				return o.LeaderElection.Name
			}
			equal(t, "shared", lease("one:9092") == lease("other:9092"), planted)
		})
	}
}

func TestWarnings(t *testing.T) {
	cases := map[string]struct {
		entry string
		want  string
	}{
		"shipped by Strimzi":           {"STRIMZI_TLS_ENABLED=false", "STRIMZI_TLS_ENABLED has no effect: TLS is switched on by naming a Secret"},
		"in Strimzi's documentation":   {"STRIMZI_TRUSTSTORE_SECRET_NAME=x", "use STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME"},
		"without prefix":               {"MAX_BATCH_LINGER_MS=10", "MAX_BATCH_LINGER_MS has no effect: use STRIMZI_MAX_BATCH_LINGER_MS"},
		"stores":                       {"STRIMZI_KEYSTORE_LOCATION=/x", "PKCS12 stores are not supported"},
		"bidirectional":                {"STRIMZI_ZOOKEEPER_CONNECT=x", "remove it"},
		"misspelt":                     {"STRIMZI_USE_FINALISERS=false", "did you mean STRIMZI_USE_FINALIZERS?"},
		"unknown":                      {"STRIMZI_SOMETHING_ELSE_ALTOGETHER=1", "there is no such setting"},
		"a Service's host":             {"STRIMZI_KAFKA_SERVICE_HOST=10.0.0.1", ""},
		"a Service's port":             {"STRIMZI_KAFKA_PORT=tcp://10.0.0.1:9092", ""},
		"a Service's port, by number":  {"STRIMZI_KAFKA_PORT_9092_TCP_ADDR=10.0.0.1", ""},
		"a Service's port, by name":    {"STRIMZI_KAFKA_SERVICE_PORT_TCP_CLIENTS=9092", ""},
		"accepted":                     {"STRIMZI_JAVA_OPTS=-Xmx1g", ""},
		"others'":                      {"PATH=/bin", ""},
		"a port that is not a Service": {"STRIMZI_KAFKA_PORT=9092", "there is no such setting"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := Parse(nil, settings.Environment{Lookup: with().lookup, Variables: []string{c.entry}})
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			if c.want == "" {
				NewWithT(t).Expect(warnings).To(BeEmpty())
			} else {
				NewWithT(t).Expect(strings.Join(warnings, "\n")).To(ContainSubstring(c.want))
			}
		})
	}
	_, warnings := with("STRIMZI_SASL_USERNAME", "me", "STRIMZI_SASL_PASSWORD", "x").parse(t)
	equal(t, "credentials without login", len(warnings), 2)
}

func TestSelector(t *testing.T) {
	s := settings.Selector{"a": "1", "b": ""}
	equal(t, "text", s.String(), "a=1,b=")
	for _, c := range []struct {
		labels map[string]string
		want   bool
	}{
		{map[string]string{"a": "1", "b": "", "c": "3"}, true},
		{map[string]string{"a": "1"}, false},
		{map[string]string{"a": "2", "b": ""}, false},
		{nil, false},
	} {
		equal(t, fmt.Sprint(c.labels), s.Matches(c.labels), c.want)
	}
	equal(t, "no selector", settings.Selector(nil).Matches(nil), true)
}

func TestAlterableConfig(t *testing.T) {
	for _, c := range []struct {
		text, key string
		want      bool
	}{
		{"ALL", "a", true}, {"", "a", true}, {" ", "a", true}, {"NONE", "a", false}, {"a, b", "b", true}, {"a,b", "c", false},
		{"re ten\ttion.ms", "retention.ms", true}, {"a;b", "a", false}, {"nonsense", "a", false}, {",", "a", false},
	} {
		a := ParseAlterableConfig(c.text)
		equal(t, fmt.Sprintf("%q allows %s", c.text, c.key), a.Allows(c.key), c.want)
	}
	equal(t, "zero value allows a", AlterableConfig{}.Allows("a"), true)
}
