package pki

import (
	"crypto/sha3"
	"encoding/base64"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// putStore writes the certificates of a CA as a PKCS #12 store that Java takes as a truststore. It is recreated only if they changed: each
// encoding differs.
func putStore(in *Input, data map[string][]byte, changed bool) error {
	if !in.PKCS12 {
		return nil
	}
	password := string(data[entryPassword])
	if len(data[entryStore]) > 0 && password != "" && !changed {
		return nil
	}
	if password == "" {
		random := make([]byte, 18)
		if _, err := io.ReadFull(in.Rand, random); err != nil {
			return err
		}
		password = base64.RawURLEncoding.EncodeToString(random)
	}
	var entries []pkcs12.TrustStoreEntry
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if !strings.HasSuffix(name, suffixCert) {
			continue
		}
		certs, err := parseCerts(data[name])
		if err != nil {
			continue // putCerts removed what does not decode
		}
		for i, cert := range certs {
			alias := name
			if i > 0 { // Java keeps one certificate of each name
				alias += "-" + strconv.Itoa(i)
			}
			entries = append(entries, pkcs12.TrustStoreEntry{Cert: cert, FriendlyName: alias})
		}
	}
	store, err := pkcs12.Modern2023.WithRand(in.Rand).EncodeTrustStoreEntries(entries, password)
	if err != nil {
		return err
	}
	data[entryStore], data[entryPassword] = store, []byte(password)
	return nil
}

// putPublicStore writes the certificates of a user's CA as putStore does, and always the same for the same certificates. Neither the store
// nor its password, which follows from them, is secret. Without a certificate it writes nothing.
func putPublicStore(data map[string][]byte) {
	var certs []byte
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if strings.HasSuffix(name, suffixCert) {
			certs = append(certs, data[name]...)
		}
	}
	if len(certs) == 0 {
		return
	}
	delete(data, entryPassword)
	stream := sha3.NewSHAKE256() // of bytes that follow from the certificates
	_, _ = stream.Write(certs)   // it can't fail
	in := &Input{PKCS12: true, Rand: stream}
	if err := putStore(in, data, true); err != nil { // the certificates were parsed, and this source of bytes does not end
		data[entryStore], data[entryPassword] = []byte{}, []byte{}
	}
}
