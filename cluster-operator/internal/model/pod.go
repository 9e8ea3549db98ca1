package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// apacheUser is the user and group that the official Apache Kafka image runs as (appuser); volumes are made writable for the group.
const apacheUser = 1000

// pod returns the manifest of a node's pod, without the annotations that follow from the manifest itself.
func (c *cluster) pod(n topology.Node) *corev1.Pod {
	name := c.podName(n)
	t := c.podTemplate(n.Pool)
	kafka := c.container(n)
	labels := c.poolLabels(n.Pool)
	labels[core.LabelPodName] = name
	labels[core.LabelBrokerRole] = fmt.Sprint(n.Roles.Broker)
	labels[core.LabelControllerRole] = fmt.Sprint(n.Roles.Controller)
	labels[core.LabelController] = core.ControllerPodSet
	labels[core.LabelControllerName] = c.Topology.PodSetName(n.Pool)
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Kafka.Namespace, Name: name, Labels: labels, Annotations: c.podAnnotations(n)},
		Spec: corev1.PodSpec{
			Hostname: name, Subdomain: c.brokersService(), ServiceAccountName: c.serviceAccount(),
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(value(t.TerminationGracePeriodSeconds, 30)),
			RestartPolicy:                 corev1.RestartPolicyAlways,
			SecurityContext:               c.podSecurity(t.SecurityContext, kafka.SecurityContext),
			Affinity:                      c.affinity(n, t),
			Tolerations:                   t.Tolerations, TopologySpreadConstraints: t.TopologySpreadConstraints,
			PriorityClassName: t.PriorityClassName, SchedulerName: t.SchedulerName, HostAliases: t.HostAliases,
			DNSPolicy: t.DNSPolicy, DNSConfig: t.DNSConfig, EnableServiceLinks: t.EnableServiceLinks, HostUsers: t.HostUsers,
			ImagePullSecrets: c.pullSecrets(t.ImagePullSecrets),
			Volumes:          c.podVolumes(n, t),
			InitContainers:   c.initContainers(n),
			Containers:       []corev1.Container{kafka},
		},
	}
	if t.Metadata != nil {
		applyTemplate(&p.ObjectMeta, &v1.ResourceTemplate{Metadata: t.Metadata})
	}
	return p
}

func (c *cluster) podAnnotations(n topology.Node) map[string]string {
	a := copied(c.Certificates.PodAnnotations[c.podName(n)])
	a[v1.AnnotationKafkaVersion] = c.Version
	if facts := c.placement(n); len(facts) > 0 {
		a[placement.AnnotationWaits] = placement.Write(facts)
	}
	if c.stretched() {
		a[v1.AnnotationTargetCluster] = c.Stretch.id(n)
	}
	var own []string
	for _, l := range c.listeners(n) {
		if hash := c.Certificates.ListenerHash[l.Name]; hash != "" && n.Roles.Broker {
			own = append(own, l.Name+"="+hash)
		}
	}
	if len(own) > 0 {
		a["strimzi.io/custom-listener-cert-thumbprints"] = "{" + strings.Join(own, ", ") + "}"
	}
	return a
}

// container returns the container that runs Kafka.
func (c *cluster) container(n topology.Node) corev1.Container {
	t := c.containerTemplate(n.Pool)
	k := corev1.Container{
		Name: core.ContainerKafka, Image: c.image(), ImagePullPolicy: c.pullPolicy(c.image()),
		Command:        []string{"bash", configDir + "/start.sh"},
		Ports:          c.ports(n),
		Env:            withEnvironment(c.environment(n), t),
		VolumeMounts:   append(c.mounts(n), t.VolumeMounts...),
		ReadinessProbe: probe(c.spec().ReadinessProbe, "bash", configDir+"/ready.sh", fmt.Sprint(readyPort(n))),
		LivenessProbe:  probe(c.spec().LivenessProbe, "bash", "-c", "kill -0 1"),

		SecurityContext: c.containerSecurity(t.SecurityContext),
	}
	if r := c.resources(n.Pool); r != nil {
		k.Resources = *r
	}
	return k
}

// readyPort is the listener that a node opens last.
func readyPort(n topology.Node) int {
	if n.Roles.Broker {
		return ReplicationPort
	}
	return ControllerPort
}

// image returns the image of the Kafka version, unless the user names one.
func (c *cluster) image() string {
	if c.spec().Image != "" {
		return c.spec().Image
	}
	return c.Settings.KafkaImages[c.Version]
}

