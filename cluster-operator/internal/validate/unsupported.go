package validate

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// noInitContainer is why the template of a container has no effect.
const noInitContainer = "nodes have an init container only for metricsConfig of type jmxPrometheusExporter"

// unsupportedField is a field that users of Strimzi have in their manifests and this operator does nothing about.
type unsupportedField struct {
	path string
	set  bool
	// instead is the alternative for the user, or the effect.
	instead string
}

// unsupported names what is in the objects and has no effect.
func (f *findings) unsupported() {
	for _, field := range f.unsupportedOfKafka() {
		f.ignored(field)
	}
	if e := f.Kafka.Spec.EntityOperator; e != nil && e.TopicOperator != nil {
		if watched := e.TopicOperator.WatchedNamespace; watched != "" && watched != f.Kafka.Namespace {
			f.warn("WatchedNamespace", v1.ReasonUnsupportedField,
				"The topic operator of Kafka(%s) has no rights in the namespace %s, which it should watch: create a Role like "+
					"%[3]s-entity-operator there, and a RoleBinding of it to the ServiceAccount %[3]s-entity-operator of namespace %s",
				f.key(), watched, f.Kafka.Name, f.Kafka.Namespace)
		}
		if image := e.TopicOperator.Image; model.IsStrimziOperator(image) {
			f.warn("TopicOperatorImage", v1.ReasonUnsupportedField, "Resource Kafka(%s) names Strimzi's image %s in the field "+
				"spec.entityOperator.topicOperator.image: the topic operator does not start with it. Remove the field, or name an image of this "+
				"topic operator", f.key(), image)
		}
	}
	for i, l := range f.cluster().Listeners {
		f.unsupportedListener(i, l)
	}
	for _, p := range f.Pools {
		t := or(p.Spec.Template, v1.KafkaNodePoolTemplate{})
		for _, field := range []unsupportedField{
			{"spec.template.initContainer", t.InitContainer != nil && !f.exports(), noInitContainer},
			{"spec.template.perPodRoute", t.PerPodRoute != nil, "the operator creates no Routes"},
		} {
			f.ignoredIn(p, field)
		}
	}
}

// ignoredField is the message about a field that has no effect: of which resource, its path, and what to do instead.
const ignoredField = "Resource %s contains the field %s, which is not supported and has no effect: %s"

// ignored warns of a field of the Kafka.
func (f *findings) ignored(field unsupportedField) { f.ignoredIn(nil, field) }

// ignoredIn warns of a field of a KafkaNodePool, or of the Kafka if there is none.
func (f *findings) ignoredIn(p *v1.KafkaNodePool, field unsupportedField) {
	switch {
	case !field.set:
	case p == nil:
		f.warn("UnsupportedField", v1.ReasonUnsupportedField, ignoredField, fmt.Sprintf("Kafka(%s)", f.key()), field.path, field.instead)
	default:
		f.warnOf(p, "UnsupportedField", v1.ReasonUnsupportedField, ignoredField, fmt.Sprintf("KafkaNodePool(%s/%s)", p.Namespace, p.Name),
			field.path, field.instead)
	}
}

func (f *findings) unsupportedOfKafka() []unsupportedField {
	spec, c := f.Kafka.Spec, f.cluster()
	t := or(c.Template, v1.KafkaClusterTemplate{})
	e := or(spec.EntityOperator, v1.EntityOperatorSpec{})
	to := or(e.TopicOperator, v1.EntityTopicOperatorSpec{})
	et := or(e.Template, v1.EntityOperatorTemplate{})
	pod := or(et.Pod, v1.PodTemplate{})
	return []unsupportedField{
		{"spec.cruiseControl", spec.CruiseControl != nil, "the operator does not run Cruise Control"},
		{"spec.kafkaExporter", spec.KafkaExporter != nil, "the operator does not run Kafka Exporter"},
		{"spec.kafka.tieredStorage", c.TieredStorage != nil,
			"configure remote.log.* in .spec.kafka.config, and put the classes into the image or a volume"},
		{"spec.kafka.jmxOptions", c.JmxOptions != nil, "JMX is not opened"},
		{"spec.kafka.metricsConfig", c.MetricsConfig != nil && !f.exports(), f.withoutExporter()},
		{"spec.kafka.quotas", c.Quotas != nil, "set quotas with Kafka's own tools"},
		{"spec.kafka.brokerRackInitImage", c.BrokerRackInitImage != "", "the operator looks up the racks"},
		{"spec.kafka.template.initContainer", t.InitContainer != nil && !f.exports(), noInitContainer},
		{"spec.kafka.template.externalBootstrapRoute", t.ExternalBootstrapRoute != nil, "the operator creates no Routes"},
		{"spec.kafka.template.perPodRoute", t.PerPodRoute != nil, "the operator creates no Routes"},
		{"spec.kafka.template.jmxSecret", t.JmxSecret != nil, "JMX is not opened"},
		{"spec.kafka.template.clusterRoleBinding", t.ClusterRoleBinding != nil, "nodes need no cluster-wide rights"},
		{"spec.kafka.template.clusterCaCert", t.ClusterCaCert != nil &&
			!or(or(spec.ClusterCa, v1.CertificateAuthority{}).GenerateCertificateAuthority, true), "the Secret is your own"},
		{"spec.kafka.authorization.supportsAdminApi", or(c.Authorization, v1.Authorization{}).SupportsAdminAPI != nil,
			"the operator does not manage ACLs"},
		{"spec.entityOperator.userOperator", e.UserOperator != nil, "the operator does not run a user operator"},
		{"spec.entityOperator.topicOperator.logging", to.Logging != nil,
			"set STRIMZI_LOG_LEVEL in .spec.entityOperator.template.topicOperatorContainer.env"},
		{"spec.entityOperator.topicOperator.jvmOptions", to.JvmOptions != nil, "the topic operator is not written in Java"},
		{"spec.entityOperator.template.deployment.deploymentStrategy",
			or(et.Deployment, v1.DeploymentTemplate{}).DeploymentStrategy == appsv1.RollingUpdateDeploymentStrategyType,
			"the old pod of the topic operator always ends before a new one starts"},
		{"spec.entityOperator.template.pod.tmpDirSizeLimit", pod.TmpDirSizeLimit != "", "the topic operator has no such volume"},
		{"spec.entityOperator.template.pod.templatedVolumes", len(pod.TemplatedVolumes) > 0, "use .spec.entityOperator.template.pod.volumes"},
		{"spec.entityOperator.template.userOperatorContainer", et.UserOperatorContainer != nil, "the operator does not run a user operator"},
		{"spec.entityOperator.template.userOperatorRoleBinding", et.UserOperatorRoleBinding != nil, "the operator does not run a user operator"},
		{"spec.entityOperator.template.tlsSidecarContainer", et.TLSSidecarContainer != nil, "there is no sidecar"},
		{"metadata.annotations." + v1.AnnotationInPlaceResizing, v1.IsTrue(f.Kafka.Annotations, v1.AnnotationInPlaceResizing),
			"changed resources restart nodes"},
		{"metadata.annotations." + v1.AnnotationInPlaceResizingWaitForDeferred,
			v1.IsTrue(f.Kafka.Annotations, v1.AnnotationInPlaceResizingWaitForDeferred), "changed resources restart nodes"},
		{"metadata.annotations." + v1.AnnotationInternalClusterSecurity, f.Kafka.Annotations[v1.AnnotationInternalClusterSecurity] != "",
			"nodes always use TLS among themselves"},
	}
}

