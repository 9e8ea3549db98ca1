package removal

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// situation is one object and all that matters for it, as a test knows it.
type situation struct {
	kind                               string
	wanted, own                        bool
	holds                              Content
	lists                              []string
	deletable, keptByPool, terminating bool
	// node is the node of the object, and mounted who mounts its volume.
	node    node
	mounted mounted
	answer  *Answer

	away, planned, replacing, serves, topicOperator, cordons, forced, neverRan, emptied bool
}

type node int

const (
	left node = iota // not wanted, and does not run
	leaves
	runs
	runsWithoutPool
	starts
	runsElsewhere
	nodeStates
)

type mounted int

const (
	byNone mounted = iota
	byPod
	byNamesake // a pod in another Kubernetes cluster, where the claim's name is that of another
	byListed
	mounts
)

func (n node) wanted() bool { return n != left && n != leaves }

func (s situation) input() Input {
	in := Input{Away: s.away, Planned: s.planned, Replacing: s.replacing, TopicOperator: s.topicOperator, Cordons: s.cordons, Forced: s.forced,
		NeverRan: s.neverRan,
		Nodes:    []Node{{Pod: "c-p-0", HasPool: true}}}
	o := Object{Ref: Ref{Kind: s.kind, Name: "c-p-1"}, Wanted: s.wanted, Own: s.own, Serves: s.serves, Holds: s.holds, Lists: s.lists}
	if s.kind == "PersistentVolumeClaim" {
		o.Name = "data-c-p-1"
		o.Claim = Claim{Pod: "c-p-1", Node: 1, Deletable: s.deletable, KeptByPool: s.keptByPool, Terminating: s.terminating,
			Empty: s.emptied}
	}
	in.Objects = []Object{o}
	if s.node.wanted() {
		in.Nodes = append(in.Nodes, Node{Pod: "c-p-1", HasPool: s.node != runsWithoutPool})
	}
	switch s.node {
	case leaves, runs, runsWithoutPool:
		in.Running = append(in.Running, Pod{Name: "c-p-1"})
	case runsElsewhere:
		in.Running = append(in.Running, Pod{Cluster: "b", Name: "c-p-1"})
	}
	user := Pod{Name: "user", Claims: []string{"data-c-p-1"}}
	switch s.mounted {
	case byPod:
		in.Running = append(in.Running, user)
	case byNamesake:
		user.Cluster = "b"
		in.Running = append(in.Running, user)
	case byListed:
		in.Listed = append(in.Listed, user)
	}
	if s.answer != nil {
		in.Answers = map[int32]Answer{1: *s.answer}
	}
	return in
}

// broken returns the promise that the deletion of the object would break, "" if none.
func (s situation) broken() string {
	podMayRun := s.away || s.node != left
	switch {
	case s.wanted:
		return "what is wanted stays"
	case !s.own:
		return "what is not the operator's stays"
	case s.kind == "Secret" && s.holds == OfOthers:
		return "the keys of CAs stay"
	case s.kind == "Secret" && s.holds == OfTopicOperator:
		if s.topicOperator {
			return "the topic operator keeps its Secret"
		}
	case podMayRun && (s.kind == "Secret" || s.kind == "ConfigMap"):
		return "what a pod may use stays"
	case s.kind == "StrimziPodSet" && slices.Contains(s.lists, "c-p-0"):
		return "wanted nodes stay"
	case !s.planned && slices.Contains([]string{"Service", "Ingress", "NetworkPolicy", "PodDisruptionBudget"}, s.kind):
		return "what a network provider may plan stays"
	case s.replacing && slices.Contains([]string{"Service", "Ingress", "NetworkPolicy", "PodDisruptionBudget"}, s.kind):
		return "what leads to nodes stays"
	case s.serves && (s.kind == "Service" || s.kind == "Ingress"):
		return "what pods of before advertise stays"
	case s.kind == "PersistentVolumeClaim":
		return s.brokenByVolume()
	}
	return ""
}

