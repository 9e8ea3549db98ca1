// Package ownership decides who owns an object in a Kubernetes cluster that several owners can write to, such as the central clusters of
// stretched Kafkas. It is pure: it reads marks, and says what may be done.
//
// An owner is a random id that is never used again, a holder that speaks for it, and an epoch that grows with each change of holder.
// Objects carry all three as marks, and are applied without force under a field manager of the owner and the epoch, so that the API server
// refuses the write of anybody else, whatever that one has read. Marks alone would be obeyed by polite writers only.
package ownership
