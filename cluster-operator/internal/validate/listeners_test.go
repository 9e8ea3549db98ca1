package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// listening returns a change of the listeners to these.
func listening(listeners ...string) string {
	return fmt.Sprintf(`kafka: {spec: {kafka: {listeners: [%s]}}}`, strings.Join(listeners, ", "))
}

func badListener(what string) string { return "Listener configuration is not valid: [" + what + "]" }

func TestWrongListeners(t *testing.T) {
	expectErrors(t, []wrong{
		{name: "listeners empty", changes: listening(), code: "ListenersMissing", message: "The required field .spec.kafka.listeners is missing"},
		{name: "name twice", changes: listening(`{name: a, port: 9092, type: internal, tls: false}`,
			`{name: a, port: 9093, type: internal, tls: false}`), code: "ListenerNameTwice",
			message: badListener("every listener needs to have a unique name")},
		{name: "port twice", changes: listening(`{name: a, port: 9092, type: internal, tls: false}`,
			`{name: b, port: 9092, type: internal, tls: false}`), code: "ListenerPortTwice",
			message: badListener("every listener needs to have a unique port number")},
		{name: "name", changes: listening(`{name: My-Listener, port: 9092, type: internal, tls: false}`), code: "ListenerName",
			message: badListener("listener names [My-Listener] are invalid and do not match the pattern ^[a-z0-9]{1,11}$")},
		{name: "name too long", changes: listening(`{name: abcdefghijkl, port: 9092, type: internal, tls: false}`), code: "ListenerName",
			message: badListener("listener names [abcdefghijkl] are invalid and do not match the pattern ^[a-z0-9]{1,11}$")},
		{name: "port of the replication", changes: listening(`{name: a, port: 9091, type: internal, tls: false}`), code: "ListenerPort",
			message: badListener("port 9091 is forbidden and cannot be used")},
		{name: "port of metrics", changes: listening(`{name: a, port: 9404, type: internal, tls: false}`), code: "ListenerPort",
			message: badListener("port 9404 is forbidden and cannot be used")},
		{name: "port of JMX", changes: listening(`{name: a, port: 9999, type: internal, tls: false}`), code: "ListenerPort",
			message: badListener("port 9999 is forbidden and cannot be used")},
		{name: "port named as that of controllers", changes: listening(`{name: ctrlplane, port: 9092, type: internal, tls: false}`),
			code: "ListenerPortName", message: badListener("listener ctrlplane cannot be used, because its port would have the name " +
				"tcp-ctrlplane, " +
				"as the port of controllers has: choose another name")},
		{name: "port named as that of replication", changes: listening(`{name: replication, port: 9092, type: internal, tls: false}`),
			code: "ListenerPortName", message: badListener("listener replication cannot be used, because its port would have the name " +
				"tcp-replication, as the port of replication has: choose another name")},
		{name: "port named as that of metrics", changes: strings.Replace(
			listening(`{name: prometheus, port: 9092, type: internal, tls: false}`), "listeners:", `metricsConfig: {type: `+
				`jmxPrometheusExporter, valueFrom: {configMapKeyRef: {name: m, key: k}}}, listeners:`, 1),
			code: "ListenerPortName", message: badListener("listener prometheus cannot be used, because its port would have the name " +
				"tcp-prometheus, as the port of metrics has: choose another name")},
		{name: "port named as that of another listener", changes: listening(`{name: plain, port: 9092, type: internal, tls: false}`,
			`{name: clients, port: 9094, type: internal, tls: false}`),
			code: "ListenerPortName", message: badListener("listener clients cannot be used, because its port would have the name tcp-clients, " +
				"as listener plain has: choose another name")},
		{name: "node port of two brokers", changes: listening(`{name: a, port: 9094, type: nodeport, tls: false, configuration: {brokers: ` +
			`[{broker: 0, nodePort: 31000}, {broker: 1, nodePort: 31000}]}}`), code: "NodePortTwice",
			message: badListener("node port 31000 is requested by broker 0 of listener a and by broker 1 of listener a")},
		{name: "node port of two listeners", changes: listening(`{name: a, port: 9094, type: nodeport, tls: false, configuration: {bootstrap: `+
			`{nodePort: 31000}}}`, `{name: b, port: 9095, type: loadbalancer, tls: false, configuration: {bootstrap: {nodePort: 31000}}}`),
			code:    "NodePortTwice",
			message: badListener("node port 31000 is requested by the bootstrap of listener a and by the bootstrap of listener b")},
		{name: "port too high", changes: listening(`{name: a, port: 70000, type: internal, tls: false}`), code: "ListenerPort",
			message: badListener("port 70000 is forbidden and cannot be used")},
		{name: "auth tls, tls false", changes: listening(`{name: a, port: 9092, type: internal, tls: false, authentication: {type: tls}}`),
			code:    "AuthenticationNeedsTLS",
			message: badListener("listener a cannot use tls type authentication with disabled TLS encryption")},
		{name: "certificate, tls false",
			changes: listening(`{name: a, port: 9092, type: internal, tls: false, configuration: {brokerCertChainAndKey: {secretName: s, ` +
				`certificate: c, key: k}}}`),
			code: "CertificateNeedsTLS", message: badListener("listener a cannot configure custom TLS certificate with disabled TLS encryption")},
		{name: "certificate without a Secret",
			changes: listening(`{name: a, port: 9092, type: internal, tls: true, configuration: {brokerCertChainAndKey: {secretName: "", ` +
				`certificate: c, key: k}}}`),
			code: "CertificateIncomplete", message: badListener("listener 'a' cannot have an empty secret name in the brokerCertChainAndKey")},
		{name: "certificate without a key",
			changes: listening(`{name: a, port: 9092, type: internal, tls: true, configuration: {brokerCertChainAndKey: {secretName: s, ` +
				`certificate: c, key: ""}}}`),
			code: "CertificateIncomplete", message: badListener("listener 'a' cannot have an empty key in the brokerCertChainAndKey")},
		{name: "certificate without a certificate",
			changes: listening(`{name: a, port: 9092, type: internal, tls: true, configuration: {brokerCertChainAndKey: {secretName: s, ` +
				`certificate: "", key: k}}}`),
			code: "CertificateIncomplete", message: badListener("listener 'a' cannot have an empty certificate in the brokerCertChainAndKey")},
		{name: "oauth", changes: listening(`{name: a, port: 9092, type: internal, tls: true, authentication: {type: oauth, clientId: a}}`),
			code: "OAuth", reason: "UnsupportedField",
			message: "listener a has authentication of type oauth, which v1 does not define and this operator does not support: use type custom, " +
				"with the settings for clients' tokens in listenerConfig"},
	})
}

