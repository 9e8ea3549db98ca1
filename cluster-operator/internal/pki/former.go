package pki

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// signs returns which of the former certificates signs while nodes do not trust the new key: the last one whose key was kept, and of
// several with this key the one that expires last; -1 if none was kept.
func (a *authority) signs(former []*x509.Certificate) int {
	at := -1
	for i, cert := range slices.Backward(former) {
		if a.keyOf(cert) == nil {
			continue
		}
		if at < 0 || sameKey(cert.PublicKey, former[at].PublicKey) && cert.NotAfter.After(former[at].NotAfter) {
			at = i
		}
	}
	return at
}

// renewFormer makes a new certificate of the former key, which signs until all nodes trust the new one, if the old one is about to expire
// before that. Nodes trust what it signs, because they know the key and the subject.
func (a *authority) renewFormer(in *Input, former []*x509.Certificate, phase Phase, windows schedule) ([]*x509.Certificate, error) {
	at := a.signs(former)
	if phase != Distributing || at < 0 {
		return former, nil
	}
	cert := former[at]
	if !a.inLastDays(in, cert, windows) {
		return former, nil
	}
	renewed, err := makeCA(in, identity{cert.RawSubject, cert.SubjectKeyId}, a.keyOf(cert), days(a.config.ValidityDays))
	if err != nil {
		return nil, fmt.Errorf("create a certificate of the former key of the %s: %w", a.kind.title, err)
	}
	for name, certs := range a.old {
		if isRetained(name) && sameKey(certs[0].PublicKey, renewed.PublicKey) {
			delete(a.old, name)
		}
	}
	a.old[a.retainedName(renewed)+suffixCert] = []*x509.Certificate{renewed}
	former = slices.Clone(former)
	former[at] = renewed
	return former, nil
}

// inLastDays reports whether a certificate is renewed though the key is being replaced: that may be held up for long, and nodes depend on
// the certificates of both keys.
func (a *authority) inLastDays(in *Input, cert *x509.Certificate, windows schedule) bool {
	return !in.Now.Before(cert.NotAfter.Add(-min(lastChance, a.config.renewal()))) && windows.mayRenew(in.Now, cert.NotAfter)
}

// inUse are those former certificates that nodes may serve: what a user added to the CA's Secret is among the others. Of several with one
// key, the one that expires last counts.
func (a *authority) inUse(former []*x509.Certificate, leaves []*leaf) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(former), func(cert *x509.Certificate) bool {
		if slices.ContainsFunc(former, func(other *x509.Certificate) bool {
			return sameKey(other.PublicKey, cert.PublicKey) && other.NotAfter.After(cert.NotAfter)
		}) {
			return true
		}
		for name, certs := range a.old {
			if isRetained(name) && certs[0].Equal(cert) {
				return false
			}
		}
		return !slices.ContainsFunc(leaves, func(l *leaf) bool { return l.cert != nil && l.signedBy(cert) })
	})
}

// warnOfFormer reports a former certificate that is about to expire while nodes may serve it.
func warnOfFormer(k kind, cert *x509.Certificate, now time.Time) []Problem {
	if cert.NotAfter.Sub(now) >= lastChance {
		return nil
	}
	return []Problem{{ReasonCAExpiring, fmt.Sprintf("the former certificate of the %s, which is in use until all nodes were restarted with "+
		"the new key, expires at %s", k.title, cert.NotAfter.Format(time.RFC3339))}}
}
