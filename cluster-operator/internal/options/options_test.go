package options

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/operator/settings/settingstest"
)

var update = flag.Bool("update", false, "rewrite the tables of settings in the documentation")

func TestDocumentationIsUpToDate(t *testing.T) {
	settingstest.CheckDocument(t, new(Options).table(), "../../../docs/cluster-operator/configuration.md", *update)
}

func TestSettingsAcceptWhatTheyRecommend(t *testing.T) {
	settingstest.CheckAdvice(t, new(Options).table(), "kubeconfig", "roller", "metricsConfig", "version=image")
}

func parse(t *testing.T, variables map[string]string) (Options, error) {
	t.Helper()
	o, _, err := Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok }})
	return o, err
}

func TestTheNewestVersionIsTheDefault(t *testing.T) {
	o, err := parse(t, map[string]string{"STRIMZI_KAFKA_IMAGES": "4.9.0=a\n4.10.1=b\n 3.9.1=c"})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.DefaultVersion()).To(Equal("4.10.1"))
	g.Expect(o.Images).To(HaveKeyWithValue("3.9.1", "c"))
	g.Expect(o.Effective).To(ContainSubstring(`STRIMZI_KAFKA_IMAGES="4.9.0=a\n`))
}

func TestWrongSettingsAreReportedTogether(t *testing.T) {
	_, err := parse(t, map[string]string{"STRIMZI_KAFKA_IMAGES": "4.3.1", "STRIMZI_OPERATION_TIMEOUT_MS": "soon",
		"STRIMZI_LABELS_EXCLUSION_PATTERN": "("})
	for _, want := range []string{"STRIMZI_KAFKA_IMAGES", "is not version=image", "STRIMZI_OPERATION_TIMEOUT_MS",
		"STRIMZI_LABELS_EXCLUSION_PATTERN"} {
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
	}
}

func TestLabelsThatAreNotCopied(t *testing.T) {
	g := NewWithT(t)
	for _, pattern := range []string{"", `(^app.kubernetes.io/(?!part-of).*|^kustomize.toolkit.fluxcd.io.*)`} {
		variables := map[string]string{}
		if pattern != "" {
			variables["STRIMZI_LABELS_EXCLUSION_PATTERN"] = pattern
		}
		o, err := parse(t, variables)
		g.Expect(err).NotTo(HaveOccurred(), pattern)
		g.Expect(o.ExcludedLabels("argocd.argoproj.io/instance")).To(Equal(pattern == ""))
		for key, excluded := range map[string]bool{"app.kubernetes.io/name": true, "kustomize.toolkit.fluxcd.io/name": true, "team": false} {
			g.Expect(o.ExcludedLabels(key)).To(Equal(excluded), "%s: %s", pattern, key)
		}
	}
	o, err := parse(t, map[string]string{"STRIMZI_LABELS_EXCLUSION_PATTERN": " team|cost\n"})
	g.Expect(err).NotTo(HaveOccurred())
	for key, excluded := range map[string]bool{"team": true, "cost": true, "teams": false, "my-team": false} {
		g.Expect(o.ExcludedLabels(key)).To(Equal(excluded), "a pattern is for a whole key: %s", key)
	}
}

func TestTheRollersAccountIsInTheOperatorsNamespace(t *testing.T) {
	for value, want := range map[string]string{"": "kafka/roller", "a/b": "a/b", " a / b.c\n": "a/b.c", "none": "", "NONE": "",
		"Own\n": "kafka/roller"} {
		variables := map[string]string{"STRIMZI_NAMESPACE": "kafka"}
		if value != "" {
			variables["STRIMZI_ROLLER_SERVICE_ACCOUNT"] = value
		}
		o, err := parse(t, variables)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), value)
		NewWithT(t).Expect(o.RollerAccount).To(Equal(want), value)
	}
}

