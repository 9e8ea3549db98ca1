package connection

import (
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// The ports and the Secret entries that a cluster operator uses for brokers and controllers. Source: Strimzi; docs/decisions/who-rolls.md.
const (
	brokersPort     = "9091"
	controllersPort = "9090"

	certificateEntry = "cluster-operator.crt"
	keyEntry         = "cluster-operator.key"
)

// service returns the headless Service of a Kafka cluster's nodes.
func service(namespace, cluster string) string {
	return cluster + "-kafka-brokers." + namespace + ".svc"
}

// bootstrap returns the bootstrap address of a Kafka cluster: the Service of local brokers.
func bootstrap(namespace, cluster string) string {
	return net.JoinHostPort(service(namespace, cluster), brokersPort)
}

// listener is the one by which nodes of a role reach one another.
type listener struct {
	// role is the pods' label, port the one of local nodes, and key has the listener's name in a node's configuration.
	role, port, key string
}

var (
	ofBrokers     = listener{role: core.LabelBrokerRole, port: brokersPort, key: "inter.broker.listener.name"}
	ofControllers = listener{role: core.LabelControllerRole, port: controllersPort, key: "controller.listener.names"}
)

// addresses returns the addresses of the nodes with the listener that the pod sets list, by id. That of a node in another Kubernetes
// cluster comes from its configuration.
func (l listener) addresses(namespace, cluster string, places []observe.Place) map[int32]string {
	found := map[int32]string{}
	for i := range places {
		for _, set := range places[i].Sets {
			for p := range set.Pods {
				pod := &set.Pods[p]
				id, named := core.NodeID(pod.Name)
				address := net.JoinHostPort(pod.Name+"."+service(namespace, cluster), l.port)
				if places[i].ID != "" {
					address = advertised(&places[i], pod, l.key)
				}
				if named && pod.Labels[l.role] == "true" && address != "" {
					found[id] = address
				}
			}
		}
	}
	return found
}

// advertised returns the address of a pod's listener, whose name its configuration has under a key; empty if there is none.
func advertised(place *observe.Place, pod *corev1.Pod, key string) string {
	properties := observe.Properties(place.Properties[pod.Name])
	for listener := range strings.SplitSeq(properties["advertised.listeners"], ",") {
		name, address, _ := strings.Cut(strings.TrimSpace(listener), "://")
		// Kafka takes an IPv6 address without brackets, too.
		if at := strings.LastIndex(address, ":"); at >= 0 && name == strings.TrimSpace(properties[key]) {
			return net.JoinHostPort(strings.Trim(address[:at], "[]"), address[at+1:])
		}
	}
	return ""
}

// tls returns the settings of mTLS with the Secrets of a Kafka cluster.
func tls(namespace, cluster string) credentials.Settings {
	return credentials.Settings{
		Protocol: credentials.ProtocolSSL, SecretNamespace: namespace,
		TLS: credentials.TLS{
			TrustSecret: cluster + "-cluster-ca-cert", IdentitySecret: cluster + "-cluster-operator-certs", CertEntry: certificateEntry,
			KeyEntry: keyEntry,
		},
	}
}
