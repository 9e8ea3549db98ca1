package validate

import (
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/configdef"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// Kafka's keys of TLS that apply to the listeners of nodes among themselves.
const (
	cipherSuitesKey = "ssl.cipher.suites"
	protocolsKey    = "ssl.enabled.protocols"
)

// ciphers refuses cipher suites with which nodes, whose certificates have EC keys (pki), can't connect to each other.
func (f *findings) ciphers() {
	suites, protocols := f.list(cipherSuitesKey), f.list(protocolsKey)
	if len(suites) == 0 {
		return
	}
	var works []string
	for _, of := range []struct {
		protocol, example string
		prefixes          []string
	}{
		{"TLSv1.3", "TLS_AES_256_GCM_SHA384", []string{"TLS_AES_", "TLS_CHACHA20_"}},
		{"TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", []string{"TLS_ECDHE_ECDSA_"}},
	} {
		if len(protocols) > 0 && !slices.Contains(protocols, of.protocol) {
			continue
		}
		for _, prefix := range of.prefixes {
			if slices.ContainsFunc(suites, func(suite string) bool { return strings.HasPrefix(suite, prefix) }) {
				return
			}
		}
		works = append(works, of.example+" ("+of.protocol+")")
	}
	if len(works) > 0 { // else only protocols of which we know nothing are enabled
		f.configured("CiphersUnusable", "%s has no cipher suite for the nodes' own certificates, which have EC keys, so that nodes can't "+
			"connect to each other: add %s", cipherSuitesKey, strings.Join(works, " or "))
	}
}

// list returns the items of a list in the configuration, none if it is not set or a node looks it up.
func (f *findings) list(key string) []string {
	value, set := f.cluster().Config[key]
	text, err := value.Text()
	if !set || err != nil || configdef.Refers(text) {
		return nil
	}
	return settings.List(text)
}
