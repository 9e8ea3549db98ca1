package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

var listenerName = regexp.MustCompile(`^[a-z0-9]{1,11}$`)

// lowestPort is the lowest port of a listener, and reservedPorts are the ports of metrics and JMX. Source: Strimzi.
const lowestPort = 9092

var reservedPorts = []int32{9404, 9999}

// listeners checks the listeners, and that they are no two of a kind.
func (f *findings) listeners() {
	listeners := f.cluster().Listeners
	if len(listeners) == 0 {
		f.invalid("ListenersMissing", "The required field .spec.kafka.listeners is missing")
		return
	}
	names, ports, bad := map[string]bool{}, map[int32]bool{}, []string(nil)
	for _, l := range listeners {
		if !listenerName.MatchString(l.Name) {
			bad = append(bad, l.Name)
		}
		names[l.Name], ports[l.Port] = true, true
	}
	if len(names) < len(listeners) {
		f.listener("ListenerNameTwice", "every listener needs to have a unique name")
	}
	if len(bad) > 0 {
		f.listener("ListenerName", "listener names [%s] are invalid and do not match the pattern %s", strings.Join(bad, ", "), listenerName)
	}
	if len(ports) < len(listeners) {
		f.listener("ListenerPortTwice", "every listener needs to have a unique port number")
	}
	f.portNames()
	f.nodePorts()
	for _, l := range listeners {
		if l.Port < lowestPort || slices.Contains(reservedPorts, l.Port) || l.Port > 65535 {
			f.listener("ListenerPort", "port %d is forbidden and cannot be used", l.Port)
		}
		f.listenerTLS(l)
		f.authentication(l)
		f.misplaced(l)
		f.hosts(l)
		f.hostNames(l)
		f.exposed(l)
		f.certificate(l)
		f.unusedBrokers(l)
		f.portTemplate(l)
	}
}

// listener reports an invalid listener, with the prefix that Strimzi gives such messages.
func (f *findings) listener(code Code, format string, args ...any) {
	f.invalid(code, "Listener configuration is not valid: [%s]", fmt.Sprintf(format, args...))
}

// passedThrough are the types that route clients by the host name in their TLS handshake.
var passedThrough = []v1.ListenerType{v1.ListenerRoute, v1.ListenerIngress, v1.ListenerTLSRoute}

func (f *findings) listenerTLS(l v1.Listener) {
	switch {
	case l.TLS:
		return
	case l.Type == v1.ListenerTLSRoute:
		f.listener("ListenerNeedsTLS", "listener %s is TLSRoute type listener and requires enabled TLS encryption", l.Name)
	case slices.Contains(passedThrough, l.Type):
		f.listener("ListenerNeedsTLS", "listener %s is Route or Ingress type listener and requires enabled TLS encryption", l.Name)
	}
	if l.Authentication != nil && l.Authentication.Type == v1.AuthenticationTLS {
		f.listener("AuthenticationNeedsTLS", "listener %s cannot use tls type authentication with disabled TLS encryption", l.Name)
	}
	if l.Configuration != nil && l.Configuration.BrokerCertChainAndKey != nil {
		f.listener("CertificateNeedsTLS", "listener %s cannot configure custom TLS certificate with disabled TLS encryption", l.Name)
	}
}

// authentication refuses what would leave a listener open to anybody if it was ignored.
func (f *findings) authentication(l v1.Listener) {
	if a := l.Authentication; a != nil && a.Type == v1.AuthenticationOAuth {
		f.fail("OAuth", v1.ReasonUnsupportedField,
			"listener %s has authentication of type oauth, which v1 does not define and this operator does not support: "+
				"use type custom, with the settings for clients' tokens in listenerConfig", l.Name)
	}
}

// hosts checks that listeners that are routed by host name have host names.
func (f *findings) hosts(l v1.Listener) {
	based := map[v1.ListenerType]string{v1.ListenerIngress: "Ingress", v1.ListenerTLSRoute: "TLSRoute"}[l.Type]
	if based == "" {
		return
	}
	c := l.Configuration
	if c == nil {
		f.listener("HostsMissing", "listener %s is missing a configuration with host properties which are required for %s based listeners",
			l.Name, based)
		return
	}
	if c.Bootstrap == nil || c.Bootstrap.Host == "" {
		f.listener("BootstrapHostMissing", "listener %s is missing a bootstrap host property which is required for %s based listeners",
			l.Name, based)
	}
	if l.Type == v1.ListenerTLSRoute && len(c.ParentRefs) == 0 {
		f.listener("ParentsMissing", "listener %s is missing a parent references property which is required for TLSRoute based listeners", l.Name)
	}
	if c.HostTemplate != "" {
		return
	}
	if len(c.Brokers) == 0 {
		f.listener("BrokerHostsMissing",
			"listener %s is missing a broker configuration with host properties which are required for %s based listeners", l.Name, based)
		return
	}
	for _, id := range f.Brokers {
		if !slices.ContainsFunc(c.Brokers, func(b v1.ListenerBroker) bool { return b.Broker == id && b.Host != "" }) {
			f.listener("BrokerHostMissing",
				"listener %s is missing a broker host property for broker with ID %d which is required for %s based listeners", l.Name, id, based)
		}
	}
}

