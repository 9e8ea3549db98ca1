// Package roller decides how the nodes of a Kafka cluster are restarted, or reconfigured while they run: in which order, how many at once,
// and what blocks a restart (docs/decisions/quorum.md; docs/decisions/restart-order.md; docs/decisions/availability.md).
//
// It is a pure library without input, output or a clock: it takes a Snapshot, in which each fact is known or unknown, and returns values.
// Callers observe a cluster, call Step, store the Progress, and carry out the actions:
//
//	for {
//		decision := roller.Step(observe(), progress, policy)
//		progress = store(decision.Progress)
//		for _, action := range decision.Actions {
//			progress = outcome(progress, action, carryOut(action))
//		}
//	}
//
// An action may be carried out until Action.Until. The nodes of Action.Unasked, whose answers are not of this look, must be asked first,
// and Step decides again: facts that nobody checked are no reason to stop a node. outcome records what became of it: Progress.Deny, Unclear
// or NotCarriedOut for a restart, Taken, NotTaken, Refused or NotAltered for a configuration, NotElected for an election. Without it, a
// rejected deletion counts as a restart that has begun. PhaseDone of a Snapshot without nodes means nothing: perhaps no node could be read.
//
// NewPlan returns in advance what Step will decide if nothing else changes.
//
// Several predicates say that a node is not there. They differ in what they take an unknown fact for, and in who asks:
//
//	predicate            what it means                                                    who asks
//	Assessment.Down      it serves no clients, so its restart costs nothing               most rules
//	dead                 it is unready and silent, or recovers its logs                   unreliableReplica, a lost quorum, ways out
//	unreliableReplica    its replicas may be missing now or soon; unknown counts          the availability rule (ledger)
//	unreliableVoter      the leader may wrongly report it as caught up; unknown counts    the quorum rule
//	certainlyDown        it serves nobody, or is going to stop; unknown does not count    the cluster-loss budget
//	unawaited            it is on hold, and has failed for the patience                   the cluster-loss budget
//	leaving              it became unready a short time ago, without the roller           unreliableReplica, countsAgainstLimits
//	countsAgainstLimits  the roller waits for it                                          the limits, the plan and refill
//	stillStopping        its pod is being deleted, and may still end                      countsAgainstLimits, Assessment.Ending
//	lingers              its pod should have ended long ago                               stillStopping, failed, unawaited, blocks
//	outside              it is down for long, and in no ISR                               Assessment.Down, the availability rule
package roller
