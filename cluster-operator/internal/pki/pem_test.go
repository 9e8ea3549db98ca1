package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// issued is a user's certificate with its key.
type issued struct {
	key  crypto.Signer
	cert *x509.Certificate
}

func issue(t *testing.T, name string, key crypto.Signer, by *issued, from, to time.Time) *issued {
	t.Helper()
	g := NewWithT(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: from,
		NotAfter: to, IsCA: by == nil, BasicConstraintsValid: true}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(cryptorand.Reader, template, parent, key.Public(), signer)
	g.Expect(err).NotTo(HaveOccurred())
	cert, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return &issued{key, cert}
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func pkcs8(t *testing.T, key crypto.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return block("PRIVATE KEY", der)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// TestCertificatesComeWithoutKeys checks that nothing but certificates, encoded as pki does, remains of an entry that others may read.
func TestCertificatesComeWithoutKeys(t *testing.T) {
	from := at("2026-11-22 12:00:00")
	root := issue(t, "root", ecKey(t), nil, from, from.AddDate(1, 0, 0))
	leaf := issue(t, "leaf", ecKey(t), root, from, from.AddDate(1, 0, 0))
	cert, ca, key := encodeCerts(leaf.cert), encodeCerts(root.cert), pkcs8(t, leaf.key)
	chain := join(cert, ca)
	for name, c := range map[string]struct{ text, want []byte }{
		"a chain":                       {chain, chain},
		"the key last":                  {join(chain, key), chain},
		"the key first":                 {join(key, chain), chain},
		"a key between":                 {join(cert, []byte("x\n"), key, ca), chain},
		"line ends of Windows":          {bytes.ReplaceAll(chain, []byte("\n"), []byte("\r\n")), chain},
		"a key in text around":          {join([]byte("Key: 00:aa:bb\n"), chain), chain},
		"another name of the type":      {join(block("X509 CERTIFICATE", leaf.cert.Raw), ca), chain},
		"a key that calls itself so":    {join(chain, block("CERTIFICATE", []byte("secret"))), chain},
		"a key of OpenSSL":              {join(block("EC PRIVATE KEY", []byte("secret")), chain), chain},
		"a certificate that is cut off": {join(cert, key, ca[:len(ca)/2]), cert},
		"a key":                         {key, nil},
		"nothing":                       {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Certificates(c.text)).To(Equal(c.want))
		})
	}
}

