package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Use is the purpose of a key.
type Use int

// What a key is for.
const (
	ForCA Use = iota
	ForLeaf
)

const (
	caKeyBits = 4096
	// clockSkew is by how much clocks of nodes may lag behind ours: a certificate that was made just now is valid for them too.
	clockSkew = 5 * time.Minute
)

// GenerateKey makes a key of the kind that pki uses: RSA 4096 for CAs, as Strimzi, and ECDSA P-256 for the rest. It uses the system's
// secure randomness.
func GenerateKey(use Use) (crypto.Signer, error) {
	if use == ForCA {
		return rsa.GenerateKey(rand.Reader, caKeyBits)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// pair is a certificate with its key.
type pair struct {
	key  crypto.Signer
	cert *x509.Certificate
	// generation is that of the certificate, for annotations.
	generation int
}

func serial(random io.Reader) (*big.Int, error) {
	b := make([]byte, 19) // RFC 5280, 4.1.2.2: positive, at most 20 bytes
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	b[0] |= 0x40 // never zero, and always of the same length
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b), nil
}

// identity is how the certificates that a CA signed name it: all of its certificates of one key need the same.
type identity struct {
	// subject is raw, since a name that is encoded otherwise is another name.
	subject []byte
	// keyID is the identifier of the key: Java and OpenSSL reject a certificate that names another one than the CA's certificate that they
	// trust has. Empty stands for the usual one.
	keyID []byte
}

// makeCA makes a CA's certificate of its key.
func makeCA(in *Input, id identity, key crypto.Signer, validity time.Duration) (*x509.Certificate, error) {
	if len(id.keyID) == 0 {
		var err error
		if id.keyID, err = keyIdentifier(key.Public()); err != nil {
			return nil, err
		}
	}
	return sign(in, &x509.Certificate{
		RawSubject:            id.subject,
		SubjectKeyId:          id.keyID,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}, nil, key.Public(), key, validity)
}

// keyIdentifier is the usual identifier of a key, the SHA-1 of it: that of Go depends on its version. Source: RFC 5280, 4.2.1.2, method 1;
// OpenSSL, by which Strimzi makes CAs.
func keyIdentifier(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, err
	}
	sum := sha1.Sum(info.Key.Bytes)
	return sum[:], nil
}

// identifiedAs reports whether peers that trust one of some certificates of a CA accept what another one of the same key signs.
func identifiedAs(trusted []*x509.Certificate, cert *x509.Certificate) bool {
	others := false
	for _, c := range trusted {
		if !hasKey([]*x509.Certificate{cert}, c) {
			continue
		}
		if len(c.SubjectKeyId) == 0 || len(cert.SubjectKeyId) == 0 || bytes.Equal(c.SubjectKeyId, cert.SubjectKeyId) {
			return true
		}
		others = true
	}
	return !others
}

// makeLeaf makes a certificate for a key, signed by a CA.
func makeLeaf(in *Input, commonName string, sans []string, key crypto.PublicKey, ca pair,
	validity time.Duration) (*x509.Certificate, error) {
	template := &x509.Certificate{
		Subject:  pkix.Name{Organization: []string{organization}, CommonName: commonName},
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	for _, san := range sans {
		if address, err := netip.ParseAddr(san); err == nil {
			template.IPAddresses = append(template.IPAddresses, address.AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, san)
		}
	}
	return sign(in, template, ca.cert, key, ca.key, validity)
}

func sign(in *Input, template, parent *x509.Certificate, key crypto.PublicKey, signer crypto.Signer,
	validity time.Duration) (*x509.Certificate, error) {
	number, err := serial(in.Rand)
	if err != nil {
		return nil, err
	}
	template.SerialNumber = number
	template.NotBefore, template.NotAfter = in.Now.Add(-clockSkew).UTC(), in.Now.Add(validity).UTC()
	switch signer.Public().(type) {
	case *rsa.PublicKey:
		template.SignatureAlgorithm = x509.SHA512WithRSA
	case *ecdsa.PublicKey:
		template.SignatureAlgorithm = x509.ECDSAWithSHA512
	}
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(in.Rand, template, parent, key, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func encodeCerts(certs ...*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, cert := range certs {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return out.Bytes()
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// parseCerts reads one or more certificates in PEM.
func parseCerts(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for len(bytes.TrimSpace(text)) > 0 {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate in PEM")
	}
	return certs, nil
}

// Generated reports whether the certificate in the Secret of a CA looks like one that this operator, or Strimzi's, makes.
func Generated(ca *corev1.Secret) bool {
	certs, err := parseCerts(ca.Data[entryCert])
	return err == nil && len(certs) == 1 && signed(certs[0], certs[0]) && slices.Equal(certs[0].Subject.Organization, []string{organization})
}

// parseKey reads a private key in PEM: PKCS #8, or what OpenSSL wrote before.
func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no private key in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", key)
	}
	return signer, nil
}

// sameKey reports whether two public keys are the same.
func sameKey(a, b crypto.PublicKey) bool {
	equal, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && equal.Equal(b)
}

// signed reports whether a CA signed a certificate.
func signed(ca, cert *x509.Certificate) bool {
	return bytes.Equal(ca.RawSubject, cert.RawIssuer) && ca.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate,
		cert.Signature) == nil
}

// caFlaw explains why nodes would not trust what a certificate signs; empty if they would. One of X.509 version 1 names no uses.
func caFlaw(cert *x509.Certificate, now time.Time) string {
	switch {
	case cert.Version == 3 && !cert.BasicConstraintsValid, cert.BasicConstraintsValid && !cert.IsCA:
		return "is not the certificate of a CA: it lacks the basic constraint CA:TRUE"
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return "may not sign certificates: its key usages lack keyCertSign"
	case early(cert, now):
		return "is not valid before " + cert.NotBefore.Format(time.RFC3339)
	}
	return ""
}

// early reports whether a certificate is not valid yet, although clocks may differ.
func early(cert *x509.Certificate, now time.Time) bool {
	return cert.NotBefore.After(now.Add(clockSkew))
}

// sansOf returns the alternative names of a certificate, sorted.
func sansOf(cert *x509.Certificate) []string {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		if address, ok := netip.AddrFromSlice(ip); ok {
			names = append(names, address.Unmap().String())
		}
	}
	return normalSANs(names)
}

// normalSANs are names sorted, each once, with IP addresses normalized.
func normalSANs(names []string) []string {
	normal := make([]string, len(names))
	for i, name := range names {
		normal[i] = name
		if address, err := netip.ParseAddr(name); err == nil {
			normal[i] = address.Unmap().WithZone("").String() // a certificate has no zones
		}
	}
	slices.Sort(normal)
	return slices.Compact(normal)
}

// thumbprint is the SHA-1 of a certificate in hex, as Strimzi writes it to pods.
func thumbprint(cert *x509.Certificate) string {
	sum := sha1.Sum(cert.Raw)
	return hex.EncodeToString(sum[:])
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
