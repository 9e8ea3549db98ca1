package options

import (
	"maps"
	"slices"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// completeCruiseControl warns about what would otherwise be taken for granted: that replication factors follow spec.replicas. A KafkaTopic
// that asks for it has that in its status.
func (d *draft) completeCruiseControl(r *settings.Reading) {
	if d.cruiseControl {
		r.Warn("%s has no effect yet: changing replication factors through Cruise Control is not supported; "+
			"a changed spec.replicas is reported in the KafkaTopic's status", envCruiseControl)
	}
}

func readAlterable(text string) (AlterableConfig, error) { return ParseAlterableConfig(text), nil }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
