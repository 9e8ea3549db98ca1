package pki

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// world has the existing objects other than the CAs themselves.
type world struct {
	pods      []Pod
	podsKnown bool
	leaves    []*leaf
	// trusted is the cluster CA's part of the trust bundle as it was read, and hasBundle whether there is one.
	trusted   []*x509.Certificate
	hasBundle bool
	// clients is its part of the clients CA, and clientsGeneration the generation of that; -1 if it is unknown.
	clients           []*x509.Certificate
	clientsGeneration int
}

// newWorld collects the objects that depend on the CAs. It returns an error if a Secret is unknown, or belongs to another owner.
func newWorld(in *Input) (*world, error) {
	w := &world{pods: in.Pods, podsKnown: in.PodsKnown, clientsGeneration: -1}
	name := TrustBundleSecret(in.Cluster)
	bundle := in.fact(name)
	if bundle.State == Unknown {
		return nil, &Error{ReasonUnknown, fmt.Sprintf("Secret %s/%s can't be read, so no certificate is changed",
			in.Namespace, name), bundle.Err}
	}
	if bundle.State == Present {
		if err := ours(in, bundle.Secret); err != nil {
			return nil, err
		}
		w.hasBundle = true
		// No node trusts an unreadable entry: Kafka does not start with it.
		w.trusted, _ = parseCerts(bundle.Secret.Data[bundleCluster])
		w.clients, _ = parseCerts(bundle.Secret.Data[bundleClients])
		if n, ok := generation(bundle.Secret.Annotations, core.AnnotationClientsCACertGeneration); ok {
			w.clientsGeneration = n
		}
	}
	var err error
	w.leaves, err = readLeaves(in)
	return w, err
}

// seen is the highest value of a generation on pods and on the Secrets of leaves; -1 if there is none.
func (w *world) seen(annotation string) int {
	highest := -1
	for _, pod := range w.pods {
		if n, ok := generation(pod.Annotations, annotation); ok {
			highest = max(highest, n)
		}
	}
	if annotation == core.AnnotationClusterCACertGeneration {
		for _, l := range w.leaves {
			if n, ok := l.generation(); ok {
				highest = max(highest, n)
			}
		}
	}
	return highest
}

// any reports whether a pod, or one that is declared, has a generation.
func (w *world) any(annotation string, want int) bool {
	return slices.ContainsFunc(w.pods, func(pod Pod) bool {
		n, ok := generation(pod.Annotations, annotation)
		return ok && n == want
	})
}

// trustsCurrent reports whether it is known that each pod, and each pod that is declared, trusts the current key of the cluster CA.
func (w *world) trustsCurrent(a *authority) bool {
	return w.podsKnown && !slices.ContainsFunc(w.pods, func(pod Pod) bool {
		n, ok := generation(pod.Annotations, core.AnnotationClusterCAKeyGeneration)
		return !ok || n != a.keyGeneration
	})
}

// servesCurrent reports whether all running nodes serve certificates of the current key of the cluster CA, and none can start with another.
func (w *world) servesCurrent(a *authority) bool {
	for _, l := range w.leaves {
		if l.unknown || l.cert != nil && (a.cert() == nil || !l.signedBy(a.cert())) {
			return false
		}
	}
	return w.podsServeCurrent(a)
}

// podsServeCurrent reports whether it is known that each pod, and each pod that is declared, serves a certificate of the current key of the
// cluster CA: because of its generation, or, after a renewal of the CA with the same key, since that certificate is still the one in its
// Secret.
func (w *world) podsServeCurrent(a *authority) bool {
	return a.cert() != nil && w.podsKnown && !slices.ContainsFunc(w.pods, w.servesOther(a))
}

// servesOther returns a function that reports whether a pod is not known to serve a certificate of the current key of the cluster CA.
func (w *world) servesOther(a *authority) func(Pod) bool {
	hashes := map[string]string{}
	for _, l := range w.leaves {
		if l.cert != nil && a.cert() != nil && l.signedBy(a.cert()) {
			hashes[l.pod] = thumbprint(l.cert)
		}
	}
	return func(pod Pod) bool {
		n, ok := generation(pod.Annotations, core.AnnotationClusterCACertGeneration)
		hash := hashes[pod.Name]
		return (!ok || n != a.certGeneration) && (hash == "" || pod.Annotations[core.AnnotationServerCertHash] != hash)
	}
}

