package removal

import (
	"math/rand"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

var kinds = []string{"ConfigMap", "Deployment", "Ingress", "NetworkPolicy", "PersistentVolumeClaim", "PodDisruptionBudget", "Role",
	"RoleBinding", "Secret", "Service", "ServiceAccount", "StrimziPodSet"}

// leftovers has one object of each kind, none of which is wanted any more: node 2 left, node 0 runs.
func leftovers() Input {
	in := Input{Planned: true, Cordons: true, Answers: map[int32]Answer{2: {Fresh: true}}, Nodes: []Node{{Pod: "c-p-0", HasPool: true}},
		Running: []Pod{{Name: "c-p-0", Claims: []string{"data-c-p-0"}}}}
	for _, kind := range kinds {
		o := Object{Ref: Ref{Kind: kind, Name: "c-p-2"}, Own: true, Holds: OfNode, Lists: []string{"c-p-2"}}
		if kind == "PersistentVolumeClaim" {
			o.Name, o.Claim = "data-c-p-2", Claim{Pod: "c-p-2", Node: 2, Deletable: true}
		}
		in.Objects = append(in.Objects, o)
	}
	return in
}

// object returns the object of a kind.
func (in Input) object(kind string) *Object {
	return &in.Objects[slices.Index(kinds, kind)]
}

func TestWhatIsNotWantedGoes(t *testing.T) {
	g := NewWithT(t)
	plan := Decide(leftovers())
	g.Expect(plan.Kept).To(BeEmpty())
	g.Expect(plan.Ask).To(BeEmpty())
	g.Expect(plan.Delete).To(HaveLen(len(kinds)))
}

func TestWhatStays(t *testing.T) {
	const configs, claims, secrets = "ConfigMap", "PersistentVolumeClaim", "Secret"
	claim := func(change func(*Claim)) func(*Input) {
		return func(in *Input) { change(&in.object(claims).Claim) }
	}
	for name, c := range map[string]struct {
		change func(*Input)
		// kept are the kinds of the objects that stay, and why is the reason of each.
		kept []string
		why  string
	}{
		"a pod runs": {func(in *Input) { in.Running = append(in.Running, Pod{Name: "c-p-2"}) }, []string{configs, secrets}, "its pod runs"},
		"a pod runs elsewhere": {func(in *Input) { in.Running = append(in.Running, Pod{Cluster: "b", Name: "c-p-2"}) },
			[]string{configs, secrets}, "its pod runs"},
		"a cluster is away": {func(in *Input) { in.Away = true }, []string{configs, secrets},
			"its pod may run in a Kubernetes cluster that can't be read"},
		"the provider has not planned": {func(in *Input) { in.Planned = false },
			[]string{"Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service"}, "it is unknown whether the network provider plans it"},
		"a pod of before is reached by it": {func(in *Input) { in.object("Service").Serves = true }, []string{"Service"},
			"pods that are not replaced yet advertise it"},
		"a kind is new": {func(in *Input) { in.object("Role").Kind = "Job" }, []string{"Job"}, "there is no rule for its kind"},
		"a set lists a wanted node": {func(in *Input) { in.object("StrimziPodSet").Lists = []string{"c-p-2", "c-p-0"} },
			[]string{"StrimziPodSet"}, "it lists a wanted node"},
		"a Secret of a CA": {func(in *Input) { in.object(secrets).Holds = OfOthers }, []string{secrets}, "it may hold the only copy of a key"},
		"the topic operator is wanted": {func(in *Input) { in.object(secrets).Holds, in.TopicOperator = OfTopicOperator, true },
			[]string{secrets}, "the topic operator is wanted"},

		"a claim is being deleted": {claim(func(c *Claim) { c.Terminating = true }), []string{claims}, "it is being deleted"},
		"a claim is kept":          {claim(func(c *Claim) { c.Deletable = false }), []string{claims}, "it is not to be deleted with its node"},
		"a claim is kept by now": {claim(func(c *Claim) { c.KeptByPool = true }), []string{claims},
			"its pool does not want it to be deleted any more"},
		"a claim of nobody": {claim(func(c *Claim) { c.Pod = "" }), []string{claims}, "its name does not say whose it is"},
		"a pod mounts a claim": {func(in *Input) { in.Running = append(in.Running, Pod{Name: "x", Claims: []string{"data-c-p-2"}}) },
			[]string{claims}, "a pod mounts it"},
		"a listed pod mounts a claim": {func(in *Input) { in.Listed = []Pod{{Name: "x", Claims: []string{"data-c-p-2"}}} }, []string{claims},
			"a StrimziPodSet lists a pod that mounts it"},
		"brokers were not asked": {func(in *Input) { in.Answers = nil }, []string{claims}, notAsked},
		"an answer is old":       {func(in *Input) { in.Answers = map[int32]Answer{2: {}} }, []string{claims}, notAsked},
		"the node was not empty": {func(in *Input) { in.Answers = map[int32]Answer{2: {WhyKept: "full"}} }, []string{claims}, "full"},
		"the node is not empty": {func(in *Input) { in.Answers = map[int32]Answer{2: {WhyKept: "full", Fresh: true}} }, []string{claims},
			"full"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := leftovers()
			c.change(&in)
			plan := Decide(in)
			var kept []string
			for _, k := range plan.Kept {
				kept = append(kept, k.Kind)
				g.Expect(k.Why).To(Equal(c.why))
			}
			g.Expect(kept).To(ConsistOf(c.kept))
			g.Expect(plan.Delete).To(HaveLen(len(kinds) - len(c.kept)))
			if c.why == notAsked {
				g.Expect(plan.Ask).NotTo(BeEmpty())
			} else {
				g.Expect(plan.Ask).To(BeEmpty())
			}
		})
	}
}

