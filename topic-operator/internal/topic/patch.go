package topic

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// StatusPatch returns the JSON merge patch that turns one status into the other, or nil if they are equal. The patch has the object's
// resourceVersion: if another client wrote in between, the patch fails with a conflict, and the pass is retried on the new object.
func StatusPatch(resourceVersion string, before, after v1.KafkaTopicStatus) ([]byte, error) {
	changes := statusChanges(before, after)
	if len(changes) == 0 {
		return nil, nil
	}
	return encode(map[string]any{
		"metadata": map[string]string{"resourceVersion": resourceVersion},
		"status":   changes,
	})
}

// statusChanges returns the fields of a status that differ, with their new values; nil removes a field.
func statusChanges(before, after v1.KafkaTopicStatus) map[string]any {
	changes := map[string]any{}
	text := func(key, old, new string) {
		switch {
		case old == new:
		case new == "":
			changes[key] = nil
		default:
			changes[key] = new
		}
	}
	text("topicName", before.TopicName, after.TopicName)
	text("topicId", before.TopicID, after.TopicID)
	text("clusterId", before.ClusterID, after.ClusterID)
	if before.ObservedGeneration != after.ObservedGeneration {
		changes["observedGeneration"] = after.ObservedGeneration
	}
	if !slices.Equal(before.Conditions, after.Conditions) {
		changes["conditions"] = after.Conditions
	}
	return changes
}

// operation is an operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// ClaimPatches returns the JSON patches that turn a status without a clusterId into one with it, bound to the object's resource version.
// The API server rejects both (Invalid) if the object does have a clusterId: a version that was read while another CustomResourceDefinition
// dropped the field has it under the operator's own definition. The second patch is for an object with a status, and the first for one
// without any. A status that reads as empty may be either.
func ClaimPatches(resourceVersion string, before, after v1.KafkaTopicStatus) ([][]byte, error) {
	bound := operation{Op: "replace", Path: "/metadata/resourceVersion", Value: resourceVersion}
	changes := statusChanges(before, after)
	there := []operation{bound, {Op: "test", Path: "/status/clusterId"}}
	for _, field := range slices.Sorted(maps.Keys(changes)) {
		op := operation{Op: "add", Path: "/status/" + field, Value: changes[field]}
		if op.Value == nil {
			op.Op = "remove"
		}
		there = append(there, op)
	}
	forms := [][]operation{there}
	if reflect.ValueOf(before).IsZero() {
		forms = [][]operation{{bound, {Op: "test", Path: "/status"}, {Op: "add", Path: "/status", Value: changes}}, there}
	}
	patches := make([][]byte, len(forms))
	for i, form := range forms {
		patch, err := encode(form)
		if err != nil {
			return nil, err
		}
		patches[i] = patch
	}
	return patches, nil
}

func encode(patch any) ([]byte, error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	return text, nil
}
