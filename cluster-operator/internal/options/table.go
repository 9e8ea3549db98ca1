package options

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

func (o *Options) table() settings.Table {
	return settings.Table{
		Program: "cluster-operator", Summary: "cluster-operator creates and manages the Kafka clusters of Kafka and KafkaNodePool objects.",
		Hints: settings.CommonHints(),
		Groups: []settings.Group{
			{Title: "What is watched", Settings: o.scope()},
			{Title: "Images", Settings: o.imageSettings()},
			{Title: "What is created", Settings: o.made()},
			{Title: "Several Kubernetes clusters", Settings: o.stretch()},
			{Title: "Time", Settings: o.times()},
			{Title: "Replicas", Settings: election.Settings(&o.Election, name)},
			{Title: "Observation", Settings: append(logging.Settings(&o.Log), manager.Settings(&o.HTTP)...)},
			{Title: "Accepted without effect", Settings: withoutEffect()},
		},
	}
}

func (o *Options) scope() []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_NAMESPACE", Default: "*", Parse: settings.Into(&o.Namespaces, settings.ParseNamespaces),
			Doc: "The namespaces whose Kafka objects are reconciled: one, a comma-separated list, or `*` for all."},
		{Env: "STRIMZI_CUSTOM_RESOURCE_SELECTOR", DefaultDoc: "all", Parse: settings.Into(&o.Selector, settings.ParseSelector),
			Doc: "Labels that a Kafka must have, as comma-separated `key=value` pairs. One that loses them is reconciled no more."},
		{Env: "STRIMZI_POD_SET_RECONCILIATION_ONLY", Default: "false", Boolean: true, Parse: settings.Into(&o.PodSetsOnly, settings.Bool),
			Doc: "Whether to reconcile StrimziPodSets only: the operator recreates pods and changes nothing else."},
	}
}

const envTopicOperatorImage = "STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE"

func (o *Options) imageSettings() []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_KAFKA_IMAGES", Default: "4.2.0=docker.io/apache/kafka:4.2.0 4.2.1=docker.io/apache/kafka:4.2.1 " +
			"4.3.0=docker.io/apache/kafka:4.3.0 4.3.1=docker.io/apache/kafka:4.3.1", Parse: settings.Into(&o.Images, images),
			Doc: "The supported versions of Kafka and their images, as whitespace-separated `version=image`. A Kafka without a version " +
				"starts with the latest. " +
				"A changed image alone does not restart nodes."},
		{Env: envTopicOperatorImage, Default: "kafka-operators/topic-operator:" + build.Release,
			Parse: settings.Into(&o.TopicOperatorImage, image),
			Doc:   "The image of topic operators (`.spec.entityOperator.topicOperator`)."},
		{Env: "STRIMZI_JMX_EXPORTER_IMAGE", Default: OwnImage, Added: true, Parse: settings.Into(&o.ExporterImage, exporterImage),
			Doc: "The image with the JMX exporter for nodes of Kafkas with `metricsConfig`. `own` is the image of the operator's own " +
				"pod; `none` disables the exporter."},
		{Env: "STRIMZI_IMAGE_PULL_POLICY", DefaultDoc: "Kubernetes'",
			Parse: settings.Into(&o.PullPolicy, settings.Choice("pull policy", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)),
			Doc:   "The pull policy of all containers."},
		{Env: "STRIMZI_IMAGE_PULL_SECRETS", DefaultDoc: "none", Parse: settings.Into(&o.PullSecrets, pullSecrets),
			Doc: "The image pull Secrets, separated by commas, of pods whose template has none."},
	}
}

