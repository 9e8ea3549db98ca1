package roller

// positions gives each broker id of the topics a small number, because a map would be what planning a large cluster spends its time on.
type positions struct {
	n     int
	small []int32 // by id, -1 where there is none
	large map[NodeID]int32
}

// smallID is up to which id a table is used.
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

// of returns the position, or -1 if the id is none of a replica.
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
	// one is a further member, and whether there is one.
	one NodeID
	any bool
}

// set makes one of these nodes.
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

// drop takes a node out.
func (s nodeSet) drop(id NodeID) {
	if at := s.ids.of(id); at >= 0 {
		s.marks[at] = false
	}
}

// and is the set with one node more, without changing it.
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

// among are the members among these nodes.
func (s nodeSet) among(ids []NodeID) []NodeID {
	var members []NodeID
	for _, id := range ids {
		if s.has(id) {
			members = append(members, id)
		}
	}
	return members
}
