package pki

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// leaf is a certificate that the cluster CA signs, in its own Secret.
type leaf struct {
	secretName string
	entry      string // of the certificate, without .crt
	commonName string
	sans       []string
	listeners  bool              // whether the node serves those with certificates of their users'
	extra      map[string][]byte // further entries of the Secret
	component  component
	pod        string // whose node it is; empty for those of operators
	renewOnly  bool   // sans and extra are those of the Secret, as far as it has them

	unknown bool           // the Secret could not be read, or is to be left alone
	secret  *corev1.Secret // nil if absent
	cert    *x509.Certificate
	chain   []*x509.Certificate // what follows the certificate

	// signers caches the verified signatures of cert: each check takes a tenth of a millisecond, and is repeated several times.
	signers map[*x509.Certificate]bool
}

// signedBy reports whether a CA signed the leaf's certificate.
func (l *leaf) signedBy(ca *x509.Certificate) bool {
	by, known := l.signers[ca]
	if !known {
		by = signed(ca, l.cert)
		if l.signers == nil {
			l.signers = map[*x509.Certificate]bool{}
		}
		l.signers[ca] = by
	}
	return by
}

// readLeaves reads the Secrets of all leaves that there should be. The error is that one is another owner's.
func readLeaves(in *Input) ([]*leaf, error) {
	leaves := []*leaf{{
		secretName: OperatorSecret(in.Cluster), entry: entryOperator, commonName: "cluster-operator",
		component: component{name: "strimzi", kind: "strimzi"},
	}}
	if in.TopicOperator {
		leaves = append(leaves, &leaf{
			secretName: TopicOperatorSecret(in.Cluster), entry: entryEntity, commonName: in.Cluster + "-entity-topic-operator",
			component: component{name: in.Cluster + "-entity-operator", kind: "entity-topic-operator"},
		})
	}
	for _, node := range in.Nodes {
		leaves = append(leaves, &leaf{
			secretName: node.PodName, entry: node.PodName, commonName: in.Cluster + "-kafka", sans: normalSANs(node.SANs), listeners: node.Listeners,
			component: component{name: in.Cluster + "-kafka", kind: "kafka"}, pod: node.PodName, renewOnly: node.RenewOnly,
		})
	}
	for _, l := range leaves {
		fact := in.fact(l.secretName)
		l.unknown = fact.State == Unknown
		if fact.State != Present {
			continue
		}
		if err := ours(in, fact.Secret); err != nil {
			return nil, err
		}
		l.read(fact.Secret)
	}
	for _, l := range leaves {
		if l.renewOnly {
			l.keepContents()
		}
	}
	return leaves, nil
}

// keepContents takes the names from the certificate, and the other entries from the Secret.
func (l *leaf) keepContents() {
	if l.cert != nil {
		l.sans = sansOf(l.cert)
	}
	l.unknown = l.unknown || len(l.sans) == 0
	if l.secret == nil {
		return
	}
	l.extra = maps.Clone(l.secret.Data)
	delete(l.extra, l.entry+suffixCert)
	delete(l.extra, l.entry+suffixKey)
}

// read takes over a certificate with its key. One that does not fit its key is as good as none: no node can serve it.
func (l *leaf) read(secret *corev1.Secret) {
	l.secret = secret
	certs, err := parseCerts(secret.Data[l.entry+suffixCert])
	if err != nil {
		return
	}
	key, err := parseKey(secret.Data[l.entry+suffixKey])
	if err != nil || !sameKey(key.Public(), certs[0].PublicKey) {
		return
	}
	l.cert, l.chain = certs[0], certs[1:]
}

func (l *leaf) generation() (int, bool) {
	if l.secret == nil {
		return 0, false
	}
	return generation(l.secret.Annotations, core.AnnotationClusterCACertGeneration)
}

// issuer signs leaves in one pass.
type issuer struct {
	signer pair
	// current is the current CA, which signs unless some nodes do not trust it yet.
	current pair
	// accepted are the CAs, in addition to the signer, whose leaves are kept: all relevant nodes trust them.
	accepted []*x509.Certificate
	// trusted are the certificates of which nodes trust each.
	trusted []*x509.Certificate
	// frozen keeps an accepted leaf even if it has other defects: nodes would not trust a new one.
	frozen  bool
	config  CAConfig
	windows schedule
}

