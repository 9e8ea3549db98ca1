package connection

import (
	"net"
	"slices"
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

// bootstrap returns the bootstrap addresses of a Kafka cluster: the Service of local brokers, and the addresses in the configuration of
// those in other Kubernetes clusters.
func bootstrap(namespace, cluster string, places []observe.Place) []string {
	addresses := []string{net.JoinHostPort(service(namespace, cluster), brokersPort)}
	for i := range places {
		for _, set := range places[i].Sets {
			for p := range set.Pods {
				if pod := &set.Pods[p]; places[i].ID != "" && pod.Labels[core.LabelBrokerRole] == "true" {
					addresses = append(addresses, advertised(&places[i], pod, "inter.broker.listener.name"))
				}
			}
		}
	}
	return sorted(addresses)
}

// sorted returns the addresses without empty ones and duplicates.
func sorted(addresses []string) []string {
	slices.Sort(addresses)
	return slices.DeleteFunc(slices.Compact(addresses), func(a string) bool { return a == "" })
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

// controllers returns the addresses of the controllers that the pod sets list. The address of one in another Kubernetes cluster comes from
// its configuration.
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
	case pod.Labels[core.LabelControllerRole] != "true":
		return ""
	case place.ID == "":
		return net.JoinHostPort(pod.Name+"."+service(namespace, cluster), controllersPort)
	}
	return advertised(place, pod, "controller.listener.names")
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