func TestWrongListenersToTheOutside(t *testing.T) {
	const ingress = `name: a, port: 9094, type: ingress, tls: true`
	refused := func(name, listener, message string) wrong {
		return wrong{name: name, code: "ListenerRefused", changes: listening("{name: a, port: 9094, tls: true, " + listener + "}"),
			message: badListener("Kubernetes would refuse the Services of listener a: " + message)}
	}
	advertised := func(name, field, host, configuration string) wrong {
		return wrong{name: name, code: "ListenerHost", changes: listening("{name: a, port: 9094, type: nodeport, tls: false, configuration: {" +
			configuration + "}}"), message: badListener("listener a has " + field + ` "` + host + `", which stands for all addresses of a ` +
			"machine, so that no client can connect to it: set the host or address at which clients reach the broker")}
	}
	expectErrors(t, []wrong{
		advertised("all IPv4 addresses of a broker", "brokers[].advertisedHost", "0.0.0.0", `brokers: [{broker: 0, advertisedHost: 0.0.0.0}]`),
		advertised("all IPv6 addresses of a broker", "brokers[].advertisedHost", "::", `brokers: [{broker: 0, advertisedHost: "::"}]`),
		advertised("all IPv6 addresses, in brackets", "brokers[].advertisedHost", "[::]", `brokers: [{broker: 0, advertisedHost: "[::]"}]`),
		advertised("all IPv4 addresses of each broker", "advertisedHostTemplate", "0.0.0.0", `advertisedHostTemplate: 0.0.0.0`),
		refused("node port", `type: nodeport, configuration: {bootstrap: {nodePort: 70000}}`,
			`bootstrap.nodePort: Invalid value: 70000: must be between 1 and 65535, inclusive`),
		refused("node port of a broker", `type: nodeport, configuration: {brokers: [{broker: 1, nodePort: -1}]}`,
			`brokers[1].nodePort: Invalid value: -1: must be between 1 and 65535, inclusive`),
		refused("external address", `type: nodeport, configuration: {bootstrap: {externalIPs: [foo]}}`,
			`bootstrap.externalIPs: Invalid value: "foo": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`),
		refused("source range", `type: loadbalancer, configuration: {loadBalancerSourceRanges: [10.0.0.0/8, x]}`,
			`loadBalancerSourceRanges: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`),
		refused("finalizer", `type: loadbalancer, configuration: {finalizers: ["a b"]}`,
			`finalizers: Invalid value: "a b": `+noName),
		refused("label", `type: loadbalancer, configuration: {bootstrap: {labels: {team: a b}}}`,
			`bootstrap.labels[team]: Invalid value: "a b": `+noLabel),
		refused("annotation of a broker", `type: cluster-ip, configuration: {brokers: [{broker: 2, annotations: {a b: c}}]}`,
			`brokers[2].annotations: Invalid value: "a b": `+noName),
		refused("label of each broker", `type: loadbalancer, configuration: {perBrokerLabelsTemplate: {team: "a {nodeId}"}}`,
			`perBrokerLabelsTemplate[team]: Invalid value: "a 0": `+noLabel),
		refused("recommended label that the operator does not set",
			`type: nodeport, configuration: {bootstrap: {labels: {app.kubernetes.io/component: a b}}}`,
			`bootstrap.labels[app.kubernetes.io/component]: Invalid value: "a b": `+noLabel),
		refused("recommended label of each broker",
			`type: loadbalancer, configuration: {perBrokerLabelsTemplate: {app.kubernetes.io/version: "a {nodeId}"}}`,
			`perBrokerLabelsTemplate[app.kubernetes.io/version]: Invalid value: "a 0": `+noLabel),
		{name: "ingress: tls false",
			changes: listening(`{name: a, port: 9092, type: ingress, tls: false, configuration: {bootstrap: {host: a}, hostTemplate: ` +
				`"{nodeId}.b"}}`),
			code: "ListenerNeedsTLS", message: badListener("listener a is Route or Ingress type listener and requires enabled TLS encryption")},
		{name: "ingress: no bootstrap host", changes: listening(`{` + ingress + `, configuration: {hostTemplate: "{nodeId}.b"}}`),
			code:    "BootstrapHostMissing",
			message: badListener("listener a is missing a bootstrap host property which is required for Ingress based listeners")},
		{name: "ingress: a broker without a host", changes: listening(`{` + ingress +
			`, configuration: {bootstrap: {host: a}, brokers: [{broker: 0, host: b}, {broker: 1, host: c}]}}`),
			code: "BrokerHostMissing",
			message: badListener("listener a is missing a broker host property for broker with ID 2 which is required for Ingress based " +
				"listeners")},
		{name: "ingress: no brokers", changes: listening(`{` + ingress + `, configuration: {bootstrap: {host: a}}}`), code: "BrokerHostsMissing",
			message: badListener("listener a is missing a broker configuration with host properties which are required for Ingress based " +
				"listeners")},
		{name: "ingress: no configuration", changes: listening(`{` + ingress + `}`), code: "HostsMissing",
			message: badListener("listener a is missing a configuration with host properties which are required for Ingress based listeners")},
		{name: "route", changes: listening(`{name: a, port: 9092, type: route, tls: true}`), code: "RouteUnsupported",
			reason:  "UnsupportedField",
			message: "listener a is of type route, which is not supported: use another type, such as loadbalancer or ingress"},
		{name: "tlsroute", changes: listening(`{name: a, port: 9092, type: tlsroute, tls: true, configuration: {bootstrap: {host: a}, ` +
			`hostTemplate: "{nodeId}.b", parentRefs: [{name: g}]}}`),
			code: "RouteUnsupported", reason: "UnsupportedField",
			message: "listener a is of type tlsroute, which is not supported: use another type, such as loadbalancer or ingress"},
	})
}

