package ownership

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// shows waits until the operator's metrics show that many refused objects, and that many blocked deletions, for this reason.
func (o *operator) shows(refused, heldUp float64, reason string) {
	GinkgoHelper()
	o.gauge(refused, "strimzi_ownership_refused", reasonLabel(reason))
	if refused > 0 {
		Expect(o.metric("strimzi_ownership_refusals_total", reasonLabel(reason))).To(BeNumerically(">=", refused))
	}
	if reason == v1.ReasonResourceConflict || reason == v1.ReasonPolicyViolation {
		return // these block no deletion
	}
	o.gauge(heldUp, "strimzi_deletions_blocked", reasonLabel(reason))
	if heldUp > 0 {
		Expect(o.metric("strimzi_deletions_blocked_total", reasonLabel(reason))).To(BeNumerically(">=", heldUp))
	}
}
