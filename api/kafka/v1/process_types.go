package v1

import corev1 "k8s.io/api/core/v1"

// Probe configures the timing of a container's probe. The operator sets its action.
type Probe struct {
	// Number of seconds after the start of a container before it is first probed. Defaults to 0 for nodes and 10 for the topic operator.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`

	// After how many seconds an answer is too late; 5 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// How many seconds lie between two questions; 5 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`

	// How many good answers in a row are needed after a bad one; 1 when absent. Kubernetes takes no other value for liveness.
	// +optional
	// +kubebuilder:validation:Minimum=1
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`

	// How many bad answers in a row are needed; 3 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// JvmOptions are the options of Java.
type JvmOptions struct {
	// Options that start with -XX: true and false become + and -.
	// +optional
	XX map[string]string `json:"-XX,omitempty"`

	// The largest heap.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]+[mMgG]?$`
	Xmx string `json:"-Xmx,omitempty"`

	// The heap to start with.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]+[mMgG]?$`
	Xms string `json:"-Xms,omitempty"`

	// Whether garbage collection is logged; false when absent.
	// +optional
	GcLoggingEnabled *bool `json:"gcLoggingEnabled,omitempty"`

	// System properties, given by -D.
	// +optional
	// +listType=atomic
	JavaSystemProperties []SystemProperty `json:"javaSystemProperties,omitempty"`
}

// SystemProperty is a system property of Java.
type SystemProperty struct {
	// The name of the property.
	// +optional
	Name string `json:"name,omitempty"`

	// Its value.
	// +optional
	Value string `json:"value,omitempty"`
}

// JmxOptions open the port of JMX.
type JmxOptions struct {
	// How JMX clients authenticate. When absent, they need no authentication.
	// +optional
	Authentication *JmxAuthentication `json:"authentication,omitempty"`
}

// JmxAuthentication configures how JMX clients authenticate.
type JmxAuthentication struct {
	// password: name and password are made by the operator, in the Secret <cluster>-kafka-jmx.
	// +kubebuilder:validation:Enum=password
	Type string `json:"type"`
}

// ExternalConfigurationReference is where a configuration is read from.
type ExternalConfigurationReference struct {
	// A key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *corev1.ConfigMapKeySelector `json:"configMapKeyRef,omitempty"`
}

// The types of MetricsConfig.
const (
	// MetricsJMXPrometheusExporter is Prometheus' exporter of JMX.
	MetricsJMXPrometheusExporter = "jmxPrometheusExporter"
	// MetricsStrimziReporter is Strimzi's reporter.
	MetricsStrimziReporter = "strimziMetricsReporter"
)

// MetricsConfig configures how metrics are exposed.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'jmxPrometheusExporter' || has(self.valueFrom)",message="valueFrom property is required"
type MetricsConfig struct {
	// jmxPrometheusExporter or strimziMetricsReporter.
	// +kubebuilder:validation:Enum=jmxPrometheusExporter;strimziMetricsReporter
	Type string `json:"type"`

	// For jmxPrometheusExporter: where its configuration is read from.
	// +optional
	ValueFrom *ExternalConfigurationReference `json:"valueFrom,omitempty"`

	// For strimziMetricsReporter: its configuration.
	// +optional
	Values *MetricsReporterValues `json:"values,omitempty"`
}

// MetricsReporterValues is the configuration of Strimzi's reporter of metrics.
type MetricsReporterValues struct {
	// Regular expressions of the names of metrics that are exposed.
	// +optional
	// +listType=atomic
	AllowList []string `json:"allowList,omitempty"`
}

// The types of Logging.
const (
	// LoggingInline is by loggers in the object.
	LoggingInline = "inline"
	// LoggingExternal is by a ConfigMap.
	LoggingExternal = "external"
)

// Logging configures the logging.
type Logging struct {
	// inline or external.
	// +kubebuilder:validation:Enum=inline;external
	Type string `json:"type"`

	// For inline: properties of log4j2 that replace or add to the operator's.
	// +optional
	Loggers map[string]string `json:"loggers,omitempty"`

	// For external: where the configuration of log4j2 is read from.
	// +optional
	ValueFrom *ExternalConfigurationReference `json:"valueFrom,omitempty"`
}