// TestWrongRoutes checks that listeners of types that are not supported are still validated as Strimzi does, in addition to the error about
// their type.
func TestWrongRoutes(t *testing.T) {
	for name, c := range map[string]struct{ listener, message string }{
		"route: tls false": {`{name: a, port: 9092, type: route, tls: false}`,
			"listener a is Route or Ingress type listener and requires enabled TLS encryption"},
		"tlsroute: tls false": {`{name: a, port: 9092, type: tlsroute, tls: false}`,
			"listener a is TLSRoute type listener and requires enabled TLS encryption"},
		"tlsroute: no parents": {`{name: a, port: 9092, type: tlsroute, tls: true, configuration: {bootstrap: {host: a}}}`,
			"listener a is missing a parent references property which is required for TLSRoute based listeners"},
		"tlsroute: no bootstrap": {`{name: a, port: 9092, type: tlsroute, tls: true, configuration: {}}`,
			"listener a is missing a bootstrap host property which is required for TLSRoute based listeners"},
		"tlsroute: no hosts": {`{name: a, port: 9092, type: tlsroute, tls: true}`,
			"listener a is missing a configuration with host properties which are required for TLSRoute based listeners"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Validate(input(t, listening(c.listener))).Errors).To(ContainElement(HaveField("Message", badListener(c.message))))
		})
	}
}

