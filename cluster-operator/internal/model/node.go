package model

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Annotations of a node's pod and ConfigMap.
const (
	// AnnotationConfigurationHash is a hash of the part of the configuration that only a restart can change. Source: Strimzi.
	AnnotationConfigurationHash = "strimzi.io/configuration-hash"
	// ConfigMapClusterID is the key of the id of the Kafka cluster in a node's ConfigMap.
	ConfigMapClusterID = "cluster.id"
	// AnnotationInputs is a hash of what the user said that a manifest was made from. While it stays the same, the manifest does:
	// see docs/decisions/upgrades-restart-nothing.md.
	AnnotationInputs = "kafka-operators.io/inputs"
	// AnnotationContent is a hash of a ConfigMap's data, which detects edits by others.
	AnnotationContent = "kafka-operators.io/content"
	// AnnotationContents, on a StrimziPodSet, has AnnotationContent of its nodes' ConfigMaps, by pod name, in JSON. It detects edits by those
	// who may write ConfigMaps, and so that annotation with the data, but no StrimziPodSets.
	AnnotationContents = "kafka-operators.io/contents"
	// AnnotationRestartedAt is the uid of the pod for which a restart was last asked for.
	AnnotationRestartedAt = core.AnnotationRestartedAt
	// AnnotationEndpoints has the advertised address of a node on each listener, in JSON: an address stays in use while Kubernetes temporarily
	// does not report it.
	AnnotationEndpoints = "kafka-operators.io/endpoints"
	// AnnotationPeers has what a node of a stretched Kafka advertises to other nodes by port, in JSON, in case the Kafka's record is lost.
	AnnotationPeers = "kafka-operators.io/peers"
	// AnnotationNames has the names from the network provider in the certificate of a node of a stretched Kafka, in JSON, for the same case.
	AnnotationNames = "kafka-operators.io/names"
)

//go:embed scripts
var scripts embed.FS

// Manifest has the objects of one node.
type Manifest struct {
	// Node is the node.
	Node topology.Node
	// Pod is its pod as the StrimziPodSet lists it, in JSON.
	Pod json.RawMessage
	// Revision is that of the pod.
	Revision string
	// Config is its ConfigMap.
	Config *corev1.ConfigMap
	// Content is AnnotationContent of its ConfigMap; "" if the ConfigMap stays as it is, and its StrimziPodSet does not know it.
	Content string
	// Changed reports that the pod is rendered again, and not kept as its StrimziPodSet lists it.
	Changed bool
	// Pending are what this version of the operator would change, and does not, because the user changed nothing.
	Pending []string
}

// Live is the current manifest of a node.
type Live struct {
	// Pod is the pod as its StrimziPodSet lists it, in JSON; nil if no set lists it.
	Pod json.RawMessage
	// Config is its ConfigMap; nil if there is none.
	Config *corev1.ConfigMap
	// Content is its AnnotationContent according to the StrimziPodSet (ContentsIn); "" if that does not say.
	Content string
	// RestartedAt is the value of AnnotationRestartedAt that the pod should have; "" if no restart was requested.
	RestartedAt string
}

// node makes the manifest of a node, or keeps the one that there is.
func (c *cluster) node(n topology.Node, live Live) (Manifest, error) {
	config := c.nodeConfig(n)
	m := Manifest{Node: n, Config: config}
	if keepConfig(live, config) && !c.ApplyUpdates {
		if !maps.Equal(live.Config.Data, config.Data) {
			m.Pending = append(m.Pending, "configuration")
		}
		m.Config.Data = maps.Clone(live.Config.Data)
		m.Config.Annotations[AnnotationContent] = live.Config.Annotations[AnnotationContent]
	}
	m.Content = m.Config.Annotations[AnnotationContent]
	pod := c.pod(n)
	pod.Annotations[AnnotationConfigurationHash] = hash(c.startConfig(n).render())
	if live.RestartedAt != "" {
		pod.Annotations[AnnotationRestartedAt] = live.RestartedAt
	}
	inputs := c.podInputs(n, live.RestartedAt)
	revision := revisionOf(pod)
	if kept := keep(live.Pod, inputs); kept != nil && (!c.ApplyUpdates || kept.Annotations[core.AnnotationRevision] == revision) {
		if kept.Annotations[core.AnnotationRevision] != revision {
			m.Pending = append(m.Pending, "pod")
		}
		pod = kept
	} else {
		m.Changed = true
		pod.Annotations[core.AnnotationRevision] = revision
		pod.Annotations[AnnotationInputs] = inputs[0]
	}
	pod.Annotations[core.AnnotationConfigHash] = configHash(m.Config)
	m.Revision = core.Revision(pod)
	var err error
	m.Pod, err = json.Marshal(pod)
	return m, err
}