// flaw explains why a certificate should be made again; empty if it is not.
func (i issuer) flaw(l *leaf, now time.Time) string {
	switch {
	case l.cert == nil:
		return "the certificate is missing or unreadable"
	case !i.accepts(l):
		return "the CA has a new certificate"
	case i.frozen:
		return ""
	case early(l.cert, now):
		return "it is not valid before " + l.cert.NotBefore.Format(time.RFC3339)
	case !slices.Equal(sansOf(l.cert), l.sans):
		return "its DNS names or addresses changed"
	case l.cert.Subject.CommonName != l.commonName:
		return "its subject changed"
	case now.After(l.due(i.config)) && i.windows.mayRenew(now, l.cert.NotAfter) && now.Add(i.validity(now)).After(l.cert.NotAfter):
		return "it expires at " + l.cert.NotAfter.Format(time.RFC3339)
	}
	return ""
}

// validity is how long a certificate that is made now is valid: not longer than that of its CA, which would be taken for valid.
func (i issuer) validity(now time.Time) time.Duration {
	validity := days(i.config.ValidityDays)
	if left := i.signer.cert.NotAfter.Sub(now); left > 0 {
		return min(validity, left)
	}
	return validity
}

// accepts reports whether a leaf is of one of the CAs, and presents that CA's certificate.
func (i issuer) accepts(l *leaf) bool {
	for _, ca := range append([]*x509.Certificate{i.signer.cert}, i.accepted...) {
		if l.signedBy(ca) {
			return len(l.chain) > 0 && bytes.Equal(l.chain[0].Raw, ca.Raw)
		}
	}
	return false
}

// chain returns the signer's certificate and those of its issuers, each followed by its own, as far as they are known: clients may trust
// the last one alone. Kafka loads no other chain.
func (i issuer) chain() []*x509.Certificate {
	chain := []*x509.Certificate{i.signer.cert}
	for last := i.signer.cert; !bytes.Equal(last.RawSubject, last.RawIssuer); {
		at := slices.IndexFunc(i.trusted, func(ca *x509.Certificate) bool { return signed(ca, last) && !slices.ContainsFunc(chain, ca.Equal) })
		if at < 0 {
			break
		}
		last = i.trusted[at]
		chain = append(chain, last)
	}
	return chain
}

// due is when the certificate should be made again.
func (l *leaf) due(c CAConfig) time.Time { return l.cert.NotAfter.Add(-c.renewal()) }

// desire is the leaf's Secret as it should be. The certificate is made if it has a flaw.
func (i issuer) desire(in *Input, l *leaf, r *Result) (Desired, error) {
	secret := base(in, l.secretName, l.secret, l.component, true)
	cert, key := l.entry+suffixCert, l.entry+suffixKey
	// The Secret holds nothing else, so that the entries of listeners that are gone go too.
	secret.Data = map[string][]byte{cert: secret.Data[cert], key: secret.Data[key]}
	flaw := i.flaw(l, in.Now)
	generation, known := l.generation()
	if flaw != "" {
		private, err := in.newKey(ForLeaf)
		if err != nil {
			return Desired{}, fmt.Errorf("generate a key for Secret %s: %w", l.secretName, err)
		}
		if l.cert, err = makeLeaf(in, l.commonName, l.sans, private.Public(), i.signer, i.validity(in.Now)); err != nil {
			return Desired{}, fmt.Errorf("create a certificate for Secret %s: %w", l.secretName, err)
		}
		l.chain, l.signers = i.chain(), nil
		if secret.Data[key], err = encodeKey(private); err != nil {
			return Desired{}, fmt.Errorf("encode a key for Secret %s: %w", l.secretName, err)
		}
		secret.Data[cert] = encodeCerts(append([]*x509.Certificate{l.cert}, l.chain...)...)
		generation, known = i.signer.generation, true
		r.Decisions = append(r.Decisions, Decision{l.secretName, "make a certificate", flaw})
	}
	switch {
	case l.signedBy(i.signer.cert):
		generation = i.signer.generation
	case !known && l.signedBy(i.current.cert):
		generation = i.current.generation
	case !known: // of a former CA: pods that have the present generation count as moved to the present one
		generation = max(i.current.generation-1, 0)
	}
	secret.Annotations[core.AnnotationClusterCACertGeneration] = strconv.Itoa(generation)
	maps.Copy(secret.Data, l.extra)
	return desired(secret, l.secret), nil
}
