package pki

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// settleGenerations sets the generations of a CA that its Secrets lack: those that the nodes have, or the next ones if nodes may depend on
// another key.
func (a *authority) settleGenerations(w *world) {
	keys, certs := w.seenKey(a), w.seenCert(a)
	if !a.hasKeyGeneration {
		a.keyGeneration = max(keys, 0)
		if len(w.former(a)) > 0 {
			a.keyGeneration = keys + 1
		}
	}
	if !a.hasGeneration {
		a.certGeneration = max(certs, 0)
	}
}

func (w *world) seenKey(a *authority) int {
	if a.kind.subject == clusterSubject {
		return w.seen(core.AnnotationClusterCAKeyGeneration)
	}
	return -1
}

func (w *world) seenCert(a *authority) int {
	if a.kind.subject == clusterSubject {
		return w.seen(core.AnnotationClusterCACertGeneration)
	}
	return w.seen(core.AnnotationClientsCACertGeneration)
}

// operate carries out the decision. Generations only grow: if a Secret was lost, they continue after those that pods are annotated with.
func (a *authority) operate(in *Input, w *world) error {
	nextCert := w.seenCert(a) + 1
	if a.hasGeneration {
		nextCert = max(nextCert, a.certGeneration+1)
	}
	switch a.operation {
	case CreateCA:
		return a.replaceKey(in, 0, max(nextCert, 0))
	case ReplaceKey:
		resumed := a.key != nil && a.cert() != nil && !sameKey(a.key.Public(), a.cert().PublicKey) && a.keyOf(a.cert()) != nil
		a.retain()
		if resumed {
			return a.newCert(in, nil, nextCert)
		}
		return a.replaceKey(in, max(a.keyGeneration, w.seenKey(a))+1, nextCert)
	case RenewCert:
		for name, certs := range a.old {
			if isRetained(name) && sameKey(certs[0].PublicKey, a.key.Public()) {
				delete(a.old, name)
			}
		}
		return a.newCert(in, w, nextCert)
	}
	return nil
}

// identity is that of the CA's next certificate. One of the same key keeps what certificates name as their issuer; w is nil for a new key.
func (a *authority) identity(w *world) (identity, error) {
	if w != nil {
		known := slices.Concat(a.chain, w.trustedOf(a))
		if w.misnamed(a) {
			known = known[len(a.chain):]
		}
		for _, l := range w.leaves {
			known = append(known, l.chain...)
		}
		for _, cert := range known {
			if sameKey(cert.PublicKey, a.key.Public()) {
				return identity{cert.RawSubject, cert.SubjectKeyId}, nil
			}
		}
	}
	name := pkix.Name{Organization: []string{organization}, CommonName: a.kind.subject + " v" + strconv.Itoa(a.keyGeneration)}
	subject, err := asn1.Marshal(name.ToRDNSequence())
	return identity{subject: subject}, err
}

func (a *authority) replaceKey(in *Input, keyGeneration, certGeneration int) error {
	key, err := in.newKey(ForCA)
	if err != nil {
		return fmt.Errorf("generate a key for the %s: %w", a.kind.title, err)
	}
	a.key, a.keyGeneration = key, keyGeneration
	return a.newCert(in, nil, certGeneration)
}

func (a *authority) newCert(in *Input, w *world, generation int) error {
	id, err := a.identity(w)
	if err != nil {
		return err
	}
	cert, err := makeCA(in, id, a.key, days(a.config.ValidityDays))
	if err != nil {
		return fmt.Errorf("create a certificate for the %s: %w", a.kind.title, err)
	}
	a.chain, a.certGeneration = []*x509.Certificate{cert}, generation
	return nil
}

// adopt restores certificates of keys that nodes depend on into the CA's Secrets if they are missing there: clients need them too.
func (a *authority) adopt(former []*x509.Certificate) {
	for _, cert := range former {
		if !hasKey(a.trusted(), cert) {
			a.old[a.retainedName(cert)+suffixCert] = []*x509.Certificate{cert}
		}
	}
}

// cleanUp drops earlier keys and certificates once nothing depends on them.
func (a *authority) cleanUp(in *Input, settled bool) {
	for name, certs := range a.old {
		cert := certs[0]
		replaced := settled && a.kind.subject == clusterSubject && !sameKey(cert.PublicKey, a.cert().PublicKey)
		expired := settled && in.Now.After(cert.NotAfter)
		if isRetained(name) && (replaced || expired) {
			delete(a.old, name)
		}
	}
	if !settled {
		return
	}
	for name := range a.oldKeys {
		if isRetained(name) {
			delete(a.oldKeys, name)
		}
	}
}

