package pki

import "slices"

// trustOnly makes a clients CA that can't be used one that nodes only trust, as they do already: they need its certificate, and its key
// signs nothing that they serve. Otherwise a user's mistake with it would let the nodes' own certificates expire. It reports whether nodes
// exist, and what they trust is known; a Secret that could not be read is worth another try instead.
func (a *authority) trustOnly(w *world, err *Error) bool {
	runs := len(w.pods) > 0 || slices.ContainsFunc(w.leaves, func(l *leaf) bool { return l.pod != "" && l.cert != nil })
	if a == nil || !runs || err.Reason == ReasonUnknown {
		return false
	}
	switch {
	case len(w.clients) > 0:
		a.chain, a.certGeneration = w.clients, w.clientsGeneration
		if a.certGeneration < 0 {
			a.certGeneration = max(w.seenCert(a), 0)
		}
	case err.Reason == ReasonCAKeyLost && len(a.chain) > 0: // the operator published it; that of another error may be a wrong one
		a.chain = a.trusted()
	default:
		return false
	}
	a.keySecret, a.certSecret, a.key, a.keyErr, a.old, a.oldKeys = nil, nil, nil, nil, nil, nil
	a.set(TrustOnly, "its Secrets can't be used")
	return true
}
