package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// listenerConfig writes a node's listeners, what it advertises, and how each is secured.
func (c *cluster) listenerConfig(p *properties, n topology.Node) {
	var binds, advertised []string
	protocols := []string{controllerListener + ":SSL"}
	add := func(id string, port int32, at Endpoint) {
		binds = append(binds, fmt.Sprintf("%s://0.0.0.0:%d", id, port))
		advertised = append(advertised, fmt.Sprintf("%s://%s", id, at))
	}
	c.internalTLS(p, controllerListener)
	if n.Roles.Controller {
		add(controllerListener, ControllerPort, c.peer(n, ControllerPortName, ControllerPort))
	}
	if n.Roles.Broker {
		c.internalTLS(p, replicationListener)
		add(replicationListener, ReplicationPort, c.peer(n, ReplicationPortName, ReplicationPort))
		protocols = append(protocols, replicationListener+":SSL")
		p.set("inter.broker.listener.name", replicationListener)
		for _, l := range c.listeners(n) {
			add(ListenerID(l), l.Port, c.Endpoints.Listeners[l.Name][n.ID])
			protocols = append(protocols, ListenerID(l)+":"+protocol(l))
			c.clientListener(p, l)
		}
	}
	p.set("listeners", strings.Join(binds, ","))
	p.set("advertised.listeners", strings.Join(advertised, ","))
	p.set("listener.security.protocol.map", strings.Join(protocols, ","))
	// Each listener has its own mechanisms.
	p.set("sasl.enabled.mechanisms", "")
	p.set("ssl.endpoint.identification.algorithm", "HTTPS")
}

// protocol is the security protocol of a listener.
func protocol(l v1.Listener) string {
	sasl := l.Authentication != nil && (l.Authentication.Type == v1.AuthenticationScramSHA512 ||
		l.Authentication.Type == v1.AuthenticationCustom && value(l.Authentication.SASL, false))
	switch {
	case sasl && l.TLS:
		return "SASL_SSL"
	case sasl:
		return "SASL_PLAINTEXT"
	case l.TLS:
		return "SSL"
	}
	return "PLAINTEXT"
}

// internalTLS secures a listener among nodes: both sides show a certificate of the cluster's CA.
func (c *cluster) internalTLS(p *properties, listener string) {
	prefix := "listener.name." + strings.ToLower(listener) + "."
	keystore(p, prefix, nodeCertificate, nodeKey)
	truststore(p, prefix, clusterCAFile)
}

func keystore(p *properties, prefix, certificate, key string) {
	p.set(prefix+"ssl.keystore.certificate.chain", inFile(certificatesDir, certificate))
	p.set(prefix+"ssl.keystore.key", inFile(certificatesDir, key))
	p.set(prefix+"ssl.keystore.type", "PEM")
}

func truststore(p *properties, prefix, file string) {
	p.set(prefix+"ssl.truststore.certificates", inFile(certificatesDir, file))
	p.set(prefix+"ssl.truststore.type", "PEM")
	p.set(prefix+"ssl.client.auth", "required")
}

// clientListener secures a listener for clients, and limits it.
func (c *cluster) clientListener(p *properties, l v1.Listener) {
	prefix := "listener.name." + strings.ToLower(ListenerID(l)) + "."
	if l.TLS {
		certificate, key := nodeCertificate, nodeKey
		if own := configuration(l).BrokerCertChainAndKey; own != nil {
			certificate, key = ListenerFiles(l)
		}
		keystore(p, prefix, certificate, key)
	}
	if a := l.Authentication; a != nil {
		switch a.Type {
		case v1.AuthenticationTLS:
			truststore(p, prefix, clientsCAFile)
		case v1.AuthenticationScramSHA512:
			p.set(prefix+"scram-sha-512.sasl.jaas.config", "org.apache.kafka.common.security.scram.ScramLoginModule required;")
			p.set(prefix+"sasl.enabled.mechanisms", "SCRAM-SHA-512")
		case v1.AuthenticationCustom:
			for _, key := range slices.Sorted(maps.Keys(a.ListenerConfig)) {
				if text, err := a.ListenerConfig[key].Text(); err == nil && !ForbiddenOfListener(key) {
					p.set(prefix+key, unescapeValue(text)) // Strimzi writes it as it is
				}
			}
		}
	}
	if limit := configuration(l).MaxConnections; limit != nil {
		p.set(prefix+"max.connections", fmt.Sprint(*limit))
	}
	if limit := configuration(l).MaxConnectionCreationRate; limit != nil {
		p.set(prefix+"max.connection.creation.rate", fmt.Sprint(*limit))
	}
}

// ListenerFiles names the entries of a node's Secret for a listener's own certificate and key.
func ListenerFiles(l v1.Listener) (certificate, key string) {
	name := strings.ToLower(ListenerID(l))
	return name + ".crt", name + ".key"
}

// configuration returns a listener's configuration, empty if it has none.
func configuration(l v1.Listener) v1.ListenerConfiguration {
	if l.Configuration == nil {
		return v1.ListenerConfiguration{}
	}
	return *l.Configuration
}

// value returns what a pointer points to, or what is meant without one.
func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
