package ownership

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// shows waits until the operator's figures count so many refused objects, and deletions that are held up, for this reason.
func (o *operator) shows(refused, heldUp float64, reason string) {
	GinkgoHelper()
	o.gauge(refused, "strimzi_ownership_refused", reasonLabel(reason))
	if refused > 0 {
		Expect(o.metric("strimzi_ownership_refusals_total", reasonLabel(reason))).To(BeNumerically(">=", refused))
	}
	if reason == v1.ReasonResourceConflict || reason == v1.ReasonPolicyViolation {
		return // these hold no deletion up
	}
	o.gauge(heldUp, "strimzi_deletions_blocked", reasonLabel(reason))
	if heldUp > 0 {
		Expect(o.metric("strimzi_deletions_blocked_total", reasonLabel(reason))).To(BeNumerically(">=", heldUp))
	}
}
