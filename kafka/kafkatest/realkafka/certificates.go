package realkafka

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Authority is a certificate authority for tests.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// Certificate is a certificate with its key, both PEM (the key as PKCS #8, which Java insists on).
type Certificate struct {
	Cert, Key []byte
}

// NewAuthority creates a certificate authority. Tests need a second one to check that clients with its certificates are rejected.
func NewAuthority(commonName string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(commonName)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: cert, key: key, pem: pemBlock("CERTIFICATE", der)}, nil
}

// ParseAuthority returns the authority with this certificate and this key, both PEM, the key as PKCS #8.
func ParseAuthority(certificate, key []byte) (*Authority, error) {
	certBlock, _ := pem.Decode(certificate)
	keyBlock, _ := pem.Decode(key)
	if certBlock == nil || keyBlock == nil {
		return nil, errors.New("parsing an authority: its certificate or its key is not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("parsing an authority: a key of type %T can't sign", parsed)
	}
	return &Authority{cert: cert, key: signer, pem: certificate}, nil
}

// PEM returns the authority's own certificate.
func (a *Authority) PEM() []byte { return a.pem }

// Issue makes a certificate for clients, and for servers on this machine or at these addresses. Kafka knows its holder as
// User:CN=<commonName>.
func (a *Authority) Issue(commonName string, addresses ...net.IP) (Certificate, error) {
	return a.issue(certificateTemplate(commonName), addresses...)
}

// IssueExpired makes a certificate that expired an hour ago.
func (a *Authority) IssueExpired(commonName string) (Certificate, error) {
	template := certificateTemplate(commonName)
	template.NotAfter = time.Now().Add(-time.Hour)
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate, addresses ...net.IP) (Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificate{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = append([]net.IP{net.ParseIP(loopback), net.IPv6loopback}, addresses...)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Certificate{}, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Certificate{}, err
	}
	return Certificate{Cert: pemBlock("CERTIFICATE", der), Key: pemBlock("PRIVATE KEY", pkcs8)}, nil
}

func certificateTemplate(commonName string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // documented never to happen
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		// Yesterday, because clocks differ.
		NotBefore: now.AddDate(0, 0, -1),
		NotAfter:  now.AddDate(1, 0, 0),
	}
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
