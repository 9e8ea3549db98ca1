package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

func twoNodes() network.Request {
	ports := []network.Port{{Name: "tcp-ctrlplane", Port: 9090}, {Name: "tcp-replication", Port: 9091}}
	return network.Request{
		Namespace: "kafka", Kafka: "my-cluster", Clusters: []network.Cluster{{ID: "central"}, {ID: "east"}},
		Nodes: []network.Node{{ID: 0, Pod: "my-cluster-a-0", Cluster: "central", Ports: ports},
			{ID: 1, Pod: "my-cluster-b-1", Cluster: "east", Ports: ports}},
	}
}

func planned(cluster, apiVersion, kind, name string) network.Object {
	o := network.Object{Cluster: cluster}
	o.Object.SetAPIVersion(apiVersion)
	o.Object.SetKind(kind)
	o.Object.SetName(name)
	return o
}

// wantError expects an error with this text, or none if there is no text.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	} else {
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
	}
}

func TestWhatAProviderMayPlan(t *testing.T) {
	at := planned("east", "v1", "Service", "a")
	at.Object.SetNamespace("kafka")
	at.Object.SetLabels(map[string]string{"a": "b"})
	at.Object.SetAnnotations(map[string]string{"a": "b"})
	empty := planned("east", "v1", "Service", "a")
	NewWithT(t).Expect(unstructured.SetNestedField(empty.Object.Object, nil, "metadata", "creationTimestamp")).To(Succeed())
	for name, plan := range map[string][]network.Object{
		"nothing":                   nil,
		"a Service in each cluster": {planned("central", "v1", "Service", "a"), planned("east", "v1", "Service", "a")},
		"an Ingress":                {planned("east", "networking.k8s.io/v1", "Ingress", "a")},
		"an object of a CRD":        {planned("east", "multicluster.x-k8s.io/v1alpha1", "ServiceExport", "a")},
		"in the Kafka's namespace":  {at},
		"as a Go client encodes it": {empty},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, twoNodes().CheckPlan(plan), "") })
	}
}

func TestWhatAProviderMayNotPlan(t *testing.T) {
	elsewhere := planned("east", "v1", "Service", "a")
	elsewhere.Object.SetNamespace("kube-system")
	for name, c := range map[string]struct {
		planned []network.Object
		want    string
	}{
		"in another namespace":       {[]network.Object{elsewhere}, "namespace kube-system is not the Kafka's"},
		"in a cluster without nodes": {[]network.Object{planned("west", "v1", "Service", "a")}, "the cluster has no nodes"},
		"in no cluster":              {[]network.Object{planned("", "v1", "Service", "a")}, "the cluster has no nodes"},
		"without a kind":             {[]network.Object{planned("east", "v1", "", "a")}, "kind or apiVersion is missing"},
		"without an apiVersion":      {[]network.Object{planned("east", "", "Service", "a")}, "kind or apiVersion is missing"},
		"without a name":             {[]network.Object{planned("east", "v1", "Service", "")}, `name ""`},
		"with an illegal name":       {[]network.Object{planned("east", "v1", "Service", "../a")}, `name "../a"`},
		"twice":                      {[]network.Object{planned("east", "v1", "Service", "a"), planned("east", "v1", "Service", "a")}, "twice"},
		"a Secret": {[]network.Object{planned("east", "v1", "Secret", "my-cluster-cluster-ca")},
			"does not plan /v1, Kind=Secret"},
		"a ConfigMap": {[]network.Object{planned("east", "v1", "ConfigMap", "my-cluster-kafka-gc")}, "does not plan"},
		"a volume": {[]network.Object{planned("east", "v1", "PersistentVolumeClaim", "data-0-my-cluster-b-1")},
			"does not plan"},
		"a NetworkPolicy": {[]network.Object{planned("east", "networking.k8s.io/v1", "NetworkPolicy", "a")},
			"does not plan networking.k8s.io/v1, Kind=NetworkPolicy"},
		"a PodDisruptionBudget": {[]network.Object{planned("east", "policy/v1", "PodDisruptionBudget", "a")},
			"does not plan policy/v1, Kind=PodDisruptionBudget"},
		"a quota":         {[]network.Object{planned("east", "v1", "ResourceQuota", "a")}, "does not plan"},
		"a limit":         {[]network.Object{planned("east", "v1", "LimitRange", "a")}, "does not plan"},
		"a pod":           {[]network.Object{planned("east", "v1", "Pod", "a")}, "does not plan"},
		"a Deployment":    {[]network.Object{planned("east", "apps/v1", "Deployment", "a")}, "does not plan"},
		"a StrimziPodSet": {[]network.Object{planned("east", "core.strimzi.io/v1", "StrimziPodSet", "my-cluster-b")}, "does not plan"},
		"a Kafka":         {[]network.Object{planned("east", "kafka.strimzi.io/v1", "Kafka", "my-cluster")}, "does not plan"},
		"a right": {[]network.Object{planned("east", "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "a")},
			"does not plan"},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, twoNodes().CheckPlan(c.planned), c.want) })
	}
	for key, value := range map[string]any{
		"uid": "abc", "resourceVersion": "1", "finalizers": []any{"example.com/stay"}, "ownerReferences": []any{}, "generateName": "a-",
		"creationTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": int64(1),
	} {
		t.Run("with "+key, func(t *testing.T) {
			o := planned("east", "v1", "Service", "a")
			NewWithT(t).Expect(unstructured.SetNestedField(o.Object.Object, value, "metadata", key)).To(Succeed())
			wantError(t, twoNodes().CheckPlan([]network.Object{o}), "planned Service a in cluster east: metadata."+key+": a provider sets "+
				"name, namespace, labels and annotations only")
		})
	}
}

