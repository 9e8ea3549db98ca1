package topology

import (
	"fmt"
	"slices"
	"strings"
)

// Voters is what is known of the controllers, which vote for the leader of the metadata quorum.
type Voters struct {
	IDs []int32
	// CaughtUp are those that have all metadata according to the leader; nil if there is no leader, or nobody answered.
	CaughtUp map[int32]bool
	// First are those whose metadata log certainly is on the first volume that they had for it: what they once had, they still have.
	First map[int32]bool
	// Gone is how many have no volume for it any more.
	Gone int
	// Silent is why the brokers did not report the state of the quorum; "" if they did.
	Silent string
}

// WhyNotEmpty returns why a controller may not start with an empty volume, "" if it may.
//
// What a majority of the voters has is committed. A voter that starts empty has nothing, and votes for others that have nothing: once a
// majority lacks something, it can elect a leader that lacks it, and the others then delete it.
func (v Voters) WhyNotEmpty(id int32) string {
	const orForce = "annotate the Kafka with strimzi.io/skip-broker-scaledown-check: \"true\" if the metadata of all topics may be lost"
	const unknown = "it is unknown which of the other controllers have all metadata, because "
	var behind []string
	for _, other := range v.IDs {
		if other != id && !v.CaughtUp[other] {
			behind = append(behind, fmt.Sprint(other))
		}
	}
	switch {
	case len(v.IDs) == 1:
		return fmt.Sprintf("controller %d is the only one: restore its volume, or %s", id, orForce)
	case v.isFirstLoss(id), 1+len(behind) <= len(v.IDs)/2:
		return ""
	case !v.CanElect():
		return fmt.Sprintf("only %d of %d controllers have a volume for their metadata, and more have to vote for a leader: restore volumes of "+
			"the others, or %s", len(v.IDs)-v.Gone, len(v.IDs), orForce)
	case v.Silent != "":
		return fmt.Sprintf("%sthe brokers did not answer the operator (%s): see that brokers run and that it reaches them, or %s", unknown,
			v.Silent, orForce)
	case v.CaughtUp == nil:
		return fmt.Sprintf("%sthey have no leader: start them, or %s", unknown, orForce)
	}
	return fmt.Sprintf("other controllers may lack metadata as well (%s), and together they could elect a leader without it: start these "+
		"first, and give them a minute to catch up, or %s", strings.Join(behind, ", "), orForce)
}

// CanElect reports whether voters have a leader that has all metadata, or enough of them have their volumes to elect one.
func (v Voters) CanElect() bool { return len(v.CaughtUp) > 0 || len(v.IDs)-v.Gone > len(v.IDs)/2 }

// isFirstLoss reports whether an even number of voters loses a volume for the first time. Half of them and one more had what is committed,
// so that half of them still have it, and the others are no majority. That is known without a leader, which two voters have only together.
func (v Voters) isFirstLoss(id int32) bool {
	return len(v.IDs)%2 == 0 && !slices.ContainsFunc(v.IDs, func(other int32) bool { return other != id && !v.First[other] })
}

// MajorityEmpty reports whether a majority of voters would start empty if those start whose volumes are gone. It does so anyway, and
// nothing can be done about it, if the volumes of a majority are ephemeral.
func MajorityEmpty(voters, gone, ephemeral int) bool {
	return ephemeral <= voters/2 && gone+ephemeral > voters/2
}
