package model

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The objects' own UnmarshalJSON, which these types do not have, is not strict.
type (
	strictKafka v1.Kafka
	strictPool  v1.KafkaNodePool
)

func read[T any](t *testing.T, text []byte) *T {
	t.Helper()
	o := new(T)
	NewWithT(t).Expect(yaml.UnmarshalStrict(text, o)).To(Succeed())
	return o
}

// rich returns an input with something of everything: two brokers with two disks each, a controller, and listeners of all types.
func rich(t *testing.T) Input {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("testdata", "rich.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	in := Input{
		Kafka: (*v1.Kafka)(read[strictKafka](t, text)), Pools: map[string]*v1.KafkaNodePool{}, ClusterID: "4L6g3nShT-eMCtK--X86sw",
		Version: "4.3.1", MetadataVersion: "4.3-IV0", Metrics: "rules: [{pattern: kafka.*}]",
		Certificates: Certificates{PodAnnotations: map[string]map[string]string{}},
		Settings: Settings{KafkaImages: map[string]string{"4.3.1": "kafka:4.3.1"}, TopicOperatorImage: "topic-operator:1",
			ExporterImage: "cluster-operator:1", RollerAccount: "kafka-operators/roller",
			DNSDomain: "cluster.local", NetworkPolicies: true, DisruptionBudgets: true, OperatorNamespace: "kafka-operators",
			ExcludedLabels: func(key string) bool { return strings.HasPrefix(key, "app.kubernetes.io/") }},
	}
	in.Owner = Owner(in.Kafka)
	text, err = os.ReadFile(filepath.Join("testdata", "pools.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for document := range bytes.SplitSeq(text, []byte("---\n")) {
		p := (*v1.KafkaNodePool)(read[strictPool](t, document))
		in.Pools[p.Name] = p
	}
	in.Topology = topology.Topology{Namespace: "ns", Name: "my-cluster", Pools: []topology.Pool{
		{Name: "brokers", Nodes: []topology.Node{{ID: 0, Pool: "brokers", Roles: topology.Roles{Broker: true}},
			{ID: 1, Pool: "brokers", Roles: topology.Roles{Broker: true}}}},
		{Name: "controllers", Nodes: []topology.Node{{ID: 2, Pool: "controllers", Roles: topology.Roles{Controller: true}}}},
	}}
	for _, n := range in.Topology.Nodes() {
		in.Certificates.PodAnnotations[in.Topology.PodName(n)] = map[string]string{core.AnnotationClusterCACertGeneration: "0",
			core.AnnotationServerCertHash: fmt.Sprint(n.ID)}
	}
	in.Endpoints = ResolveEndpoints(in, richWorld(in))
	return in
}

// richWorld returns the Services of the input as Kubernetes completes them, with all addresses.
func richWorld(in Input) World {
	w := World{Services: map[string]map[string]*corev1.Service{topology.Home: {}}, Now: time.Unix(1000, 0), AddressTimeout: time.Minute}
	for i, s := range Services(in) {
		s.Spec.Ports[0].NodePort = int32(31000 + i)
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("192.0.2.%d", i)}}
		s.CreationTimestamp = metav1.NewTime(w.Now)
		w.Services[topology.Home][s.Name] = s
	}
	return w
}

func render(t *testing.T, in Input, live map[string]Live) Result {
	t.Helper()
	r, err := Render(in, live)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return r
}

