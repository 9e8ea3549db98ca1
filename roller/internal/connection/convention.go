package connection

import (
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// The ports by which a cluster operator reaches brokers and controllers, and the entries of its Secret. Source: Strimzi;
// docs/decisions/who-rolls.md.
const (
	brokersPort     = "9091"
	controllersPort = "9090"

	certificateEntry = "cluster-operator.crt"
	keyEntry         = "cluster-operator.key"
)

// service is the headless Service of a Kafka cluster's nodes.
func service(namespace, cluster string) string {
	return cluster + "-kafka-brokers." + namespace + ".svc"
}

// bootstrap returns the bootstrap addresses of a Kafka cluster: the Service of local brokers, and the addresses in the configuration of
// those in other Kubernetes clusters.
func bootstrap(namespace, cluster string, places []observe.Place) []string {
	addresses := []string{net.JoinHostPort(service(namespace, cluster), brokersPort)}
	for i := range places {
		for _, set := range places[i].Sets {
			for p := range set.Pods {
				if pod := &set.Pods[p]; places[i].ID != "" && pod.Labels[podset.LabelBrokerRole] == "true" {
					addresses = append(addresses, advertised(&places[i], pod, "inter.broker.listener.name"))
				}
			}
		}
	}
	return sorted(addresses)
}

// sorted are the addresses without those that are empty, each once.
func sorted(addresses []string) []string {
	slices.Sort(addresses)
	return slices.DeleteFunc(slices.Compact(addresses), func(a string) bool { return a == "" })
}

// advertised is the address of a pod's listener, whose name is in its configuration under a key; empty if it does not say.
func advertised(place *observe.Place, pod *corev1.Pod, key string) string {
	properties := observe.Properties(place.Properties[pod.Name])
	for listener := range strings.SplitSeq(properties["advertised.listeners"], ",") {
		name, address, _ := strings.Cut(strings.TrimSpace(listener), "://")
		if _, _, err := net.SplitHostPort(address); err == nil && name == strings.TrimSpace(properties[key]) {
			return address
		}
	}
	return ""
}

// controllers are the addresses of the controllers that the pod sets list. The address of one in another Kubernetes cluster comes from its
// configuration.
func controllers(namespace, cluster string, places []observe.Place) []string {
	var addresses []string
	for i := range places {
		for _, set := range places[i].Sets {
			for p := range set.Pods {
				if address := controller(namespace, cluster, &places[i], &set.Pods[p]); address != "" {
					addresses = append(addresses, address)
				}
			}
		}
	}
	return sorted(addresses)
}

// controller returns the address of a controller; empty if the node is not one, or its address is unknown.
func controller(namespace, cluster string, place *observe.Place, pod *corev1.Pod) string {
	switch {
	case pod.Labels[podset.LabelControllerRole] != "true":
		return ""
	case place.ID == "":
		return net.JoinHostPort(pod.Name+"."+service(namespace, cluster), controllersPort)
	}
	return advertised(place, pod, "controller.listener.names")
}

// tls are the settings of mTLS with the Secrets of a Kafka cluster.
func tls(namespace, cluster string) credentials.Settings {
	return credentials.Settings{
		Protocol: credentials.ProtocolSSL, SecretNamespace: namespace,
		TLS: credentials.TLS{
			TrustSecret: cluster + "-cluster-ca-cert", IdentitySecret: cluster + "-cluster-operator-certs", CertEntry: certificateEntry,
			KeyEntry: keyEntry,
		},
	}
}
