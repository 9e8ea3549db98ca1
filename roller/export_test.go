package roller

// Internals that the tests in package roller_test need.

var NewAvailability = newAvailability

func (a *availability) Shortage(id NodeID, down []NodeID) string { return a.shortage(id, a.set(down)) }

func (a *availability) Risks(id NodeID, down []NodeID) map[Risk]string {
	return a.risks(id, a.set(down))
}

func (a *availability) Behind(id NodeID) (behind int, known bool) { return a.behind(id) }

func (a *availability) LeaderShare(id NodeID) float64 { return a.leaderShare(id) }

func Standstill(topics []Topic) []NodeID {
	a := newAvailability(Known(topics))
	return newStandstill(a).stuck.among([]NodeID{0, 1, 2, 3, 4})
}
