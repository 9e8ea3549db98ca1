package v1

// The types of conditions on a Kafka object, besides ConditionReady, ConditionReconciliationPaused and ConditionWarning.
const (
	// ConditionNotReady is True, with a reason and a message, as long as the Kafka cluster is not as its object says. Source: Strimzi.
	ConditionNotReady = "NotReady"

	// ConditionUpdatesPending is True as long as nodes would be made otherwise by this version of the operator, which restarts nothing of its own accord.
	// The message says what would change.
	ConditionUpdatesPending = "UpdatesPending"
)

// The reasons of NotReady=True on a Kafka object. Strimzi's are the names of its exceptions, which users' alerts know.
const (
	// ReasonCreating says that the Kafka cluster is being made for the first time. Source: Strimzi.
	ReasonCreating = "Creating"

	// ReasonInvalidResource says that the Kafka object or one of its pools can't be as it is. Source: Strimzi.
	ReasonInvalidResource = "InvalidResourceException"

	// ReasonInvalidConfiguration says that what the objects refer to is missing or can't be as it is. Source: Strimzi.
	ReasonInvalidConfiguration = "InvalidConfigurationException"

	// ReasonUnsupportedKafkaVersion says that the operator does not support the version of Kafka. Source: Strimzi.
	ReasonUnsupportedKafkaVersion = "UnsupportedKafkaVersionException"

	// ReasonKafkaUpgrade says that the version of Kafka can't be changed in this way. Source: Strimzi.
	ReasonKafkaUpgrade = "KafkaUpgradeException"
)

// The reasons of Warning=True on a Kafka object or a KafkaNodePool.
const (
	// ReasonDefaultReplicationFactor says that topics have one replica by default. Source: Strimzi.
	ReasonDefaultReplicationFactor = "KafkaDefaultReplicationFactor"

	// ReasonMinInsyncReplicas says that one in-sync replica is enough by default. Source: Strimzi.
	ReasonMinInsyncReplicas = "KafkaMinInsyncReplicas"

	// ReasonInternalTopics says that Kafka's own topics can't have as many replicas as they are to have, and why clients wait.
	ReasonInternalTopics = "KafkaInternalTopicReplication"

	// ReasonStorage says that data is not safe in the storage, or that a change of the storage is ignored. Source: Strimzi.
	ReasonStorage = "KafkaStorage"

	// ReasonControllerCount says that another number of controllers would be better. Source: Strimzi.
	ReasonControllerCount = "KafkaKRaftControllerNodeCount"

	// ReasonMetadataVersion says that the metadata version is older than Kafka. Source: Strimzi.
	ReasonMetadataVersion = "KafkaMetadataVersion"

	// ReasonInterBrokerProtocolVersion says that inter.broker.protocol.version means nothing. Source: Strimzi.
	ReasonInterBrokerProtocolVersion = "KafkaInterBrokerProtocolVersionInKRaft"

	// ReasonLogMessageFormatVersion says that log.message.format.version means nothing. Source: Strimzi.
	ReasonLogMessageFormatVersion = "KafkaLogMessageFormatVersionInKRaft"

	// ReasonDeprecatedObjects says that something is still supported and will not be. Source: Strimzi.
	ReasonDeprecatedObjects = "DeprecatedObjects"

	// ReasonDeprecatedFields says that a field is still understood and will not be. Source: Strimzi.
	ReasonDeprecatedFields = "DeprecatedFields"

	// ReasonUnknownFields says that nobody knows a field. Source: Strimzi.
	ReasonUnknownFields = "UnknownFields"

	// ReasonUnsupportedField says that a field is known, and that this operator does nothing about it.
	ReasonUnsupportedField = "UnsupportedField"

	// ReasonForbiddenConfig says that a key of the configuration is ignored, because the operator sets it.
	ReasonForbiddenConfig = "ForbiddenConfig"

	// ReasonQuotasPlugin says that quotas are configured in two places. Source: Strimzi.
	ReasonQuotasPlugin = "QuotasPluginConflict"

	// ReasonScaleDownPrevented says that nodes stay, or stay brokers, because they hold replicas of partitions. Source: Strimzi.
	ReasonScaleDownPrevented = "ScaleDownPreventionCheck"

	// ReasonPVCResizing says that a volume can't grow. Source: Strimzi.
	ReasonPVCResizing = "PvcResizingWarning"

	// ReasonMetadataUpdateFailed says that Kafka refused a metadata version. Source: Strimzi.
	ReasonMetadataUpdateFailed = "MetadataUpdateFailed"
)