// certificateOfAListener is a certificate from openssl req -x509.
const certificateOfAListener = `-----BEGIN CERTIFICATE-----
MIIBbDCCAROgAwIBAgIUJizMnxzy5G2NFpxg3soQ5D5rmrAwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBYTAeFw0yNjExMjQwODE2MDlaFw0yNjEyMDQwODE2MDlaMAwx
CjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARnP5rnrNiXeoBj
ff8ES6heOkVdGgiTHmQZ8SWdjyQwbCXjlK1RJtBolTJl2h7CO5UyK5r8hFNbk7K7
iUhFO9QGo1MwUTAdBgNVHQ4EFgQUgF9jT8UybcAPk/onsQa164KLYhYwHwYDVR0j
BBgwFoAUgF9jT8UybcAPk/onsQa164KLYhYwDwYDVR0TAQH/BAUwAwEB/zAKBggq
hkjOPQQDAgNHADBEAiBZ/eTkoX6Ujs3t6bRX3tpvZSH7m3lAooSZzWb0hoUJDgIg
WZ8jg4JIOUMJzcbPAtNRTKYCbNsJfTzKQnzrMMcw0iA=
-----END CERTIFICATE-----
`

func TestWrongCertificatesOfListeners(t *testing.T) {
	own := listening(`{name: a, port: 9092, type: internal, tls: true, configuration: {brokerCertChainAndKey: {secretName: s, certificate: ` +
		`tls.crt, key: tls.key}}}`)
	secret := func(keys ...string) func(*Input) {
		return func(in *Input) {
			in.Secrets = map[string]map[string][]byte{"s": nil}
			for _, key := range keys {
				if in.Secrets["s"] == nil {
					in.Secrets["s"] = map[string][]byte{}
				}
				in.Secrets["s"][key] = []byte("garbage")
			}
		}
	}
	expectErrors(t, []wrong{
		{name: "no Secret", changes: own, facts: secret(), code: "CertificateSecretMissing", missing: true,
			message: "Failed to process Secrets with custom certificates: [Secret s with custom TLS certificate does not exist.]"},
		{name: "no certificate in it", changes: own, facts: secret("tls.key"), code: "CertificateMissing", missing: true,
			message: "Failed to process Secrets with custom certificates: [Secret s does not contain certificate under the key tls.crt.]"},
		{name: "no key in it", changes: own, facts: secret("tls.crt"), code: "CertificateKeyMissing", missing: true,
			message: "Failed to process Secrets with custom certificates: [Secret s does not contain custom certificate private key under the key " +
				"tls.key.]"},
		{name: "garbage", changes: own, facts: secret("tls.crt", "tls.key"), code: "CertificateUnreadable",
			message: "Failed to process Secrets with custom certificates: [listener a: tls.crt in Secret s has no valid certificate in PEM]"},
		{name: "a key in another format", changes: own, code: "CertificateKeyFormat",
			facts: func(in *Input) {
				in.Secrets = map[string]map[string][]byte{"s": {"tls.crt": []byte(certificateOfAListener),
					"tls.key": []byte("-----BEGIN RSA PRIVATE KEY-----\neA==\n-----END RSA PRIVATE KEY-----\n")}}
			},
			message: "Failed to process Secrets with custom certificates: [listener a: tls.key in Secret s has a key in the format of OpenSSL " +
				"(RSA PRIVATE KEY), but Kafka reads only PKCS #8: convert it with openssl pkcs8 -topk8 -nocrypt -in old.key -out new.key (with " +
				"cert-manager, set privateKey.encoding to PKCS8)]"},
	})
	g := NewWithT(t)
	held := input(t, own)
	secret()(&held)
	held.Held = map[string]bool{"a": true}
	g.Expect(Validate(held)).To(Equal(Result{Refused: []Problem{{Code: "CertificateSecretMissing", Reason: invalidResource, Missing: true,
		Message: "Failed to process Secrets with custom certificates: [Secret s with custom TLS certificate does not exist.]. Nodes keep their " +
			"current certificate for listener a"}}}))
	unread := input(t, own)
	g.Expect(Validate(unread)).To(Equal(Result{}), "a Secret that was not read is not judged")
}