func TestValuesThatMeanSomethingElse(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{"STRIMZI_ROLLER_SERVICE_ACCOUNT", "my-roller", `"my-roller": not namespace/name; use own, none, or namespace/name`},
		{"STRIMZI_ROLLER_SERVICE_ACCOUNT", "/roller", "not the name of a namespace"},
		{"STRIMZI_ROLLER_SERVICE_ACCOUNT", "kafka/", "not the name of a Kubernetes object"},
		{"STRIMZI_ROLLER_SERVICE_ACCOUNT", "a/b/c", "not the name of a Kubernetes object"},
		{"STRIMZI_ROLLER_SERVICE_ACCOUNT", "My/roller", "not the name of a namespace: My"},
		{"STRIMZI_JMX_EXPORTER_IMAGE", "Nothing", "not an image: Nothing; use a reference such as registry.example.com/team/image:1.0"},
		{"STRIMZI_JMX_EXPORTER_IMAGE", "a b", "not an image: a b"},
		{"STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE", "mirror/Topic-Operator:1", "not an image: mirror/Topic-Operator:1"},
		{"STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE", "https://mirror/topic-operator", "not an image: https://"},
		{"STRIMZI_KAFKA_IMAGES", "4.3.1=Kafka", "not an image: Kafka"},
		{"STRIMZI_KAFKA_IMAGES", "v4.3.1=kafka", "not a version of Kafka: v4.3.1"},
		{"STRIMZI_KAFKA_IMAGES", "4.3.1=a 4.3.0=b 4.3.1=c", "two images for 4.3.1; list each version once"},
		{"STRIMZI_IMAGE_PULL_SECRETS", "regcred,My_Secret", "not the name of a Kubernetes object"},
		{"STRIMZI_LABELS_EXCLUSION_PATTERN", "(", "missing closing"},
		{"KUBERNETES_SERVICE_DNS_DOMAIN", "cluster.local.", "not a DNS domain"},
		{"KUBERNETES_SERVICE_DNS_DOMAIN", ".cluster.local", "not a DNS domain"},
		{"STRIMZI_OPERATOR_NAMESPACE", "My NS", "not the name of a namespace: My NS"},
		{"STRIMZI_REMOTE_KUBE_CONFIG_MAP", "Bad Name", "not the name of a Kubernetes object"},
		{"STRIMZI_STRETCH_NETWORK_CONFIG_MAP", "Bad Name", "not the name of a Kubernetes object"},
	} {
		_, err := parse(t, map[string]string{c.variable: c.value})
		NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(c.variable), ContainSubstring(c.want))), "%s=%q", c.variable, c.value)
	}
}

func TestImages(t *testing.T) {
	for value, want := range map[string]string{
		"own": OwnImage, "Own": OwnImage, " NONE\n": NoImage, "a\n": "a", "localhost:5000/a_b/c--d:V1.0-X": "localhost:5000/a_b/c--d:V1.0-X",
		"Registry.Example.com/a:1": "Registry.Example.com/a:1", "[::1]:5000/a": "[::1]:5000/a",
		"a/b@sha256:" + strings.Repeat("0a", 32): "a/b@sha256:" + strings.Repeat("0a", 32),
		"a:1@sha256:" + strings.Repeat("0a", 32): "a:1@sha256:" + strings.Repeat("0a", 32),
	} {
		o, err := parse(t, map[string]string{"STRIMZI_JMX_EXPORTER_IMAGE": value})
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), value)
		NewWithT(t).Expect(o.ExporterImage).To(Equal(want), value)
	}
}

func TestPullSecretsOverSeveralLines(t *testing.T) {
	for value, want := range map[string][]string{"regcred\n": {"regcred"}, "a\nb\n": {"a", "b"}, "a, b": {"a", "b"}, "a\tb a,": {"a", "b"}} {
		o, err := parse(t, map[string]string{"STRIMZI_IMAGE_PULL_SECRETS": value})
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), value)
		NewWithT(t).Expect(o.PullSecrets).To(Equal(want), "%q", value)
	}
}

func TestPullPoliciesInAnyCase(t *testing.T) {
	for value, want := range map[string]corev1.PullPolicy{"": "", "Always": corev1.PullAlways, "always": corev1.PullAlways,
		" IFNOTPRESENT ": corev1.PullIfNotPresent, "Never": corev1.PullNever} {
		o, err := parse(t, map[string]string{"STRIMZI_IMAGE_PULL_POLICY": value})
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), value)
		NewWithT(t).Expect(o.PullPolicy).To(Equal(want), value)
	}
}

func TestPodSecurityProviders(t *testing.T) {
	g := NewWithT(t)
	for value, want := range map[string]bool{
		"baseline": false, " Baseline": false, "RESTRICTED": true, "io.strimzi.plugin.security.profiles.impl.BaselinePodSecurityProvider": false,
		"restricted": true, "io.strimzi.plugin.security.profiles.impl.RestrictedPodSecurityProvider": true,
	} {
		o, err := parse(t, map[string]string{"STRIMZI_POD_SECURITY_PROVIDER_CLASS": value})
		g.Expect(err).NotTo(HaveOccurred(), value)
		g.Expect(o.Restricted).To(Equal(want), value)
	}
	_, err := parse(t, map[string]string{"STRIMZI_POD_SECURITY_PROVIDER_CLASS": "com.example.Mine"})
	g.Expect(err).To(MatchError(ContainSubstring("unknown provider: com.example.Mine")))
}

