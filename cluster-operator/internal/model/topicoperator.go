package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
)

// topicOperatorPort is where the topic operator serves its health and metrics.
const topicOperatorPort = 8080

// topicOperatorContainer names the topic operator's container, and watchedNamespace its setting of the namespace.
const topicOperatorContainer, watchedNamespace = "topic-operator", "STRIMZI_NAMESPACE"

// defaultStartup gives the topic operator two minutes to start. Source: Strimzi.
var defaultStartup = &v1.Probe{PeriodSeconds: new(int32(10)), FailureThreshold: new(int32(12))}

// WantsTopicOperator reports whether a Kafka has a topic operator in its spec.
func WantsTopicOperator(kafka *v1.Kafka) bool {
	return kafka.Spec != nil && kafka.Spec.EntityOperator != nil && kafka.Spec.EntityOperator.TopicOperator != nil
}

// TopicOperatorName names the Deployment of a Kafka's topic operator.
func TopicOperatorName(kafka string) string { return kafka + "-entity-operator" }

// ComponentTopics labels the ConfigMap that says that the cluster operator deployed a topic operator.
const ComponentTopics = "kafka-topics"

// TopicOperatorRecordName names that ConfigMap.
func TopicOperatorRecordName(kafka string) string { return kafka + "-kafka-topics" }

// TopicOperatorRecord returns it. It has no owner, because it outlives the Kafka until the KafkaTopics are released.
func TopicOperatorRecord(kafka *v1.Kafka) *corev1.ConfigMap {
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kafka.Namespace, Name: TopicOperatorRecordName(kafka.Name),
		Labels: map[string]string{v1.LabelCluster: kafka.Name, core.LabelComponentType: ComponentTopics}}}
	ownership.MarkName(record, "ConfigMap")
	return record
}

// IsTopicOperatorRecord reports whether a ConfigMap is that of a Kafka, and no copy.
func IsTopicOperatorRecord(c *corev1.ConfigMap, kafka string) bool {
	return c != nil && c.Name == TopicOperatorRecordName(kafka) && c.Labels[v1.LabelCluster] == kafka &&
		c.Labels[core.LabelComponentType] == ComponentTopics && c.Annotations[ownership.MarkSelf] != "" && !ownership.Copy(c, "ConfigMap")
}

// WatchedNamespace returns the namespace whose KafkaTopics the topic operator in a pod reconciles, "" if it has none.
func WatchedNamespace(pod *corev1.PodSpec) string {
	for _, c := range pod.Containers {
		for _, e := range c.Env {
			if c.Name == topicOperatorContainer && e.Name == watchedNamespace {
				return e.Value
			}
		}
	}
	return ""
}

// TopicOperator returns the objects of the topic operator that a Kafka asks for, none if it does not.
func TopicOperator(in Input) []Object {
	if !WantsTopicOperator(in.Kafka) {
		return nil
	}
	c := &cluster{in}
	objects := []Object{c.topicOperatorAccount(), c.topicOperatorRole(), c.topicOperatorBinding()}
	if c.Settings.NetworkPolicies {
		objects = append(objects, c.topicOperatorNetworkPolicy())
	}
	if c.Settings.DisruptionBudgets {
		objects = append(objects, c.topicOperatorDisruptionBudget())
	}
	return append(objects, c.topicOperatorDeployment())
}

func (c *cluster) entityTemplate() v1.EntityOperatorTemplate {
	return value(c.Kafka.Spec.EntityOperator.Template, v1.EntityOperatorTemplate{})
}

func (c *cluster) topicOperatorMeta(name string, t *v1.ResourceTemplate) metav1.ObjectMeta {
	return c.meta(name, c.labels("entity-operator", componentEntityOperator, c.Kafka), t)
}

func (c *cluster) topicOperatorAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: c.topicOperatorMeta(c.name("entity-operator"), c.entityTemplate().ServiceAccount),
	}
}