// TestPairsOfUsers has a row for each form of certificates and keys. The results are those of DefaultSslEngineFactory of Kafka 4.3.1 on
// Java 17, except that Kafka leaves out a truncated CA.
func TestPairsOfUsers(t *testing.T) {
	g := NewWithT(t)
	now := at("2026-11-22 12:00:00")
	from, to := now.AddDate(0, -1, 0), now.AddDate(0, 1, 0)
	rsaKey, err := rsa.GenerateKey(cryptorand.Reader, 2048)
	g.Expect(err).NotTo(HaveOccurred())
	_, edKey, err := ed25519.GenerateKey(cryptorand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	root := issue(t, "root", ecKey(t), nil, from, to)
	leaf := issue(t, "leaf", ecKey(t), root, from, to)
	sec1, err := x509.MarshalECPrivateKey(leaf.key.(*ecdsa.PrivateKey))
	g.Expect(err).NotTo(HaveOccurred())
	good, ca, key := encodeCerts(leaf.cert), encodeCerts(root.cert), pkcs8(t, leaf.key)
	byRSA := issue(t, "leaf", rsaKey, root, from, to)
	byEd := issue(t, "leaf", edKey, root, from, to)

	for name, c := range map[string]struct {
		certificate, key []byte
		flaw             Flaw
		message          string
	}{
		"EC":          {certificate: good, key: key},
		"RSA":         {certificate: encodeCerts(byRSA.cert), key: pkcs8(t, rsaKey)},
		"with its CA": {certificate: join(good, ca), key: key},
		"with what OpenSSL writes around": {
			certificate: join([]byte("Bag Attributes\n  friendlyName: x\n"), good), key: join([]byte("x\n"), key),
		},
		"with line ends of Windows": {
			certificate: bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")), key: bytes.ReplaceAll(key, []byte("\n"), []byte("\r\n")),
		},
		"certificate and key in both":   {certificate: join(good, key), key: join(good, key)},
		"no certificate":                {nil, key, CertificateUnreadable, "has no valid certificate in PEM"},
		"garbage":                       {[]byte("garbage"), key, CertificateUnreadable, "has no valid certificate in PEM"},
		"DER":                           {leaf.cert.Raw, key, CertificateUnreadable, "has no valid certificate in PEM"},
		"a certificate that is cut off": {good[:len(good)/2], key, CertificateUnreadable, "has no valid "},
		"a CA that is cut off":          {join(good, ca[:len(ca)/2]), key, CertificateUnreadable, "has no valid "},
		"a certificate of garbage":      {block("CERTIFICATE", []byte("x")), key, CertificateUnreadable, "can't be read: certificate 1: x509"},
		"the CA first":                  {join(ca, good), key, ChainBroken, `issued by "CN=root", but the next one is that of "CN=leaf"`},
		"a CA that did not issue it": {
			join(good, encodeCerts(issue(t, "other", ecKey(t), nil, from, to).cert)), key, ChainBroken, `that of "CN=other"`,
		},
		"the certificate twice": {join(good, good), key, ChainBroken, "has certificate 2 (CN=leaf) twice"},
		"the CA twice":          {join(good, ca, ca), key, ChainBroken, "has certificate 3 (CN=root) twice"},
		"no key":                {good, nil, KeyUnreadable, "has no valid private key in PEM"},
		"a key of garbage":      {good, block("PRIVATE KEY", []byte("x")), KeyUnreadable, "can't be read: "},
		"a key on one line":     {good, bytes.ReplaceAll(key, []byte("\n"), nil), KeyUnreadable, "has no valid "},
		"two keys":              {good, join(key, key), KeyUnreadable, "has 2 private keys"},
		"a public key":          {good, block("PUBLIC KEY", []byte("x")), KeyUnreadable, "has no valid private key in PEM"},
		"PKCS #1": {
			encodeCerts(byRSA.cert), block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey)), KeyFormat,
			"openssl pkcs8 -topk8 -nocrypt",
		},
		"SEC 1": {good, block("EC PRIVATE KEY", sec1), KeyFormat, "(EC PRIVATE KEY), but Kafka reads only PKCS #8"},
		"SEC 1 after the curve's name": {
			good, join(block("EC PARAMETERS", []byte("x")), block("EC PRIVATE KEY", sec1)), KeyFormat, "openssl pkcs8",
		},
		"an encrypted key":               {good, block("ENCRYPTED PRIVATE KEY", []byte("x")), KeyFormat, "Kafka has no password for it"},
		"a key of OpenSSH":               {good, block("OPENSSH PRIVATE KEY", []byte("x")), KeyFormat, "(OPENSSH PRIVATE KEY)"},
		"Ed25519":                        {encodeCerts(byEd.cert), pkcs8(t, edKey), KeyFormat, "(ed25519.PrivateKey): use RSA or EC"},
		"the key of another certificate": {good, pkcs8(t, ecKey(t)), KeyMismatch, "is not the key of the first certificate"},
		"a key of another kind":          {good, pkcs8(t, rsaKey), KeyMismatch, "is not the key of the first certificate"},
		"a certificate that expired": {
			encodeCerts(issue(t, "x", leaf.key, root, from, now.Add(-time.Second)).cert), key, Expired, "expired at 2026-11-22T11:59:59Z",
		},
		"a certificate of the future": {
			encodeCerts(issue(t, "x", leaf.key, root, now.Add(time.Hour), to).cert), key, NotYetValid, "only from 2026-11-22T13:00:00Z",
		},
		"a certificate of a clock in front": {
			certificate: encodeCerts(issue(t, "x", leaf.key, root, now.Add(time.Minute), to).cert), key: key,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			flaw := Pair{c.certificate, c.key}.Check(now)
			if c.flaw == "" {
				g.Expect(flaw).ToNot(HaveOccurred())
				return
			}
			g.Expect(flaw).To(HaveField("Flaw", c.flaw))
			g.Expect(flaw).To(MatchError(ContainSubstring(c.message)))
			g.Expect(flaw.OfKey).To(Equal(strings.HasPrefix(string(c.flaw), "CertificateKey")))
		})
	}
}