func (s situation) brokenByVolume() string {
	empty := s.answer != nil && s.answer.Fresh && s.answer.WhyKept == ""
	switch {
	case !s.deletable, s.keptByPool:
		return "a volume stays unless the user wants it to go"
	case s.terminating:
		return "nothing is deleted twice"
	case s.mounted == byPod, s.mounted == byListed:
		return "a volume that is used stays"
	case s.node.wanted() && s.node != runs:
		return "a volume of a node stays until the node runs without it"
	case s.node.wanted() && !s.cordons:
		return "a volume that may get replicas stays"
	case s.node.wanted() && !s.emptied && !s.forced && !s.neverRan:
		return "a volume that may have data stays"
	case !s.node.wanted() && !empty && !s.forced && !s.neverRan:
		return "a volume with data stays"
	}
	return ""
}

// choices enumerates all combinations of choices: each call of next begins another one.
type choices struct{ made, of []int }

func (c *choices) next() bool {
	for len(c.made) > 0 && c.made[len(c.made)-1] == c.of[len(c.of)-1]-1 {
		c.made, c.of = c.made[:len(c.made)-1], c.of[:len(c.of)-1]
	}
	if len(c.made) == 0 {
		return false
	}
	c.made[len(c.made)-1]++
	return true
}

// chooser hands out the choices of one combination.
func (c *choices) chooser() func(n int) int {
	at := 0
	return func(n int) int {
		if at == len(c.made) {
			c.made, c.of = append(c.made, 0), append(c.of, n)
		}
		at++
		return c.made[at-1]
	}
}

// situations calls do with all situations until it returns false.
func situations(do func(situation) bool) {
	answers := []*Answer{nil, {}, {WhyKept: "full"}, {Fresh: true}, {WhyKept: "full", Fresh: true}}
	for c, more := (&choices{}), true; more; more = c.next() {
		choose := c.chooser()
		is := func() bool { return choose(2) == 1 }
		s := situation{kind: kinds[choose(len(kinds))], wanted: is(), own: is(), node: node(choose(int(nodeStates)))}
		switch s.kind {
		case "PersistentVolumeClaim":
			s.deletable, s.keptByPool, s.terminating, s.mounted = is(), is(), is(), mounted(choose(int(mounts)))
			s.answer, s.cordons, s.forced, s.neverRan, s.emptied = answers[choose(len(answers))], is(), is(), is(), is()
		case "Secret":
			s.holds, s.topicOperator = Content(choose(3)), is()
		case "StrimziPodSet":
			s.lists = [][]string{nil, {"c-p-9"}, {"c-p-9", "c-p-0"}}[choose(3)]
		case "Service", "Ingress":
			s.serves = is()
		}
		if s.kind != "PersistentVolumeClaim" { // there are enough of these
			s.away, s.planned, s.replacing = is(), is(), is()
		}
		if !do(s) {
			return
		}
	}
}

// unknowns take facts away.
var unknowns = map[string]func(*Input){
	"a cluster is away":                   func(in *Input) { in.Away = true },
	"the provider did not plan":           func(in *Input) { in.Planned = false },
	"Kafka's metadata version is unknown": func(in *Input) { in.Cordons = false },
	"where nodes are reached is unknown":  func(in *Input) { in.Replacing = true },
	"nobody answered":                     func(in *Input) { in.Answers = nil },
	"answers are old": func(in *Input) {
		in.Answers = changed(in.Answers, func(a *Answer) { a.Fresh = false })
	},
	"pools are not read": func(in *Input) {
		in.Nodes = slices.Clone(in.Nodes)
		for i := range in.Nodes {
			in.Nodes[i].HasPool = false
		}
	},
}

func changed(answers map[int32]Answer, change func(*Answer)) map[int32]Answer {
	out := map[int32]Answer{}
	for id, a := range answers {
		change(&a)
		out[id] = a
	}
	return out
}

// violation returns the first promise that a way to decide breaks, "" if it breaks none, and in how many situations it was tried.
func violation(decide func(Input) Plan) (found string, tried int) {
	situations(func(s situation) bool {
		tried++
		in := s.input()
		plan := decide(in)
		goes := len(plan.Delete) > 0
		switch why := s.broken(); {
		case goes && why != "":
			found = fmt.Sprintf("%s: %+v", why, s)
		case s.wanted || !s.own:
		case len(plan.Delete)+len(plan.Kept) != 1:
			found = fmt.Sprintf("each object goes or stays: %+v", s)
		case s.asks(decide) != (len(plan.Ask) > 0):
			found = fmt.Sprintf("brokers are asked where that decides: %+v", s)
		case !goes:
			for what, forget := range unknowns {
				less := in
				if forget(&less); len(decide(less).Delete) > 0 {
					found = fmt.Sprintf("it would go if less were known (%s): %+v", what, s)
				}
			}
		}
		return found == ""
	})
	return found, tried
}