// later returns the generation of a later key of the cluster CA with which pods run, and of which no Secret has a certificate: all Secrets
// are from a backup. It is false if there is none.
func (w *world) later(a *authority) (int, bool) {
	latest := w.seenKey(a)
	if a.kind.subject != clusterSubject || !a.hasKeyGeneration || latest <= a.keyGeneration || len(w.former(a)) > 0 {
		return 0, false
	}
	other := w.servesOther(a)
	return latest, slices.ContainsFunc(w.pods, func(pod Pod) bool {
		n, ok := generation(pod.Annotations, core.AnnotationClusterCAKeyGeneration)
		return ok && n > a.keyGeneration && other(pod)
	})
}

// moved reports whether all running nodes have left earlier keys of the cluster CA behind.
func (w *world) moved(a *authority) bool { return w.trustsCurrent(a) && w.servesCurrent(a) }

// former are certificates of other keys than the current one that nodes may still hang on: those that the CA's Secret keeps, and, in case
// that Secret was lost or restored from a backup, those that the trust bundle and the chains of leaves hold while nodes have not moved to
// the current one.
// A generated CA's entries of its user's do not count while some pods are unknown and no leaf is of them: they are trusted as long as the
// user keeps them.
func (w *world) former(a *authority) []*x509.Certificate {
	certs := a.replaced()
	if a.kind.subject != clusterSubject || w.moved(a) {
		return certs
	}
	candidates := w.trusted
	for _, l := range w.leaves {
		signer := l.chain[:min(1, len(l.chain))] // what follows are its issuers, which sign nothing that nodes serve
		candidates = append(candidates[:len(candidates):len(candidates)], signer...)
	}
	for _, cert := range candidates {
		if cert.IsCA && !hasKey(a.chain, cert) && !hasKey(certs, cert) {
			certs = append(certs, cert)
		}
	}
	if !a.config.Generate || w.podsKnown {
		return certs
	}
	return slices.DeleteFunc(certs, func(cert *x509.Certificate) bool {
		return a.added(cert) && !slices.ContainsFunc(w.leaves, func(l *leaf) bool { return l.unknown || l.cert != nil && l.signedBy(cert) })
	})
}

// hasKey reports whether one of the certificates is of the same CA and key.
func hasKey(certs []*x509.Certificate, cert *x509.Certificate) bool {
	for _, c := range certs {
		if bytes.Equal(c.RawSubject, cert.RawSubject) && sameKey(c.PublicKey, cert.PublicKey) {
			return true
		}
	}
	return false
}

// trustedOf are the certificates that the trust bundle has of a CA, as it was read.
func (w *world) trustedOf(a *authority) []*x509.Certificate {
	if a.kind.subject == clusterSubject {
		return w.trusted
	}
	return w.clients
}

// misnamed reports whether a user or a tool put a certificate into the CA's Secret that has another identifier of the same key than those
// in the trust bundle: nodes that run would reject what it signs, or nodes that start would reject what those before it signed.
func (w *world) misnamed(a *authority) bool {
	if a.cert() == nil || a.key != nil && !sameKey(a.key.Public(), a.cert().PublicKey) || len(w.pods) == 0 && w.podsKnown {
		return false
	}
	certs := a.chain[:1]
	if a.kind.subject == clientsSubject { // nodes go on to trust what a former one signed if it is kept
		certs = a.trusted()
	}
	return !slices.ContainsFunc(certs, func(cert *x509.Certificate) bool {
		return hasKey(a.chain[:1], cert) && identifiedAs(w.trustedOf(a), cert)
	})
}

// phase returns the progress of the replacement of the key. The clients CA has none: nodes serve nothing that it signed.
func (w *world) phase(a *authority) Phase {
	switch {
	case a.kind.subject != clusterSubject || len(w.former(a)) == 0:
		return Settled
	case !w.trustsCurrent(a):
		return Distributing
	case !w.servesCurrent(a):
		return Switching
	}
	return Settled
}

