package kafka

import "context"

// FeatureReader reads at which levels the features of a cluster run (KIP-584).
type FeatureReader interface {
	// DescribeFeatures returns the levels of the cluster's features, and which levels the broker that answers supports. Both are what this one
	// broker knows: the levels may lag behind an update that was just acknowledged (compare Features.Epoch), and brokers of another version
	// support others.
	DescribeFeatures(ctx context.Context) (Features, error)
}

// FeatureWriter changes at which levels the features of a cluster run. A change may be sent twice, because doing the same twice changes
// nothing more.
type FeatureWriter interface {
	// UpdateFeatures moves features, by name, to other levels, or with validateOnly checks whether it could. The controller answers. It
	// refuses (ClassInvalid) a feature or level that one of the registered brokers and controllers does not support, a lower level without
	// FeatureUpdate.Downgrade, and with it a higher one. The present level is always accepted.
	//
	// Kafka carries out all updates or none. Before Kafka 4.0 (KIP-1022) it may carry out some although it refuses others.
	UpdateFeatures(ctx context.Context, updates map[string]FeatureUpdate, validateOnly bool) error
}

// FeatureMetadataVersion is the name of the feature that selects the format of metadata records: see MetadataVersion.
const FeatureMetadataVersion = "metadata.version"

// Features are the features of a cluster as one of its brokers describes them.
type Features struct {
	// Finalized are the levels at which the cluster runs, by feature. A feature at level 0, which is off, has no entry.
	Finalized map[string]int16
	// Epoch grows whenever the metadata of the cluster does: of two answers, the one with the higher epoch is the newer one. Negative means
	// that the broker does not know Finalized yet, which is then empty.
	Epoch int64
	// Supported are the levels that the broker that answered supports, by feature.
	Supported map[string]FeatureRange
}

// FeatureRange is a range of levels.
type FeatureRange struct {
	// Min and Max are the lowest and the highest level.
	Min, Max int16
}

// FeatureUpdate asks for another level of one feature.
type FeatureUpdate struct {
	// Level is the level afterwards; 0 turns the feature off.
	Level int16
	// Downgrade asks for a lower level rather than a higher one. Kafka refuses one that would lose metadata (its safe downgrade): a
	// metadata.version can be lowered only as far as no version in between changed the metadata. What would lose metadata can't be asked for.
	Downgrade bool
}