// unsupportedListener refuses listeners that clients could not reach, and names what of the others has no effect.
func (f *findings) unsupportedListener(i int, l v1.Listener) {
	if l.Type == v1.ListenerRoute || l.Type == v1.ListenerTLSRoute {
		f.fail("RouteUnsupported", v1.ReasonUnsupportedField,
			"listener %s is of type %s, which is not supported: use another type, such as loadbalancer or ingress", l.Name, l.Type)
	}
	if a := l.Authentication; a != nil && len(a.Secrets) > 0 {
		f.ignored(unsupportedField{
			fmt.Sprintf("spec.kafka.listeners[%d].authentication.secrets", i), true,
			"mount the Secrets with template.pod.volumes and template.kafkaContainer.volumeMounts",
		})
	}
}

// deprecated names what only older manifests have.
func (f *findings) deprecated() {
	spec, c := f.Kafka.Spec, f.cluster()
	t := or(c.Template, v1.KafkaClusterTemplate{})
	e := or(spec.EntityOperator, v1.EntityOperatorSpec{})
	to := or(e.TopicOperator, v1.EntityTopicOperatorSpec{})
	for _, l := range c.Listeners {
		if l.Type == v1.ListenerIngress {
			f.warn("IngressDeprecated", v1.ReasonDeprecatedObjects, "ingress type listeners are deprecated.")
			break
		}
	}
	for _, field := range []struct {
		name, path string
		set        bool
		instead    string
	}{
		{"zookeeper", "spec.zookeeper", spec.Zookeeper != nil, "and is ignored"},
		{"jmxTrans", "spec.jmxTrans", spec.JmxTrans != nil, "and is ignored"},
		{"replicas", "spec.kafka.replicas", c.Replicas != nil, "and is ignored: KafkaNodePools say how many nodes there are"},
		{"storage", "spec.kafka.storage", c.Storage != nil, "and is ignored: KafkaNodePools say what storage nodes have"},
		{"resources", "spec.kafka.resources", c.Resources != nil, "and should now be configured in the KafkaNodePools"},
		{"statefulset", "spec.kafka.template.statefulset", t.Statefulset != nil, "and is ignored"},
		{"tlsSidecar", "spec.entityOperator.tlsSidecar", e.TLSSidecar != nil, "and is ignored"},
		{"reconciliationIntervalSeconds", "spec.entityOperator.topicOperator.reconciliationIntervalSeconds",
			to.ReconciliationIntervalSeconds != nil,
			"and should now be configured as reconciliationIntervalMs"},
		{"zookeeperSessionTimeoutSeconds", "spec.entityOperator.topicOperator.zookeeperSessionTimeoutSeconds",
			to.ZookeeperSessionTimeoutSeconds != nil, "and is ignored"},
		{"topicMetadataMaxAttempts", "spec.entityOperator.topicOperator.topicMetadataMaxAttempts", to.TopicMetadataMaxAttempts != nil,
			"and is ignored"},
	} {
		if field.set {
			f.warn("DeprecatedField", v1.ReasonDeprecatedFields,
				"In resource Kafka(%s) in API version %s the %s property at path %s has been deprecated %s.",
				f.key(), v1.GroupVersion, field.name, field.path, field.instead)
		}
	}
	for _, p := range f.Pools {
		for _, v := range volumes(p.Spec.Storage) {
			if len(v.Overrides) > 0 {
				f.warnOf(p, "DeprecatedField", v1.ReasonDeprecatedFields,
					"In resource KafkaNodePool(%s/%s) in API version %s the overrides property at path spec.storage has been deprecated "+
						"and should now be configured by one KafkaNodePool for each storage class.", p.Namespace, p.Name, v1.GroupVersion)
				break
			}
		}
	}
}
