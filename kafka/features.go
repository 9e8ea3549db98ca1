package kafka

import "context"

// FeatureReader reads the levels of a cluster's features (KIP-584).
type FeatureReader interface {
	// DescribeFeatures returns the levels of the cluster's features, and the levels that the broker that answers supports. Both are this
	// one broker's view: the levels may lag behind an update that was just acknowledged (compare Features.Epoch), and brokers of another
	// version support others.
	DescribeFeatures(ctx context.Context) (Features, error)
}

// FeatureWriter changes the levels of a cluster's features. A change may be sent twice, because repeating it changes nothing more.
type FeatureWriter interface {
	// UpdateFeatures changes the levels of features, by name, or with validateOnly checks whether it could. The controller answers. It
	// rejects (ClassInvalid) a feature or level that one of the registered brokers and controllers does not support, a lower level without
	// FeatureUpdate.Downgrade, and a higher one with it. It always accepts the present level.
	//
	// Kafka executes all updates or none. Before Kafka 4.0 (KIP-1022) it may execute some although it rejects others.
	UpdateFeatures(ctx context.Context, updates map[string]FeatureUpdate, validateOnly bool) error
}

// FeatureMetadataVersion is the name of the feature that selects the format of metadata records: see MetadataVersion.
const FeatureMetadataVersion = "metadata.version"

// Features are the features of a cluster as one of its brokers describes them.
type Features struct {
	// Finalized are the levels at which the cluster runs, by feature. A disabled feature, at level 0, has no entry.
	Finalized map[string]int16
	// Epoch increases with each change of the cluster's metadata: of two answers, the one with the higher epoch is the newer one. Negative
	// means that the broker does not have Finalized yet, which is then empty.
	Epoch int64
	// Supported are the levels that the broker that answered supports, by feature.
	Supported map[string]FeatureRange
}

// FeatureRange is a range of levels.
type FeatureRange struct {
	// Min and Max are the lowest and the highest level.
	Min, Max int16
}

// FeatureUpdate requests another level of one feature.
type FeatureUpdate struct {
	// Level is the new level; 0 disables the feature.
	Level int16
	// Downgrade requests a lower level rather than a higher one. Kafka rejects a downgrade that would lose metadata (it is a safe
	// downgrade): a metadata.version can be lowered only as far as no version in between changed the metadata. The port has no unsafe
	// downgrade.
	Downgrade bool
}
