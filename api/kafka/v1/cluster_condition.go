package v1

// The types of conditions on a Kafka object, besides ConditionReady, ConditionReconciliationPaused and ConditionWarning.
const (
	// ConditionUpdatesPending is True while this version of the operator would render nodes differently. The operator does not restart nodes
	// for that; the message lists what would change.
	ConditionUpdatesPending = "UpdatesPending"
)

// The reasons of Ready=False on a Kafka object. Strimzi's are the names of its exceptions, which users' alerts know.
const (
	// ReasonCreating means that the Kafka cluster is being made for the first time. Source: Strimzi.
	ReasonCreating = "Creating"

	// ReasonInvalidResource means that the Kafka object or one of its pools can't be as it is. Source: Strimzi.
	ReasonInvalidResource = "InvalidResourceException"

	// ReasonInvalidConfiguration means that what the objects refer to is missing or can't be as it is. Source: Strimzi.
	ReasonInvalidConfiguration = "InvalidConfigurationException"

	// ReasonUnsupportedKafkaVersion means that the operator does not support the version of Kafka. Source: Strimzi.
	ReasonUnsupportedKafkaVersion = "UnsupportedKafkaVersionException"

	// ReasonKafkaUpgrade means that the version of Kafka can't be changed in this way. Source: Strimzi.
	ReasonKafkaUpgrade = "KafkaUpgradeException"
)

// The reason of Ready=False on a KafkaNodePool alone.
const (
	// ReasonChangeBlocked means that the nodes are as they were before a change of the KafkaNodePool, which can't be made now. A Warning has
	// the same message.
	ReasonChangeBlocked = "ChangeBlocked"
)

// The reasons of Warning=True on a Kafka object or a KafkaNodePool.
const (
	// ReasonDefaultReplicationFactor means that topics have one replica by default. Source: Strimzi.
	ReasonDefaultReplicationFactor = "KafkaDefaultReplicationFactor"

	// ReasonMinInsyncReplicas means that one in-sync replica is enough by default. Source: Strimzi.
	ReasonMinInsyncReplicas = "KafkaMinInsyncReplicas"

	// ReasonInternalTopics means that Kafka can't create its internal topics with the configured replication factor, so clients wait.
	ReasonInternalTopics = "KafkaInternalTopicReplication"

	// ReasonStorage means that data is not safe in the storage, or that a change of the storage is ignored. Source: Strimzi.
	ReasonStorage = "KafkaStorage"

	// ReasonControllerCount means that another number of controllers would be better. Source: Strimzi.
	ReasonControllerCount = "KafkaKRaftControllerNodeCount"

	// ReasonMetadataVersion means that the metadata version is older than Kafka. Source: Strimzi.
	ReasonMetadataVersion = "KafkaMetadataVersion"

	// ReasonInterBrokerProtocolVersion means that inter.broker.protocol.version means nothing. Source: Strimzi.
	ReasonInterBrokerProtocolVersion = "KafkaInterBrokerProtocolVersionInKRaft"

	// ReasonLogMessageFormatVersion means that log.message.format.version means nothing. Source: Strimzi.
	ReasonLogMessageFormatVersion = "KafkaLogMessageFormatVersionInKRaft"

	// ReasonDeprecatedObjects means that something is deprecated: it will be removed. Source: Strimzi.
	ReasonDeprecatedObjects = "DeprecatedObjects"

	// ReasonDeprecatedFields means that a field is deprecated: it will be removed. Source: Strimzi.
	ReasonDeprecatedFields = "DeprecatedFields"

	// ReasonUnknownFields means that a field is unknown. Source: Strimzi.
	ReasonUnknownFields = "UnknownFields"

	// ReasonUnsupportedField means that a field is known, and that this operator does nothing about it.
	ReasonUnsupportedField = "UnsupportedField"

	// ReasonForbiddenConfig means that a key of the configuration is ignored, because the operator sets it.
	ReasonForbiddenConfig = "ForbiddenConfig"

	// ReasonQuotasPlugin means that quotas are configured in two places. Source: Strimzi.
	ReasonQuotasPlugin = "QuotasPluginConflict"

	// ReasonScaleDownPrevented means that nodes stay, or stay brokers, because they hold replicas of partitions. Source: Strimzi.
	ReasonScaleDownPrevented = "ScaleDownPreventionCheck"

	// ReasonScaleUpPrevented means that nodes are not added: they would be voters of the controller quorum, or no id is known to be free.
	ReasonScaleUpPrevented = "ScaleUpPrevented"

	// ReasonPVCResizing means that a volume can't grow. Source: Strimzi.
	ReasonPVCResizing = "PvcResizingWarning"

	// ReasonMetadataUpdateFailed means that Kafka refused a metadata version. Source: Strimzi.
	ReasonMetadataUpdateFailed = "MetadataUpdateFailed"
)
