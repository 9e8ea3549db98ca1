package ownership

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// oldestWins selects Strimzi's conflict policy. unfinalized runs the operator without finalizers.
var (
	oldestWins  = settings{"STRIMZI_CONFLICT_POLICY": "oldest-wins"}
	unfinalized = settings{"STRIMZI_USE_FINALIZERS": "false"}
)

// rivalOf creates another KafkaTopic for the topic of kt.
func rivalOf(kt *v1.KafkaTopic, namespace, name string, changes ...change) *v1.KafkaTopic {
	GinkgoHelper()
	return create(namespace, name, append([]change{topicName(kt.TopicName())}, changes...)...)
}

// conflicts waits until the object's status names these others, in this order, which also claim its topic.
func conflicts(kt *v1.KafkaTopic, others ...*v1.KafkaTopic) {
	GinkgoHelper()
	var names []string
	for _, other := range others {
		names = append(names, other.Namespace+"/"+other.Name)
	}
	refused(kt, v1.ReasonResourceConflict, "Also managed by "+strings.Join(names, ", "))
}

// twoNamespaces creates two namespaces, and returns them sorted by name.
func twoNamespaces() (string, string) {
	GinkgoHelper()
	one, two := newNamespace(), newNamespace()
	if one > two {
		one, two = two, one
	}
	return one, two
}

// younger waits until new objects have a later creation time than the object: it is in whole seconds.
func younger(kt *v1.KafkaTopic) {
	GinkgoHelper()
	Eventually(time.Now).Should(BeTemporally(">=", kt.CreationTimestamp.Add(time.Second)))
}