// TestGolden compares each object with a golden file. go test ./internal/model -run TestGolden -update writes the files.
func TestGolden(t *testing.T) {
	g, in := NewWithT(t), rich(t)
	r := render(t, in, nil)
	var objects []Object
	for _, s := range Services(in) {
		objects = append(objects, s)
	}
	for _, i := range Ingresses(in) {
		objects = append(objects, i)
	}
	objects = append(append(append(objects, r.Objects...), TopicOperator(in)...), r.PodSets...)
	var text strings.Builder
	for _, o := range objects {
		document, err := yaml.Marshal(o)
		g.Expect(err).NotTo(HaveOccurred())
		fmt.Fprintf(&text, "---\n%s", document)
	}
	path := filepath.Join("testdata", "rich.golden.yaml")
	if *update {
		g.Expect(os.WriteFile(path, []byte(text.String()), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	got, lines := strings.Split(text.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(got), len(lines)) {
		g.Expect(got[i]).To(Equal(lines[i]), "line %d (-update writes the file anew)", i+1)
	}
	g.Expect(got).To(HaveLen(len(lines)))
}

func TestEverythingThatAPodRefersToIsMade(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	r := render(t, in, nil)
	made := map[string]bool{"Secret/my-cluster-trustbundle": true}
	for _, o := range r.Objects {
		made[o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetName()] = true
		g.Expect(validation.IsDNS1123Subdomain(o.GetName())).To(BeEmpty(), o.GetName())
		for key, v := range o.GetLabels() {
			g.Expect(validation.IsValidLabelValue(v)).To(BeEmpty(), key)
		}
	}
	for _, m := range r.Manifests {
		made["Secret/"+in.Topology.PodName(m.Node)] = true // package pki makes it
		pod := read[corev1.Pod](t, m.Pod)
		g.Expect(made).To(HaveKey("ServiceAccount/" + pod.Spec.ServiceAccountName))
		mounted := map[string]bool{}
		for _, v := range pod.Spec.Volumes {
			mounted[v.Name] = true
			if v.ConfigMap != nil {
				g.Expect(made).To(HaveKey("ConfigMap/" + v.ConfigMap.Name))
			}
			if v.PersistentVolumeClaim != nil {
				g.Expect(made).To(HaveKey("PersistentVolumeClaim/" + v.PersistentVolumeClaim.ClaimName))
			}
			if v.Projected != nil {
				for _, s := range v.Projected.Sources {
					g.Expect(made).To(HaveKey("Secret/" + s.Secret.Name))
				}
			}
		}
		for _, mount := range pod.Spec.Containers[0].VolumeMounts {
			g.Expect(mounted).To(HaveKey(mount.Name))
		}
	}
}

// TestTheInitContainerIsAsRestrictedAsKafkas checks that both containers have the same security context: a namespace that rejects
// containers without one rejects both.
func TestTheInitContainerIsAsRestrictedAsKafkas(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	contexts := func() (init, kafka *corev1.SecurityContext) {
		pod := read[corev1.Pod](t, render(t, in, nil).Manifests[0].Pod)
		return pod.Spec.InitContainers[0].SecurityContext, pod.Spec.Containers[0].SecurityContext
	}
	own, _ := contexts()
	g.Expect(own).To(Equal(in.Kafka.Spec.Kafka.Template.InitContainer.SecurityContext))
	in.Kafka.Spec.Kafka.Template.InitContainer = nil
	in.Kafka.Spec.Kafka.Template.KafkaContainer.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}
	init, kafka := contexts()
	g.Expect(kafka).NotTo(BeNil())
	g.Expect(init).To(Equal(kafka))
}

func TestPodsAreAsRestrictedAsTheOperatorIsToldTo(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	in.Kafka.Spec.Kafka.Template, in.Kafka.Spec.EntityOperator.Template = nil, nil
	for _, p := range in.Pools {
		p.Spec.Template = nil
	}
	check := func(s *corev1.SecurityContext, restricted bool) {
		if !restricted {
			g.Expect(s).To(BeNil())
			return
		}
		g.Expect(s).To(Equal(&corev1.SecurityContext{AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}))
	}
	for _, restricted := range []bool{false, true} {
		in.Settings.Restricted = restricted
		c := &cluster{in}
		for _, n := range in.Topology.Nodes() {
			pod := c.pod(n)
			for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				check(container.SecurityContext, restricted)
			}
			g.Expect(pod.Spec.SecurityContext.RunAsUser != nil).To(Equal(restricted))
		}
		for _, container := range c.topicOperatorDeployment().Spec.Template.Spec.Containers {
			check(container.SecurityContext, restricted)
		}
	}
	// Security contexts in templates take precedence.
	own := &corev1.SecurityContext{Privileged: new(false)}
	in.Kafka.Spec.Kafka.Template = &v1.KafkaClusterTemplate{KafkaContainer: &v1.ContainerTemplate{SecurityContext: own},
		Pod: &v1.PodTemplate{SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(7))}}}
	c := &cluster{in}
	pod := c.pod(in.Topology.Nodes()[0])
	g.Expect(pod.Spec.SecurityContext).To(Equal(in.Kafka.Spec.Kafka.Template.Pod.SecurityContext))
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		g.Expect(container.SecurityContext).To(Equal(own))
	}
}