// keepConfig reports whether a live ConfigMap was rendered from the same input as the desired one, and has not been edited.
// If its StrimziPodSet, which an earlier version made, does not know the hash, the ConfigMap's own is believed.
func keepConfig(live Live, wanted *corev1.ConfigMap) bool {
	return live.Config != nil && live.Config.Annotations[AnnotationInputs] == wanted.Annotations[AnnotationInputs] &&
		live.Config.Annotations[AnnotationContent] == hashOf(live.Config.Data) &&
		(live.Content == "" || live.Content == live.Config.Annotations[AnnotationContent])
}

// ContentsIn returns the values of AnnotationContent that a StrimziPodSet knows, by pod name.
func ContentsIn(set *core.StrimziPodSet) (contents map[string]string) {
	_ = json.Unmarshal([]byte(set.Annotations[AnnotationContents]), &contents) // an unreadable annotation is written anew
	return contents
}

// keep returns the live pod if it was rendered from the same input and has not been edited, else nil.
func keep(live json.RawMessage, inputs []string) *corev1.Pod {
	if live == nil {
		return nil
	}
	pod := &corev1.Pod{}
	if json.Unmarshal(live, pod) != nil || !slices.Contains(inputs, pod.Annotations[AnnotationInputs]) ||
		pod.Annotations[core.AnnotationRevision] != revisionOf(pod) {
		return nil
	}
	return pod
}

// revisionOf returns a hash of a pod's manifest, without the annotations that follow from it or can change without a restart.
func revisionOf(pod *corev1.Pod) string {
	pod = pod.DeepCopy()
	for _, key := range []string{core.AnnotationRevision, core.AnnotationConfigHash, AnnotationInputs} {
		delete(pod.Annotations, key)
	}
	return hash(jsonOf(pod))
}

// Recertify returns a pod, in JSON, with its annotations of the PKI, by pod name, and the resulting revision. It returns a pod that already
// has them unchanged.
func Recertify(raw json.RawMessage, annotations map[string]map[string]string) (json.RawMessage, error) {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return nil, err
	}
	before := maps.Clone(pod.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, annotations[pod.Name])
	if maps.Equal(pod.Annotations, before) {
		return raw, nil
	}
	pod.Annotations[core.AnnotationRevision] = revisionOf(pod)
	return json.Marshal(pod)
}

// nodeConfig returns the ConfigMap of a node: everything that it reads when it starts, its scripts included.
func (c *cluster) nodeConfig(n topology.Node) *corev1.ConfigMap {
	labels := c.poolLabels(n.Pool)
	labels[core.LabelPodName] = c.podName(n)
	config := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: c.meta(c.podName(n), labels, nil),
		Data: map[string]string{
			"server.config":     slices.Concat(c.serverConfig(n), c.userConfig(n), c.cordon(n)).render(),
			"log4j2.properties": c.logging(),
			ConfigMapClusterID:  c.ClusterID,
			"metadata.version":  c.MetadataVersion,
			"start.sh":          script("start.sh"),
			"ready.sh":          script("ready.sh"),
		},
	}
	if c.exports() {
		config.Data[metricsFile] = c.exporterConfig()
	}
	config.Annotations = with(config.Annotations, AnnotationInputs, c.configInputs(n))
	config.Annotations[AnnotationContent] = hashOf(config.Data)
	if n.Roles.Broker {
		config.Annotations[AnnotationEndpoints] = jsonOf(c.knownEndpoints(n))
	}
	if c.stretched() && c.Stretch.Peers[n.ID] != nil {
		config.Annotations[AnnotationPeers] = jsonOf(c.Stretch.Peers[n.ID])
	}
	if c.stretched() && len(c.Stretch.Names[n.ID]) > 0 {
		config.Annotations[AnnotationNames] = jsonOf(c.Stretch.Names[n.ID])
	}
	return config
}

// cordon is the part of the configuration that keeps new replicas out. Brokers take it over while they run.
func (c *cluster) cordon(n topology.Node) properties {
	var p properties
	if dirs := c.cordoned(n); dirs != "" {
		p.set(cordonKey, strings.TrimPrefix(dirs, cordonAway))
	}
	return p
}

func script(name string) string {
	text, err := scripts.ReadFile("scripts/" + name)
	if err != nil { // cannot happen: it is compiled in
		panic(err)
	}
	return string(text)
}