func (c *cluster) pullPolicy(image string) corev1.PullPolicy {
	if c.Settings.ImagePullPolicy != "" {
		return c.Settings.ImagePullPolicy
	}
	if strings.Contains(image, ":latest") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func (c *cluster) pullSecrets(own []corev1.LocalObjectReference) []corev1.LocalObjectReference {
	if len(own) > 0 {
		return own
	}
	return c.Settings.ImagePullSecrets
}

func (c *cluster) ports(n topology.Node) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	add := func(name string, port int32) {
		ports = append(ports, corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP})
	}
	if n.Roles.Controller {
		add(ControllerPortName, ControllerPort)
	}
	if n.Roles.Broker {
		add(ReplicationPortName, ReplicationPort)
		for _, l := range c.listeners(n) {
			add(PortName(l), l.Port)
		}
	}
	if c.exports() {
		add(MetricsPortName, MetricsPort)
	}
	return ports
}

// PortName is that of a listener in containers and Services. Source: Strimzi (ListenersUtils.backwardsCompatiblePortName).
func PortName(l v1.Listener) string {
	switch {
	case l.Name == "plain" && l.Port == 9092 && l.Type == v1.ListenerInternal:
		return "tcp-clients"
	case l.Name == "tls" && l.Port == 9093 && l.Type == v1.ListenerInternal:
		return "tcp-clientstls"
	}
	return "tcp-" + l.Name
}

func probe(p *v1.Probe, command ...string) *corev1.Probe {
	if p == nil {
		p = &v1.Probe{}
	}
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}},
		InitialDelaySeconds: value(p.InitialDelaySeconds, 0),
		TimeoutSeconds:      value(p.TimeoutSeconds, 5),
		PeriodSeconds:       value(p.PeriodSeconds, 5),
		SuccessThreshold:    value(p.SuccessThreshold, 1),
		FailureThreshold:    value(p.FailureThreshold, 3),
	}
}

func (c *cluster) mounts(n topology.Node) []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{
		{Name: "strimzi-tmp", MountPath: "/tmp"},
		{Name: "kafka-metrics-and-logging", MountPath: configDir, ReadOnly: true},
		{Name: "certificates", MountPath: certificatesDir, ReadOnly: true},
	}
	if len(c.placement(n)) > 0 {
		mounts = append(mounts, corev1.VolumeMount{Name: "placement", MountPath: placementDir, ReadOnly: true})
	}
	if c.exports() {
		mounts = append(mounts, corev1.VolumeMount{Name: exporterVolume, MountPath: exporterDir, ReadOnly: true})
	}
	for _, v := range c.volumes(n.Pool) {
		mounts = append(mounts, corev1.VolumeMount{Name: v.name(), MountPath: v.mountPath()})
	}
	return mounts
}

func (c *cluster) podVolumes(n topology.Node, t v1.PodTemplate) []corev1.Volume {
	pod := c.podName(n)
	tmp := resource.MustParse("5Mi")
	if limit, err := v1.ParseQuantity(t.TmpDirSizeLimit); err == nil {
		tmp = limit
	}
	volumes := []corev1.Volume{
		{Name: "strimzi-tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory,
			SizeLimit: &tmp}}},
		{Name: "kafka-metrics-and-logging", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: pod}}}},
		{Name: "certificates", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(0o440)), Sources: c.certificateSources(n)}}},
	}
	if facts := c.placement(n); len(facts) > 0 {
		volumes = append(volumes, placementVolume(facts))
	}
	if c.exports() {
		volumes = append(volumes, exporterFolder())
	}
	for _, v := range c.volumes(n.Pool) {
		volumes = append(volumes, v.podVolume(pod))
	}
	volumes = append(volumes, additionalVolumes(t)...)
	for _, v := range t.TemplatedVolumes {
		volumes = append(volumes, templatedVolume(v, pod, n.ID))
	}
	return volumes
}

// additionalVolumes returns the volumes that the user's template adds to a pod.
func additionalVolumes(t v1.PodTemplate) []corev1.Volume {
	var volumes []corev1.Volume
	for _, v := range t.Volumes {
		volumes = append(volumes, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
			Secret: v.Secret, ConfigMap: v.ConfigMap, EmptyDir: v.EmptyDir, PersistentVolumeClaim: v.PersistentVolumeClaim, CSI: v.CSI,
			Image: v.Image, Projected: projected(v.Projected)}})
	}
	return volumes
}

func projected(v *v1.ProjectedVolume) *corev1.ProjectedVolumeSource {
	if v == nil {
		return nil
	}
	source := &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{}}
	for _, s := range v.Sources {
		source.Sources = append(source.Sources, corev1.VolumeProjection{ServiceAccountToken: s.ServiceAccountToken})
	}
	return source
}