// TestSecurityContextsOfTemplatesStart checks that Kafka can read its key and prove that it is not root, whichever context a template has:
// kubelet can't tell the user "appuser" of the official image from root.
func TestSecurityContextsOfTemplatesStart(t *testing.T) {
	id := func(n int64) *int64 { return &n }
	policy := corev1.FSGroupChangeOnRootMismatch
	for name, c := range map[string]struct {
		pod        *corev1.PodSecurityContext
		container  *corev1.SecurityContext
		image      string
		baseline   *corev1.PodSecurityContext // what the pod gets
		restricted *corev1.PodSecurityContext
	}{
		"none": {
			baseline:   &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy},
			restricted: &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy, RunAsUser: id(1000)},
		},
		"of the pod": {
			pod:        &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
			baseline:   &corev1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: id(1000), FSGroupChangePolicy: &policy, RunAsUser: id(1000)},
			restricted: &corev1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: id(1000), FSGroupChangePolicy: &policy, RunAsUser: id(1000)},
		},
		"of the container": {
			container:  &corev1.SecurityContext{RunAsNonRoot: new(true)},
			baseline:   &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy, RunAsUser: id(1000)},
			restricted: &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy, RunAsUser: id(1000)},
		},
		"of both": {
			pod:        &corev1.PodSecurityContext{FSGroup: id(0)},
			container:  &corev1.SecurityContext{RunAsNonRoot: new(true)},
			baseline:   &corev1.PodSecurityContext{FSGroup: id(0), RunAsUser: id(1000)},
			restricted: &corev1.PodSecurityContext{FSGroup: id(0), RunAsUser: id(1000)},
		},
		"of the pod, which is not said to be no root": {
			pod:        &corev1.PodSecurityContext{FSGroup: id(7)},
			baseline:   &corev1.PodSecurityContext{FSGroup: id(7)},
			restricted: &corev1.PodSecurityContext{FSGroup: id(7), RunAsUser: id(1000)},
		},
		"of the pod, whose container may be root": {
			pod:        &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
			container:  &corev1.SecurityContext{RunAsNonRoot: new(false)},
			baseline:   &corev1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: id(1000), FSGroupChangePolicy: &policy},
			restricted: &corev1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: id(1000), FSGroupChangePolicy: &policy},
		},
		"with a user": {
			pod:        &corev1.PodSecurityContext{RunAsUser: id(1001), RunAsNonRoot: new(true)},
			baseline:   &corev1.PodSecurityContext{RunAsUser: id(1001), RunAsNonRoot: new(true), FSGroup: id(1000), FSGroupChangePolicy: &policy},
			restricted: &corev1.PodSecurityContext{RunAsUser: id(1001), RunAsNonRoot: new(true), FSGroup: id(1000), FSGroupChangePolicy: &policy},
		},
		"with a user of the container": {
			container:  &corev1.SecurityContext{RunAsUser: id(1001), RunAsNonRoot: new(true)},
			baseline:   &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy},
			restricted: &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy, RunAsUser: id(1000)},
		},
		"root in the container": {
			container: &corev1.SecurityContext{RunAsUser: id(0)},
			baseline:  &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy},
		},
		"root":         {pod: &corev1.PodSecurityContext{RunAsUser: id(0)}, baseline: &corev1.PodSecurityContext{RunAsUser: id(0)}},
		"root's group": {pod: &corev1.PodSecurityContext{RunAsGroup: id(0)}, baseline: &corev1.PodSecurityContext{RunAsGroup: id(0)}},
		"root's group among others": {
			pod:      &corev1.PodSecurityContext{SupplementalGroups: []int64{7, 0}},
			baseline: &corev1.PodSecurityContext{SupplementalGroups: []int64{7, 0}},
		},
		"none, and an image of the user's": {
			image:      "mine",
			baseline:   &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy},
			restricted: &corev1.PodSecurityContext{FSGroup: id(1000), FSGroupChangePolicy: &policy, RunAsUser: id(1000)},
		},
		"of the pod, and an image of the user's": {
			pod: &corev1.PodSecurityContext{RunAsNonRoot: new(true)}, image: "mine",
			baseline:   &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
			restricted: &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := rich(t)
			in.Kafka.Spec.Kafka.Image = c.image
			in.Kafka.Spec.Kafka.Template = &v1.KafkaClusterTemplate{Pod: &v1.PodTemplate{SecurityContext: c.pod},
				KafkaContainer: &v1.ContainerTemplate{SecurityContext: c.container}}
			before := c.pod.DeepCopy()
			for restricted, want := range map[bool]*corev1.PodSecurityContext{false: c.baseline, true: c.restricted} {
				if want == nil {
					continue
				}
				in.Settings.Restricted = restricted
				pod := (&cluster{in}).pod(in.Topology.Nodes()[0])
				g.Expect(pod.Spec.SecurityContext).To(Equal(want), "restricted: %v", restricted)
			}
			g.Expect(c.pod).To(Equal(before))
		})
	}
}

