package pki

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// authority is a CA as its two Secrets hold it.
type authority struct {
	kind   kind
	config CAConfig

	keySecret, certSecret *corev1.Secret // nil if absent

	key    crypto.Signer // nil if missing
	keyErr error         // why ca.key cannot be read
	chain  []*x509.Certificate
	// old are the certificates that were kept when a key was replaced, or that a user added, by the name of their entry: the CA's, and
	// others that follow it.
	old map[string][]*x509.Certificate
	// oldKeys are keys that were replaced and may still be needed, by the name of their entry.
	oldKeys map[string]crypto.Signer

	keyGeneration, certGeneration   int
	hasKeyGeneration, hasGeneration bool

	operation Operation
	reason    string
}

// The common names of the CAs, which their key generations follow. Source: Strimzi.
const (
	clusterSubject = "cluster-ca"
	clientsSubject = "clients-ca"
)

// kind is which CA it is.
type kind struct {
	title      string // in messages
	constant   string // in messages of Strimzi
	subject    string
	keySecret  string
	certSecret string
}

func clusterKind(cluster string) kind {
	return kind{"Cluster CA", "CLUSTER_CA", clusterSubject, ClusterCAKeySecret(cluster), ClusterCACertSecret(cluster)}
}

func clientsKind(cluster string) kind {
	return kind{"Clients CA", "CLIENTS_CA", clientsSubject, ClientsCAKeySecret(cluster), ClientsCACertSecret(cluster)}
}

// costs is what a new key of the CA costs.
func (k kind) costs() string {
	if k.subject == clientsSubject {
		return "which restarts nodes once"
	}
	return "which restarts nodes three times"
}

// cert is the CA's current certificate; nil if there is none.
func (a *authority) cert() *x509.Certificate {
	if len(a.chain) == 0 {
		return nil
	}
	return a.chain[0]
}

// current is the certificate that signs once all nodes trust it.
func (a *authority) current() pair { return pair{a.key, a.cert(), a.certGeneration} }

// parseAuthority reads a CA's Secrets. The error is that they are unknown.
func parseAuthority(in *Input, k kind, config CAConfig) (*authority, error) {
	a := &authority{kind: k, config: config.withDefaults(), old: map[string][]*x509.Certificate{}, oldKeys: map[string]crypto.Signer{}}
	for name, secret := range map[string]**corev1.Secret{k.keySecret: &a.keySecret, k.certSecret: &a.certSecret} {
		fact := in.fact(name)
		if fact.State == Unknown {
			return nil, &Error{ReasonUnknown, fmt.Sprintf("Secret %s/%s can't be read, so no certificate is changed",
				in.Namespace, name), fact.Err}
		}
		*secret = fact.Secret
	}
	a.readKeys()
	a.readCerts()
	return a, nil
}

// MaxValidityDays is the longest validity of a certificate: a time.Duration can't hold more days.
const MaxValidityDays = int(math.MaxInt64 / (24 * time.Hour))

func (c CAConfig) withDefaults() CAConfig {
	if c.ValidityDays <= 0 {
		c.ValidityDays = 365
	}
	c.ValidityDays = min(c.ValidityDays, MaxValidityDays)
	if c.RenewalDays <= 0 {
		c.RenewalDays = 30
	}
	return c
}

// renewal is how long before they expire certificates are recreated. It is shorter than their validity, so that a new one is not due at
// once.
func (c CAConfig) renewal() time.Duration {
	if c.RenewalDays >= c.ValidityDays {
		return days(c.ValidityDays) / 3
	}
	return days(c.RenewalDays)
}

func (a *authority) readKeys() {
	if a.keySecret == nil {
		return
	}
	a.keyGeneration, a.hasKeyGeneration = generation(a.keySecret.Annotations, v1.AnnotationCAKeyGeneration)
	for name, data := range a.keySecret.Data {
		if !strings.HasSuffix(name, suffixKey) {
			continue
		}
		key, err := parseKey(data)
		switch {
		case name == entryKey:
			a.key, a.keyErr = key, err
		case err == nil:
			a.oldKeys[name] = key
		}
	}
}

func (a *authority) readCerts() {
	if a.certSecret == nil {
		return
	}
	a.certGeneration, a.hasGeneration = generation(a.certSecret.Annotations, v1.AnnotationCACertGeneration)
	for name, data := range a.certSecret.Data {
		if !strings.HasSuffix(name, suffixCert) {
			continue
		}
		certs, err := parseCerts(data)
		switch {
		case err != nil:
		case name == entryCert:
			a.chain = certs
		default:
			a.old[name] = certs
		}
	}
}