// listenerSettings are the settings that only some types of listeners have, with Strimzi's names and messages.
var listenerSettings = []struct{ name, yaml, types, because string }{
	{"useServiceDnsDomain", `useServiceDnsDomain: true`, "internal cluster-ip", "it is not internal or cluster-ip listener"},
	{"createBootstrapService", `createBootstrapService: false`, "loadbalancer", "it is not load balancer listener"},
	{"createBootstrapService", `createBootstrapService: true`, "internal cluster-ip nodeport loadbalancer ingress",
		"it is not load balancer listener"},
	{"ipFamilyPolicy", `ipFamilyPolicy: SingleStack`, "cluster-ip nodeport loadbalancer ingress", "it is internal listener"},
	{"ipFamilies", `ipFamilies: [IPv4]`, "cluster-ip nodeport loadbalancer ingress", "it is internal listener"},
	{"publishNotReadyAddresses", `publishNotReadyAddresses: true`, "cluster-ip nodeport loadbalancer ingress", "it is internal listener"},
	{"class", `class: a`, "ingress loadbalancer", "it is not an Ingress or LoadBalancer based listener"},
	{"externalTrafficPolicy", `externalTrafficPolicy: Local`, "loadbalancer nodeport", "it is not LoadBalancer or NodePort based listener"},
	{"loadBalancerSourceRanges", `loadBalancerSourceRanges: [10.0.0.0/8]`, "loadbalancer", "it is not LoadBalancer based listener"},
	{"finalizers", `finalizers: [a]`, "loadbalancer", "it is not LoadBalancer based listener"},
	{"allocateLoadBalancerNodePorts", `allocateLoadBalancerNodePorts: true`, "loadbalancer", "it is not LoadBalancer based listener"},
	{"bootstrap.loadBalancerIP", `bootstrap: {loadBalancerIP: 10.0.0.1}`, "loadbalancer", "it is not LoadBalancer based listener"},
	{"brokers[].loadBalancerIP", `brokers: [{broker: 0, loadBalancerIP: 10.0.0.1}]`, "loadbalancer", "it is not LoadBalancer based listener"},
	{"preferredAddressType", `preferredNodePortAddressType: Hostname`, "nodeport", "it is not NodePort based listener"},
	{"bootstrap.externalIPs", `bootstrap: {externalIPs: [10.0.0.1]}`, "nodeport", "it is not NodePort based listener"},
	{"brokers[].externalIPs", `brokers: [{broker: 0, externalIPs: [10.0.0.1]}]`, "nodeport", "it is not NodePort based listener"},
	{"bootstrap.nodePort", `bootstrap: {nodePort: 32000}`, "nodeport loadbalancer", "it is not NodePort based listener"},
	{"brokers[].nodePort", `brokers: [{broker: 0, nodePort: 32000}]`, "nodeport loadbalancer", "it is not NodePort based listener"},
	{"hostTemplate", `hostTemplate: a`, "ingress", "it is not TLSRoute, Route, or Ingress based listener"},
	{"bootstrap.host", `bootstrap: {host: a}`, "ingress", "it is not TLSRoute, Route, or Ingress based listener"},
	{"brokers[].host", `brokers: [{broker: 0, host: a}]`, "ingress", "it is not TLSRoute, Route, or Ingress based listener"},
	{"parentRefs", `parentRefs: [{name: a}]`, "", "it is not TLSRoute based listener"},
	{"perBrokerLabelsTemplate", `perBrokerLabelsTemplate: {a: b}`, "cluster-ip nodeport loadbalancer ingress",
		"it is not LoadBalancer, NodePort, Route, Ingress or ClusterIP based listener"},
	{"perBrokerAnnotationsTemplate", `perBrokerAnnotationsTemplate: {a: b}`, "cluster-ip nodeport loadbalancer ingress",
		"it is not LoadBalancer, NodePort, Route, Ingress or ClusterIP based listener"},
	{"bootstrap.labels", `bootstrap: {labels: {a: b}}`, "cluster-ip nodeport loadbalancer ingress",
		"it is not LoadBalancer, NodePort, TLSRoute, Route, Ingress, or ClusterIP based listener"},
	{"bootstrap.annotations", `bootstrap: {annotations: {a: b}}`, "cluster-ip nodeport loadbalancer ingress",
		"it is not LoadBalancer, NodePort, TLSRoute, Route, Ingress, or ClusterIP based listener"},
	{"brokers[].labels", `brokers: [{broker: 0, labels: {a: b}}]`, "cluster-ip nodeport loadbalancer ingress",
		"it is not LoadBalancer, NodePort, TLSRoute, Route, Ingress, or ClusterIP based listener"},
	{"brokers[].annotations", `brokers: [{broker: 0, annotations: {a: b}}]`, "cluster-ip nodeport loadbalancer ingress",
		"it is not LoadBalancer, NodePort, TLSRoute, Route, Ingress, or ClusterIP based listener"},
}

