package roller

// positions maps each broker id of the topics to a small index, because planning a large cluster would spend most of its time on a map.
type positions struct {
	n     int
	small []int32 // by id, -1 for unused ids
	large map[NodeID]int32
}

// smallID is the limit of ids in the table small.
const smallID = 1 << 20

func positionsOf(topics []Topic) positions {
	ps := positions{large: map[NodeID]int32{}}
	for t := range topics {
		for p := range topics[t].Partitions {
			for _, id := range topics[t].Partitions[p].Replicas {
				ps.add(id)
			}
		}
	}
	return ps
}

func (ps *positions) add(id NodeID) {
	if ps.of(id) >= 0 {
		return
	}
	if id < 0 || id >= smallID {
		ps.large[id] = int32(ps.n)
	} else {
		for int(id) >= len(ps.small) {
			ps.small = append(ps.small, -1)
		}
		ps.small[id] = int32(ps.n)
	}
	ps.n++
}

// of returns the position, or -1 if no replica has the id.
func (ps *positions) of(id NodeID) int32 {
	if id >= 0 && id < smallID {
		if int(id) < len(ps.small) {
			return ps.small[id]
		}
		return -1
	}
	if at, ok := ps.large[id]; ok {
		return at
	}
	return -1
}

// nodeSet is a set of nodes, optimized for nodes that have replicas.
type nodeSet struct {
	ids   *positions
	marks []bool
	// one is an additional member if any is true.
	one NodeID
	any bool
}

// set returns a set of these nodes.
func (a *availability) set(ids []NodeID) nodeSet {
	s := nodeSet{ids: &a.ids, marks: make([]bool, a.ids.n)}
	for _, id := range ids {
		s.add(id)
	}
	return s
}

func (s nodeSet) add(id NodeID) {
	if at := s.ids.of(id); at >= 0 {
		s.marks[at] = true
	}
}

// drop removes a node.
func (s nodeSet) drop(id NodeID) {
	if at := s.ids.of(id); at >= 0 {
		s.marks[at] = false
	}
}

// and returns the set with an additional node, without changing the receiver.
func (s nodeSet) and(id NodeID) nodeSet {
	s.one, s.any = id, true
	return s
}

func (s nodeSet) has(id NodeID) bool {
	if s.any && s.one == id {
		return true
	}
	at := s.ids.of(id)
	return at >= 0 && s.marks[at]
}

// among returns the members of the set among these nodes.
func (s nodeSet) among(ids []NodeID) []NodeID {
	var members []NodeID
	for _, id := range ids {
		if s.has(id) {
			members = append(members, id)
		}
	}
	return members
}