// asks reports whether the object would go if brokers said so, and they did not say anything yet, or not lately.
func (s situation) asks(decide func(Input) Plan) bool {
	if s.answer != nil && s.answer.WhyKept != "" {
		return false
	}
	before := len(decide(s.input()).Delete)
	s.answer = &Answer{Fresh: true}
	return len(decide(s.input()).Delete) > before
}

func TestDecisionsKeepAllPromises(t *testing.T) {
	g := NewWithT(t)
	found, tried := violation(Decide)
	g.Expect(found).To(BeEmpty())
	g.Expect(tried).To(BeNumerically(">=", 30_000))
}

// TestPromisesFindPlantedFaults decides by wrong facts.
func TestPromisesFindPlantedFaults(t *testing.T) {
	object := func(change func(*Object)) func(*Input) {
		return func(in *Input) {
			in.Objects = slices.Clone(in.Objects)
			change(&in.Objects[0])
		}
	}
	for fault, lie := range map[string]func(*Input){
		"nothing seems to be wanted":           object(func(o *Object) { o.Wanted = false }),
		"all seems to be the operator's":       object(func(o *Object) { o.Own = true }),
		"Secrets of CAs seem to be of nodes":   object(func(o *Object) { o.Holds = OfNode }),
		"sets seem to be empty":                object(func(o *Object) { o.Lists = nil }),
		"users seem to want volumes to go":     object(func(o *Object) { o.Claim.Deletable = true }),
		"pools seem to want volumes to go":     object(func(o *Object) { o.Claim.KeptByPool = false }),
		"pods of before seem to be gone":       object(func(o *Object) { o.Serves = false }),
		"deletions are not seen":               object(func(o *Object) { o.Claim.Terminating = false }),
		"pods are not seen":                    func(in *Input) { in.Running = nil },
		"lists of sets are not seen":           func(in *Input) { in.Listed = nil },
		"no node seems to be wanted":           func(in *Input) { in.Nodes = nil },
		"no cluster seems to be away":          func(in *Input) { in.Away = false },
		"the provider seems to plan all":       func(in *Input) { in.Planned = true },
		"no topic operator seems to be wanted": func(in *Input) { in.TopicOperator = false },
		"Kafka seems to cordon":                func(in *Input) { in.Cordons = true },
		"the user seems to allow all":          func(in *Input) { in.Forced = true },
		"no node seems to have run":            func(in *Input) { in.NeverRan = true },
		"all nodes seem to be empty":           func(in *Input) { in.Answers = map[int32]Answer{1: {Fresh: true}} },
		"old answers seem to be fresh":         func(in *Input) { in.Answers = changed(in.Answers, func(a *Answer) { a.Fresh = true }) },
		"reasons are not seen":                 func(in *Input) { in.Answers = changed(in.Answers, func(a *Answer) { a.WhyKept = "" }) },
		"who is silent seems to be empty": func(in *Input) {
			if in.Answers == nil {
				in.Answers = map[int32]Answer{1: {Fresh: true}}
			}
		},
		"pools seem to exist": func(in *Input) {
			in.Nodes = slices.Clone(in.Nodes)
			for i := range in.Nodes {
				in.Nodes[i].HasPool = true
			}
		},
		"a cluster that is away seems to have no pods": func(in *Input) {
			if in.Away {
				in.Away, in.Running = false, nil
			}
		},
	} {
		t.Run(fault, func(t *testing.T) {
			found, _ := violation(func(in Input) Plan {
				lie(&in)
				return Decide(in)
			})
			NewWithT(t).Expect(found).NotTo(BeEmpty())
			t.Log(found)
		})
	}
	for fault, spoil := range map[string]func(*Plan){
		"objects are forgotten": func(plan *Plan) { plan.Kept = nil },
		"brokers are not asked": func(plan *Plan) { plan.Ask = nil },
		"brokers are all asked": func(plan *Plan) { plan.Ask = []int32{1} },
	} {
		t.Run(fault, func(t *testing.T) {
			found, _ := violation(func(in Input) Plan {
				plan := Decide(in)
				spoil(&plan)
				return plan
			})
			NewWithT(t).Expect(found).NotTo(BeEmpty())
			t.Log(found)
		})
	}
}
