package model

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Found has the known endpoints of a node for other Kubernetes clusters.
type Found struct {
	// Endpoints are where its ports can be reached now; nil while that is unknown.
	Endpoints map[string]Endpoint
	// Names are further names of it, for its certificate; those of before while Endpoints are unknown.
	Names []string
	// Waits describes what Endpoints wait for.
	Waits string
	// Hint is appended to what waits for the node's certificate.
	Hint string
	// Exists reports that the node runs, or is about to; such a node shows its certificate to others.
	Exists bool
	// Certified reports that the certificate which the node serves is for all hosts of Endpoints.
	Certified bool
}

// Reach is how nodes reach each other.
type Reach struct {
	// Peers are the endpoints that nodes advertise.
	Peers Peers
	// Names are the names in certificates of nodes, in addition to the hosts of Peers, sorted.
	Names map[int32][]string
	// Waits lists what a change of Peers waits for, sorted.
	Waits []string
	// Delayed are nodes that can't be started yet, and what each waits for.
	Delayed map[int32]string
}

// ResolvePeers decides which endpoints nodes advertise to each other. All changes apply together, so that each node restarts once, and only
// after every existing node serves a certificate for its new host: otherwise, nodes that restarted with new endpoints would not trust it.
// Until then, ports change where the certificate is known to be good: a port that is new or moved is not reached in another way.
//
// A node whose endpoints are unknown keeps its current ones.
func ResolvePeers(kafka *v1.Kafka, nodes []topology.Node, inUse Peers, found map[int32]Found) Reach {
	r := Reach{Peers: Peers{}, Names: map[int32][]string{}, Delayed: map[int32]string{}}
	wanted := Peers{}
	ready := true
	for _, n := range nodes {
		f := found[n.ID]
		at := complete(kafka, n, f.Endpoints)
		if at == nil {
			at = complete(kafka, n, inUse[n.ID])
		}
		r.Names[n.ID] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.Names, hosts(at)))))
		switch {
		case at == nil:
			// One that exists has addresses that other Kubernetes clusters don't know, and controllers are in the configuration of all nodes.
			ready = ready && !f.Exists && !n.Roles.Controller
			r.Delayed[n.ID] = f.Waits
			r.Waits = append(r.Waits, f.Waits)
			continue
		case f.Exists && !within(hosts(at), hosts(inUse[n.ID])) && !f.Certified:
			ready = false
			r.Waits = append(r.Waits, fmt.Sprintf("node %d does not serve a certificate for %s yet%s", n.ID, strings.Join(hosts(at), ", "),
				f.Hint))
		}
		wanted[n.ID] = at
	}
	slices.Sort(r.Waits)
	r.Peers = wanted
	if !ready {
		r.Peers = Peers{}
		for _, n := range nodes {
			if inUse[n.ID] != nil {
				r.Peers[n.ID] = merge(kafka, n, inUse[n.ID], found[n.ID])
			}
		}
	}
	for _, n := range nodes {
		if r.Peers[n.ID] == nil && r.Delayed[n.ID] == "" {
			r.Delayed[n.ID] = "the addresses of all nodes: " + strings.Join(r.Waits, "; ")
		}
	}
	return r
}

// merge returns the endpoints that a node advertises while new hosts have to wait.
func merge(kafka *v1.Kafka, n topology.Node, inUse map[string]Endpoint, f Found) map[string]Endpoint {
	all := map[string]Endpoint{}
	for _, port := range PeerPorts(kafka, n) {
		now, used := inUse[port.Name]
		if e, known := f.Endpoints[port.Name]; known && (slices.Contains(hosts(inUse), e.Host) || !used && f.Certified) {
			now, used = e, true
		}
		if used {
			all[port.Name] = now
		}
	}
	return all
}

// within reports whether all of these are among others.
func within(these, others []string) bool {
	return !slices.ContainsFunc(these, func(s string) bool { return !slices.Contains(others, s) })
}

// complete returns the endpoints of a node if there is one for each of its ports, else nil.
func complete(kafka *v1.Kafka, n topology.Node, at map[string]Endpoint) map[string]Endpoint {
	all := map[string]Endpoint{}
	for _, port := range PeerPorts(kafka, n) {
		e, known := at[port.Name]
		if !known || e.Host == "" || e.Port == 0 {
			return nil
		}
		all[port.Name] = e
	}
	return all
}

// hosts returns the hosts of endpoints, each once, sorted.
func hosts(at map[string]Endpoint) []string {
	var all []string
	for _, e := range at {
		all = append(all, e.Host)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
