// Package roller decides how the nodes of a Kafka cluster are restarted, or reconfigured while they run: in which order, how many at once,
// and what blocks a restart (docs/decisions/quorum.md; docs/decisions/restart-order.md; docs/decisions/availability.md).
//
// It is a pure library. It reads nothing, changes nothing, waits for nothing and has no clock: it takes a Snapshot, in which each fact is
// known or unknown, and returns values. Callers observe a cluster, ask Step what to do, store the Progress, and carry the actions out:
//
//	for {
//		decision := roller.Step(observe(), progress, policy)
//		progress = store(decision.Progress)
//		carryOut(decision.Actions)
//	}
//
// NewPlan returns in advance what Step is going to decide if nothing else changes.
package roller
