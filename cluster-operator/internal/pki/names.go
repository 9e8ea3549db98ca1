package pki

// Annotations of Secrets. Those of pods are in package api/core/v1.
const (
	// AnnotationDistrustPending is "true" while a key that a user asked to replace is still trusted; on the Secret that holds the CA's key.
	// Source: docs/decisions/ca-replacement.md.
	AnnotationDistrustPending = "kafka-operators.io/distrust-pending"
	// AnnotationDistrustedKey is the newest key generation that no running node may trust any more; on the Secret that holds the CA's key, and
	// on pods. Source: docs/decisions/ca-replacement.md.
	AnnotationDistrustedKey = "kafka-operators.io/distrusted-ca-key-generation"
	// AnnotationTemplate names the labels and annotations that a Secret has from a template of the user's, in JSON, so that they go with it.
	AnnotationTemplate = "kafka-operators.io/template"
	// AnnotationLabels names the labels that a Secret has from the Kafka, separated by commas, so that they go with it.
	AnnotationLabels = "kafka-operators.io/copied-labels"
	// AnnotationStore identifies the PKCS #12 store that a Secret has, with its password and certificates, so that it is made again if
	// somebody changes one of them.
	AnnotationStore = "kafka-operators.io/store"
)

// Entries of Secrets. Source: Strimzi.
const (
	entryKey       = "ca.key"
	entryCert      = "ca.crt"
	entryStore     = "ca.p12"
	entryPassword  = "ca.password"
	suffixCert     = ".crt"
	suffixKey      = ".key"
	organization   = "io.strimzi"
	bundleCluster  = "cluster-ca.crt"
	bundleClients  = "clients-ca.crt"
	entryOperator  = "cluster-operator"
	entryEntity    = "entity-operator"
	retainedLayout = "2006-01-02T15-04-05Z"
)

// ClusterCAKeySecret names the Secret with the key of the cluster CA. It stays in the central Kubernetes cluster.
func ClusterCAKeySecret(cluster string) string { return cluster + "-cluster-ca" }

// ClusterCACertSecret names the Secret with the certificates of the cluster CA, which clients trust.
func ClusterCACertSecret(cluster string) string { return cluster + "-cluster-ca-cert" }

// ClientsCAKeySecret names the Secret with the key of the clients CA. It stays in the central Kubernetes cluster.
func ClientsCAKeySecret(cluster string) string { return cluster + "-clients-ca" }

// ClientsCACertSecret names the Secret with the certificates of the clients CA, which brokers trust.
func ClientsCACertSecret(cluster string) string { return cluster + "-clients-ca-cert" }

// CASecrets names the Secrets of both CAs.
func CASecrets(cluster string) []string {
	return []string{ClusterCAKeySecret(cluster), ClusterCACertSecret(cluster), ClientsCAKeySecret(cluster), ClientsCACertSecret(cluster)}
}

// TrustBundleSecret names the Secret with what nodes trust.
func TrustBundleSecret(cluster string) string { return cluster + "-trustbundle" }

// OperatorSecret names the Secret with the certificate by which the operators and the roller are known to nodes.
func OperatorSecret(cluster string) string { return cluster + "-cluster-operator-certs" }

// TopicOperatorSecret names the Secret with the certificate of the cluster's topic operator.
func TopicOperatorSecret(cluster string) string { return cluster + "-entity-topic-operator-certs" }
