package pki

import (
	"crypto/sha256"
	"crypto/sha3"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"software.sslmate.com/src/go-pkcs12"
)

// putStore writes the certificates of a CA as a PKCS #12 store that Java takes as a truststore. It is made again only if it is not what the
// operator made of them and the password, which a hash in the annotations tells: each encoding differs, and to decode what a user wrote may
// take any time. One without a hash, of an earlier build or of Strimzi, counts as right until certificates change.
func putStore(in *Input, secret *corev1.Secret, changed bool) error {
	password, noted := string(secret.Data[entryPassword]), secret.Annotations[AnnotationStore]
	entries := storeEntries(secret.Data)
	fits := noted == noteOf(secret.Data[entryStore], password, entries)
	if noted == "" {
		fits = !changed && len(secret.Data[entryStore]) > 0 && password != ""
	}
	switch {
	case !in.PKCS12 && (fits || noted == ""):
		return nil // it may be the user's
	case !in.PKCS12:
		if hash, _, _ := strings.Cut(noted, "-"); hash == hashOf(secret.Data[entryStore]) { // it has other certificates or another password
			delete(secret.Data, entryStore)
			delete(secret.Data, entryPassword)
		}
		delete(secret.Annotations, AnnotationStore)
		return nil
	case !fits:
		if err := makeStore(in.Rand, secret.Data, entries); err != nil {
			return err
		}
	}
	secret.Annotations[AnnotationStore] = noteOf(secret.Data[entryStore], string(secret.Data[entryPassword]), entries)
	return nil
}

// storeEntries are the certificates of a CA as a store has them.
func storeEntries(data map[string][]byte) []pkcs12.TrustStoreEntry {
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
	return entries
}

// noteOf identifies a store, and its password with the certificates in it.
func noteOf(store []byte, password string, entries []pkcs12.TrustStoreEntry) string {
	parts := [][]byte{[]byte(password)}
	for _, entry := range entries {
		parts = append(parts, []byte(entry.FriendlyName), entry.Cert.Raw)
	}
	return hashOf(store) + "-" + hashOf(parts...)
}

func hashOf(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d %s", len(part), part) // it can't fail
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// makeStore makes a store, with the password that there is, if a store can have it.
func makeStore(random io.Reader, data map[string][]byte, entries []pkcs12.TrustStoreEntry) error {
	encode := func(password string) ([]byte, error) {
		return pkcs12.Modern2023.WithRand(random).EncodeTrustStoreEntries(entries, password)
	}
	if password := data[entryPassword]; len(password) > 0 {
		if store, err := encode(string(password)); err == nil {
			data[entryStore] = store
			return nil
		}
	}
	secret := make([]byte, 18)
	if _, err := io.ReadFull(random, secret); err != nil {
		return err
	}
	password := base64.RawURLEncoding.EncodeToString(secret)
	store, err := encode(password)
	if err != nil {
		return err
	}
	data[entryStore], data[entryPassword] = store, []byte(password)
	return nil
}

// putPublicStore writes the certificates of a user's CA as makeStore does, and always the same for the same certificates. Neither the store
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
	stream := sha3.NewSHAKE256()                                        // of bytes that follow from the certificates
	_, _ = stream.Write(certs)                                          // it can't fail
	if err := makeStore(stream, data, storeEntries(data)); err != nil { // the certificates were parsed, and this source of bytes does not end
		data[entryStore], data[entryPassword] = []byte{}, []byte{}
	}
}