func TestWhatNodesCanAdvertise(t *testing.T) {
	good := func(host string) map[string]network.Endpoint {
		return map[string]network.Endpoint{"tcp-ctrlplane": {Host: host, Port: 30000}, "tcp-replication": {Host: host, Port: 30001}}
	}
	for name, found := range map[string]network.Resolution{
		"nothing is known":    network.NewResolution(),
		"one of two":          {Endpoints: network.Endpoints{0: good("10.0.0.1")}, Pending: map[int32]string{1: "it has no address"}},
		"names and addresses": {Endpoints: network.Endpoints{0: good("Node-0.example.com"), 1: good("2001:db8::1")}},
		"further names":       {Names: map[int32][]string{0: {"*.example.com", "10.0.0.1"}}},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, twoNodes().CheckResolution(found), "") })
	}
}

func TestWhatNodesCanNotAdvertise(t *testing.T) {
	type at = map[string]network.Endpoint
	good := func(host string) at {
		return at{"tcp-ctrlplane": {Host: host, Port: 30000}, "tcp-replication": {Host: host, Port: 30001}}
	}
	replication := func(e network.Endpoint) at {
		return at{"tcp-ctrlplane": {Host: "h", Port: 1}, "tcp-replication": e}
	}
	for name, c := range map[string]struct {
		found network.Resolution
		want  string
	}{
		"no host": {network.Resolution{Endpoints: network.Endpoints{0: replication(network.Endpoint{Port: 1})}},
			`"" is not a DNS name`},
		"a URL": {network.Resolution{Endpoints: network.Endpoints{0: good("https://x")}}, "is not a DNS name or an IP address"},
		"a line of a config": {network.Resolution{Endpoints: network.Endpoints{0: good("x\nsuper.users=User:ANONYMOUS")}},
			"is not a DNS name or an IP address"},
		"two voters in one": {network.Resolution{Endpoints: network.Endpoints{0: good("x:9090,9@evil")}},
			"is not a DNS name or an IP address"},
		"port 0": {network.Resolution{Endpoints: network.Endpoints{0: replication(network.Endpoint{Host: "h"})}},
			"0 is not a port"},
		"a negative port": {network.Resolution{Endpoints: network.Endpoints{0: replication(network.Endpoint{Host: "h", Port: -1})}},
			"-1 is not a port"},
		"a port too high": {network.Resolution{Endpoints: network.Endpoints{0: replication(network.Endpoint{Host: "h", Port: 65536})}},
			"65536 is not a port"},
		"a port that is missing": {network.Resolution{Endpoints: network.Endpoints{0: {"tcp-ctrlplane": {Host: "h", Port: 1}}}},
			"no endpoint for port tcp-replication of node 0"},
		"a port too many": {network.Resolution{Endpoints: network.Endpoints{0: {
			"tcp-ctrlplane": {Host: "h", Port: 1}, "tcp-replication": {Host: "h", Port: 2}, "tcp-admin": {Host: "h", Port: 3},
		}}}, "3 endpoints of node 0, which has 2 ports"},
		"two ports in one": {network.Resolution{Endpoints: network.Endpoints{0: replication(network.Endpoint{Host: "h", Port: 1})}},
			"to the same h:1"},
		"one host, written in two ways": {network.Resolution{Endpoints: network.Endpoints{0: good("h"), 1: good("H")}}, "to the same H:30000"},
		"one address, written in two ways": {network.Resolution{Endpoints: network.Endpoints{0: good("2001:db8::1"), 1: good("2001:DB8:0::1")}},
			"to the same 2001:DB8:0::1:30000"},
		"two nodes in one":       {network.Resolution{Endpoints: network.Endpoints{0: good("h"), 1: good("h")}}, "to the same h:30000"},
		"a node that nobody has": {network.Resolution{Endpoints: network.Endpoints{7: good("h")}}, "node 7, which does not exist"},
		"a name with a space":    {network.Resolution{Names: map[int32][]string{0: {"a b"}}}, `"a b" is not a DNS name`},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, twoNodes().CheckResolution(c.found), c.want) })
	}
	for _, host := range []string{
		"0.0.0.0", "::", "::ffff:0.0.0.0", "127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "224.0.0.1", "ff02::1", "169.254.1.1", "fe80::1",
		"fe80::1%eth0", "2001:db8::1%eth0", "localhost", "LocalHost", "a.localhost",
	} {
		t.Run(host, func(t *testing.T) {
			want := "can't be reached from other machines"
			wantError(t, twoNodes().CheckResolution(network.Resolution{Endpoints: network.Endpoints{0: good(host)}}), want)
			wantError(t, twoNodes().CheckResolution(network.Resolution{Names: map[int32][]string{0: {host}}}), want)
		})
	}
	for _, host := range []string{"0", "127.1", "010.0.0.1", "10.0.0.256", "a.1"} {
		t.Run(host, func(t *testing.T) {
			wantError(t, twoNodes().CheckResolution(network.Resolution{Endpoints: network.Endpoints{0: good(host)}}),
				"is not a DNS name or an IP address")
		})
	}
}
