package realnodes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// validity is the validity of certificates: longer than any lab runs.
const validity = 30 * 24 * time.Hour

// authority is the certificate authority of a cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         keyPair
}

// keyPair is a certificate with its key, in PEM.
type keyPair struct{ certificate, key []byte }

// identity is the subject of a certificate. Kubernetes reads the user and the groups from the name; servers are identified by hosts.
type identity struct {
	user      string
	groups    []string
	names     []string
	addresses []netip.Addr
}

func newAuthority(name string) (*authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	pair, key, certificate, err := sign(template, nil)
	return &authority{certificate, key, pair}, err
}

// issue creates a certificate for a client or a server or both.
func (a *authority) issue(who identity) (keyPair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: who.user, Organization: who.groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    who.names,
	}
	for _, address := range who.addresses {
		template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
	}
	pair, _, _, err := sign(template, a)
	return pair, err
}

// sign creates a key and a certificate for it, signed by the authority, or self-signed without one.
func sign(template *x509.Certificate, by *authority) (keyPair, *ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return keyPair{}, nil, nil, err
	}
	// Clocks may differ a little.
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(validity)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return keyPair{}, nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return keyPair{}, nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, nil, nil, err
	}
	return keyPair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, key, certificate, nil
}