// topicOperatorRole allows what the topic operator needs in the Kafka's namespace, and of Secrets only its own.
func (c *cluster) topicOperatorRole() *rbacv1.Role {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	secrets := rule("", "secrets", "get", "list", "watch")
	secrets.ResourceNames = []string{c.name("cluster-ca-cert"), c.name("entity-topic-operator-certs")}
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
		ObjectMeta: c.topicOperatorMeta(c.name("entity-operator"), c.entityTemplate().EntityOperatorRole),
		Rules: []rbacv1.PolicyRule{
			rule("kafka.strimzi.io", "kafkatopics", "get", "list", "patch", "watch"),
			rule("kafka.strimzi.io", "kafkatopics/status", "patch"),
			rule("events.k8s.io", "events", "create", "patch"),
			secrets,
		},
	}
}

func (c *cluster) topicOperatorBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
		ObjectMeta: c.topicOperatorMeta(c.name("entity-topic-operator-role"), c.entityTemplate().TopicOperatorRoleBinding),
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: c.name("entity-operator")},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: c.name("entity-operator"), Namespace: c.Kafka.Namespace}},
	}
}

// topicOperatorSelector selects the topic operator's pods.
func (c *cluster) topicOperatorSelector() map[string]string {
	return map[string]string{core.LabelKind: core.KindKafka, v1.LabelCluster: c.Kafka.Name, core.LabelName: c.name("entity-operator")}
}

// topicOperatorNetworkPolicy lets in to the topic operator's health and metrics, and to nothing else.
func (c *cluster) topicOperatorNetworkPolicy() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: c.topicOperatorMeta(c.name("entity-operator"), nil),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: c.topicOperatorSelector()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{rule(topicOperatorPort, nil)},
		},
	}
}

// topicOperatorDisruptionBudget permits the eviction of the one pod, unless the user forbids it.
func (c *cluster) topicOperatorDisruptionBudget() *policyv1.PodDisruptionBudget {
	t := value(c.entityTemplate().PodDisruptionBudget, v1.PodDisruptionBudgetTemplate{})
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: c.topicOperatorMeta(c.name("entity-operator"), &v1.ResourceTemplate{Metadata: t.Metadata}),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(value(t.MaxUnavailable, 1))),
			Selector:       &metav1.LabelSelector{MatchLabels: c.topicOperatorSelector()},
		},
	}
}

func (c *cluster) topicOperatorDeployment() *appsv1.Deployment {
	t := value(c.entityTemplate().Pod, v1.PodTemplate{})
	labels := c.labels("entity-operator", componentEntityOperator, c.Kafka)
	pod := metav1.ObjectMeta{Labels: labels}
	applyTemplate(&pod, &v1.ResourceTemplate{Metadata: t.Metadata})
	deployment := &v1.ResourceTemplate{}
	if d := c.entityTemplate().Deployment; d != nil {
		deployment.Metadata = d.Metadata
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: c.topicOperatorMeta(c.name("entity-operator"), deployment),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: c.topicOperatorSelector()},
			Template: corev1.PodTemplateSpec{ObjectMeta: pod, Spec: corev1.PodSpec{
				ServiceAccountName: c.name("entity-operator"), TerminationGracePeriodSeconds: new(value(t.TerminationGracePeriodSeconds, 30)),
				SecurityContext: t.SecurityContext, Affinity: t.Affinity, Tolerations: t.Tolerations,
				TopologySpreadConstraints: t.TopologySpreadConstraints,
				PriorityClassName:         t.PriorityClassName, SchedulerName: t.SchedulerName, HostAliases: mergedAliases(t.HostAliases),
				EnableServiceLinks: t.EnableServiceLinks, DNSPolicy: t.DNSPolicy, DNSConfig: t.DNSConfig, HostUsers: t.HostUsers,
				Volumes:          additionalVolumes(t),
				ImagePullSecrets: lastOfEach(c.pullSecrets(t.ImagePullSecrets), func(r corev1.LocalObjectReference) string { return r.Name }),
				Containers:       []corev1.Container{c.topicOperatorContainer()},
			}},
		},
	}
}