// startConfig is the part of the configuration that a restart is needed for and that the roller can't compare with what a node runs with:
// the node's identity, its addresses, what stands behind a listener's prefix, and the settings of plugins.
func (c *cluster) startConfig(n topology.Node) properties {
	only := c.startKeys()
	return append(c.serverConfig(n), slices.DeleteFunc(c.userConfig(n), func(p property) bool { _, needed := only[p.key]; return !needed })...)
}

// configHash identifies a server.config: the contract with the roller.
func configHash(config *corev1.ConfigMap) string {
	return core.ConfigHash(config.Data["server.config"])
}

// hash returns the first 8 hex digits of SHA-256.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Prefixes of the labels by which Flux and Argo CD know what they applied. By default, pods don't get them.
const (
	fluxLabels = "kustomize.toolkit.fluxcd.io/"
	argoLabels = "argocd.argoproj.io/"
)

// podInputs identifies what the user said about a node's pod. Nothing in it depends on the version or the settings of the operator. The
// first is the one to note; the others are what earlier versions noted, for which Argo CD's labels, the Kafka's labels, the metadata
// version and Flux's labels counted.
func (c *cluster) podInputs(n topology.Node, restartedAt string) []string {
	var own map[string]string
	if p := c.Pools[n.Pool]; p != nil {
		own = p.Labels
	}
	all := c.userLabels(c.Kafka.Labels, own)
	return []string{
		c.podInputsOf(n, restartedAt, without(without(c.userLabels(own), fluxLabels), argoLabels), ""),
		c.podInputsOf(n, restartedAt, without(c.userLabels(own), fluxLabels), ""),
		c.podInputsOf(n, restartedAt, without(all, fluxLabels), ""),
		c.podInputsOf(n, restartedAt, without(all, fluxLabels), c.MetadataVersion),
		c.podInputsOf(n, restartedAt, all, c.MetadataVersion),
	}
}

func (c *cluster) podInputsOf(n topology.Node, restartedAt string, labels map[string]string, metadata string) string {
	s := c.spec()
	return hashOf(struct {
		Version, Image, ClusterID, RestartedAt string
		Node                                   topology.Node
		Placement                              []placement.Fact
		Listeners                              []v1.Listener
		Config                                 string
		Resources                              *corev1.ResourceRequirements
		Storage                                []volume
		JVM                                    v1.JvmOptions
		Pod                                    v1.PodTemplate
		Container                              v1.ContainerTemplate
		Liveness, Readiness                    *v1.Probe
		Rack                                   *v1.Rack
		Metrics                                *v1.MetricsConfig
		Labels                                 map[string]string
		Certificates                           Certificates
		Init                                   *v1.ContainerTemplate `json:",omitempty"`
	}{
		c.Version, s.Image, c.ClusterID, restartedAt, identity(n), c.placement(n), c.podListeners(n), c.startInputs(n, metadata),
		c.resources(n.Pool),
		c.sizeless(n.Pool), c.jvmOptions(n.Pool), c.podTemplate(n.Pool), c.containerTemplate(n.Pool), s.LivenessProbe, s.ReadinessProbe,
		rackOf(c.Kafka), s.MetricsConfig, labels, c.certificatesOf(n), c.initInputs(n),
	})
}

// initInputs are what the user said about the containers that prepare a pod, if it has any.
func (c *cluster) initInputs(n topology.Node) *v1.ContainerTemplate {
	if !c.wantsExporter() {
		return nil
	}
	return new(c.initTemplate(n.Pool))
}

// configInputs identifies what the user said about a node's configuration.
func (c *cluster) configInputs(n topology.Node) string {
	return c.configInputsOf(n, c.spec().Config, c.loggingInputs(), c.Metrics, c.cordoned(n), c.MetadataVersion)
}

// startInputs are those of a pod, which does not depend on what can be changed while it runs.
func (c *cluster) startInputs(n topology.Node, metadata string) string {
	return c.configInputsOf(n, c.startKeys(), "", "", "", metadata)
}

func (c *cluster) configInputsOf(n topology.Node, config map[string]v1.ConfigValue, logging, metrics, cordoned, metadata string) string {
	s := c.spec()
	voters := strings.NewReplacer("[", "", "]", "").Replace(c.voters()) // how addresses are written does not matter
	return hashOf(struct {
		Node                topology.Node
		Voters              string
		Advertised          map[string]Endpoint
		Listeners           []v1.Listener
		Config              map[string]v1.ConfigValue
		Authorization       *v1.Authorization
		Rack                *v1.Rack
		Storage             []volume
		Logging, Metrics    string
		ClusterID, Metadata string
		Version             string
		Stretch             *stretchInputs `json:",omitempty"`
		Cordoned            string         `json:",omitempty"`
	}{identity(n), voters, c.advertised(n), c.podListeners(n), config, s.Authorization, rackOf(c.Kafka), c.sizeless(n.Pool), logging,
		metrics, c.ClusterID, metadata, c.Version, c.stretchInputs(n), cordoned})
}

