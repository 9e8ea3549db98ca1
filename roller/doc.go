// Package roller decides how the nodes of a Kafka cluster are restarted, or reconfigured while they run: in which order, how many at once,
// and what blocks a restart (docs/decisions/quorum.md; docs/decisions/restart-order.md; docs/decisions/availability.md).
//
// It is a pure library without input, output or a clock: it takes a Snapshot, in which each fact is known or unknown, and returns values.
// Callers observe a cluster, call Step, store the Progress, and carry out the actions:
//
//	for {
//		decision := roller.Step(observe(), progress, policy)
//		progress = store(decision.Progress)
//		carryOut(decision.Actions)
//	}
//
// NewPlan returns in advance what Step will decide if nothing else changes.
package roller
