package kafka

// The codes that this module's packages use by name. The table below has all codes.
const (
	CodeUnknownServer               int16 = -1
	CodeUnknownTopicOrPartition     int16 = 3
	CodeNotLeaderOrFollower         int16 = 6
	CodeRequestTimedOut             int16 = 7
	CodeInvalidTopic                int16 = 17
	CodeTopicAuthorizationFailed    int16 = 29
	CodeClusterAuthorization        int16 = 31
	CodeUnsupportedVersion          int16 = 35
	CodeTopicAlreadyExists          int16 = 36
	CodeInvalidPartitions           int16 = 37
	CodeInvalidReplicationFactor    int16 = 38
	CodeInvalidReplicaAssignment    int16 = 39
	CodeInvalidConfig               int16 = 40
	CodeNotController               int16 = 41
	CodeInvalidRequest              int16 = 42
	CodePolicyViolation             int16 = 44
	CodeSASLAuthenticationFailed    int16 = 58
	CodeTopicDeletionDisabled       int16 = 73
	CodePreferredLeaderNotAvailable int16 = 80
	CodeElectionNotNeeded           int16 = 84
	CodeThrottlingQuotaExceeded     int16 = 89
	CodeInvalidUpdateVersion        int16 = 95
	CodeUnknownTopicID              int16 = 100
	CodeBrokerIDNotRegistered       int16 = 102
)

// NewError returns the error for a code that a broker sent. The message is the broker's; if it is empty, it is the text that Kafka's own
// clients print for the code. A code that this module does not know is of ClassUnknown.
func NewError(code int16, message string) *Error {
	known, ok := codes[code]
	if !ok {
		known = exception{"UnknownServerException", ClassUnknown, "The broker sent an error code that this client does not know."}
	}
	if message == "" {
		message = known.text
	}
	return &Error{Code: code, Name: known.name, Message: message, Class: known.class}
}

// exception is the exception of Kafka's Java clients for a code.
type exception struct {
	name  string
	class Class
	text  string
}