func TestStrimzisImageOfTheTopicOperatorIsReported(t *testing.T) {
	const warning = "Topic operators do not start with Strimzi's image quay.io/strimzi/operator:0.51.0: remove " +
		"STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE, or name an image of this topic operator"
	for image, reported := range map[string]bool{"quay.io/strimzi/operator:0.51.0": true, "mirror/topic-operator:1": false} {
		_, warnings, err := Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) {
			return image, name == "STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE"
		}})
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), image)
		NewWithT(t).Expect(slices.Contains(warnings, warning)).To(Equal(reported), "%s: %q", image, warnings)
	}
}

func TestKafkasCanBeStretchedIfAllIsSet(t *testing.T) {
	g := NewWithT(t)
	all := map[string]string{
		"STRIMZI_CENTRAL_CLUSTER_ID": "central", "STRIMZI_REMOTE_KUBE_CONFIG": "east.url=https://east:6443\neast.secret=east",
		"STRIMZI_STRETCH_PLUGIN_CLASS_NAME": "io.strimzi.plugin.stretch.NodePortNetworkingProvider",
		"STRIMZI_STRETCH_PLUGIN_CLASS_PATH": "/opt/strimzi/plugins/*",
	}
	o, err := parse(t, all)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Stretch.Configured()).To(BeTrue())
	g.Expect(o.Stretch.Remotes[0].ID).To(Equal("east"))
	for missing := range all {
		some := maps.Clone(all)
		delete(some, missing)
		o, warnings, err := Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) { v, ok := some[name]; return v, ok }})
		g.Expect(err).NotTo(HaveOccurred(), missing)
		g.Expect(o.Stretch.Configured()).To(BeFalse(), missing)
		g.Expect(warnings).To(ContainElement(ContainSubstring(missing + " must be set as well")))
	}
	o, err = parse(t, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Stretch.Configured()).To(BeFalse())
	listed := maps.Clone(all)
	listed["STRIMZI_REMOTE_KUBE_CONFIG_MAP"] = "clusters"
	_, err = parse(t, listed)
	g.Expect(err).To(MatchError(ContainSubstring("conflicts with STRIMZI_REMOTE_KUBE_CONFIG")))
	delete(listed, "STRIMZI_REMOTE_KUBE_CONFIG")
	o, err = parse(t, listed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.Stretch.Configured()).To(BeTrue())
	g.Expect(o.Stretch.RemotesFrom).To(Equal("clusters"))
}

func TestWrongRemoteClusters(t *testing.T) {
	for text, want := range map[string]string{
		"east.url":                                     "is not a setting",
		"east=https://east":                            "is not a key",
		"a.b.url=https://east":                         "where the id has no dot",
		"east.url=east:6443":                           "start with https:",
		"east.url=https://a\neast.url=https://b":       "set twice",
		"east.token=x":                                 "is not a known field",
		"east.url=https://east":                        "has a url but no secret",
		"east.secret=east":                             "has a secret but no url",
		"central.url=https://a\ncentral.secret=b":      "the id of the central cluster",
		"east.url=https://u:p@east\neast.secret=east":  "has a user",
		"east.url=https://east\neast.secret=Not_a_one": "is not the name of a Secret",
	} {
		t.Run(want, func(t *testing.T) {
			_, err := parse(t, map[string]string{"STRIMZI_CENTRAL_CLUSTER_ID": "central", "STRIMZI_REMOTE_KUBE_CONFIG": text})
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(want), ContainSubstring("STRIMZI_REMOTE_KUBE_CONFIG"))))
		})
	}
}

func TestTheIDOfTheCentralClusterIsChecked(t *testing.T) {
	for text, wrong := range map[string]bool{"central": false, "": false, "a.b": true, "a b": true} {
		_, err := parse(t, map[string]string{"STRIMZI_CENTRAL_CLUSTER_ID": text})
		if wrong {
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("STRIMZI_CENTRAL_CLUSTER_ID")), text)
		} else {
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
		}
	}
}