// templatedVolume is a volume of the user's whose source depends on the node.
func templatedVolume(t v1.TemplatedVolume, pod string, id int32) corev1.Volume {
	fill := strings.NewReplacer("{nodeId}", fmt.Sprint(id), "{nodePodName}", pod).Replace
	v := corev1.Volume{Name: t.Name}
	switch {
	case t.Secret != nil:
		v.Secret = t.Secret.DeepCopy()
		v.Secret.SecretName = fill(v.Secret.SecretName)
	case t.ConfigMap != nil:
		v.ConfigMap = t.ConfigMap.DeepCopy()
		v.ConfigMap.Name = fill(v.ConfigMap.Name)
	case t.PersistentVolumeClaim != nil:
		v.PersistentVolumeClaim = t.PersistentVolumeClaim.DeepCopy()
		v.PersistentVolumeClaim.ClaimName = fill(v.PersistentVolumeClaim.ClaimName)
	}
	return v
}

// certificateSources puts a node's own certificate and key, and those that it trusts, into one directory.
func (c *cluster) certificateSources(n topology.Node) []corev1.VolumeProjection {
	pod := c.podName(n)
	own := []corev1.KeyToPath{{Key: pod + ".crt", Path: nodeCertificate}, {Key: pod + ".key", Path: nodeKey}}
	if n.Roles.Broker {
		for _, l := range c.listeners(n) {
			if l.TLS && configuration(l).BrokerCertChainAndKey != nil {
				certificate, key := ListenerFiles(l)
				own = append(own, corev1.KeyToPath{Key: certificate, Path: certificate}, corev1.KeyToPath{Key: key, Path: key})
			}
		}
	}
	secret := func(name string, items []corev1.KeyToPath) corev1.VolumeProjection {
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name},
			Items: items}}
	}
	return []corev1.VolumeProjection{
		secret(pod, own),
		secret(c.name("trustbundle"), []corev1.KeyToPath{{Key: clusterCAFile, Path: clusterCAFile}, {Key: clientsCAFile, Path: clientsCAFile}}),
	}
}

// podSecurity returns the security context of a node's pod: that of the template, completed by what the official image needs to start.
// kafka is that of the container.
func (c *cluster) podSecurity(template *corev1.PodSecurityContext, kafka *corev1.SecurityContext) *corev1.PodSecurityContext {
	s, k := value(template, corev1.PodSecurityContext{}), value(kafka, corev1.SecurityContext{})
	user, group := cmp.Or(k.RunAsUser, s.RunAsUser), cmp.Or(k.RunAsGroup, s.RunAsGroup)
	official := c.spec().Image == ""
	if s.FSGroup == nil && (template == nil || official && !readsAsRoot(user, group, s.SupplementalGroups)) {
		s.FSGroup = new(int64(apacheUser)) // without it, the node can't read its key, nor write to its volumes
		s.FSGroupChangePolicy = cmp.Or(s.FSGroupChangePolicy, new(corev1.FSGroupChangeOnRootMismatch))
	}
	nonRoot := value(cmp.Or(k.RunAsNonRoot, s.RunAsNonRoot), false)
	if template == nil && c.Settings.Restricted || user == nil && nonRoot && official {
		s.RunAsUser = new(int64(apacheUser)) // the image names its user, which kubelet can't tell from root
	}
	return &s
}

// readsAsRoot reports whether a user, with a group and others, reads what root's group may.
func readsAsRoot(user, group *int64, others []int64) bool {
	return value(user, apacheUser) == 0 || value(group, apacheUser) == 0 || slices.Contains(others, 0)
}

// containerSecurity returns the security context of a container: that of the template, else the one that the Pod Security Standard
// "restricted" requires if the operator enforces it. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/.
func (c *cluster) containerSecurity(template *corev1.SecurityContext) *corev1.SecurityContext {
	if template != nil || !c.Settings.Restricted {
		return template
	}
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// affinity keeps brokers off Kubernetes nodes whose rack is unknown.
func (c *cluster) affinity(n topology.Node, t v1.PodTemplate) *corev1.Affinity {
	r := rackOf(c.Kafka)
	if !n.Roles.Broker || r == nil || r.Type == v1.RackEnvironmentVariable {
		return t.Affinity
	}
	needs := corev1.NodeSelectorRequirement{Key: r.TopologyKey, Operator: corev1.NodeSelectorOpExists}
	a := t.Affinity.DeepCopy()
	if a == nil {
		a = &corev1.Affinity{}
	}
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil {
		*required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range (*required).NodeSelectorTerms {
		term := &(*required).NodeSelectorTerms[i]
		term.MatchExpressions = append(slices.Clone(term.MatchExpressions), needs)
	}
	return a
}