// TestSettingsOfOtherListeners checks that each setting on each type of listener is either valid, or rejected with Strimzi's message.
func TestSettingsOfOtherListeners(t *testing.T) {
	for _, s := range listenerSettings {
		for _, kind := range []string{"internal", "cluster-ip", "nodeport", "loadbalancer", "ingress"} {
			t.Run(s.name+" of "+kind, func(t *testing.T) {
				g := NewWithT(t)
				got := Validate(input(t, listening(fmt.Sprintf(`{name: l, port: 9094, type: %s, tls: true, configuration: {%s}}`, kind, s.yaml))))
				refused := Problem{Code: "FieldMisplaced", Reason: invalidResource,
					Message: badListener(fmt.Sprintf("listener l cannot configure %s because %s", s.name, s.because))}
				if slices.Contains(strings.Fields(s.types), kind) {
					g.Expect(got.Errors).NotTo(ContainElement(refused))
				} else {
					g.Expect(got.Errors).To(ContainElement(refused))
				}
			})
		}
	}
}

func TestPortTemplates(t *testing.T) {
	for template, good := range map[string]bool{
		"9000 + {nodeId}": true, "9000+{nodeId}*(2+1)": true, "(((9))) * 1000": true, "{nodeId}": false, "9000 / {nodeId}": false,
		"9000 +":    false,
		"({nodeId}": false, "65535 + {nodeId}": false, "port": false, "9000 - 9000": false, "99999999999999999999": false, "-1 + 9000": false,
		"1000000000 * 1000000000 * 1000000000": false, strings.Repeat("(", 1000): false, "9000 + {id}": false,
	} {
		t.Run(template, func(t *testing.T) {
			got := Validate(input(t,
				listening(fmt.Sprintf(`{name: l, port: 9094, type: cluster-ip, tls: false, configuration: {advertisedPortTemplate: %q}}`,
					template)))).Errors
			if good {
				NewWithT(t).Expect(got).To(BeEmpty())
			} else {
				NewWithT(t).Expect(got).To(HaveExactElements(And(HaveField("Reason", invalidConfiguration),
					HaveField("Message", HavePrefix("Invalid advertised port template: "+template)))))
			}
		})
	}
}

