package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// groupsOfOthers and kindsOfOthers are what a provider must not plan: the operator creates nodes
// from these or protects nodes by them, they grant rights, or they limit what may run in the namespace.
var (
	groupsOfOthers = []string{"apps", "batch", "rbac.authorization.k8s.io", "kafka.strimzi.io", "core.strimzi.io", "apiextensions.k8s.io",
		"admissionregistration.k8s.io", "policy"}
	kindsOfOthers = []string{
		"ConfigMap", "Secret", "Pod", "PersistentVolume", "PersistentVolumeClaim", "ServiceAccount", "Namespace", "Node", "ReplicationController",
		"ResourceQuota", "LimitRange",
	}
)

// ownMetadata is what a provider sets. With a uid or resourceVersion, writes would conflict for ever; a finalizer would be nobody's to
// remove.
var ownMetadata = []string{"name", "namespace", "labels", "annotations"}

// CheckPlan returns an error if what a provider planned is not to be written: it is incomplete, is planned twice, is for a Kubernetes
// cluster without nodes, has metadata that is not a provider's, or is of a kind that a provider does not plan.
func (r Request) CheckPlan(planned []Object) error {
	seen := map[string]bool{}
	for _, o := range planned {
		gvk := o.Object.GroupVersionKind()
		what := fmt.Sprintf("%s %s in cluster %s", gvk.Kind, o.Object.GetName(), o.Cluster)
		if gvk.Kind == "" || gvk.Version == "" {
			return fmt.Errorf("planned %s: kind or apiVersion is missing", what)
		}
		if wrong := validation.IsDNS1123Subdomain(o.Object.GetName()); len(wrong) > 0 {
			return fmt.Errorf("planned %s: name %q: %s", what, o.Object.GetName(), strings.Join(wrong, "; "))
		}
		if !slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return c.ID == o.Cluster }) {
			return fmt.Errorf("planned %s: the cluster has no nodes", what)
		}
		if ns := o.Object.GetNamespace(); ns != "" && ns != r.Namespace {
			return fmt.Errorf("planned %s: namespace %s is not the Kafka's", what, ns)
		}
		metadata, _, _ := unstructured.NestedMap(o.Object.Object, "metadata")
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			if metadata[key] != nil && !slices.Contains(ownMetadata, key) {
				return fmt.Errorf("planned %s: metadata.%s: a provider sets name, namespace, labels and annotations only", what, key)
			}
		}
		if ofOthers(gvk) {
			return fmt.Errorf("planned %s: a provider does not plan %s", what, gvk)
		}
		id := gvk.GroupKind().String() + what
		if seen[id] {
			return fmt.Errorf("planned %s twice", what)
		}
		seen[id] = true
	}
	return nil
}

func ofOthers(gvk schema.GroupVersionKind) bool {
	return gvk.Group == "" && slices.Contains(kindsOfOthers, gvk.Kind) || slices.Contains(groupsOfOthers, gvk.Group) ||
		gvk.GroupKind() == schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}
}

// CheckResolution returns an error if nodes can't advertise what a provider found: an endpoint is missing, is not an address, leads
// nowhere from other machines, or is that of another port or node too. A node that has no endpoints waits, and is fine.
func (r Request) CheckResolution(found Resolution) error {
	nodes := map[int32]Node{}
	for _, n := range r.Nodes {
		nodes[n.ID] = n
	}
	used := map[Endpoint]string{}
	for _, id := range slices.Sorted(maps.Keys(found.Endpoints)) {
		n, known := nodes[id]
		if !known {
			return fmt.Errorf("resolved node %d, which does not exist", id)
		}
		at := found.Endpoints[id]
		for _, port := range n.Ports {
			e, there := at[port.Name]
			name := fmt.Sprintf("port %s of node %d", port.Name, id)
			if !there {
				return fmt.Errorf("resolved no endpoint for %s", name)
			}
			if err := CheckHost(e.Host); err != nil {
				return fmt.Errorf("resolved %s: %w", name, err)
			}
			if e.Port < 1 || e.Port > 65535 {
				return fmt.Errorf("resolved %s: %d is not a port", name, e.Port)
			}
			same := Endpoint{Host: canonicalHost(e.Host), Port: e.Port}
			if other, taken := used[same]; taken {
				return fmt.Errorf("resolved %s and %s to the same %s:%d", other, name, e.Host, e.Port)
			}
			used[same] = name
		}
		if len(at) > len(n.Ports) {
			return fmt.Errorf("resolved %d endpoints of node %d, which has %d ports", len(at), id, len(n.Ports))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found.Names)) {
		for _, name := range found.Names[id] {
			if err := CheckHost(strings.TrimPrefix(name, "*.")); err != nil {
				return fmt.Errorf("resolved a name of node %d: %w", id, err)
			}
		}
	}
	return nil
}

// CheckHost returns an error if a host is not a DNS name or an IP address, or if it is one that leads to another place from each machine,
// such as 0.0.0.0 or localhost: a node that advertises it reaches only itself, or does not start.
func CheckHost(host string) error {
	lower := strings.ToLower(host)
	local := lower == "localhost" || strings.HasSuffix(lower, ".localhost")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		local = ip.Zone() != "" || ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast() || ip.IsLinkLocalUnicast()
	} else if len(validation.IsDNS1123Subdomain(lower)) > 0 || numeric(lower[strings.LastIndex(lower, ".")+1:]) {
		return fmt.Errorf("%q is not a DNS name or an IP address", host)
	}
	if local {
		return fmt.Errorf("%q can't be reached from other machines", host)
	}
	return nil
}

// numeric reports whether a label consists of digits. No name ends with such a one, and Java takes 127.1 or 0 for addresses.
func numeric(label string) bool { return strings.Trim(label, "0123456789") == "" }

// canonicalHost returns one text for all that mean the same host.
func canonicalHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(host)
}
