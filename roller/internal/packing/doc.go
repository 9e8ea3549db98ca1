// Package packing divides items into as few batches as it can, when some of them may not be in one batch together.
//
// The roller's items are the brokers that have to be restarted, and a batch is what goes down at once. A partition is a Constraint: of the
// brokers that have its replicas at most so many may be down together (docs/decisions/availability.md). Caps on the size of a batch, on how
// many of it are of one rack, and on the share of leaders that it has come on top (docs/decisions/availability.md).
//
// To find the fewest batches is NP-hard: it is graph colouring where each limit is 1, and colouring of hypergraphs where it is more. So
// Pack answers with a division, and with a Bound: a number of batches below which no division exists, and why. Where the two are equal the
// division is proven to be best. All search is limited by counted steps and never by a clock, no map is iterated and no dice are thrown:
// the same input gives the same answer.
//
// Verify and VerifyBound check answers in a way of their own. They share nothing with Pack but the types.
package packing
