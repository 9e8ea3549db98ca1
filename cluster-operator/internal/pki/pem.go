package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Pair is a certificate, followed by those that signed it, and its key, in PEM.
type Pair struct {
	Certificate, Key []byte
}

// Flaw is why a pair can't be served.
type Flaw string

// Why a pair can't be served.
const (
	CertificateUnreadable Flaw = "CertificateUnreadable"
	ChainBroken           Flaw = "CertificateChainBroken"
	NotYetValid           Flaw = "CertificateNotYetValid"
	Expired               Flaw = "CertificateExpired"
	KeyUnreadable         Flaw = "CertificateKeyUnreadable"
	KeyFormat             Flaw = "CertificateKeyFormat"
	KeyMismatch           Flaw = "CertificateKeyMismatch"
)

// PairError explains why a pair can't be served.
type PairError struct {
	Flaw Flaw
	// Message completes a sentence that begins with the certificate's or, if OfKey, with the key's name.
	Message string
	OfKey   bool
}

// Error implements error.
func (e *PairError) Error() string { return e.Message }

// convert describes how to convert a key into a format that Kafka reads.
const convert = "convert it with openssl pkcs8 -topk8 -nocrypt -in old.key -out new.key (with cert-manager, set privateKey.encoding " +
	"to PKCS8)"

// Check returns why Kafka can't load a pair, or why clients can't trust it at that time; nil if both can.
//
// Kafka loads it into a PKCS #12 store of Java's: one key of RSA or EC in PKCS #8, not encrypted, and certificates each of which is
// followed by the one that issued it, none twice. Anything else keeps a broker from starting. With a key of another certificate it starts,
// and each handshake fails. Source: DefaultSslEngineFactory.PemStore, sun.security.pkcs12.PKCS12KeyStore.
func (p Pair) Check(now time.Time) *PairError {
	chain, flaw := p.chain()
	if flaw != nil {
		return flaw
	}
	key, flaw := p.key()
	if flaw != nil {
		return flaw
	}
	leaf := chain[0]
	switch {
	case !sameKey(key.Public(), leaf.PublicKey):
		return &PairError{KeyMismatch, "is not the key of the first certificate: use a certificate and its own key", true}
	case now.After(leaf.NotAfter):
		return &PairError{Expired, "expired at " + leaf.NotAfter.Format(time.RFC3339) + ": renew it", false}
	case leaf.NotBefore.After(now.Add(clockSkew)):
		return &PairError{NotYetValid, "is valid only from " + leaf.NotBefore.Format(time.RFC3339) + " on", false}
	}
	return nil
}

func (p Pair) chain() ([]*x509.Certificate, *PairError) {
	flawed := func(flaw Flaw, format string, args ...any) *PairError {
		return &PairError{flaw, fmt.Sprintf(format, args...), false}
	}
	blocks, ok := pemBlocks(p.Certificate, "CERTIFICATE")
	if !ok {
		return nil, flawed(CertificateUnreadable, "has no valid certificate in PEM")
	}
	var chain []*x509.Certificate
	for i, block := range blocks {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, flawed(CertificateUnreadable, "can't be read: certificate %d: %v", i+1, err)
		}
		switch {
		case slices.ContainsFunc(chain, cert.Equal):
			return nil, flawed(ChainBroken, "has certificate %d (%s) twice, which Kafka rejects", i+1, cert.Subject)
		case i > 0 && !strings.EqualFold(chain[i-1].Issuer.String(), cert.Subject.String()):
			return nil, flawed(ChainBroken, "has a chain that Kafka rejects: certificate %d was issued by %q, but the next one is that of %q. "+
				"Put the listener's certificate first, followed by those of its issuers in order", i, chain[i-1].Issuer, cert.Subject)
		}
		chain = append(chain, cert)
	}
	return chain, nil
}

func (p Pair) key() (crypto.Signer, *PairError) {
	flawed := func(flaw Flaw, format string, args ...any) *PairError {
		return &PairError{flaw, fmt.Sprintf(format, args...), true}
	}
	blocks, ok := pemBlocks(p.Key, "PRIVATE KEY")
	switch {
	case !ok:
		return nil, flawed(KeyUnreadable, "has no valid private key in PEM")
	case len(blocks) > 1:
		return nil, flawed(KeyUnreadable, "has %d private keys: keep only that of the certificate", len(blocks))
	}
	switch kind := blocks[0].Type; kind {
	case "PRIVATE KEY":
	case "RSA PRIVATE KEY", "EC PRIVATE KEY":
		return nil, flawed(KeyFormat, "has a key in the format of OpenSSL (%s), but Kafka reads only PKCS #8: "+convert, kind)
	case "ENCRYPTED PRIVATE KEY":
		return nil, flawed(KeyFormat, "has an encrypted key, but Kafka has no password for it: "+convert)
	default:
		return nil, flawed(KeyFormat, "has a key of an unsupported type (%s): use RSA or EC in PKCS #8", kind)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(blocks[0].Bytes)
	if err != nil {
		return nil, flawed(KeyUnreadable, "can't be read: %v", err)
	}
	switch key := parsed.(type) {
	case *rsa.PrivateKey:
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	}
	return nil, flawed(KeyFormat, "has a key of an unsupported type (%T): use RSA or EC", parsed)
}

// Certificates returns the certificates in a text of PEM, and nothing else of it: for Kafka, their key may be among them. It leaves out
// what can't be read.
func Certificates(text []byte) []byte {
	blocks, _ := pemBlocks(text, "CERTIFICATE")
	var certs []*x509.Certificate
	for _, block := range blocks {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, cert)
		}
	}
	return encodeCerts(certs...)
}

// onlyCertificates reports whether no PEM block in a text is something else than a certificate.
func onlyCertificates(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return false
		}
	}
	return true
}

// boundary matches the beginning of a PEM block anywhere in the text.
var boundary = regexp.MustCompile(`-----BEGIN ([^\r\n]*)-----`)

// pemBlocks returns the blocks whose types end like this; false if there is none, or if one is damaged, which package pem would skip.
func pemBlocks(text []byte, kind string) ([]*pem.Block, bool) {
	begun := 0
	for _, begin := range boundary.FindAllSubmatch(text, -1) {
		if bytes.HasSuffix(begin[1], []byte(kind)) {
			begun++
		}
	}
	var blocks []*pem.Block
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, kind) {
			blocks = append(blocks, block)
		}
	}
	return blocks, len(blocks) > 0 && len(blocks) == begun
}