// TestWhatRestartsNodes makes one change at a time, and checks which nodes get another revision.
func TestWhatRestartsNodes(t *testing.T) {
	all, brokers, none := []int32{0, 1, 2}, []int32{0, 1}, []int32(nil)
	for name, c := range map[string]struct {
		edit     func(*Input)
		restarts []int32
	}{
		"nothing":              {func(*Input) {}, none},
		"a label of the Kafka": {func(in *Input) { in.Kafka.Labels = with(in.Kafka.Labels, "team", "b") }, none},
		"a label of a pool": {func(in *Input) {
			in.Pools["brokers"].Labels = with(in.Pools["brokers"].Labels, "team", "b")
		}, brokers},
		"a setting of Kafka": {func(in *Input) {
			in.Kafka.Spec.Kafka.Config["log.retention.ms"] = v1.ConfigValue{Raw: []byte(`"1000"`)}
		}, none},
		"a setting of a plugin": {func(in *Input) { in.Kafka.Spec.Kafka.Config["my.authorizer.x"] = v1.ConfigValue{Raw: []byte(`"1"`)} }, all},
		"a setting that the node looks up": {func(in *Input) {
			in.Kafka.Spec.Kafka.Config["log.retention.ms"] = v1.ConfigValue{Raw: []byte(`"${strimzienv:RETENTION}"`)}
		}, all},
		"a password": {func(in *Input) {
			in.Kafka.Spec.Kafka.Config["delegation.token.secret.key"] = v1.ConfigValue{Raw: []byte(`"secret"`)}
		}, all},
		"a config provider": {func(in *Input) {
			in.Kafka.Spec.Kafka.Config["config.providers"] = v1.ConfigValue{Raw: []byte(`"vault"`)}
		}, all},
		"a setting of one listener": {func(in *Input) {
			in.Kafka.Spec.Kafka.Config["listener.name.tls-9093.max.connections"] = v1.ConfigValue{Raw: []byte(`"100"`)}
		}, all},
		"a key that is ignored": {func(in *Input) {
			in.Kafka.Spec.Kafka.Config["ssl.truststore.password"] = v1.ConfigValue{Raw: []byte(`"other"`)}
		}, none},
		"network policy peers": {func(in *Input) { in.Kafka.Spec.Kafka.Listeners[0].NetworkPolicyPeers = nil }, none},
		"labels of a bootstrap Service": {func(in *Input) {
			in.Kafka.Spec.Kafka.Listeners[2].Configuration.Bootstrap.Labels = map[string]string{"a": "b"}
		}, none},
		"the size of volumes": {func(in *Input) { in.Pools["brokers"].Spec.Storage.Volumes[0].Size = "200Gi" }, none},
		"deleteClaim":         {func(in *Input) { in.Pools["brokers"].Spec.Storage.Volumes[0].DeleteClaim = nil }, none},
		"loggers": {func(in *Input) {
			in.Kafka.Spec.Kafka.Logging = &v1.Logging{Type: "inline", Loggers: map[string]string{"rootLogger.level": "DEBUG"}}
		}, none},
		"rules of the exporter of metrics":       {func(in *Input) { in.Metrics = "rules: []" }, none},
		"the operator's image with the exporter": {func(in *Input) { in.Settings.ExporterImage = "other" }, none},
		"no exporter of metrics":                 {func(in *Input) { in.Kafka.Spec.Kafka.MetricsConfig = nil }, all},
		"the template of init containers":        {func(in *Input) { in.Kafka.Spec.Kafka.Template.InitContainer = nil }, all},
		"the operator's image of Kafka":          {func(in *Input) { in.Settings.KafkaImages = map[string]string{"4.3.1": "other"} }, none},
		"the image of Kafka":                     {func(in *Input) { in.Kafka.Spec.Kafka.Image = "other" }, all},
		"the version of Kafka":                   {func(in *Input) { in.Version = "4.4.0" }, all},
		"a pod's grace period":                   {func(in *Input) { in.Kafka.Spec.Kafka.Template.Pod.TerminationGracePeriodSeconds = nil }, all},
		"an environment variable":                {func(in *Input) { in.Kafka.Spec.Kafka.Template.KafkaContainer.Env[0].Value = "CET" }, all},
		"resources of a pool":                    {func(in *Input) { in.Pools["brokers"].Spec.Resources = nil }, brokers},
		"a volume more": {func(in *Input) {
			v := &in.Pools["brokers"].Spec.Storage
			v.Volumes = append(v.Volumes, v1.StorageVolume{ID: new(int32(2)), Type: "ephemeral"})
		}, brokers},
		"a volume that gets no new replicas": {func(in *Input) { in.Cordon.Volumes = map[string][]int32{"brokers": {1}} }, none},
		"a broker that gets no new replicas": {func(in *Input) { in.Cordon.Brokers = []int32{1} }, none},
		"a listener less":                    {func(in *Input) { in.Kafka.Spec.Kafka.Listeners = in.Kafka.Spec.Kafka.Listeners[:3] }, brokers},
		"super users":                        {func(in *Input) { in.Kafka.Spec.Kafka.Authorization.SuperUsers = nil }, all},
		"the certificate of a node": {func(in *Input) {
			in.Certificates.PodAnnotations["my-cluster-brokers-1"][core.AnnotationServerCertHash] = "new"
		}, []int32{1}},
		"an advertised address": {func(in *Input) { in.Endpoints.Listeners["lb"][0] = Endpoint{"192.0.2.99", 9000} }, []int32{0}},
		"the rack":              {func(in *Input) { in.Kafka.Spec.Kafka.Rack = nil }, brokers},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := render(t, rich(t), nil)
			live := map[string]Live{}
			in := rich(t)
			for _, m := range before.Manifests {
				live[in.Topology.PodName(m.Node)] = Live{Pod: m.Pod, Config: m.Config}
			}
			c.edit(&in)
			after := render(t, in, live)
			var restarts []int32
			for i, m := range after.Manifests {
				if revision(t, m) != revision(t, before.Manifests[i]) {
					restarts = append(restarts, m.Node.ID)
				}
				pod := read[corev1.Pod](t, m.Pod)
				g.Expect(pod.Annotations[core.AnnotationConfigHash]).To(Equal(core.ConfigHash(m.Config.Data["server.config"])))
			}
			g.Expect(restarts).To(Equal(c.restarts))
		})
	}
}

