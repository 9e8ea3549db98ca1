package validate

import (
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/windows"
)

// windows warns of maintenance windows that never open.
func (f *findings) windows() {
	for _, expression := range f.Kafka.Spec.MaintenanceTimeWindows {
		if _, err := windows.Parse(expression); err != nil {
			f.warn("MaintenanceWindow", v1.ReasonInvalidConfiguration,
				"The provided maintenance time windows list contains %s which is not a valid cron expression (%v)", expression, err)
		}
	}
}
