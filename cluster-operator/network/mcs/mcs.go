// Package mcs makes nodes reachable by the DNS names of the Multi-Cluster Services API (KEP-1645), which Submariner, Cilium and others
// implement. The namespace of the Kafka must be the same in all Kubernetes clusters.
package mcs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Name is the provider's.
const Name = "mcs"

// Settings of the provider. Source of the names: the MCS plugin that the authors of Strimzi's proposal of stretch clusters published.
const (
	// SettingDomain is the DNS domain of the cluster set; clusterset.local without it.
	SettingDomain = "clustersetDomain"
	// SettingSameness may be "true", which is always so: the namespace of the Kafka is the same in all Kubernetes clusters.
	SettingSameness = "requireNamespaceSameness"
)

const (
	defaultDomain = "clusterset.local"
	group         = "multicluster.x-k8s.io"
	kind          = "ServiceExport"
)

// versions are the supported versions of the API, in order of preference.
var versions = []string{group + "/v1beta1", group + "/v1alpha1"}

// provider has no state but its settings.
type provider struct {
	domain string
}

// New makes the provider. It is a network.Factory.
func New(settings map[string]string) (network.Provider, error) {
	p := &provider{domain: defaultDomain}
	for key, value := range settings {
		switch key {
		case SettingDomain:
			if wrong := validation.IsDNS1123Subdomain(value); len(wrong) > 0 {
				return nil, fmt.Errorf("setting %s: %q is not a DNS domain: %s", key, value, strings.Join(wrong, "; "))
			}
			p.domain = value
		case SettingSameness:
			if value != "true" {
				return nil, fmt.Errorf("setting %s: %q is not supported: the namespace is the same in all clusters", key, value)
			}
		default:
			return nil, fmt.Errorf("unknown setting %s: want %s or %s", key, SettingDomain, SettingSameness)
		}
	}
	return p, nil
}

// Info describes the provider.
func (*provider) Info(context.Context) (network.Info, error) {
	return network.Info{Name: Name, Interface: network.Version}, nil
}

// served returns the version of the API that a cluster serves, "" if it serves none.
func served(c network.Cluster) string {
	i := slices.IndexFunc(versions, func(v string) bool { return slices.Contains(c.APIVersions, v) })
	if i < 0 {
		return ""
	}
	return versions[i]
}

// Plan exports the headless Service of the nodes from each cluster, which gives each pod its own name.
func (*provider) Plan(_ context.Context, r network.Request) ([]network.Object, error) {
	var objects []network.Object
	for _, c := range r.Clusters {
		if v := served(c); v != "" {
			o := unstructured.Unstructured{Object: map[string]any{"apiVersion": v, "kind": kind, "metadata": map[string]any{"name": r.Service}}}
			objects = append(objects, network.Object{Cluster: c.ID, Object: o})
		}
	}
	return objects, nil
}

// Resolve returns the names of pods in exported Services. A node waits while its cluster's Service is not exported.
func (p *provider) Resolve(_ context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	out := network.NewResolution()
	waits := map[string]string{}
	for _, c := range r.Clusters {
		waits[c.ID] = waitsFor(c, r.Service, observed)
	}
	for _, n := range r.Nodes {
		if wait := waits[n.Cluster]; wait != "" {
			out.Pending[n.ID] = wait
			continue
		}
		// The names that KEP-1645 gives to pods of a headless Service and to the Service.
		service := strings.Join([]string{r.Service, r.Namespace, "svc", p.domain}, ".")
		host := n.Pod + "." + n.Cluster + "." + service
		at := map[string]network.Endpoint{}
		for _, port := range n.Ports {
			at[port.Name] = network.Endpoint{Host: host, Port: port.Port}
		}
		out.Endpoints[n.ID], out.Names[n.ID] = at, []string{n.Cluster + "." + service, service}
	}
	return out, nil
}

// waitsFor returns what a cluster's export waits for. One that no controller has judged yet counts as valid: not all implementations
// report.
func waitsFor(c network.Cluster, service string, observed []network.Object) string {
	if len(c.APIVersions) > 0 && served(c) == "" {
		return fmt.Sprintf("cluster %s does not serve %s: install an implementation of the Multi-Cluster Services API there", c.ID, group)
	}
	for _, o := range observed {
		if o.Cluster != c.ID || o.Object.GetKind() != kind || o.Object.GetName() != service {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object.Object, "status", "conditions")
		for _, entry := range conditions {
			condition, _ := entry.(map[string]any)
			if condition["type"] == "Valid" && condition["status"] == "False" {
				return fmt.Sprintf("ServiceExport %s in cluster %s is not valid: %v", service, c.ID, condition["message"])
			}
		}
		return ""
	}
	return fmt.Sprintf("ServiceExport %s does not exist yet in cluster %s", service, c.ID)
}