// codes are all error codes of Apache Kafka 4.3 (org.apache.kafka.common.protocol.Errors). A class may differ from Java's "retriable": a
// missing topic or resource is of ClassNotFound, because our callers decide upon that.
var codes = map[int16]exception{
	-1: {"UnknownServerException", ClassUnknown, "The server experienced an unexpected error when processing the request."},
	1:  {"OffsetOutOfRangeException", ClassInvalid, "The requested offset is not within the range of offsets maintained by the server."},
	2: {"CorruptRecordException", ClassRetriable,
		"This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or is otherwise corrupt."},
	3: {"UnknownTopicOrPartitionException", ClassNotFound, "This server does not host this topic-partition."},
	4: {"InvalidFetchSizeException", ClassInvalid, "The requested fetch size is invalid."},
	5: {"LeaderNotAvailableException", ClassRetriable,
		"There is no leader for this topic-partition as we are in the middle of a leadership election."},
	6: {"NotLeaderOrFollowerException", ClassRetriable,
		"For requests intended only for the leader, this error indicates that the broker is not the current leader. For requests intended for " +
			"any replica, this error indicates that the broker is not a replica of the topic partition."},
	7:  {"TimeoutException", ClassRetriable, "The request timed out."},
	8:  {"BrokerNotAvailableException", ClassRetriable, "The broker is not available."},
	9:  {"ReplicaNotAvailableException", ClassRetriable, "The replica is not available for the requested topic-partition."},
	10: {"RecordTooLargeException", ClassInvalid, "The request included a message larger than the max message size the server will accept."},
	11: {"ControllerMovedException", ClassRetriable, "The controller moved to another broker."},
	12: {"OffsetMetadataTooLarge", ClassInvalid, "The metadata field of the offset request was too large."},
	13: {"NetworkException", ClassRetriable, "The server disconnected before a response was received."},
	14: {"CoordinatorLoadInProgressException", ClassRetriable, "The coordinator is loading and hence can't process requests."},
	15: {"CoordinatorNotAvailableException", ClassRetriable, "The coordinator is not available."},
	16: {"NotCoordinatorException", ClassRetriable, "This is not the correct coordinator."},
	17: {"InvalidTopicException", ClassInvalid, "The request attempted to perform an operation on an invalid topic."},
	18: {"RecordBatchTooLargeException", ClassInvalid,
		"The request included message batch larger than the configured segment size on the server."},
	19: {"NotEnoughReplicasException", ClassRetriable, "Messages are rejected since there are fewer in-sync replicas than required."},
	20: {"NotEnoughReplicasAfterAppendException", ClassRetriable,
		"Messages are written to the log, but to fewer in-sync replicas than required."},
	21: {"InvalidRequiredAcksException", ClassInvalid, "Produce request specified an invalid value for required acks."},
	22: {"IllegalGenerationException", ClassInvalid, "Specified group generation id is not valid."},
	23: {"InconsistentGroupProtocolException", ClassInvalid,
		"The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty " +
			"protocol type or empty protocol list."},
	24: {"InvalidGroupIdException", ClassInvalid, "The configured groupID is invalid."},
	25: {"UnknownMemberIdException", ClassInvalid, "The coordinator is not aware of this member."},
	26: {"InvalidSessionTimeoutException", ClassInvalid,
		"The session timeout is not within the range allowed by the broker (as configured by group.min.session.timeout.ms and " +
			"group.max.session.timeout.ms)."},
	27: {"RebalanceInProgressException", ClassRetriable, "The group is rebalancing, so a rejoin is needed."},
	28: {"InvalidCommitOffsetSizeException", ClassInvalid, "The committing offset data size is not valid."},
	29: {"TopicAuthorizationException", ClassForbidden, "Topic authorization failed."},
	30: {"GroupAuthorizationException", ClassForbidden, "Group authorization failed."},
	31: {"ClusterAuthorizationException", ClassForbidden, "Cluster authorization failed."},
	32: {"InvalidTimestampException", ClassInvalid, "The timestamp of the message is out of acceptable range."},
	33: {"UnsupportedSaslMechanismException", ClassAuthentication, "The broker does not support the requested SASL mechanism."},
	34: {"IllegalSaslStateException", ClassAuthentication, "Request is not valid given the current SASL state."},
	35: {"UnsupportedVersionException", ClassUnsupported, "The version of API is not supported."},
	36: {"TopicExistsException", ClassExists, "Topic with this name already exists."},
	37: {"InvalidPartitionsException", ClassInvalid, "Number of partitions is below 1."},
	38: {"InvalidReplicationFactorException", ClassInvalid, "Replication factor is below 1 or larger than the number of available brokers."},
	39: {"InvalidReplicaAssignmentException", ClassInvalid, "Replica assignment is invalid."},
	40: {"InvalidConfigurationException", ClassInvalid, "Configuration is invalid."},
	41: {"NotControllerException", ClassRetriable, "This is not the correct controller for this cluster."},
	42: {"InvalidRequestException", ClassInvalid,
		"This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. " +
			"See the broker logs for more details."},
	43: {"UnsupportedForMessageFormatException", ClassUnsupported, "The message format version on the broker does not support the request."},
	44: {"PolicyViolationException", ClassInvalid, "Request parameters do not satisfy the configured policy."},
	45: {"OutOfOrderSequenceException", ClassInvalid, "The broker received an out of order sequence number."},
	46: {"DuplicateSequenceException", ClassInvalid, "The broker received a duplicate sequence number."},
	47: {"InvalidProducerEpochException", ClassInvalid, "Producer attempted an operation with an old epoch."},
	48: {"InvalidTxnStateException", ClassInvalid, "The producer attempted a transactional operation in an invalid state."},
	49: {"InvalidPidMappingException", ClassInvalid,
		"The producer attempted to use a producer id which is not currently assigned to its transactional id."},
	50: {"InvalidTxnTimeoutException", ClassInvalid,
		"The transaction timeout is larger than the maximum value allowed by the broker (as configured by transaction.max.timeout.ms)."},
	51: {"ConcurrentTransactionsException", ClassRetriable,
		"The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing."},
	52: {"TransactionCoordinatorFencedException", ClassInvalid,
		"Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for a given producer."},
	53: {"TransactionalIdAuthorizationException", ClassForbidden, "Transactional ID authorization failed."},
	54: {"SecurityDisabledException", ClassDisabled, "Security features are disabled."},
	55: {"OperationNotAttemptedException", ClassRetriable,
		"The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations in the batch failed, " +
			"causing the broker to respond without trying the rest."},
	56: {"KafkaStorageException", ClassRetriable, "Disk error when trying to access log file on the disk."},
	57: {"LogDirNotFoundException", ClassInvalid, "The user-specified log directory is not found in the broker config."},
	58: {"SaslAuthenticationException", ClassAuthentication, "SASL Authentication failed."},
	59: {"UnknownProducerIdException", ClassInvalid,
		"This exception is raised by the broker if it could not locate the producer metadata associated with the producerID in question. This " +
			"could happen if, for instance, the producer's records were deleted because their retention time had elapsed. Once the last records " +
			"of the producerID are removed, the producer's metadata is removed from the broker, and future appends by the producer will return " +
			"this exception."},
	60: {"ReassignmentInProgressException", ClassRetriable, "A partition reassignment is in progress."},
	61: {"DelegationTokenDisabledException", ClassDisabled, "Delegation Token feature is not enabled."},
	62: {"DelegationTokenNotFoundException", ClassNotFound, "Delegation Token is not found on server."},
	63: {"DelegationTokenOwnerMismatchException", ClassInvalid, "Specified Principal is not valid Owner/Renewer."},
	64: {"UnsupportedByAuthenticationException", ClassInvalid,
		"Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token authenticated channels."},
	65: {"DelegationTokenAuthorizationException", ClassForbidden, "Delegation Token authorization failed."},
	66: {"DelegationTokenExpiredException", ClassAuthentication, "Delegation Token is expired."},
	67: {"InvalidPrincipalTypeException", ClassInvalid, "Supplied principalType is not supported."},
	68: {"GroupNotEmptyException", ClassInvalid, "The group is not empty."},
	69: {"GroupIdNotFoundException", ClassNotFound, "The group id does not exist."},
	70: {"FetchSessionIdNotFoundException", ClassRetriable, "The fetch session ID was not found."},
	71: {"InvalidFetchSessionEpochException", ClassRetriable, "The fetch session epoch is invalid."},
	72: {"ListenerNotFoundException", ClassRetriable,
		"There is no listener on the leader broker that matches the listener on which metadata request was processed."},
	73: {"TopicDeletionDisabledException", ClassDisabled, "Topic deletion is disabled."},
	74: {"FencedLeaderEpochException", ClassRetriable, "The leader epoch in the request is older than the epoch on the broker."},
	75: {"UnknownLeaderEpochException", ClassRetriable, "The leader epoch in the request is newer than the epoch on the broker."},
	76: {"UnsupportedCompressionTypeException", ClassUnsupported,
		"The requesting client does not support the compression type of given partition."},
	77: {"StaleBrokerEpochException", ClassRetriable, "Broker epoch has changed."},
	78: {"OffsetNotAvailableException", ClassRetriable,
		"The leader high watermark has not caught up from a recent leader election so the offsets cannot be guaranteed to be monotonically " +
			"increasing."},
	79: {"MemberIdRequiredException", ClassInvalid,
		"The group member needs to have a valid member id before actually entering a consumer group."},
	80: {"PreferredLeaderNotAvailableException", ClassRetriable, "The preferred leader was not available."},
	81: {"GroupMaxSizeReachedException", ClassInvalid, "The consumer group has reached its max size."},
	82: {"FencedInstanceIdException", ClassInvalid,
		"The broker rejected this static consumer since another consumer with the same group.instance.id has registered with a different " +
			"member.id."},
	83: {"EligibleLeadersNotAvailableException", ClassRetriable, "Eligible topic partition leaders are not available."},
	84: {"ElectionNotNeededException", ClassRetriable, "Leader election not needed for topic partition."},
	85: {"NoReassignmentInProgressException", ClassInvalid, "No partition reassignment is in progress."},
	86: {"GroupSubscribedToTopicException", ClassInvalid,
		"Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."},
	87: {"InvalidRecordException", ClassInvalid, "This record has failed the validation on the broker and hence been rejected."},
	88: {"UnstableOffsetCommitException", ClassRetriable, "There are unstable offsets that need to be cleared."},
	89: {"ThrottlingQuotaExceededException", ClassThrottled, "The throttling quota has been exceeded."},
	90: {"ProducerFencedException", ClassInvalid, "There is a newer producer with the same transactionalId which fences the current one."},
	91: {"ResourceNotFoundException", ClassNotFound, "A request illegally referred to a resource that does not exist."},
	92: {"DuplicateResourceException", ClassInvalid, "A request illegally referred to the same resource twice."},
	93: {"UnacceptableCredentialException", ClassInvalid, "Requested credential would not meet criteria for acceptability."},
	94: {"InconsistentVoterSetException", ClassInvalid,
		"Indicates that either the sender or recipient of a voter-only request is not one of the expected voters."},
	95: {"InvalidUpdateVersionException", ClassInvalid, "The given update version was invalid."},
	96: {"FeatureUpdateFailedException", ClassInvalid, "Unable to update finalized features due to an unexpected server error."},
	97: {"PrincipalDeserializationException", ClassInvalid,
		"Request principal deserialization failed during forwarding. This indicates an internal error on the broker cluster security setup."},
	98: {"SnapshotNotFoundException", ClassNotFound, "Requested snapshot was not found."},
	99: {"PositionOutOfRangeException", ClassInvalid,
		"Requested position is not greater than or equal to zero, and less than the size of the snapshot."},
	100: {"UnknownTopicIdException", ClassNotFound, "This server does not host this topic ID."},
	101: {"DuplicateBrokerRegistrationException", ClassInvalid, "This broker ID is already in use."},
	102: {"BrokerIdNotRegisteredException", ClassNotFound, "The given broker ID was not registered."},
	103: {"InconsistentTopicIdException", ClassRetriable, "The log's topic ID did not match the topic ID in the request."},
	104: {"InconsistentClusterIdException", ClassInvalid, "The clusterId in the request does not match that found on the server."},
	105: {"TransactionalIdNotFoundException", ClassNotFound, "The transactionalId could not be found."},
	106: {"FetchSessionTopicIdException", ClassRetriable, "The fetch session encountered inconsistent topic ID usage."},
	107: {"IneligibleReplicaException", ClassInvalid, "The new ISR contains at least one ineligible replica."},
	108: {"NewLeaderElectedException", ClassInvalid,
		"The AlterPartition request successfully updated the partition state but the leader has changed."},
	109: {"OffsetMovedToTieredStorageException", ClassInvalid, "The requested offset is moved to tiered storage."},
	110: {"FencedMemberEpochException", ClassInvalid,
		"The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin."},
	111: {"UnreleasedInstanceIdException", ClassInvalid,
		"The instance ID is still used by another member in the consumer group. That member must leave first."},
	112: {"UnsupportedAssignorException", ClassUnsupported, "The assignor or its version range is not supported by the consumer group."},
	113: {"StaleMemberEpochException", ClassInvalid,
		"The member epoch is stale. The member must retry after receiving its updated member epoch via the ConsumerGroupHeartbeat API."},
	114: {"MismatchedEndpointTypeException", ClassInvalid, "The request was sent to an endpoint of the wrong type."},
	115: {"UnsupportedEndpointTypeException", ClassUnsupported, "This endpoint type is not supported yet."},
	116: {"UnknownControllerIdException", ClassNotFound, "This controller ID is not known."},
	117: {"UnknownSubscriptionIdException", ClassInvalid, "Client sent a push telemetry request with an invalid or outdated subscription ID."},
	118: {"TelemetryTooLargeException", ClassInvalid,
		"Client sent a push telemetry request larger than the maximum size the broker will accept."},
	119: {"InvalidRegistrationException", ClassInvalid, "The controller has considered the broker registration to be invalid."},
	120: {"TransactionAbortableException", ClassInvalid,
		"The server encountered an error with the transaction. The client can abort the transaction to continue using this transactional ID."},
	121: {"InvalidRecordStateException", ClassInvalid, "The record state is invalid. The acknowledgement of delivery could not be completed."},
	122: {"ShareSessionNotFoundException", ClassInvalid, "The share session was not found."},
	123: {"InvalidShareSessionEpochException", ClassInvalid, "The share session epoch is invalid."},
	124: {"FencedStateEpochException", ClassInvalid, "The coordinator rejected the request because the state epoch did not match."},
	125: {"InvalidVoterKeyException", ClassInvalid, "The voter key doesn't match the receiving replica's key."},
	126: {"DuplicateVoterException", ClassInvalid, "The voter is already part of the set of voters."},
	127: {"VoterNotFoundException", ClassNotFound, "The voter is not part of the set of voters."},
	128: {"InvalidRegularExpression", ClassInvalid, "The regular expression is not valid."},
	129: {"RebootstrapRequiredException", ClassRetriable, "Client metadata is stale. The client should rebootstrap to obtain new metadata."},
	130: {"StreamsInvalidTopologyException", ClassInvalid, "The supplied topology is invalid."},
	131: {"StreamsInvalidTopologyEpochException", ClassInvalid, "The supplied topology epoch is invalid."},
	132: {"StreamsTopologyFencedException", ClassInvalid, "The supplied topology epoch is outdated."},
	133: {"ShareSessionLimitReachedException", ClassRetriable, "The limit of share sessions has been reached."},
	134: {"GroupDeletionFailedException", ClassInvalid,
		"DeleteGroups could not complete; see the error message on the per-group result for details."},
	135: {"StreamsTopologyDescriptionUpdateFailedException", ClassInvalid,
		"The broker could not process the topology description update; see the error message for details."},
	136: {"ControllerIdNotRegisteredException", ClassNotFound, "The given controller ID was not registered."},
}