// TestWhatOpensPendingUpdates makes one change at a time while this version would make other pods. What does not concern a pod must not
// open that, whichever version noted the inputs.
func TestWhatOpensPendingUpdates(t *testing.T) {
	flux := func(in *Input, name string) {
		in.Kafka.Labels = with(in.Kafka.Labels, "kustomize.toolkit.fluxcd.io/name", name)
		in.Pools["brokers"].Labels = with(in.Pools["brokers"].Labels, "kustomize.toolkit.fluxcd.io/name", name)
	}
	argo := func(in *Input) {
		in.Pools["brokers"].Labels = with(in.Pools["brokers"].Labels, "argocd.argoproj.io/instance", "a")
	}
	team := func(in *Input) { in.Kafka.Labels = with(in.Kafka.Labels, "team", "b") }
	ofPools := func(in *Input) {
		for _, p := range in.Pools {
			p.Labels = with(p.Labels, "team", "b")
		}
	}
	unlabelled := func(in *Input) { in.Kafka.Labels = nil }
	for name, c := range map[string]struct {
		before, edit func(*Input)
		// noted is which inputs the pods have: 0 those of this version.
		noted int
		opens bool
	}{
		"nothing": {edit: func(*Input) {}},
		"nothing, after an upgrade from a version for which the Kafka's labels counted":   {edit: func(*Input) {}, noted: 2},
		"nothing, after an upgrade from a version for which the metadata version counted": {edit: func(*Input) {}, noted: 3},
		"nothing, after an upgrade from a version for which all labels counted": {before: func(in *Input) { flux(in, "a") },
			edit: func(*Input) {}, noted: 4},
		"Flux adopts the objects":                                                     {edit: func(in *Input) { flux(in, "a") }},
		"Flux adopts the objects, after an upgrade":                                   {edit: func(in *Input) { flux(in, "a") }, noted: 3},
		"nothing, after an upgrade from a version for which Argo CD's labels counted": {before: argo, edit: func(*Input) {}, noted: 1},
		"Argo CD adopts the objects":                                                  {edit: argo},
		"Flux moves the objects": {before: func(in *Input) { flux(in, "a") },
			edit: func(in *Input) { flux(in, "b") }},
		"the metadata version":                                  {edit: func(in *Input) { in.MetadataVersion = "4.2-IV1" }},
		"a label of the Kafka":                                  {edit: team},
		"the first label of the Kafka, after an upgrade":        {before: unlabelled, edit: team, noted: 2},
		"a label of the Kafka that pods have, after an upgrade": {edit: team, noted: 2, opens: true},
		"a label of pools":                                      {edit: ofPools, opens: true},
		"a label of pools, after an upgrade":                    {edit: ofPools, noted: 2, opens: true},
		"the version":                                           {edit: func(in *Input) { in.Version = "4.4.0" }, opens: true},
		"nothing, and the user allows it":                       {edit: func(in *Input) { in.ApplyUpdates = true }, opens: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := rich(t)
			if c.before != nil {
				c.before(&in)
			}
			live := map[string]Live{}
			for _, m := range render(t, in, nil).Manifests {
				pod := read[corev1.Pod](t, m.Pod)
				pod.Annotations[AnnotationInputs] = (&cluster{in}).podInputs(m.Node, "")[c.noted]
				live[pod.Name] = Live{Pod: []byte(jsonOf(pod)), Config: m.Config}
			}
			in.Settings.KafkaImages = map[string]string{"4.3.1": "newer", "4.4.0": "newer"}
			c.edit(&in)
			for _, m := range render(t, in, live).Manifests {
				g.Expect(m.Changed).To(Equal(c.opens))
				g.Expect(slices.Contains(m.Pending, "pod")).To(Equal(!c.opens))
			}
		})
	}
}

// TestUpdatesThatAreAllowedChangeOnlyWhatDiffers applies updates of pods and configurations, and then, with nothing to update, nothing.
func TestUpdatesThatAreAllowedChangeOnlyWhatDiffers(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	old := "an earlier version's"
	live := map[string]Live{}
	for _, m := range render(t, in, nil).Manifests {
		m.Config.Data["start.sh"] = old
		m.Config.Annotations[AnnotationContent] = hashOf(m.Config.Data)
		live[m.Config.Name] = Live{Pod: m.Pod, Config: m.Config}
	}
	for _, m := range render(t, in, live).Manifests {
		g.Expect(m.Pending).To(Equal([]string{"configuration"}))
		g.Expect(m.Config.Data["start.sh"]).To(Equal(old))
	}
	in.ApplyUpdates = true
	for _, m := range render(t, in, live).Manifests {
		g.Expect(m.Pending).To(BeEmpty())
		g.Expect(m.Config.Data["start.sh"]).NotTo(Equal(old))
		g.Expect(m.Changed).To(BeFalse(), "its pod is the same")
		g.Expect(string(m.Pod)).To(Equal(string(live[m.Config.Name].Pod)))
	}
}

func revision(t *testing.T, m Manifest) string {
	t.Helper()
	return read[corev1.Pod](t, m.Pod).Annotations[core.AnnotationRevision]
}

func TestAnAddressThatIsNotThereYetHoldsOnlyNewNodes(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	full := richWorld(in)
	without := richWorld(in)
	without.Services[topology.Home]["my-cluster-brokers-lb-1"].Status.LoadBalancer.Ingress = nil
	e := ResolveEndpoints(in, without)
	g.Expect(e.Waiting).To(HaveKey("lb"))
	g.Expect(slices.Collect(maps.Keys(e.Delayed))).To(Equal([]int32{1}))

	// A running node keeps the address that it advertised.
	in.Endpoints = ResolveEndpoints(in, full)
	without.Configs = map[string]*corev1.ConfigMap{}
	for _, m := range render(t, in, nil).Manifests {
		without.Configs[m.Config.Name] = m.Config
	}
	again := ResolveEndpoints(in, without)
	g.Expect(again.Delayed).To(BeEmpty())
	g.Expect(again.Listeners["lb"]).To(Equal(in.Endpoints.Listeners["lb"]))

	// A node that waited long enough starts without the listener.
	without.Configs = nil
	without.Now = without.Now.Add(2 * time.Minute)
	late := ResolveEndpoints(in, without)
	g.Expect(late.Delayed).To(BeEmpty())
	in.Endpoints = late
	config := render(t, in, nil).Manifests[1].Config.Data["server.config"]
	g.Expect(config).NotTo(ContainSubstring("LB-9095"))
	g.Expect(config).To(ContainSubstring("TLS-9093"))
}

func TestNoSecretInAConfigMap(t *testing.T) {
	for _, m := range render(t, rich(t), nil).Manifests {
		for key, text := range m.Config.Data {
			NewWithT(t).Expect(text).NotTo(Or(ContainSubstring("PRIVATE KEY"), ContainSubstring("ssl.truststore.password")), key)
		}
	}
}

