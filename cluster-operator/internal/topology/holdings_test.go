package topology

import (
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
)

// held returns the holdings of brokers that all respond, to an operator that may describe all topics; nil if nothing is known.
func held(replicas map[int32]int) *Holdings {
	if replicas == nil {
		return nil
	}
	return &Holdings{Replicas: replicas, Stored: replicas}
}

func TestWhatKeepsABroker(t *testing.T) {
	secret := map[int32][]string{2: {"secret"}}
	three := map[int32]int{2: 3}
	none := map[int32]int{2: 0}
	silent := map[int32]string{2: "it is away"}
	for name, c := range map[string]struct {
		holdings *Holdings
		why      gomegatypes.GomegaMatcher
	}{
		"Kafka does not answer":         {nil, HavePrefix("it is unknown which partitions broker 2 holds, because Kafka did not answer")},
		"replicas that Kafka lists":     {&Holdings{Replicas: three}, HavePrefix("broker 2 holds 3 replicas of partitions: move them")},
		"nothing, as it reports":        {&Holdings{Replicas: none, Stored: none}, BeEmpty()},
		"nothing, and it is not listed": {&Holdings{Stored: none}, BeEmpty()},
		"replicas that are not listed":  {&Holdings{Replicas: none, Stored: three}, HavePrefix("broker 2 holds 3 replicas of partitions: move")},
		"replicas of a hidden topic": {&Holdings{Replicas: none, Stored: three, Hidden: secret}, Equal("broker 2 holds 3 replicas of " +
			"partitions, some of topics that the operator may not describe (secret): grant User:CN=cluster-operator,O=io.strimzi " +
			"Describe on all topics and move the replicas to other brokers first, or annotate the Kafka with " +
			"strimzi.io/skip-broker-scaledown-check: \"true\" if " +
			"their data may be lost")},
		"more hidden topics than have room": {&Holdings{Stored: three, Hidden: map[int32][]string{2: {"a", "b", "c", "d", "e"}}},
			ContainSubstring("(a, b, c and 2 more)")},
		"nothing, as it reports, beside a broker with a hidden topic": {
			&Holdings{Replicas: none, Stored: none, Hidden: map[int32][]string{1: {"secret"}}}, BeEmpty()},
		"a broker that was not asked":                {&Holdings{Replicas: none}, ContainSubstring("was not asked")},
		"a broker that is down, and not in any list": {&Holdings{Replicas: none, Silent: silent}, BeEmpty()},
		"two brokers that are down and are to go":    {&Holdings{Silent: map[int32]string{2: "it is away", 3: "it is away"}}, BeEmpty()},
		"a broker that is down, with replicas":       {&Holdings{Replicas: three, Silent: silent}, HavePrefix("broker 2 holds 3 replicas")},
		"a broker that is down, where another one has a hidden topic": {
			&Holdings{Replicas: none, Silent: silent, Hidden: map[int32][]string{1: {"secret"}}},
			And(HavePrefix("it is unknown which partitions broker 2 holds, because it does not report its log directories (it is away), and "+
				"broker 1 holds"), ContainSubstring("(secret)"))},
		"a broker that is down, and one that stays": {&Holdings{Replicas: none, Silent: silent, Unheard: map[int32]string{1: "it is away, too"}},
			ContainSubstring("(it is away), nor does broker 1 (it is away, too), so it is unknown")},
		"a broker that answers while one that stays does not": {&Holdings{Stored: none, Unheard: map[int32]string{1: "it is away"}}, BeEmpty()},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(c.holdings.WhyKept(2)).To(c.why) })
	}
}
