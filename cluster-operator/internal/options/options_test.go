package options

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/operator/settings/settingstest"
)

var update = flag.Bool("update", false, "rewrite the tables of settings in the documentation")

func TestDocumentationIsUpToDate(t *testing.T) {
	settingstest.CheckDocument(t, new(Options).table(), "../../../docs/cluster-operator/configuration.md", *update)
}

func parse(t *testing.T, variables map[string]string) (Options, error) {
	t.Helper()
	o, _, err := Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok }})
	return o, err
}

func TestTheNewestVersionIsTheDefault(t *testing.T) {
	o, err := parse(t, map[string]string{"STRIMZI_KAFKA_IMAGES": "4.9.0=a\n4.10.1=b\n 3.9.1=c"})
	if err != nil || o.DefaultVersion() != "4.10.1" || o.Images["3.9.1"] != "c" {
		t.Errorf("%v %v", o.Images, err)
	}
}

func TestWrongSettingsAreReportedTogether(t *testing.T) {
	_, err := parse(t, map[string]string{"STRIMZI_KAFKA_IMAGES": "4.3.1", "STRIMZI_OPERATION_TIMEOUT_MS": "soon",
		"STRIMZI_LABELS_EXCLUSION_PATTERN": "("})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"STRIMZI_KAFKA_IMAGES", "is not version=image", "STRIMZI_OPERATION_TIMEOUT_MS",
		"STRIMZI_LABELS_EXCLUSION_PATTERN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

func TestLabelsThatAreNotCopied(t *testing.T) {
	for _, pattern := range []string{"", `(^app.kubernetes.io/(?!part-of).*|^kustomize.toolkit.fluxcd.io.*)`} {
		variables := map[string]string{}
		if pattern != "" {
			variables["STRIMZI_LABELS_EXCLUSION_PATTERN"] = pattern
		}
		o, err := parse(t, variables)
		if err != nil || !o.ExcludedLabels("app.kubernetes.io/name") || !o.ExcludedLabels("kustomize.toolkit.fluxcd.io/name") ||
			o.ExcludedLabels("team") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	o, err := parse(t, map[string]string{"STRIMZI_LABELS_EXCLUSION_PATTERN": "team|cost"})
	if err != nil || !o.ExcludedLabels("team") || !o.ExcludedLabels("cost") || o.ExcludedLabels("teams") || o.ExcludedLabels("my-team") {
		t.Errorf("a pattern matches a part of a key: %v", err)
	}
}

func TestTheRollersAccountIsInTheOperatorsNamespace(t *testing.T) {
	for value, want := range map[string]string{"": "kafka/roller", "a/b": "a/b", "none": "none"} {
		variables := map[string]string{"STRIMZI_NAMESPACE": "kafka"}
		if value != "" {
			variables["STRIMZI_ROLLER_SERVICE_ACCOUNT"] = value
		}
		if o, err := parse(t, variables); err != nil || o.RollerAccount != want {
			t.Errorf("%q: %q, %v", value, o.RollerAccount, err)
		}
	}
}

func TestPodSecurityProviders(t *testing.T) {
	for value, want := range map[string]bool{
		"baseline": false, "io.strimzi.plugin.security.profiles.impl.BaselinePodSecurityProvider": false,
		"restricted": true, "io.strimzi.plugin.security.profiles.impl.RestrictedPodSecurityProvider": true,
	} {
		if o, err := parse(t, map[string]string{"STRIMZI_POD_SECURITY_PROVIDER_CLASS": value}); err != nil || o.Restricted != want {
			t.Errorf("%q: %t, %v", value, o.Restricted, err)
		}
	}
	_, err := parse(t, map[string]string{"STRIMZI_POD_SECURITY_PROVIDER_CLASS": "com.example.Mine"})
	if err == nil || !strings.Contains(err.Error(), "unknown provider: com.example.Mine") {
		t.Error(err)
	}
}

func TestStrimzisImageOfTheTopicOperatorIsReported(t *testing.T) {
	const warning = "Topic operators do not start with Strimzi's image quay.io/strimzi/operator:0.51.0: remove " +
		"STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE, or name an image of this topic operator"
	for image, reported := range map[string]bool{"quay.io/strimzi/operator:0.51.0": true, "mirror/topic-operator:1": false} {
		_, warnings, err := Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) {
			return image, name == "STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE"
		}})
		if err != nil || slices.Contains(warnings, warning) != reported {
			t.Errorf("%s: %q %v", image, warnings, err)
		}
	}
}

func TestKafkasCanBeStretchedIfAllIsSet(t *testing.T) {
	all := map[string]string{
		"STRIMZI_CENTRAL_CLUSTER_ID": "central", "STRIMZI_REMOTE_KUBE_CONFIG": "east.url=https://east:6443\neast.secret=east",
		"STRIMZI_STRETCH_PLUGIN_CLASS_NAME": "io.strimzi.plugin.stretch.NodePortNetworkingProvider",
		"STRIMZI_STRETCH_PLUGIN_CLASS_PATH": "/opt/strimzi/plugins/*",
	}
	if o, err := parse(t, all); err != nil || !o.Stretch.Configured() || o.Stretch.Remotes[0].ID != "east" {
		t.Errorf("%+v %v", o.Stretch, err)
	}
	for missing := range all {
		some := maps.Clone(all)
		delete(some, missing)
		o, warnings, err := Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) { v, ok := some[name]; return v, ok }})
		if err != nil || o.Stretch.Configured() || !strings.Contains(strings.Join(warnings, "\n"), missing+" must be set as well") {
			t.Errorf("without %s: %+v %q %v", missing, o.Stretch, warnings, err)
		}
	}
	if o, err := parse(t, nil); err != nil || o.Stretch.Configured() {
		t.Errorf("%+v %v", o.Stretch, err)
	}
	listed := maps.Clone(all)
	listed["STRIMZI_REMOTE_KUBE_CONFIG_MAP"] = "clusters"
	if _, err := parse(t, listed); err == nil || !strings.Contains(err.Error(), "conflicts with STRIMZI_REMOTE_KUBE_CONFIG") {
		t.Errorf("the clusters are listed twice: %v", err)
	}
	delete(listed, "STRIMZI_REMOTE_KUBE_CONFIG")
	if o, err := parse(t, listed); err != nil || !o.Stretch.Configured() || o.Stretch.RemotesFrom != "clusters" {
		t.Errorf("%+v %v", o.Stretch, err)
	}
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
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "STRIMZI_REMOTE_KUBE_CONFIG") {
				t.Errorf("%q: %v", text, err)
			}
		})
	}
}

func TestTheIDOfTheCentralClusterIsChecked(t *testing.T) {
	for text, wrong := range map[string]bool{"central": false, "": false, "a.b": true, "a b": true} {
		_, err := parse(t, map[string]string{"STRIMZI_CENTRAL_CLUSTER_ID": text})
		if (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "STRIMZI_CENTRAL_CLUSTER_ID") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