func TestTheOperatorsOwnEnvironmentIsKept(t *testing.T) {
	own := []corev1.EnvVar{{Name: "KAFKA_HEAP_OPTS", Value: "-Xms128M"}}
	template := v1.ContainerTemplate{Env: []v1.ContainerEnvVar{{Name: "KAFKA_HEAP_OPTS", Value: "-Xmx1g"}, {Name: "TZ", Value: "UTC"}}}
	want := []corev1.EnvVar{{Name: "KAFKA_HEAP_OPTS", Value: "-Xms128M"}, {Name: "TZ", Value: "UTC"}}
	NewWithT(t).Expect(withEnvironment(own, template)).To(Equal(want))
}

func TestWhatATopicOperatorsPodGetsFromItsTemplate(t *testing.T) {
	in := rich(t)
	token := &corev1.ServiceAccountTokenProjection{Audience: "vault", Path: "token"}
	in.Kafka.Spec.EntityOperator = &v1.EntityOperatorSpec{
		TopicOperator: &v1.EntityTopicOperatorSpec{StartupProbe: &v1.Probe{FailureThreshold: new(int32(12))}},
		Template: &v1.EntityOperatorTemplate{
			Pod: &v1.PodTemplate{Volumes: []v1.AdditionalVolume{{Name: "a", EmptyDir: &corev1.EmptyDirVolumeSource{}},
				{Name: "b", Projected: &v1.ProjectedVolume{Sources: []v1.ProjectedSource{{ServiceAccountToken: token}}}}},
				DNSPolicy: corev1.DNSDefault, HostUsers: new(false)},
			TopicOperatorContainer: &v1.ContainerTemplate{VolumeMounts: []corev1.VolumeMount{{Name: "a", MountPath: "/mnt/a"}}},
		},
	}
	g, objects := NewWithT(t), TopicOperator(in)
	at := slices.IndexFunc(objects, func(o Object) bool { _, ok := o.(*appsv1.Deployment); return ok })
	g.Expect(at).NotTo(Equal(-1))
	pod := objects[at].(*appsv1.Deployment).Spec.Template.Spec
	g.Expect(pod.Volumes).To(ConsistOf(HaveField("Name", "a"), And(HaveField("Name", "b"), HaveField("Projected.Sources",
		Equal([]corev1.VolumeProjection{{ServiceAccountToken: token}})))))
	g.Expect(pod.Containers[0].VolumeMounts).To(ConsistOf(HaveField("MountPath", "/mnt/a")))
	g.Expect(pod.DNSPolicy).To(Equal(corev1.DNSDefault))
	g.Expect(pod.HostUsers).To(HaveValue(BeFalse()))
	g.Expect(pod.Containers[0].StartupProbe.FailureThreshold).To(Equal(int32(12)))
}

// TestEntriesOfOneKeyAreMadeOne checks lists of which server-side apply, but not a user, demands that no two entries have the same key.
func TestEntriesOfOneKeyAreMadeOne(t *testing.T) {
	g, in := NewWithT(t), rich(t)
	variable := func(name, value string) v1.ContainerEnvVar { return v1.ContainerEnvVar{Name: name, Value: value} }
	in.Kafka.Spec.EntityOperator.Template = &v1.EntityOperatorTemplate{
		Pod: &v1.PodTemplate{
			HostAliases: []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a"}}, {IP: "10.0.0.2", Hostnames: []string{"b"}},
				{IP: "10.0.0.1", Hostnames: []string{"c", "a"}}},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}, {Name: "a"}},
		},
		TopicOperatorContainer: &v1.ContainerTemplate{Env: []v1.ContainerEnvVar{variable("A", "1"), variable("B", "2"), variable("A", "3"),
			variable("STRIMZI_NAMESPACE", "4"), variable("STRIMZI_NAMESPACE", "5")}},
	}
	before := in.Kafka.DeepCopy()
	pod := (&cluster{in}).topicOperatorDeployment().Spec.Template.Spec
	g.Expect(pod.HostAliases).To(Equal([]corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a", "c", "a"}},
		{IP: "10.0.0.2", Hostnames: []string{"b"}}}))
	g.Expect(pod.ImagePullSecrets).To(Equal([]corev1.LocalObjectReference{{Name: "b"}, {Name: "a"}}))
	values := map[string][]string{}
	for _, e := range pod.Containers[0].Env {
		values[e.Name] = append(values[e.Name], e.Value)
	}
	g.Expect(values).To(And(HaveKeyWithValue("A", []string{"3"}), HaveKeyWithValue("B", []string{"2"}),
		HaveKeyWithValue("STRIMZI_NAMESPACE", []string{"ns"})))
	g.Expect(in.Kafka).To(Equal(before))

	in.Kafka.Spec.Kafka.Listeners[3].Configuration.Finalizers = []string{"a/b", "a/c", "a/b"}
	at := slices.IndexFunc(Services(in), func(s *corev1.Service) bool { return s.Name == "my-cluster-kafka-lb-bootstrap" })
	g.Expect(Services(in)[at].Finalizers).To(Equal([]string{"a/c", "a/b"}))
}

