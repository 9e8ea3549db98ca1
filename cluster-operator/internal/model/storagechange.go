package model

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// AcceptStorage returns the storage that a pool's nodes are made with after a change, and what is refused. Volumes can be added, removed and made larger;
// nothing else about them can change while their data is kept. If anything is refused, all of the storage stays as it was.
func AcceptStorage(before, wanted v1.Storage) (v1.Storage, []string) {
	var refused []string
	if before.Type != wanted.Type {
		return before, []string{fmt.Sprintf("the type can't change from %s to %s", before.Type, wanted.Type)}
	}
	old := map[int32]volume{}
	for _, v := range volumesOf(before) {
		old[v.id()] = v
	}
	seen := map[int32]bool{}
	shared := 0
	for _, v := range volumesOf(wanted) {
		if seen[v.id()] {
			refused = append(refused, fmt.Sprintf("id %d is used by two volumes", v.id()))
		}
		seen[v.id()] = true
		if v.KraftMetadata == v1.KraftMetadataShared {
			shared++
		}
		if o, existed := old[v.id()]; existed {
			refused = append(refused, volumeChange(o, v)...)
		}
	}
	if shared > 1 {
		refused = append(refused, "only one volume can hold the metadata (kraftMetadata: shared)")
	}
	if len(refused) > 0 {
		return before, refused
	}
	return wanted, nil
}

// volumeChange returns what can't change about a volume.
func volumeChange(before, after volume) []string {
	var refused []string
	no := func(what, from, to string) {
		refused = append(refused, fmt.Sprintf("the %s of volume %d can't change from %q to %q", what, before.id(), from, to))
	}
	if before.Type != after.Type {
		no("type", string(before.Type), string(after.Type))
	}
	if before.Class != after.Class {
		no("class", before.Class, after.Class)
	}
	if !maps.Equal(before.Selector, after.Selector) {
		no("selector", fmt.Sprint(before.Selector), fmt.Sprint(after.Selector))
	}
	if before.SizeLimit != after.SizeLimit {
		no("sizeLimit", before.SizeLimit, after.SizeLimit)
	}
	from, errFrom := resource.ParseQuantity(before.Size)
	to, errTo := resource.ParseQuantity(after.Size)
	if before.Type == v1.StoragePersistentClaim && (errFrom != nil || errTo != nil || to.Cmp(from) < 0) {
		no("size", before.Size, after.Size)
	}
	return refused
}
