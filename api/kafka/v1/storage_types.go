package v1

// StorageType is where a node keeps its data.
type StorageType string

const (
	// StorageEphemeral is a directory that is gone with the pod.
	StorageEphemeral StorageType = "ephemeral"
	// StoragePersistentClaim is a persistent volume.
	StoragePersistentClaim StorageType = "persistent-claim"
	// StorageJBOD is several volumes, each of one of the other types.
	StorageJBOD StorageType = "jbod"
)

// KraftMetadataShared is the value of kraftMetadata on the volume that also holds the metadata log.
const KraftMetadataShared = "shared"

// Storage is where the nodes of a pool keep their data.
type Storage struct {
	// ephemeral, persistent-claim or jbod.
	// +kubebuilder:validation:Enum=ephemeral;persistent-claim;jbod
	Type StorageType `json:"type"`

	// The number of the volume. Only volumes of jbod have one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ID *int32 `json:"id,omitempty"`

	// The size of the volume, such as 100Gi. Required for persistent-claim.
	// +optional
	Size string `json:"size,omitempty"`

	// The storage class of the volume. The cluster's default when absent; "" for a volume that was made by hand.
	// +optional
	Class *string `json:"class,omitempty"`

	// For ephemeral: how much there may be.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$`
	SizeLimit string `json:"sizeLimit,omitempty"`

	// Labels of the persistent volumes to choose from.
	// +optional
	Selector map[string]string `json:"selector,omitempty"`

	// Whether the volume is deleted with its node; false when absent.
	// +optional
	DeleteClaim *bool `json:"deleteClaim,omitempty"`

	// shared for the volume that also holds the metadata log. Defaults to the volume with the lowest id.
	// +optional
	// +kubebuilder:validation:Enum=shared
	KraftMetadata string `json:"kraftMetadata,omitempty"`

	// The VolumeAttributesClass of the volume.
	// +optional
	VolumeAttributesClass string `json:"volumeAttributesClass,omitempty"`

	// For jbod: the volumes.
	// +optional
	// +listType=atomic
	Volumes []StorageVolume `json:"volumes,omitempty"`

	// Storage classes of single nodes. Deprecated: make one pool for each class. In v1beta2 only.
	// +optional
	// +listType=atomic
	Overrides []StorageOverride `json:"overrides,omitempty"`
}

// StorageVolume is one volume of jbod.
type StorageVolume struct {
	// ephemeral or persistent-claim.
	// +kubebuilder:validation:Enum=ephemeral;persistent-claim
	Type StorageType `json:"type"`

	// The number of the volume, unique in the pool. Required.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ID *int32 `json:"id,omitempty"`

	// The size of the volume, such as 100Gi. Required for persistent-claim.
	// +optional
	Size string `json:"size,omitempty"`

	// The storage class of the volume. The cluster's default when absent; "" for a volume that was made by hand.
	// +optional
	Class *string `json:"class,omitempty"`

	// For ephemeral: how much there may be.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$`
	SizeLimit string `json:"sizeLimit,omitempty"`

	// Labels of the persistent volumes to choose from.
	// +optional
	Selector map[string]string `json:"selector,omitempty"`

	// Whether the volume is deleted with its node; false when absent.
	// +optional
	DeleteClaim *bool `json:"deleteClaim,omitempty"`

	// shared for the volume that also holds the metadata log. Defaults to the volume with the lowest id.
	// +optional
	// +kubebuilder:validation:Enum=shared
	KraftMetadata string `json:"kraftMetadata,omitempty"`

	// The VolumeAttributesClass of the volume.
	// +optional
	VolumeAttributesClass string `json:"volumeAttributesClass,omitempty"`

	// Storage classes of single nodes. Deprecated: make one pool for each class. In v1beta2 only.
	// +optional
	// +listType=atomic
	Overrides []StorageOverride `json:"overrides,omitempty"`
}

// StorageOverride is the storage class of one node.
type StorageOverride struct {
	// The node id.
	// +optional
	Broker *int32 `json:"broker,omitempty"`

	// The storage class.
	// +optional
	Class *string `json:"class,omitempty"`
}