// TestATemplateAndAListenerNameOneAnnotation checks that of the two the one counts that does in Strimzi.
func TestATemplateAndAListenerNameOneAnnotation(t *testing.T) {
	const scheme = "service.beta.kubernetes.io/aws-load-balancer-scheme"
	template := &v1.ResourceTemplate{Metadata: &v1.MetadataTemplate{Labels: map[string]string{"app.kubernetes.io/component": "a", "team": "a"},
		Annotations: map[string]string{scheme: "internal"}}}
	labels := map[string]string{"app.kubernetes.io/component": "b", "team": "b", "other": "b"}
	annotations := map[string]string{scheme: "internet-facing", "other": "b"}
	in := rich(t)
	in.Kafka.Spec.Kafka.Template = &v1.KafkaClusterTemplate{ExternalBootstrapService: template, PerPodService: template,
		ExternalBootstrapIngress: template, PerPodIngress: template}
	in.Pools["brokers"].Spec.Template = nil
	for i := 2; i < len(in.Kafka.Spec.Kafka.Listeners); i++ {
		c := in.Kafka.Spec.Kafka.Listeners[i].Configuration
		c.Bootstrap = &v1.ListenerBootstrap{Host: "bootstrap.example.com", Labels: labels, Annotations: annotations}
		c.PerBrokerLabelsTemplate, c.PerBrokerAnnotationsTemplate, c.Brokers = labels, annotations, nil
	}
	services := Services(in)[2:] // those of listeners
	NewWithT(t).Expect(len(services)).To(BeNumerically(">=", 9))
	for _, s := range services {
		NewWithT(t).Expect(s.Annotations).To(And(HaveKeyWithValue(scheme, "internal"), HaveKeyWithValue("other", "b")), s.Name)
		NewWithT(t).Expect(s.Labels).To(And(HaveKeyWithValue("team", "a"), HaveKeyWithValue("other", "b"),
			HaveKeyWithValue("app.kubernetes.io/component", "b")), s.Name)
	}
	ingresses := Ingresses(in)
	NewWithT(t).Expect(ingresses).To(HaveLen(3))
	for _, i := range ingresses {
		NewWithT(t).Expect(i.Annotations).To(HaveKeyWithValue(scheme, "internet-facing"), i.Name)
		NewWithT(t).Expect(i.Labels).To(HaveKeyWithValue("team", "b"), i.Name)
	}
}

func TestGarbageCollectionIsLoggedOnDemand(t *testing.T) {
	for want, jvm := range map[string]v1.JvmOptions{
		defaultPerformance: {GcLoggingEnabled: new(false)},
		defaultPerformance + " -Xlog:gc*:stdout:time": {GcLoggingEnabled: new(true), XX: map[string]string{"MaxRAMPercentage": "70"}},
		"-Xlog:gc*:stdout:time -XX:+UseZGC":           {GcLoggingEnabled: new(true), XX: map[string]string{"UseZGC": "true"}},
	} {
		NewWithT(t).Expect(performance(jvm)).To(Equal(want))
	}
}

func TestForbiddenKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"listeners": true, "LISTENERS": true, "advertised.listeners": true, "ssl.keystore.location": true, "ssl.cipher.suites": false,
		"broker.id": true, "broker.session.timeout.ms": false, "log.dirs": true, "log.retention.ms": false, "controller.quorum.voters": true,
		"controller.quorum.fetch.timeout.ms": false, "authorizer.class.name": true, "num.io.threads": false, "node.id": true,
		"process.roles": true,
	} {
		NewWithT(t).Expect(Forbidden(key, nil)).To(Equal(want), key)
	}
}

func TestAdvertisedPortTemplates(t *testing.T) {
	g := NewWithT(t)
	for template, want := range map[string]int32{"9000 + {nodeId}": 9007, "{nodeId} * 100 + 10000": 10700, "10000-({nodeId}+3)*2": 9980,
		"9094": 9094} {
		got, err := EvaluatePort(template, 7)
		g.Expect(err).NotTo(HaveOccurred(), template)
		g.Expect(got).To(Equal(want), template)
	}
	for _, template := range []string{"", "x", "1 +", "(1", "1)", "70000", "0", "1-2", "{nodeid}", strings.Repeat("(", 100), "99999999999"} {
		_, err := EvaluatePort(template, 7)
		g.Expect(err).To(HaveOccurred(), template)
	}
}

func TestHeap(t *testing.T) {
	memory := func(q string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}}
	}
	for name, c := range map[string]struct {
		jvm       v1.JvmOptions
		resources *corev1.ResourceRequirements
		want      string
	}{
		"neither":          {want: "-Xms128M"},
		"as the user says": {jvm: v1.JvmOptions{Xms: "1g", Xmx: "2g"}, resources: memory("8Gi"), want: "-Xms1g -Xmx2g"},
		"not below -Xms":   {jvm: v1.JvmOptions{Xms: "4g"}, resources: memory("4Gi"), want: "-Xms4g -Xmx4194304K"},
		"more than 5 GiB":  {jvm: v1.JvmOptions{Xms: "6144M"}, resources: memory("64Gi"), want: "-Xms6144M -Xmx6291456K"},
		"a small -Xms":     {jvm: v1.JvmOptions{Xms: "1073741824"}, resources: memory("8Gi"), want: "-Xms1073741824 -Xmx4194304K"},
		"only -Xms":        {jvm: v1.JvmOptions{Xms: "4g"}, want: "-Xms4g"},
		"half of it":       {resources: memory("2Gi"), want: "-Xms1048576K -Xmx1048576K"},
		"at most 5 GiB":    {resources: memory("64Gi"), want: "-Xms5242880K -Xmx5242880K"},
		"a percentage": {jvm: v1.JvmOptions{XX: map[string]string{"MaxRAMPercentage": "70"}}, resources: memory("2Gi"),
			want: "-XX:MaxRAMPercentage=70"},
		"two percentages": {jvm: v1.JvmOptions{XX: map[string]string{"MaxRAMPercentage": "70", "InitialRAMPercentage": "60"}},
			resources: memory("2Gi"), want: "-XX:InitialRAMPercentage=60 -XX:MaxRAMPercentage=70"},
		"a percentage to begin with": {jvm: v1.JvmOptions{XX: map[string]string{"InitialRAMPercentage": "20"}}, resources: memory("2Gi"),
			want: "-XX:InitialRAMPercentage=20 -Xmx1048576K"},
		"a percentage to begin with, of unknown memory": {jvm: v1.JvmOptions{XX: map[string]string{"InitialRAMPercentage": "20"}},
			want: "-XX:InitialRAMPercentage=20"},
	} {
		NewWithT(t).Expect(heap(c.jvm, c.resources)).To(Equal(c.want), name)
	}
}

