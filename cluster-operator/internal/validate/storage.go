package validate

import (
	"regexp"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// volumes returns the volumes of a storage: those of jbod, or the single one.
func volumes(s v1.Storage) []v1.StorageVolume {
	if s.Type == v1.StorageJBOD {
		return s.Volumes
	}
	return []v1.StorageVolume{single(s)}
}

// single returns the volume of a storage that has only one, which is of any type but jbod.
func single(s v1.Storage) v1.StorageVolume {
	return v1.StorageVolume{
		Type: s.Type, ID: s.ID, Size: s.Size, Class: s.Class, SizeLimit: s.SizeLimit, Selector: s.Selector, DeleteClaim: s.DeleteClaim,
		KraftMetadata: s.KraftMetadata, VolumeAttributesClass: s.VolumeAttributesClass, Overrides: s.Overrides,
	}
}

// storages checks that each pool's storage can be made.
func (f *findings) storages() {
	for _, p := range f.Pools {
		s := p.Spec.Storage
		if s.Type == v1.StorageJBOD && len(s.Volumes) == 0 {
			f.invalid("StorageEmpty", "JbodStorage needs to contain at least one volume (KafkaNodePool.spec.storage) (KafkaNodePool %s)", p.Name)
		}
		shared := 0
		ids := map[int32]bool{}
		for _, v := range volumes(s) {
			f.volume(p.Name, s.Type == v1.StorageJBOD, v)
			if v.KraftMetadata == v1.KraftMetadataShared {
				shared++
			}
			if s.Type == v1.StorageJBOD && v.ID != nil && ids[*v.ID] {
				f.invalid("VolumeIDTwice", "The volume with id %d is in the storage of KafkaNodePool %s twice: each volume needs its own id",
					*v.ID, p.Name)
			}
			ids[or(v.ID, -1)] = true
		}
		if shared > 1 {
			f.invalid("MetadataShared",
				"%d volumes of KafkaNodePool %s have kraftMetadata: shared, but only one can have the metadata log: set it on one "+
					"volume", shared, p.Name)
		}
	}
}

func (f *findings) volume(pool string, jbod bool, v v1.StorageVolume) {
	if jbod && v.ID == nil {
		f.invalid("VolumeIDMissing", "The 'id' property is required for volumes in JBOD storage. (KafkaNodePool %s)", pool)
	}
	switch {
	case v.Type == v1.StorageEphemeral:
		f.size(pool, "sizeLimit", v.SizeLimit)
	case v.Size == "":
		f.invalid("SizeMissing", "The size is mandatory for a persistent-claim storage (KafkaNodePool.spec.storage) (KafkaNodePool %s)", pool)
	default:
		f.size(pool, "size", v.Size)
	}
}

// number matches the beginning of a size.
var number = regexp.MustCompile(`^[0-9.]*`)

func (f *findings) size(pool, field, text string) {
	if text == "" {
		return
	}
	q, err := v1.ParseQuantity(text)
	suffix := text[len(number.FindString(text)):]
	switch {
	case err != nil && suffix != "":
		f.invalid("SizeInvalid", "Invalid memory suffix: %s (%s %s in the storage of KafkaNodePool %s)", suffix, field, text, pool)
	case err != nil:
		f.invalid("SizeInvalid", "%s %s in the storage of KafkaNodePool %s is not a size: use a value such as 100Gi", field, text, pool)
	case q.Sign() <= 0:
		f.invalid("SizeInvalid", "%s %s in the storage of KafkaNodePool %s must be > zero", field, text, pool)
	}
}
