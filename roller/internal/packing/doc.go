// Package packing divides items into as few batches as it can find, when some items must not be in one batch together.
//
// The roller's items are the brokers that have to be restarted, and a batch goes down at once. A partition is a constraint: of the brokers
// with its replicas, only a limited number may be down together (docs/decisions/availability.md). In addition, there are caps on the size
// of a batch, on the number of its brokers in one rack, and on its share of leaders (docs/decisions/availability.md).
//
// To find the fewest batches is NP-hard: it is graph colouring if each limit is 1, and colouring of hypergraphs otherwise. So Pack returns
// a division, and a Bound: a number of batches below which no division exists, and why. If the two are equal, the division is proven to be
// optimal. Searches are limited by counted steps and not by a clock, no map is iterated and nothing is random: the same input gives the
// same answer.
//
// Verify and VerifyBound check answers independently. They share only the types with Pack.
package packing
