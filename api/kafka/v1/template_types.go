package v1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MetadataTemplate has additional labels and annotations of a generated object.
type MetadataTemplate struct {
	// Labels added to the object. Those that start with strimzi.io/ are refused.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations added to the object. Those that start with strimzi.io/ are refused.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ResourceTemplate customizes a generated object that has no other settings.
type ResourceTemplate struct {
	// Labels and annotations.
	// +optional
	Metadata *MetadataTemplate `json:"metadata,omitempty"`
}

// InternalServiceTemplate customizes a Service inside the Kubernetes cluster.
type InternalServiceTemplate struct {
	// Labels and annotations.
	// +optional
	Metadata *MetadataTemplate `json:"metadata,omitempty"`

	// The IP family policy of the Service.
	// +optional
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	IPFamilyPolicy corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`

	// The IP families of the Service.
	// +optional
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +listType=atomic
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`
}

// PodDisruptionBudgetTemplate customizes a PodDisruptionBudget.
type PodDisruptionBudgetTemplate struct {
	// Labels and annotations.
	// +optional
	Metadata *MetadataTemplate `json:"metadata,omitempty"`

	// How many pods may be evicted at a time, in each Kubernetes cluster; 1 when absent, and 0 for a Kafka that is stretched over several of
	// them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// DeploymentTemplate customizes a Deployment.
type DeploymentTemplate struct {
	// Labels and annotations.
	// +optional
	Metadata *MetadataTemplate `json:"metadata,omitempty"`

	// How the Deployment replaces its pods.
	// +optional
	// +kubebuilder:validation:Enum=RollingUpdate;Recreate
	DeploymentStrategy appsv1.DeploymentStrategyType `json:"deploymentStrategy,omitempty"`
}

// ContainerTemplate customizes a container.
type ContainerTemplate struct {
	// Environment variables. Those that the operator sets itself are kept.
	// +optional
	// +listType=atomic
	Env []ContainerEnvVar `json:"env,omitempty"`

	// The security context of the container, instead of the operator's.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// Where volumes of the pod are mounted: below /mnt.
	// +optional
	// +listType=atomic
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// ContainerEnvVar is an environment variable of a container.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.value) && has(self.valueFrom))",message="value and valueFrom exclude each other"
type ContainerEnvVar struct {
	// The name of the variable.
	// +optional
	Name string `json:"name,omitempty"`

	// Its value.
	// +optional
	Value string `json:"value,omitempty"`

	// Where its value is read from.
	// +optional
	ValueFrom *ContainerEnvVarSource `json:"valueFrom,omitempty"`
}

// ContainerEnvVarSource is where the value of an environment variable is read from.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) != has(self.configMapKeyRef)",message="one of secretKeyRef and configMapKeyRef is required"
type ContainerEnvVarSource struct {
	// A key of a Secret.
	// +optional
	SecretKeyRef *corev1.SecretKeySelector `json:"secretKeyRef,omitempty"`

	// A key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *corev1.ConfigMapKeySelector `json:"configMapKeyRef,omitempty"`
}

// PodTemplate customizes a pod.
type PodTemplate struct {
	// Labels and annotations.
	// +optional
	Metadata *MetadataTemplate `json:"metadata,omitempty"`

	// The Secrets with which images are pulled, instead of the operator's.
	// +optional
	// +listType=atomic
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// The security context of the pod, instead of the operator's. A node's gets the fsGroup and user that Kafka's image needs, if it has none.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// How many seconds a node has to stop; 30 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// To which Kubernetes nodes the pod is drawn, and which it avoids.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Which taints of Kubernetes nodes the pod tolerates.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// How pods are spread.
	// +optional
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// The name of the priority class.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The name of the scheduler.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`

	// More names of hosts.
	// +optional
	// +listType=atomic
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`

	// The DNS policy of the pod.
	// +optional
	// +kubebuilder:validation:Enum=ClusterFirst;ClusterFirstWithHostNet;Default;None
	DNSPolicy corev1.DNSPolicy `json:"dnsPolicy,omitempty"`

	// The DNS configuration of the pod.
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`

	// Whether Services are written into environment variables.
	// +optional
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty"`

	// The size of /tmp; 5Mi when absent.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$`
	TmpDirSizeLimit string `json:"tmpDirSizeLimit,omitempty"`

	// More volumes, to be mounted by volumeMounts of the containers.
	// +optional
	// +listType=atomic
	Volumes []AdditionalVolume `json:"volumes,omitempty"`

	// More volumes, of which each node has its own: {nodeId} and {nodePodName} are replaced in the names of their sources.
	// +optional
	// +listType=atomic
	TemplatedVolumes []TemplatedVolume `json:"templatedVolumes,omitempty"`

	// Whether the pod uses the user namespace of its Kubernetes node.
	// +optional
	HostUsers *bool `json:"hostUsers,omitempty"`
}

// AdditionalVolume is a volume of a pod. It has one source.
type AdditionalVolume struct {
	// The name of the volume.
	// +optional
	Name string `json:"name,omitempty"`

	// A Secret.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// A ConfigMap.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// An empty directory.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`

	// A PersistentVolumeClaim.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`

	// A volume of a CSI driver.
	// +optional
	CSI *corev1.CSIVolumeSource `json:"csi,omitempty"`

	// The files of a container image.
	// +optional
	Image *corev1.ImageVolumeSource `json:"image,omitempty"`

	// The files of several sources.
	// +optional
	Projected *ProjectedVolume `json:"projected,omitempty"`
}

// ProjectedVolume has the files of several sources in one directory.
type ProjectedVolume struct {
	// The sources.
	// +optional
	// +listType=atomic
	Sources []ProjectedSource `json:"sources,omitempty"`
}

// ProjectedSource is a source of a ProjectedVolume.
type ProjectedSource struct {
	// A token of the pod's ServiceAccount.
	// +optional
	ServiceAccountToken *corev1.ServiceAccountTokenProjection `json:"serviceAccountToken,omitempty"`
}

// TemplatedVolume is a volume of which each node has its own. It has one source.
type TemplatedVolume struct {
	// The name of the volume.
	// +optional
	Name string `json:"name,omitempty"`

	// A Secret.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// A ConfigMap.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// A PersistentVolumeClaim.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
}

// KafkaNodePoolTemplate customizes the objects generated for a pool. Each key replaces that of the Kafka object.
type KafkaNodePoolTemplate struct {
	// The StrimziPodSet.
	// +optional
	PodSet *ResourceTemplate `json:"podSet,omitempty"`
	// The pods.
	// +optional
	Pod *PodTemplate `json:"pod,omitempty"`
	// The Services of single brokers.
	// +optional
	PerPodService *ResourceTemplate `json:"perPodService,omitempty"`
	// The Routes of single brokers.
	// +optional
	PerPodRoute *ResourceTemplate `json:"perPodRoute,omitempty"`
	// The Ingresses of single brokers.
	// +optional
	PerPodIngress *ResourceTemplate `json:"perPodIngress,omitempty"`
	// The claims of persistent volumes.
	// +optional
	PersistentVolumeClaim *ResourceTemplate `json:"persistentVolumeClaim,omitempty"`
	// The container of Kafka.
	// +optional
	KafkaContainer *ContainerTemplate `json:"kafkaContainer,omitempty"`
	// The init container.
	// +optional
	InitContainer *ContainerTemplate `json:"initContainer,omitempty"`
}

// KafkaClusterTemplate customizes the objects that the operator generates for a Kafka cluster.
type KafkaClusterTemplate struct {
	// The StrimziPodSets.
	// +optional
	PodSet *ResourceTemplate `json:"podSet,omitempty"`
	// The pods.
	// +optional
	Pod *PodTemplate `json:"pod,omitempty"`
	// The bootstrap Service inside of the Kubernetes cluster.
	// +optional
	BootstrapService *InternalServiceTemplate `json:"bootstrapService,omitempty"`
	// The headless Service of the nodes.
	// +optional
	BrokersService *InternalServiceTemplate `json:"brokersService,omitempty"`
	// The bootstrap Services of listeners to the outside.
	// +optional
	ExternalBootstrapService *ResourceTemplate `json:"externalBootstrapService,omitempty"`
	// The Services of individual brokers.
	// +optional
	PerPodService *ResourceTemplate `json:"perPodService,omitempty"`
	// The bootstrap Routes.
	// +optional
	ExternalBootstrapRoute *ResourceTemplate `json:"externalBootstrapRoute,omitempty"`
	// The Routes of single brokers.
	// +optional
	PerPodRoute *ResourceTemplate `json:"perPodRoute,omitempty"`
	// The bootstrap Ingresses.
	// +optional
	ExternalBootstrapIngress *ResourceTemplate `json:"externalBootstrapIngress,omitempty"`
	// The Ingresses of single brokers.
	// +optional
	PerPodIngress *ResourceTemplate `json:"perPodIngress,omitempty"`
	// The claims of persistent volumes.
	// +optional
	PersistentVolumeClaim *ResourceTemplate `json:"persistentVolumeClaim,omitempty"`
	// The PodDisruptionBudget of all nodes.
	// +optional
	PodDisruptionBudget *PodDisruptionBudgetTemplate `json:"podDisruptionBudget,omitempty"`
	// The container of Kafka.
	// +optional
	KafkaContainer *ContainerTemplate `json:"kafkaContainer,omitempty"`
	// The init container.
	// +optional
	InitContainer *ContainerTemplate `json:"initContainer,omitempty"`
	// The Secret of the cluster CA's certificate.
	// +optional
	ClusterCaCert *ResourceTemplate `json:"clusterCaCert,omitempty"`
	// The ServiceAccount of the nodes.
	// +optional
	ServiceAccount *ResourceTemplate `json:"serviceAccount,omitempty"`
	// The Secret for access by JMX.
	// +optional
	JmxSecret *ResourceTemplate `json:"jmxSecret,omitempty"`
	// The ClusterRoleBinding of the nodes.
	// +optional
	ClusterRoleBinding *ResourceTemplate `json:"clusterRoleBinding,omitempty"`
	// Ignored: there are no StatefulSets. In v1beta2 only.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Statefulset *runtime.RawExtension `json:"statefulset,omitempty"`
}