// certificate checks a listener's own certificate, and that its Secret has it.
func (f *findings) certificate(l v1.Listener) {
	if l.Configuration == nil || l.Configuration.BrokerCertChainAndKey == nil {
		return
	}
	own := l.Configuration.BrokerCertChainAndKey
	for _, part := range []struct{ name, value string }{{"secret name", own.SecretName}, {"key", own.Key}, {"certificate", own.Certificate}} {
		if part.value == "" {
			f.listener("CertificateIncomplete", "listener '%s' cannot have an empty %s in the brokerCertChainAndKey", l.Name, part.name)
		}
	}
	if data, read := f.Secrets[own.SecretName]; read && own.SecretName != "" && own.Certificate != "" && own.Key != "" {
		f.certificateIn(l, *own, data)
	}
}

// certificateIn checks the certificate that a listener's Secret has. One that is no good is refused alone if nodes have another one.
func (f *findings) certificateIn(l v1.Listener, own v1.CertAndKeySecret, data map[string][]byte) {
	refused := func(code Code, missing bool, format string, args ...any) {
		p := Problem{Code: code, Reason: v1.ReasonInvalidResource, Missing: missing,
			Message: fmt.Sprintf("Failed to process Secrets with custom certificates: [%s]", fmt.Sprintf(format, args...))}
		if f.Held[l.Name] {
			p.Message += ". Nodes keep their current certificate for listener " + l.Name
			f.Refused = append(f.Refused, p)
			return
		}
		f.Errors = append(f.Errors, p)
	}
	if data == nil {
		refused("CertificateSecretMissing", true, "Secret %s with custom TLS certificate does not exist.", own.SecretName)
		return
	}
	pair := pki.Pair{Certificate: data[own.Certificate], Key: data[own.Key]}
	if len(pair.Certificate) == 0 {
		refused("CertificateMissing", true, "Secret %s does not contain certificate under the key %s.", own.SecretName, own.Certificate)
	}
	if len(pair.Key) == 0 {
		refused("CertificateKeyMissing", true, "Secret %s does not contain custom certificate private key under the key %s.", own.SecretName,
			own.Key)
	}
	if len(pair.Certificate) == 0 || len(pair.Key) == 0 {
		return
	}
	if flaw := pair.Check(f.Now); flaw != nil {
		entry := own.Certificate
		if flaw.OfKey {
			entry = own.Key
		}
		refused(Code(flaw.Flaw), false, "listener %s: %s in Secret %s %s", l.Name, entry, own.SecretName, flaw.Message)
	}
}

// unusedBrokers warns of settings for brokers that there are not.
func (f *findings) unusedBrokers(l v1.Listener) {
	if l.Configuration == nil || f.Brokers == nil {
		return
	}
	var unused []string
	for _, b := range l.Configuration.Brokers {
		if !slices.Contains(f.Brokers, b.Broker) {
			unused = append(unused, fmt.Sprint(b.Broker))
		}
	}
	if len(unused) > 0 {
		f.warn("UnusedBrokers", v1.ReasonInvalidConfiguration,
			"Listener %s contains configuration for brokers with IDs [%s] that are currently not used", l.Name, strings.Join(unused, ", "))
	}
}

// portTemplate checks what an advertised port is worked out from.
func (f *findings) portTemplate(l v1.Listener) {
	if l.Configuration == nil || l.Configuration.AdvertisedPortTemplate == "" {
		return
	}
	text := l.Configuration.AdvertisedPortTemplate
	ids := f.Brokers
	if len(ids) == 0 {
		ids = []int32{0}
	}
	for _, id := range ids {
		if _, err := model.EvaluatePort(text, id); err != nil {
			f.fail("PortTemplate", v1.ReasonInvalidConfiguration, "%v", err)
			return
		}
	}
}
