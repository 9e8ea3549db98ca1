// Package explore explores all states of a roll of a small cluster: each order in which pods stop, start, crash and catch up, leaders
// change, partitions move, time passes, and the roller looks, decides, crashes or lacks facts. It runs the code of package roller, and
// checks each decision and each state against the rules of docs/decisions. From each state, the roll must be able to finish if no more
// faults occur.
//
// To keep the number of states finite, the model is coarse: time passes in ticks that are longer than the delay until an action is
// observed, and ages are capped at patience. A broker is either in sync for a partition or not, and a voter either caught up or not.
package explore
