package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Listener is a listener with a certificate of its user's, which nodes serve instead of their own.
type Listener struct {
	Name string
	// Secret is the user's, for messages.
	Secret string
	// CertEntry and KeyEntry are where the Secrets of nodes hold the pair.
	CertEntry, KeyEntry string
	// Wanted is the pair in the user's Secret; nil if it has no valid one, or could not be read.
	Wanted *Pair
}

// Held returns the pair that a node's Secret holds for the listener; false if it holds none.
func (l Listener) Held(secret *corev1.Secret) (Pair, bool) {
	if secret == nil {
		return Pair{}, false
	}
	p := Pair{secret.Data[l.CertEntry], secret.Data[l.KeyEntry]}
	return p, len(p.Certificate) > 0 && len(p.Key) > 0
}

// Hash identifies the certificate, for an annotation of pods: they are restarted when it changes.
func (p Pair) Hash() string {
	sum := sha256.Sum256(p.Certificate)
	return hex.EncodeToString(sum[:4])
}

// leaf returns the certificate; nil if the pair can't be served at any time.
func (p Pair) leaf() *x509.Certificate {
	chain, flaw := p.chain()
	if flaw != nil || p.Check(chain[0].NotAfter) != nil {
		return nil
	}
	return chain[0]
}

// choice is the pair that nodes serve on a listener.
type choice struct {
	pair Pair
	cert *x509.Certificate // nil if the pair can't be served
	// postponed reports that what the user wants instead waits for a maintenance window.
	postponed bool
}

// choose decides what nodes serve on a listener, the same on all of them; false if there is nothing. A pair that was put into the Secret of
// one node is put into those of the others. Another one makes all nodes restart, so that it waits for a maintenance window, as pki's own
// certificates do.
func (l Listener) choose(held []Pair, windows schedule, now time.Time) (choice, bool) {
	var kept choice
	found := false
	for _, pair := range held {
		if l.Wanted != nil && bytes.Equal(pair.Certificate, l.Wanted.Certificate) {
			return choice{pair: *l.Wanted, cert: l.Wanted.leaf()}, true
		}
		cert := pair.leaf()
		if !found || cert != nil && (kept.cert == nil || cert.NotAfter.After(kept.cert.NotAfter)) {
			kept, found = choice{pair: pair, cert: cert}, true
		}
	}
	switch {
	case l.Wanted == nil:
		return kept, found
	case kept.cert == nil || windows.mayRenew(now, kept.cert.NotAfter): // a node that restarts with what can't be served does not come back
		return choice{pair: *l.Wanted, cert: l.Wanted.leaf()}, true
	}
	kept.postponed = true
	return kept, true
}

// serve chooses the certificate of each custom listener and writes it to the nodes' Secrets.
func (r *Result) serve(in *Input, w *world, windows schedule) {
	r.Listeners = map[string]Pair{}
	files := map[string][]byte{}
	for _, l := range in.Listeners {
		var held []Pair
		for _, node := range w.leaves {
			if pair, holds := l.Held(node.secret); holds && node.listeners {
				held = append(held, pair)
			}
		}
		c, found := l.choose(held, windows, in.Now)
		if !found {
			continue
		}
		r.Listeners[l.Name] = c.pair
		if changes := func(p Pair) bool { return !bytes.Equal(p.Certificate, c.pair.Certificate) }; slices.ContainsFunc(held, changes) {
			r.Decisions = append(r.Decisions, Decision{l.Secret, "serve its certificate on listener " + l.Name, "nodes serve another one"})
		}
		files[l.CertEntry], files[l.KeyEntry] = c.pair.Certificate, c.pair.Key
		r.Problems = append(r.Problems, c.warn(l, in.Now)...)
		if c.postponed {
			r.waitFor(windows, in.Now, c.cert.NotAfter)
		}
	}
	for _, node := range w.leaves {
		if !node.listeners {
			continue
		}
		if node.extra == nil { // the pod of a node that is only renewed mounts what there is, also of listeners that are gone
			node.extra = map[string][]byte{}
		}
		maps.Copy(node.extra, files)
	}
}

// warn reports a certificate that waits for a window, or that expires soon.
func (c choice) warn(l Listener, now time.Time) []Problem {
	if c.cert == nil {
		return nil // what can't be served is refused
	}
	expires := c.cert.NotAfter.Format(time.RFC3339)
	switch left := c.cert.NotAfter.Sub(now); {
	case c.postponed:
		return []Problem{{ReasonPostponed, fmt.Sprintf("listener %s: the new certificate in Secret %s waits for the next maintenance "+
			"window, since it restarts nodes; the certificate in use expires at %s", l.Name, l.Secret, expires)}}
	case left <= 0:
		return []Problem{{ReasonCAExpiring, fmt.Sprintf("the certificate of listener %s expired at %s: replace it in Secret %s", l.Name,
			expires, l.Secret)}}
	case left < listenerRenewal(c.cert):
		return []Problem{{ReasonCAExpiring, fmt.Sprintf("the certificate of listener %s expires at %s: replace it in Secret %s", l.Name,
			expires, l.Secret)}}
	}
	return nil
}