// unexplained reports whether leaves depend on another CA than the current one, although the generations promise what is not so: that nodes
// trust the current key, which the trust bundle lacks; or that the leaves are of a CA which nodes trust and the CA's Secrets lack. Somebody
// replaced the CA without raising the generations.
func (w *world) unexplained(a *authority) bool {
	if a.cert() == nil {
		return false
	}
	// The bundle is written before a pod gets the generation of a key. One that is missing or unreadable tells nothing.
	untrusted := len(w.trusted) > 0 && !hasKey(w.trusted, a.cert()) && w.any(core.AnnotationClusterCAKeyGeneration, a.keyGeneration)
	for _, l := range w.leaves {
		if l.cert == nil || l.signedBy(a.cert()) {
			continue
		}
		if untrusted {
			return true
		}
		if n, ok := l.generation(); !ok || n != a.certGeneration {
			continue
		}
		for _, cert := range w.trusted {
			if l.signedBy(cert) && !hasKey(a.trusted(), cert) {
				return true
			}
		}
	}
	return false
}

// unannounced reports whether leaves of another CA than the current one have its generation, by which pods that serve them would count as
// moved to it. Somebody replaced the CA without raising the generation of its certificate.
func (w *world) unannounced(a *authority) bool {
	return a.kind.subject == clusterSubject && slices.ContainsFunc(w.leaves, func(l *leaf) bool {
		n, known := l.generation()
		return known && n == a.certGeneration && l.cert != nil && !l.signedBy(a.cert())
	})
}

// dropped is a former CA whose certificates nodes serve, and which readers of the CA's Secret do not trust; nil if none is known. The
// roller is such a reader, so that it would not know what may be restarted.
func (w *world) dropped(a *authority) *x509.Certificate {
	phase := w.phase(a)
	if !w.podsKnown || phase == Settled {
		return nil
	}
	held, former := a.trusted(), w.former(a)
	trusted := func(cert *x509.Certificate) bool {
		return hasKey(held, cert) || slices.ContainsFunc(held, func(h *x509.Certificate) bool { return signed(h, cert) })
	}
	for _, l := range w.leaves {
		for _, cert := range former {
			if l.cert != nil && l.signedBy(cert) && !trusted(cert) {
				return cert
			}
		}
	}
	// Pods that were not restarted since their Secrets have certificates of the current CA serve those of a former one. Which one is not
	// known, so one that is held counts as that.
	if phase == Switching && !w.podsServeCurrent(a) && !slices.ContainsFunc(former, trusted) {
		return former[0]
	}
	return nil
}

// hanging names an object that depends on a CA whose key is missing; empty if it is known that none does.
func (w *world) hanging(in *Input, a *authority) (string, error) {
	if !w.podsKnown && !w.hasBundle {
		return "", &Error{Reason: ReasonUnknown, Message: fmt.Sprintf(
			"%s: Secret %s/%s is missing, and the operator creates no new key while it can't read some pods",
			a.kind.title, in.Namespace, a.kind.keySecret)}
	}
	var found []string
	if len(a.chain)+len(a.old) > 0 {
		found = append(found, "Secret "+a.kind.certSecret)
	}
	if len(w.pods) > 0 {
		found = append(found, "pod "+w.pods[0].Name)
	}
	if w.hasBundle {
		found = append(found, "Secret "+TrustBundleSecret(in.Cluster))
	}
	for _, l := range w.leaves {
		if l.unknown && a.kind.subject == clusterSubject {
			return "", &Error{Reason: ReasonUnknown, Message: fmt.Sprintf(
				"%s: Secret %s/%s is missing, and the operator creates no new key while it can't read Secret %s",
				a.kind.title, in.Namespace, a.kind.keySecret,
				l.secretName)}
		}
		if l.cert != nil && a.kind.subject == clusterSubject {
			found = append(found, "the certificate in Secret "+l.secretName)
			break
		}
	}
	return strings.Join(found, ", "), nil
}
