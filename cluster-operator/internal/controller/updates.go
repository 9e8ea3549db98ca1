package controller

import (
	"cmp"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/windows"
)

// opensUpdates reports whether nodes get now what this version of the operator makes differently: their user allows that, and a maintenance
// window is open, if there are any. It notes what is waited for, and has the next pass follow then.
func (p *pass) opensUpdates() bool {
	if !v1.IsTrue(p.kafka.Annotations, v1.AnnotationApplyUpdates) {
		return false
	}
	expressions, now := p.kafka.Spec.MaintenanceTimeWindows, p.Now()
	maintenance := windows.Valid(expressions)
	if len(expressions) == 0 || maintenance.Open(now) {
		return true
	}
	p.status.PendingUntil = cmp.Or(maintenance.Closed(now), "no maintenance window ever opens")
	if next, found := maintenance.Next(now.Add(time.Second)); found {
		p.requeueAfter(next.Sub(now))
	}
	return false
}
