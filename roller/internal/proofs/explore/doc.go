// Package explore looks at all that can happen in a roll of a small cluster: each order in which pods stop, start, crash and catch up,
// leaders change, partitions move, time passes, and the roller looks, decides, crashes or can't see. It runs the code of package roller
// itself, and holds each decision and each state against the rules of docs/decisions. From each state there must be a way to the end as
// soon as nothing goes wrong any more.
//
// To be finite, the world is coarse: time passes in ticks, longer than an action may take to be seen, and what is older than patience lasts
// is as old as that. A broker is in sync for a partition or not, a voter caught up or not.
package explore