func (o *Options) made() []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_NETWORK_POLICY_GENERATION", Default: "true", Boolean: true, Parse: settings.Into(&o.NetworkPolicies, settings.Bool),
			Doc: "Whether to create NetworkPolicies."},
		{Env: "STRIMZI_POD_DISRUPTION_BUDGET_GENERATION", Default: "true", Boolean: true,
			Parse: settings.Into(&o.DisruptionBudgets, settings.Bool),
			Doc:   "Whether to create PodDisruptionBudgets."},
		{Env: "STRIMZI_POD_SECURITY_PROVIDER_CLASS", Default: "baseline", Parse: settings.Into(&o.Restricted, restricted),
			Doc: "The Pod Security Standard that pods comply with where their templates have no security contexts: `baseline` or `restricted`. " +
				"A changed setting alone does not restart nodes."},
		{Env: "STRIMZI_PKCS12_KEYSTORE_GENERATION", Default: "true", Boolean: true, Parse: settings.Into(&o.PKCS12, settings.Bool),
			Doc: "Whether the Secrets of CAs also contain their certificates as PKCS #12 stores."},
		{Env: "STRIMZI_ROLLER_SERVICE_ACCOUNT", Default: ownRoller, Added: true, Parse: settings.Into(&o.RollerAccount, rollerAccount),
			Doc: "The ServiceAccount of the roller, as `namespace/name`, which gets a Role for each Kafka. NetworkPolicies admit the roller from " +
				"that namespace. `own` is `roller` in the operator's own namespace; `none` creates no Roles."},
		{Env: "STRIMZI_OPERATOR_NAMESPACE", DefaultDoc: "the operator's own", Parse: settings.Into(&o.OperatorNamespace, settings.Namespace),
			Doc: "The namespace of the operator's pods, for NetworkPolicies. The operator's Lease is there, too, here and in remote clusters, " +
				"and what the settings of stretched Kafkas name."},
		{Env: "STRIMZI_OPERATOR_NAMESPACE_LABELS", DefaultDoc: "none", Parse: settings.Into(&o.OperatorLabels, settings.ParseSelector),
			Doc: "The labels that select that namespace in NetworkPolicies, as comma-separated `key=value` pairs. Without it, they admit any " +
				"namespace."},
		{Env: "STRIMZI_LABELS_EXCLUSION_PATTERN",
			Default: `^(app\.kubernetes\.io/.*|argocd\.argoproj\.io/.*|kustomize\.toolkit\.fluxcd\.io.*)`,
			Parse:   settings.Into(&o.ExcludedLabels, pattern),
			Doc: "A regular expression (RE2): labels of Kafka and KafkaNodePool objects whose whole key it matches are not copied to the created " +
				"objects."},
		{Env: "KUBERNETES_SERVICE_DNS_DOMAIN", Default: "cluster.local", Parse: settings.Into(&o.DNSDomain, domain),
			Doc: "The DNS domain of the Kubernetes cluster."},
	}
}

// Variables of stretched Kafkas.
const (
	envCentral     = "STRIMZI_CENTRAL_CLUSTER_ID"
	envRemotes     = "STRIMZI_REMOTE_KUBE_CONFIG"
	envRemotesFrom = "STRIMZI_REMOTE_KUBE_CONFIG_MAP"
	envProvider    = "STRIMZI_STRETCH_PLUGIN_CLASS_NAME"
	envPath        = "STRIMZI_STRETCH_PLUGIN_CLASS_PATH"
)

func (o *Options) stretch() []settings.Setting {
	return []settings.Setting{
		{Env: envCentral, DefaultDoc: "none", Parse: settings.Into(&o.Stretch.Central, clusters.ParseID),
			Doc: "The id of the Kubernetes cluster that the operator runs in, which pools refer to. Required for Kafkas stretched over several " +
				"Kubernetes clusters, as are the list of the others, the network provider, and the path of provider programs."},
		{Env: envRemotes, DefaultDoc: "none", Parse: settings.Into(&o.Stretch.Remotes, clusters.ParseRemotes),
			Doc: "The other Kubernetes clusters: a line `<id>.url=<address of the API server>` and a line `<id>.secret=<name>` for each. The " +
				"Secret is in the operator's namespace and has a kubeconfig under the key `kubeconfig`; the operator reloads a changed one " +
				"immediately."},
		{Env: envRemotesFrom, DefaultDoc: "none", Added: true, Parse: settings.Into(&o.Stretch.RemotesFrom, settings.Name),
			Doc: "Instead of `STRIMZI_REMOTE_KUBE_CONFIG`: a ConfigMap in the operator's namespace that holds the same text under the key " +
				"`clusters`. Kubernetes clusters join and leave when it changes, without a restart."},
		{Env: envProvider, DefaultDoc: "none", Parse: settings.Into(&o.Stretch.Provider, settings.Text),
			Doc: "The network provider through which nodes reach each other: `nodeport`, `loadbalancer`, `mcs`, the name of a program, or the " +
				"Java " +
				"class name that Strimzi uses."},
		{Env: envPath, DefaultDoc: "none", Parse: settings.Into(&o.Stretch.Path, settings.Text),
			Doc: "The path of network provider programs: files, and directories followed by `/*`, separated by colons. It may contain a " +
				"directory that is " +
				"empty."},
		{Env: "STRIMZI_STRETCH_NETWORK_CONFIG_MAP", DefaultDoc: "none", Parse: settings.Into(&o.Stretch.Settings, settings.Name),
			Doc: "A ConfigMap in the operator's namespace with the provider's settings. Changes take effect without a restart; wrong settings " +
				"are refused, and the earlier ones stay in use."},
	}
}