// stretchInputs are the inputs of a node of a stretched Kafka, in addition to voters.
type stretchInputs struct {
	// Cluster is the default of the rack.
	Cluster string
	Peers   map[string]Endpoint
	// RackPrefix is what comes before the rack.
	RackPrefix string `json:",omitempty"`
}

func (c *cluster) stretchInputs(n topology.Node) *stretchInputs {
	if !c.stretched() {
		return nil
	}
	return &stretchInputs{c.Stretch.id(n), c.Stretch.Peers[n.ID], c.rackPrefix(n)}
}

// identity is a node without what is not its own.
func identity(n topology.Node) topology.Node {
	n.Leaving, n.Cluster = false, topology.Home
	return n
}

// advertised are the addresses that a node advertises to clients.
func (c *cluster) advertised(n topology.Node) map[string]Endpoint {
	at := map[string]Endpoint{}
	for _, l := range c.listeners(n) {
		at[knownKey(l)] = c.Endpoints.Listeners[l.Name][n.ID]
	}
	return at
}

// knownEndpoints are what a node's ConfigMap notes: what the node advertises, and the load balancers where clients begin.
func (c *cluster) knownEndpoints(n topology.Node) map[string]notedEndpoint {
	at := map[string]notedEndpoint{}
	for _, l := range c.listeners(n) {
		e := notedEndpoint{Endpoint: c.Endpoints.Listeners[l.Name][n.ID]}
		if l.Type != v1.ListenerInternal {
			e.Service = ListenerNodeService(c.Kafka.Name, l, n)
		}
		at[knownKey(l)] = e
		if begin, balanced := c.Endpoints.Balancers[l.Name][n.Cluster]; balanced {
			at[knownBootstrapKey(l)] = notedEndpoint{begin, c.listenerBootstrap(l)}
		}
	}
	return at
}

// podListeners are the listeners without the fields that only Services and network policies use.
func (c *cluster) podListeners(n topology.Node) []v1.Listener {
	var list []v1.Listener
	for _, l := range c.listeners(n) {
		cfg := configuration(l)
		l.NetworkPolicyPeers = nil
		l.Configuration = &v1.ListenerConfiguration{
			BrokerCertChainAndKey: cfg.BrokerCertChainAndKey, MaxConnections: cfg.MaxConnections,
			MaxConnectionCreationRate:    cfg.MaxConnectionCreationRate,
			PreferredNodePortAddressType: cfg.PreferredNodePortAddressType,
		}
		list = append(list, l)
	}
	return list
}

// sizeless are the volumes without what can be changed without the pod.
func (c *cluster) sizeless(pool string) []volume {
	list := c.volumes(pool)
	for i := range list {
		list[i].Size, list[i].DeleteClaim, list[i].VolumeAttributesClass, list[i].Class = "", nil, "", nil
	}
	return list
}

// userLabels are the labels of users' objects of which pods are made, or were. Of one key the last one counts.
func (c *cluster) userLabels(objects ...map[string]string) map[string]string {
	labels := map[string]string{}
	for _, of := range objects {
		maps.Copy(labels, of)
	}
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return strings.HasPrefix(key, "app.kubernetes.io/") && c.Settings.ExcludedLabels != nil && c.Settings.ExcludedLabels(key)
	})
	return labels
}

func without(labels map[string]string, prefix string) map[string]string {
	others := maps.Clone(labels)
	maps.DeleteFunc(others, func(key, _ string) bool { return strings.HasPrefix(key, prefix) })
	return others
}

// certificatesOf returns the certificates of one node.
func (c *cluster) certificatesOf(n topology.Node) Certificates {
	own := Certificates{PodAnnotations: map[string]map[string]string{"": c.Certificates.PodAnnotations[c.podName(n)]}}
	if n.Roles.Broker {
		own.ListenerHash = c.Certificates.ListenerHash
	}
	return own
}

// hashOf identifies a value by its JSON.
func hashOf(v any) string {
	sum := sha256.Sum256([]byte(jsonOf(v)))
	return hex.EncodeToString(sum[:8])
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // cannot happen: all of it came from JSON
		panic(err)
	}
	return string(text)
}

func itoa(id int32) string { return strconv.Itoa(int(id)) }