func TestUnusedBrokers(t *testing.T) {
	expectWarnings(t, []wrong{
		{name: "unknown id in brokers[]",
			changes: listening(`{name: l, port: 9094, type: nodeport, tls: false, configuration: {brokers: [{broker: 0}, {broker: 7}, {broker: ` +
				`8}]}}`),
			code: "UnusedBrokers", reason: invalidConfiguration,
			message: "Listener l contains configuration for brokers with IDs [7, 8] that are currently not used"},
	})
}

func TestWithoutMetricsTheNameOfTheirPortIsFree(t *testing.T) {
	in := input(t, listening(`{name: prometheus, port: 9092, type: internal, tls: false}`))
	NewWithT(t).Expect(Validate(in).Errors).To(BeEmpty())
}

func TestTheHostsOfUnknownBrokersAreNotAskedFor(t *testing.T) {
	in := input(t, listening(`{name: a, port: 9094, type: ingress, tls: true, configuration: {bootstrap: {host: a}, brokers: [{broker: 0, `+
		`host: b}]}}`))
	in.Brokers = nil
	NewWithT(t).Expect(Validate(in).Errors).To(BeEmpty())
}

func TestReferences(t *testing.T) {
	g := NewWithT(t)
	in := input(t, `kafka: {spec: {kafka: {
  metricsConfig: {type: jmxPrometheusExporter, valueFrom: {configMapKeyRef: {name: m, key: k}}},
  logging: {type: external, valueFrom: {configMapKeyRef: {name: m, key: l}}},
  listeners: [{name: a, port: 9092, type: internal, tls: true,
    configuration: {brokerCertChainAndKey: {secretName: s, certificate: c, key: k}}}]}}}`)
	configMaps, secrets := References(in.Kafka)
	g.Expect(configMaps).To(Equal([]string{"m"}))
	g.Expect(secrets).To(Equal([]string{"s"}))
	configMaps, secrets = References(&v1.Kafka{})
	g.Expect(append(configMaps, secrets...)).To(BeEmpty())
}
