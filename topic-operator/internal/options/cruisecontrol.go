package options

import (
	"maps"
	"slices"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// completeCruiseControl warns that replication factors do not follow spec.replicas. A KafkaTopic with another spec.replicas reports that in
// its status.
func (d *draft) completeCruiseControl(r *settings.Reading) {
	if d.cruiseControl {
		r.Warn("%s has no effect yet: changing replication factors through Cruise Control is not supported; "+
			"a changed spec.replicas is reported in the KafkaTopic's status", envCruiseControl)
	}
}

func readAlterable(text string) (AlterableConfig, error) { return ParseAlterableConfig(text), nil }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
