package roller

import (
	"fmt"
	"slices"
	"time"
)

// follows is how far a voter may be behind the leader of the quorum and still count as one that runs. A voter that was removed from
// Kubernetes, and not from the quorum, falls back further for ever.
const follows = 10 * time.Second

// Unseen returns the nodes that Kafka takes for serving and that are not in Nodes: brokers in sync in a partition with a leader, and voters
// that follow the leader of the quorum. They run somewhere where the roller doesn't look, or their pods lost their labels
// (docs/decisions/facts-of-a-restart.md). A broker that was removed is fenced within seconds, and leads nothing; it is not among them. If
// no node is a controller, the roller restarts none, and the voters are no concern of it.
func (s *Snapshot) Unseen() map[NodeID]Roles {
	var unseen map[NodeID]Roles
	add := func(id NodeID, r Roles) {
		if id < 0 || s.Node(id) != nil {
			return
		}
		if unseen == nil {
			unseen = map[NodeID]Roles{}
		}
		before := unseen[id]
		unseen[id] = Roles{Controller: before.Controller || r.Controller, Broker: before.Broker || r.Broker}
	}
	topics := s.Topics.Or(nil)
	for t := range topics {
		for p := range topics[t].Partitions {
			if partition := &topics[t].Partitions[p]; partition.Leader >= 0 {
				for _, id := range partition.ISR {
					add(id, Roles{Broker: true})
				}
			}
		}
	}
	q, known := s.Quorum.Get()
	if known && slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Roles.Controller }) {
		for _, v := range q.Voters {
			if q.Leader >= 0 && q.caughtUp(v.ID, follows) {
				add(v.ID, Roles{Controller: true})
			}
		}
	}
	return unseen
}

// UnseenText is the text of Snapshot.Unread for nodes that Kafka reports and nobody sees.
func UnseenText(ids []NodeID) string {
	slices.Sort(ids)
	return fmt.Sprintf("Kafka lists %s, which no pod or StrimziPodSet is seen of: configure all Kubernetes clusters with nodes of this "+
		"Kafka, and check that its pods have the label strimzi.io/cluster", list(ids))
}

// markUnseen returns the snapshot with Unread set if Kafka reports nodes that no pod or StrimziPodSet shows.
func (s *Snapshot) markUnseen() *Snapshot {
	if s.Unread != "" {
		return s
	}
	unseen := s.Unseen()
	if len(unseen) == 0 {
		return s
	}
	var ids []NodeID
	for id := range unseen {
		ids = append(ids, id)
	}
	next := *s
	next.Unread = UnseenText(ids)
	return &next
}

// forgets reports whether a node that is not in Nodes is no part of this Kafka any more, for all that Kubernetes and Kafka say.
func (s *Snapshot) forgets() bool {
	q, known := s.Quorum.Get()
	return s.Unread == "" && s.Topics.IsKnown() && known && q.Leader >= 0
}