// See docs/decisions/claims.md.
var _ = Describe("Several KafkaTopics for one topic", func() {
	It("are all refused, Kafka is touched for none of them, and a restart changes nothing", func() {
		one, two := twoNamespaces()
		topics := map[string]state{}
		for _, name := range []string{"pair", "across", "three"} {
			topics[name] = clusterA.make(named(name, one), retention, asItWas)
		}
		claim := func(topic, namespace, name string) *v1.KafkaTopic {
			return create(namespace, name, topicName(named(topic, one)), config(retention, asAsked))
		}
		pair := []*v1.KafkaTopic{claim("pair", one, "p1"), claim("pair", one, "p2")}
		across := []*v1.KafkaTopic{claim("across", one, "x"), claim("across", two, "x")}
		three := []*v1.KafkaTopic{claim("three", one, "y1"), claim("three", one, "y2"), claim("three", two, "y0")}
		all := append(append(append([]*v1.KafkaTopic{}, pair...), across...), three...)
		check := func(o *operator) {
			GinkgoHelper()
			conflicts(pair[0], pair[1])
			conflicts(pair[1], pair[0])
			conflicts(across[0], across[1])
			conflicts(across[1], across[0])
			conflicts(three[0], three[1], three[2])
			conflicts(three[1], three[0], three[2])
			conflicts(three[2], three[0], three[1])
			o.shows(float64(len(all)), 0, v1.ReasonResourceConflict)
			for name, topic := range topics {
				clusterA.keeps(named(name, one), topic)
			}
		}
		o := start(clusterA, never, one, two)
		check(o)
		for _, kt := range all {
			told(kt, "Warning", v1.ReasonResourceConflict, "Also managed by ")
			Expect(held(kt)).To(BeFalse(), "a KafkaTopic that has no topic is not trapped")
		}
		o.stop()
		versions := func() (versions []string) {
			for _, kt := range all {
				versions = append(versions, kt.ResourceVersion)
			}
			return versions
		}
		before := versions()
		check(start(clusterA, never, one, two))
		Expect(versions()).To(Equal(before), "the objects' versions")
	})

	It("are refused as soon as there are two, and the last one recovers at once, whichever goes", func() {
		one, two := twoNamespaces()
		o := start(clusterA, never, one, two)
		first := created(clusterA, one, "t", config(retention, asItWas))
		topic := clusterA.state(first.Name)
		for _, goes := range []string{"the younger one", "the older one"} {
			By("deleting " + goes)
			second := rivalOf(first, two, "rival-"+goes[4:7], config(retention, asItWas))
			conflicts(first, second)
			conflicts(second, first)
			update(first, config(retention, asAsked))
			update(second, config(retention, asAsked))
			Eventually(func(g Gomega) {
				for _, kt := range []*v1.KafkaTopic{first, second} {
					refresh(g, kt)
					g.Expect(kt.Status.ObservedGeneration).To(Equal(kt.Generation))
				}
			}).Should(Succeed())
			conflicts(first, second)
			conflicts(second, first)
			clusterA.keeps(first.Name, topic)
			gonner, survivor := second, first
			if goes == "the older one" {
				gonner, survivor = first, second
			}
			remove(gonner)
			gone(gonner)
			ready(survivor, clusterA)
			topic.config = map[string]string{retention: asAsked}
			clusterA.keeps(first.Name, topic)
			first = survivor
		}
		o.shows(0, 0, v1.ReasonResourceConflict)

		By("deleting the last one")
		remove(first)
		gone(first)
		Eventually(clusterA.exists).WithArguments(first.TopicName()).Should(BeFalse())
	})

	It("are those that are managed, paused ones included, and selected by the operator", func() {
		const key = "e2e/selected"
		selected := func(yes string) change {
			return func(kt *v1.KafkaTopic) { kt.Labels = map[string]string{key: yes} }
		}
		one, two := twoNamespaces()
		o := start(clusterA, never.and(settings{"STRIMZI_RESOURCE_LABELS": key + "=yes"}), one, two)
		kt := created(clusterA, one, "t", selected("yes"))
		topic := clusterA.state(kt.Name)
		resting := rivalOf(kt, two, "resting", selected("yes"), unmanaged())
		expectCondition(resting, "Unmanaged=True")
		foreign := rivalOf(kt, two, "foreign", selected("no"))
		sentinel := create(two, "sentinel", selected("yes"))
		ready(sentinel, clusterA)
		ready(kt, clusterA)

		By("managing it")
		update(resting, managed, paused())
		expectCondition(resting, "ReconciliationPaused=True")
		conflicts(kt, resting)
		By("selecting the other one as well")
		update(foreign, selected("yes"))
		conflicts(foreign, kt, resting)
		conflicts(kt, foreign, resting)
		By("taking both back")
		update(foreign, selected("no"))
		conflicts(kt, resting)
		update(resting, unmanaged())
		ready(kt, clusterA)
		o.shows(0, 0, v1.ReasonResourceConflict)
		clusterA.keeps(kt.Name, topic)

		By("deleting the one that is managed, whose topic it is")
		remove(kt)
		gone(kt)
		Eventually(clusterA.exists).WithArguments(kt.Name).Should(BeFalse())
	})

	for name, mode := range map[string]settings{"all are refused": {}, "the oldest wins": oldestWins} {
		It("where "+name+": the topic of one that is deleted while the operator is down stays", func() {
			one, two := twoNamespaces()
			o := start(clusterA, never.and(mode), one, two)
			var olds, youngs []*v1.KafkaTopic
			var topics []state
			for i := range 2 {
				olds = append(olds, created(clusterA, one, numbered(i)))
				topics = append(topics, clusterA.state(olds[i].Name))
			}
			younger(olds[1])
			for i := range 2 {
				youngs = append(youngs, rivalOf(olds[i], two, numbered(i), finalizer))
				conflicts(youngs[i], olds[i])
			}
			o.stop()
			remove(olds[0])
			remove(youngs[1])
			start(clusterA, never.and(mode), one, two)
			for _, goes := range []*v1.KafkaTopic{olds[0], youngs[1]} {
				gone(goes)
				told(goes, "Warning", "LeftToOthers", "stays in Kafka")
			}
			ready(youngs[0], clusterA)
			ready(olds[1], clusterA)
			for i := range topics {
				clusterA.keeps(olds[i].Name, topics[i])
			}
		})

		It("where "+name+", without finalizers: the topic stays as long as there is one of them", func() {
			one, two := twoNamespaces()
			o := start(clusterA, never.and(mode).and(unfinalized), one, two)
			var olds, youngs, survivors []*v1.KafkaTopic
			var topics []state
			for i := range 2 {
				olds = append(olds, created(clusterA, one, numbered(i)))
				topics = append(topics, clusterA.state(olds[i].Name))
			}
			younger(olds[1])
			for i := range 2 {
				youngs = append(youngs, rivalOf(olds[i], two, numbered(i)))
				conflicts(youngs[i], olds[i])
			}
			remove(olds[0])
			remove(youngs[1])
			for _, kt := range []*v1.KafkaTopic{olds[0], youngs[1]} {
				// The operator has handled the deletion, and does nothing more about it.
				Eventually(o.logged).WithArguments("stays in Kafka", kt.Namespace+"/"+kt.Name+" ").Should(BeTrue())
			}
			survivors = []*v1.KafkaTopic{youngs[0], olds[1]}
			for i, kt := range survivors {
				ready(kt, clusterA)
				clusterA.keeps(kt.TopicName(), topics[i])
			}
			for _, kt := range survivors {
				remove(kt)
				Eventually(clusterA.exists).WithArguments(kt.TopicName()).Should(BeFalse())
			}
		})
	}

	It("where the oldest wins, only the younger ones are refused, and the next one takes over", func() {
		one, two := twoNamespaces()
		o := start(clusterA, never.and(oldestWins), one, two)
		// Its name is the last one, so that only its age can make it win.
		oldest := created(clusterA, two, "z-oldest", config(retention, asItWas))
		topic := clusterA.state(oldest.Name)
		younger(oldest)
		middle := rivalOf(oldest, one, "m-middle", config(retention, asItWas))
		younger(middle)
		youngest := rivalOf(oldest, one, "a-youngest", config(retention, asAsked))
		conflicts(middle, youngest, oldest)
		conflicts(youngest, middle, oldest)
		ready(oldest, clusterA)
		o.shows(2, 0, v1.ReasonResourceConflict)
		clusterA.keeps(oldest.Name, topic)

		update(oldest, config(retention, asAsked))
		ready(oldest, clusterA)
		topic.config = map[string]string{retention: asAsked}
		clusterA.keeps(oldest.Name, topic)
		remove(middle)
		gone(middle)
		conflicts(youngest, oldest)
		clusterA.keeps(oldest.Name, topic)
		remove(oldest)
		gone(oldest)
		ready(youngest, clusterA)
		clusterA.keeps(oldest.Name, topic)
		o.shows(0, 0, v1.ReasonResourceConflict)
	})
})