func (c *cluster) topicOperatorContainer() corev1.Container {
	o := c.Kafka.Spec.EntityOperator.TopicOperator
	t := value(c.entityTemplate().TopicOperatorContainer, v1.ContainerTemplate{})
	image := o.Image
	if image == "" {
		image = c.Settings.TopicOperatorImage
	}
	k := corev1.Container{
		Name: topicOperatorContainer, Image: image, ImagePullPolicy: c.pullPolicy(image),
		Env:             lastOfEach(withEnvironment(c.topicOperatorEnvironment(), t), func(e corev1.EnvVar) string { return e.Name }),
		Ports:           []corev1.ContainerPort{{Name: "healthcheck-to", ContainerPort: topicOperatorPort, Protocol: corev1.ProtocolTCP}},
		LivenessProbe:   httpProbe(o.LivenessProbe, "/healthy"),
		ReadinessProbe:  httpProbe(o.ReadinessProbe, "/ready"),
		StartupProbe:    httpProbe(cmp.Or(o.StartupProbe, defaultStartup), "/healthy"),
		SecurityContext: c.containerSecurity(t.SecurityContext), VolumeMounts: t.VolumeMounts,
	}
	if o.Resources != nil {
		k.Resources = *o.Resources
	}
	return k
}

// lastOfEach returns the last entry of each key. Server-side apply refuses two entries of one key in such lists. Otherwise Kubernetes takes
// them, and the last one counts.
func lastOfEach[T any](list []T, key func(T) string) []T {
	var last []T
	for i, entry := range list {
		if !slices.ContainsFunc(list[i+1:], func(later T) bool { return key(later) == key(entry) }) {
			last = append(last, entry)
		}
	}
	return last
}

// mergedAliases returns one entry for each address, for the same reason.
func mergedAliases(list []corev1.HostAlias) []corev1.HostAlias {
	var merged []corev1.HostAlias
	for _, alias := range list {
		at := slices.IndexFunc(merged, func(m corev1.HostAlias) bool { return m.IP == alias.IP })
		if at < 0 {
			merged = append(merged, *alias.DeepCopy())
			continue
		}
		merged[at].Hostnames = append(merged[at].Hostnames, alias.Hostnames...)
	}
	return merged
}

// IsStrimziOperator reports whether an image is that of all of Strimzi's operators, in whatever registry.
func IsStrimziOperator(image string) bool {
	repository, _, _ := strings.Cut(image, "@")
	if tag := strings.LastIndex(repository, ":"); tag > strings.LastIndex(repository, "/") {
		repository = repository[:tag]
	}
	return strings.HasSuffix(repository, "strimzi/operator")
}

// topicOperatorEnvironment returns the environment of the topic operator that the operator sets.
func (c *cluster) topicOperatorEnvironment() []corev1.EnvVar {
	o := c.Kafka.Spec.EntityOperator.TopicOperator
	namespace := o.WatchedNamespace
	if namespace == "" {
		namespace = c.Kafka.Namespace
	}
	env := []corev1.EnvVar{
		{Name: watchedNamespace, Value: namespace},
		{Name: "STRIMZI_CLUSTER_NAMESPACE", Value: c.Kafka.Namespace},
		{Name: "STRIMZI_RESOURCE_LABELS", Value: "strimzi.io/cluster=" + c.Kafka.Name},
		{Name: "STRIMZI_KAFKA_BOOTSTRAP_SERVERS", Value: strings.Join(Bootstrap(c.Input), ",")},
		{Name: "STRIMZI_SECURITY_PROTOCOL", Value: "SSL"},
		{Name: "STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME", Value: c.name("cluster-ca-cert")},
		{Name: "STRIMZI_TLS_SECRET_NAME", Value: c.name("entity-topic-operator-certs")},
		{Name: "STRIMZI_TLS_KEY_NAME", Value: "entity-operator.key"},
		{Name: "STRIMZI_TLS_CERT_NAME", Value: "entity-operator.crt"},
	}
	switch {
	case o.ReconciliationIntervalMs != nil:
		env = append(env, corev1.EnvVar{Name: "STRIMZI_FULL_RECONCILIATION_INTERVAL_MS", Value: fmt.Sprint(*o.ReconciliationIntervalMs)})
	case o.ReconciliationIntervalSeconds != nil:
		env = append(env, corev1.EnvVar{Name: "STRIMZI_FULL_RECONCILIATION_INTERVAL_MS",
			Value: fmt.Sprint(*o.ReconciliationIntervalSeconds * 1000)})
	}
	return env
}

func httpProbe(p *v1.Probe, path string) *corev1.Probe {
	out := probe(p)
	out.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("healthcheck-to")}}
	if p == nil || p.InitialDelaySeconds == nil {
		out.InitialDelaySeconds = 10
	}
	return out
}