func (o *Options) times() []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_FULL_RECONCILIATION_INTERVAL_MS", Default: "120000", Parse: settings.Into(&o.Interval, settings.Millis(1)),
			Doc: "How often each Kafka is reconciled without an event, in milliseconds. The operator reverts changes of others without waiting " +
				"for it."},
		{Env: "STRIMZI_OPERATION_TIMEOUT_MS", Default: "300000", Parse: settings.Into(&o.OperationTimeout, settings.Millis(1)),
			Doc: "How long a new node waits for the address of a load balancer, in milliseconds. It then starts without that listener, and gets " +
				"it later. Also how long a listener that got another type keeps nodes as they are, and how long a pod advertises an address that " +
				"its Kubernetes node lost before it is restarted."},
		{Env: "STRIMZI_OPERATIONS_THREAD_POOL_SIZE", Default: "10", Parse: settings.Into(&o.Concurrency, settings.Positive),
			Doc: "How many Kafkas are reconciled at the same time."},
	}
}

// withoutEffect returns variables that Strimzi's users set and that mean nothing here.
func withoutEffect() []settings.Setting {
	var all []settings.Setting
	for _, s := range [][2]string{
		{"STRIMZI_DEFAULT_USER_OPERATOR_IMAGE", "The user operator is not supported."},
		{"STRIMZI_DEFAULT_KAFKA_INIT_IMAGE", "Kafka's image formats the volumes; the JMX exporter comes from the operator's own image."},
		{"STRIMZI_DEFAULT_KAFKA_EXPORTER_IMAGE", "Kafka Exporter is not supported."},
		{"STRIMZI_DEFAULT_CRUISE_CONTROL_IMAGE", "Cruise Control is not supported."},
		{"STRIMZI_DEFAULT_KAFKA_BRIDGE_IMAGE", "KafkaBridge is not supported."},
		{"STRIMZI_DEFAULT_KANIKO_EXECUTOR_IMAGE", "KafkaConnect is not supported."},
		{"STRIMZI_DEFAULT_MAVEN_BUILDER", "KafkaConnect is not supported."},
		{"STRIMZI_KAFKA_CONNECT_IMAGES", "KafkaConnect is not supported."},
		{"STRIMZI_KAFKA_MIRROR_MAKER_2_IMAGES", "KafkaMirrorMaker2 is not supported."},
		{"STRIMZI_CUSTOM_KAFKA_LABELS", "Pods of nodes get labels from `template.pod.metadata.labels`."},
		{"STRIMZI_CUSTOM_ENTITY_OPERATOR_LABELS", "The topic operator's pod gets labels from `entityOperator.template.pod.metadata.labels`."},
		{"STRIMZI_FEATURE_GATES", "There are no feature gates."},
		{"STRIMZI_POD_SET_CONTROLLER_WORK_QUEUE_SIZE", "The queue holds each StrimziPodSet at most once."},
		{"STRIMZI_OPERATOR_NAME", "Logs and metrics carry the pod's name."},
		{"STRIMZI_ENTITY_OPERATOR_WATCHED_NAMESPACE_ENABLED", "A topic operator may watch another namespace if its role allows that."},
	} {
		all = append(all, settings.Setting{Env: s[0], DefaultDoc: "none", Parse: settings.Ignored, Doc: s[1]})
	}
	return all
}