func TestOptionsOfJava(t *testing.T) {
	for name, c := range map[string]struct {
		xx   map[string]string
		want string
	}{
		"switches, in any case": {map[string]string{"UseG1GC": "True", "UseZGC": "FALSE", "UseNUMA": "true"},
			"-XX:+UseG1GC -XX:+UseNUMA -XX:-UseZGC"},
		"none":                    {nil, defaultPerformance},
		"sizes of the heap alone": {map[string]string{"MaxRAMPercentage": "70", "InitialRAMPercentage": "70"}, defaultPerformance},
		"a size of the heap":      {map[string]string{"MaxRAMPercentage": "70", "UseZGC": "true"}, "-XX:+UseZGC"},
		"unlocked before its use": {map[string]string{"A": "1", "UnlockDiagnosticVMOptions": "true"}, "-XX:+UnlockDiagnosticVMOptions -XX:A=1"},
	} {
		NewWithT(t).Expect(performance(v1.JvmOptions{XX: c.xx})).To(Equal(c.want), name)
	}
}

func TestWhereClientsBegin(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	world := richWorld(in)
	address := func(kind corev1.NodeAddressType, host string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: kind, Address: host}
	}
	world.KubernetesNodes = map[int32]*corev1.Node{
		0: {Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.0.0.1")}}},
		1: {Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{address(corev1.NodeInternalIP, "10.0.0.2"),
			address(corev1.NodeExternalIP, "192.0.2.99")}}},
	}
	e := ResolveEndpoints(in, world)
	g.Expect(e.Bootstrap["plain"]).To(Equal([]Endpoint{{"my-cluster-kafka-bootstrap.ns.svc", 9092}}))
	// Broker 0 advertises a host that its user chose. Broker 1 is reached at the address of its Kubernetes node and the port of the bootstrap
	// Service.
	port := world.Services[topology.Home]["my-cluster-kafka-external-bootstrap"].Spec.Ports[0].NodePort
	g.Expect(e.Bootstrap["external"]).To(Equal([]Endpoint{{"kafka-0.example.com", port}, {"192.0.2.99", port}}))
	g.Expect(e.Listeners["external"][1].Host).To(Equal("${strimzidir:/opt/kafka/placement:address}"))
	g.Expect(e.Bootstrap["web"]).To(Equal([]Endpoint{{"bootstrap.example.com", 443}}))
	g.Expect(e.Listeners["web"]).To(Equal(map[int32]Endpoint{0: {"broker-0.example.com", 443}, 1: {"one.example.com", 443}}))

	in.Kafka.Spec.Kafka.Listeners[2].Configuration.Brokers = nil
	in.Kafka.Spec.Kafka.Listeners[2].Configuration.AdvertisedHostTemplate = "{nodePodName}.example.com"
	e = ResolveEndpoints(in, world)
	g.Expect(e.Bootstrap["external"]).To(Equal([]Endpoint{{"my-cluster-brokers-0.example.com", port},
		{"my-cluster-brokers-1.example.com", port}}))
	in.Endpoints = e
	g.Expect(SANs(in, in.Topology.Nodes()[1])).To(ContainElements("my-cluster-brokers-1.example.com", "kafka.example.com",
		"bootstrap.example.com", "one.example.com"))
	g.Expect(SANs(in, in.Topology.Nodes()[1])).NotTo(ContainElement(Or(HavePrefix("$"), Equal("broker-0.example.com"))))
}

// TestAnIngressOfTheFirstExternalListenerKeepsItsName checks that the Ingress has the same name as in Strimzi: users have it in their DNS
// and dashboards.
func TestAnIngressOfTheFirstExternalListenerKeepsItsName(t *testing.T) {
	in := rich(t)
	l := &in.Kafka.Spec.Kafka.Listeners[4]
	l.Name, l.Port = "external", 9094
	in.Kafka.Spec.Kafka.Listeners = in.Kafka.Spec.Kafka.Listeners[4:]
	var names []string
	for _, i := range Ingresses(in) {
		names = append(names, i.Name+" -> "+i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name)
	}
	NewWithT(t).Expect(names).To(Equal([]string{
		"my-cluster-kafka-bootstrap -> my-cluster-kafka-external-bootstrap", "my-cluster-brokers-0 -> my-cluster-brokers-0",
		"my-cluster-brokers-1 -> my-cluster-brokers-1",
	}))
}