func TestARemovedVolumeStaysUntilItsNodeRunsWithoutIt(t *testing.T) {
	const placed = "Kafka may have placed a replica there before its node was restarted"
	for name, c := range map[string]struct {
		change func(*Input)
		why    string
	}{
		"runs":                   {func(*Input) {}, ""},
		"runs, nobody was asked": {func(in *Input) { in.Answers = nil }, ""},
		"has no pool": {func(in *Input) { in.Nodes[1].HasPool = false },
			"the pool of its node does not say whether it has the volume"},
		"does not run":     {func(in *Input) { in.Running = nil }, "its node does not run without it yet"},
		"runs elsewhere":   {func(in *Input) { in.Running[1].Cluster = "b" }, "its node does not run without it yet"},
		"may get replicas": {func(in *Input) { in.Cordons = false }, placed},
		"is forced":        {func(in *Input) { in.Cordons, in.Forced = false, true }, placed},
		"came back":        {func(in *Input) { in.Objects[0].Claim.Empty = false }, CameBack},
	} {
		t.Run("a node that "+name, func(t *testing.T) {
			g := NewWithT(t)
			in := leftovers()
			in.Nodes, in.Running = append(in.Nodes, Node{Pod: "c-p-2", HasPool: true}), append(in.Running, Pod{Name: "c-p-2"})
			in.Objects = []Object{*in.object("PersistentVolumeClaim")}
			in.Objects[0].Claim.Empty = true
			c.change(&in)
			plan := Decide(in)
			g.Expect(plan.Ask).To(BeEmpty())
			if c.why == "" {
				g.Expect(plan.Delete).To(HaveLen(1))
				return
			}
			g.Expect(plan.Kept).To(Equal([]Kept{{in.Objects[0].Ref, c.why}}))
		})
	}
}

// Brokers are asked once about all volumes of a node, and about no node without a volume that could go.
func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	g, random := NewWithT(t), rand.New(rand.NewSource(1))
	in := Input{}
	for _, cluster := range []string{"", "b"} {
		for _, o := range leftovers().Objects {
			o.Cluster = cluster
			in.Objects = append(in.Objects, o)
		}
		kept := leftovers().object("PersistentVolumeClaim")
		kept.Name, kept.Claim.Node, kept.Claim.KeptByPool = "data-c-p-9", 9, true
		in.Objects = append(in.Objects, *kept)
		other := leftovers().object("PersistentVolumeClaim")
		other.Name, other.Claim.Node = "data-c-p-1", 1
		in.Objects = append(in.Objects, *other)
	}
	want := Decide(in)
	g.Expect(want.Ask).To(Equal([]int32{1, 2}))
	g.Expect(slices.IsSortedFunc(want.Delete, Ref.Compare)).To(BeTrue())
	for range 20 {
		random.Shuffle(len(in.Objects), func(i, j int) { in.Objects[i], in.Objects[j] = in.Objects[j], in.Objects[i] })
		g.Expect(Decide(in)).To(Equal(want))
	}
}