// warnOfKeys reports entries that have more than certificates. Clients get them, and the roller and the topic operator reject them.
func (a *authority) warnOfKeys() (problems []Problem) {
	if a.certSecret == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(a.certSecret.Data)) {
		if strings.HasSuffix(name, suffixCert) && !onlyCertificates(a.certSecret.Data[name]) {
			problems = append(problems, Problem{ReasonNotCertificates, fmt.Sprintf("%s: %s in Secret %s/%s has PEM blocks other than "+
				"certificates. Remove them, because the roller and the topic operator reject such a Secret, and clients get it. If a private key "+
				"is among them, replace it", a.kind.title, name, a.certSecret.Namespace, a.kind.certSecret)})
		}
	}
	return problems
}

// warnOfAnnotations reports what a user asks for on the other Secret of the CA, where nothing would happen. For a CA that the user
// supplies, nothing would happen on either of them.
func (a *authority) warnOfAnnotations() (problems []Problem) {
	if !a.config.Generate {
		return nil
	}
	for _, wrong := range []struct {
		secret                          *corev1.Secret
		annotation, name, right, result string
	}{
		{a.keySecret, v1.AnnotationForceRenew, a.kind.keySecret, a.kind.certSecret, "a new certificate of the same key"},
		{a.certSecret, v1.AnnotationForceReplace, a.kind.certSecret, a.kind.keySecret, "a new key"},
	} {
		if a.forced(wrong.secret, wrong.annotation) {
			problems = append(problems, Problem{ReasonAnnotation, fmt.Sprintf("%s: Secret %s/%s has the annotation %s, which has no effect "+
				"there: remove it, and annotate Secret %s for %s", a.kind.title, wrong.secret.Namespace, wrong.name, wrong.annotation, wrong.right,
				wrong.result)})
		}
	}
	return problems
}

// generation reads a counter from annotations.
func generation(annotations map[string]string, name string) (int, bool) {
	n, err := strconv.Atoi(annotations[name])
	return n, err == nil && n >= 0
}

// replaced are the old certificates of other keys than the current one, in a stable order.
func (a *authority) replaced() []*x509.Certificate {
	var certs []*x509.Certificate
	for _, name := range slices.Sorted(maps.Keys(a.old)) {
		if old := a.old[name][0]; a.cert() == nil || !sameKey(old.PublicKey, a.cert().PublicKey) {
			certs = append(certs, old)
		}
	}
	return certs
}

// added reports whether a certificate is of a CA that a user added to the CA's Secret.
func (a *authority) added(cert *x509.Certificate) bool {
	found := false
	for name, certs := range a.old {
		if hasKey(certs, cert) {
			if isRetained(name) {
				return false
			}
			found = true
		}
	}
	return found
}

// trusted are the certificates in the CA's Secret.
func (a *authority) trusted() []*x509.Certificate {
	certs := slices.Clone(a.chain)
	for _, name := range slices.Sorted(maps.Keys(a.old)) {
		certs = append(certs, a.old[name]...)
	}
	return certs
}

// keyOf is the old key of a certificate, if it was kept.
func (a *authority) keyOf(cert *x509.Certificate) crypto.Signer {
	for _, key := range a.oldKeys {
		if sameKey(key.Public(), cert.PublicKey) {
			return key
		}
	}
	return nil
}

// formerKeyEntry names the entry for the key of the CA that signed before: beside its certificate.
func (a *authority) formerKeyEntry(former []*x509.Certificate) string {
	return a.retainedName(former[len(former)-1]) + suffixKey
}

// retain keeps the current certificate, and its key if present, in addition to the new one.
func (a *authority) retain() {
	cert := a.cert()
	if cert == nil {
		return
	}
	name := a.retainedName(cert)
	a.old[name+suffixCert] = []*x509.Certificate{cert}
	if a.key != nil && sameKey(a.key.Public(), cert.PublicKey) {
		a.oldKeys[name+suffixKey] = a.key
	}
}

// retainedName is the name under which a certificate is kept, without the suffix: a number is added where several expire in the same
// second.
func (a *authority) retainedName(cert *x509.Certificate) string {
	first := "ca-" + cert.NotAfter.UTC().Format(retainedLayout)
	for name, n := first, 1; ; n++ {
		other, key := a.old[name+suffixCert], a.oldKeys[name+suffixKey]
		if (len(other) == 0 || other[0].Equal(cert)) && (key == nil || sameKey(key.Public(), cert.PublicKey)) {
			return name
		}
		name = first + "-" + strconv.Itoa(n)
	}
}

// isRetained reports whether an entry is one that a replacement kept: ca-<time>.crt, and no other that a user may have added.
func isRetained(entry string) bool {
	text, ok := strings.CutPrefix(entry, "ca-")
	if !ok || len(text) < len(retainedLayout) {
		return false
	}
	_, err := time.Parse(retainedLayout, text[:len(retainedLayout)])
	return err == nil
}

func (a *authority) forced(secret *corev1.Secret, annotation string) bool {
	return secret != nil && v1.IsTrue(secret.Annotations, annotation)
}