// secrets are the CA's two Secrets as they should be: the key first, so that no certificate is ever published whose key is lost.
func (a *authority) secrets(in *Input, settled bool) ([]Desired, error) {
	c := component{name: "strimzi", kind: "certificate-authority"}
	keys := base(in, a.kind.keySecret, a.keySecret, c, a.config.OwnerReference)
	text, err := encodeKey(a.key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of the %s: %w", a.kind.title, err)
	}
	if existing, err := parseKey(keys.Data[entryKey]); err != nil || !sameKey(existing.Public(), a.key.Public()) {
		keys.Data[entryKey] = text
	}
	if err := putKeys(keys.Data, a.oldKeys); err != nil {
		return nil, fmt.Errorf("encode an old key of the %s: %w", a.kind.title, err)
	}
	keys.Annotations[v1.AnnotationCAKeyGeneration] = strconv.Itoa(a.keyGeneration)
	a.annotateDistrust(keys.Annotations, settled)

	certs := base(in, a.kind.certSecret, a.certSecret, c, a.config.OwnerReference)
	changed := a.putCerts(certs.Data)
	if err := putStore(in, certs, changed); err != nil {
		return nil, fmt.Errorf("encode the PKCS #12 store of the %s: %w", a.kind.title, err)
	}
	certs.Annotations[v1.AnnotationCACertGeneration] = strconv.Itoa(a.certGeneration)
	if a.operation == RenewCert || a.operation == ReplaceKey {
		delete(certs.Annotations, v1.AnnotationForceRenew)
	}
	return []Desired{desired(keys, a.keySecret), desired(certs, a.certSecret)}, nil
}

// annotateDistrust keeps account of keys that a user asked to replace: their reason may be that the old key leaked, so that the nodes that
// still trust it are restarted once more.
func (a *authority) annotateDistrust(annotations map[string]string, settled bool) {
	if a.operation == ReplaceKey && v1.IsTrue(annotations, v1.AnnotationForceReplace) {
		delete(annotations, v1.AnnotationForceReplace)
		if a.kind.subject == clusterSubject {
			annotations[AnnotationDistrustPending] = "true"
		}
	}
	if settled && annotations[AnnotationDistrustPending] == "true" {
		delete(annotations, AnnotationDistrustPending)
		if a.keyGeneration > 0 {
			annotations[AnnotationDistrustedKey] = strconv.Itoa(a.keyGeneration - 1)
		}
	}
}

// putKeys makes the retained keys in a Secret these.
func putKeys(data map[string][]byte, keys map[string]crypto.Signer) error {
	for name := range data {
		if isRetained(name) && strings.HasSuffix(name, suffixKey) && keys[name] == nil {
			delete(data, name)
		}
	}
	for name, key := range keys {
		if existing, err := parseKey(data[name]); err == nil && sameKey(existing.Public(), key.Public()) {
			continue
		}
		text, err := encodeKey(key)
		if err != nil {
			return err
		}
		data[name] = text
	}
	return nil
}

// putCerts makes the certificates in a Secret those of the CA, and reports whether that changed any. What does not decode goes.
func (a *authority) putCerts(data map[string][]byte) bool {
	changed := false
	put := func(name string, want []*x509.Certificate) {
		if have, err := parseCerts(data[name]); err != nil || !slices.EqualFunc(have, want, (*x509.Certificate).Equal) {
			data[name], changed = encodeCerts(want...), true
		}
	}
	for name, text := range data {
		if !strings.HasSuffix(name, suffixCert) || name == entryCert {
			continue
		}
		if _, err := parseCerts(text); err != nil || isRetained(name) && a.old[name] == nil {
			delete(data, name)
			changed = true
		}
	}
	put(entryCert, a.chain)
	for _, name := range slices.Sorted(maps.Keys(a.old)) {
		if isRetained(name) {
			put(name, a.old[name])
		}
	}
	return changed
}

// warn reports a CA that expires soon because of a problem, or because the user has to renew it.
func (a *authority) warn(now time.Time) []Problem {
	left := a.cert().NotAfter.Sub(now)
	switch {
	case left <= 0:
		return []Problem{{ReasonCAExpiring, fmt.Sprintf("the certificate of the %s expired at %s", a.kind.title,
			a.cert().NotAfter.Format(time.RFC3339))}}
	case a.operation == Supplied && left < a.config.renewal():
		return []Problem{{ReasonCAExpiring, fmt.Sprintf(
			"the certificate of the %s, which the user supplies, expires at %s. Put another of the same key into Secret %s and raise its "+
				"annotation %s",
			a.kind.title, a.cert().NotAfter.Format(time.RFC3339), a.kind.certSecret, v1.AnnotationCACertGeneration)}}
	case a.operation != Supplied && left < lastChance:
		return []Problem{{ReasonCAExpiring, fmt.Sprintf("the certificate of the %s expires at %s: %s", a.kind.title,
			a.cert().NotAfter.Format(time.RFC3339), a.reason)}}
	case a.operation == Postponed:
		return []Problem{{ReasonPostponed, fmt.Sprintf("%s: %s; the certificate expires at %s", a.kind.title, a.reason,
			a.cert().NotAfter.Format(time.RFC3339))}}
	}
	return nil
}
