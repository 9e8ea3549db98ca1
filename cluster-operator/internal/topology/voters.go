package topology

import (
	"fmt"
	"strings"
)

// WhyNotEmpty returns why a controller may not start with an empty volume, "" if it may. caughtUp has the voters that have all metadata;
// nil means that nobody said so.
//
// What a majority of the voters has is committed. A voter that starts empty has nothing, and votes for others that have nothing: once a
// majority lacks something, it can elect a leader that lacks it, and the others then delete it.
func WhyNotEmpty(id int32, voters []int32, caughtUp map[int32]bool) string {
	const orForce = "annotate the Kafka with strimzi.io/skip-broker-scaledown-check: \"true\" if the metadata of all topics may be lost"
	if len(voters) == 1 {
		return fmt.Sprintf("controller %d is the only one: restore its volume, or %s", id, orForce)
	}
	if caughtUp == nil {
		return fmt.Sprintf("it is unknown which of the other controllers have all metadata, because Kafka did not answer: start them, or %s",
			orForce)
	}
	var behind []string
	for _, v := range voters {
		if v != id && !caughtUp[v] {
			behind = append(behind, fmt.Sprint(v))
		}
	}
	if 1+len(behind) <= len(voters)/2 {
		return ""
	}
	return fmt.Sprintf("other controllers may lack metadata as well (%s), and together they could elect a leader without it: start these "+
		"first, or %s", strings.Join(behind, ", "), orForce)
}
