package topology

import (
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

var (
	broker     = Roles{Broker: true}
	controller = Roles{Controller: true}
	combined   = Roles{Broker: true, Controller: true}
)

func volumes(pool string, ids ...int32) (all []Volume) {
	for _, id := range ids {
		all = append(all, Volume{Node: id, Pool: pool})
	}
	return all
}

// pool returns a pool of brokers.
func pool(name string, replicas int32, known ...int32) PoolSpec {
	return PoolSpec{Name: name, Replicas: replicas, Roles: broker, Known: known}
}

func (p PoolSpec) next(ids string) PoolSpec   { p.NextIDs = ids; return p }
func (p PoolSpec) remove(ids string) PoolSpec { p.RemoveIDs = ids; return p }
func (p PoolSpec) as(r Roles) PoolSpec        { p.Roles = r; return p }

func nodes(pool string, roles Roles, ids ...int32) []Node {
	var list []Node
	for _, id := range ids {
		list = append(list, Node{ID: id, Pool: pool, Roles: roles})
	}
	return list
}

// wanted returns the ids of each pool, without those of nodes that are leaving.
func wanted(t Topology) map[string][]int32 {
	byPool := map[string][]int32{}
	for _, n := range t.Nodes() {
		if !n.Leaving {
			byPool[n.Pool] = append(byPool[n.Pool], n.ID)
		}
	}
	return byPool
}

// Nodes that exist are configured with their voters. An id of a node that was never made joins them only if it is one of these.
func TestVotersOfNodesThatWereNeverMade(t *testing.T) {
	running := nodes("a", controller, 0, 1)
	for name, c := range map[string]struct {
		voters  []int32
		running []Node
		want    []int32
		blocked int
	}{
		"the first nodes":                      {nil, nil, []int32{5, 6}, 0},
		"a voter that was not made yet":        {[]int32{0, 1, 5, 6}, running, []int32{5, 6}, 0},
		"ids that were given to brokers":       {[]int32{0, 1}, running, nil, 1},
		"the sets of the controllers are lost": {[]int32{0, 1}, nil, nil, 1},
		"no node says which voters it has":     {nil, running, []int32{5, 6}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result, err := Assign(Input{Voters: c.voters, Running: c.running,
				Pools: []PoolSpec{pool("a", 2, 0, 1).as(controller), pool("b", 2, 5, 6).as(controller)}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(wanted(result)["b"]).To(Equal(c.want))
			g.Expect(result.Blocked).To(HaveLen(c.blocked))
		})
	}
}

// TestVotersOfWhichNothingIsLeftAreMadeAgain checks that a pool of controllers gets the id of a voter that no node has any more, which is
// the only way to keep the voters as they are.
func TestVotersOfWhichNothingIsLeftAreMadeAgain(t *testing.T) {
	controller := Roles{Controller: true}
	running := []Node{{ID: 0, Pool: "a", Roles: controller}, {ID: 1, Pool: "b", Roles: controller}}
	a, b := PoolSpec{Name: "a", Replicas: 1, Roles: controller}, PoolSpec{Name: "b", Replicas: 1, Roles: controller}
	pool := func(replicas int32, roles Roles, next string) PoolSpec {
		return PoolSpec{Name: "c", Replicas: replicas, Roles: roles, NextIDs: next}
	}
	for name, c := range map[string]struct {
		pool    PoolSpec
		voters  []int32
		volumes []Volume
		away    []string
		ids     []int32
	}{
		"its pool is made again":              {pool(1, controller, ""), []int32{0, 1, 7}, nil, nil, []int32{7}},
		"no more than there were":             {pool(3, controller, ""), []int32{0, 1, 7}, nil, nil, []int32{7}},
		"the user names it":                   {pool(1, controller, "[8]"), []int32{0, 1, 7, 8}, nil, nil, []int32{8}},
		"the pool has its volume":             {pool(1, controller, ""), []int32{0, 1, 7, 8}, []Volume{{Node: 8, Pool: "c"}}, nil, []int32{8}},
		"another pool has its volume":         {pool(1, controller, ""), []int32{0, 1, 7}, []Volume{{Node: 7, Pool: "d"}}, nil, nil},
		"a broker does not take it":           {pool(1, Roles{Broker: true}, ""), []int32{0, 1, 2}, nil, nil, []int32{3}},
		"a Kubernetes cluster may have it":    {pool(1, controller, ""), []int32{0, 1, 7}, nil, []string{"west"}, nil},
		"a user can't name it for its broker": {pool(1, Roles{Broker: true}, "[2]"), []int32{0, 1, 2}, nil, nil, []int32{3}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result, err := Assign(Input{Pools: []PoolSpec{a, b, c.pool}, Running: running, Voters: c.voters, Volumes: c.volumes, Away: c.away})
			g.Expect(err).NotTo(HaveOccurred())
			var ids []int32
			for _, n := range result.Nodes() {
				if n.Pool == "c" {
					ids = append(ids, n.ID)
				}
			}
			g.Expect(ids).To(Equal(c.ids))
		})
	}
}

func TestIDs(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		want map[string][]int32
	}{
		"new pools are served by name": {
			in:   Input{Pools: []PoolSpec{pool("controller", 3).as(controller), pool("broker", 3)}},
			want: map[string][]int32{"broker": {0, 1, 2}, "controller": {3, 4, 5}},
		},
		"a pool grows into gaps": {
			in:   Input{Pools: []PoolSpec{pool("a", 5, 0, 1, 2), pool("b", 2, 4, 5)}},
			want: map[string][]int32{"a": {0, 1, 2, 3, 6}, "b": {4, 5}},
		},
		"next ids are used first": {
			in:   Input{Pools: []PoolSpec{pool("a", 5, 0, 1, 2).next("[10-12]")}},
			want: map[string][]int32{"a": {0, 1, 2, 10, 11}},
		},
		"next ids count down": {
			in:   Input{Pools: []PoolSpec{pool("a", 2).next("[50-30]")}},
			want: map[string][]int32{"a": {49, 50}},
		},
		"the highest ids go first": {
			in:   Input{Pools: []PoolSpec{pool("a", 3, 0, 1, 2, 10, 11)}},
			want: map[string][]int32{"a": {0, 1, 2}},
		},
		"ids to remove that the pool does not have are skipped": {
			in:   Input{Pools: []PoolSpec{pool("a", 2, 0, 1, 2).remove("[7,0]")}},
			want: map[string][]int32{"a": {1, 2}},
		},
		"next ids that are in use are skipped": {
			in:   Input{Pools: []PoolSpec{pool("a", 4, 0, 1, 2).next("[2,1,0]")}},
			want: map[string][]int32{"a": {0, 1, 2, 3}},
		},
		"an id that is given up is free only next time": {
			in:   Input{Pools: []PoolSpec{pool("a", 2, 0, 1, 2), pool("b", 4, 3, 4, 5)}},
			want: map[string][]int32{"a": {0, 1}, "b": {3, 4, 5, 6}},
		},
		"a pool of high ids grows into low ones": {
			in:   Input{Pools: []PoolSpec{pool("a", 3, 1000, 1001)}},
			want: map[string][]int32{"a": {0, 1000, 1001}},
		},
		"a lost status is read from the nodes that run": {
			in:   Input{Pools: []PoolSpec{pool("a", 3)}, Running: nodes("a", broker, 3, 4, 5)},
			want: map[string][]int32{"a": {3, 4, 5}},
		},
		"a pool that is made again gets the ids of its volumes": {
			in:   Input{Pools: []PoolSpec{pool("a", 3)}, Volumes: volumes("a", 3, 4, 5)},
			want: map[string][]int32{"a": {3, 4, 5}},
		},
		"volumes of nodes that left come last": {
			in:   Input{Pools: []PoolSpec{pool("a", 2)}, Volumes: append(volumes("a", 1, 2), Volume{Node: 0, Pool: "a", Removed: true})},
			want: map[string][]int32{"a": {1, 2}},
		},
		"a node that would start without a volume does not come back": {
			in: Input{Pools: []PoolSpec{pool("a", 3)}, Running: nodes("a", broker, 0, 1),
				Volumes: []Volume{{Node: 2, Pool: "a", Removed: true, Unmounted: true}}},
			want: map[string][]int32{"a": {0, 1, 3}},
		},
		"unless the user names it": {
			in: Input{Pools: []PoolSpec{pool("a", 3).next("[2]")}, Running: nodes("a", broker, 0, 1),
				Volumes: []Volume{{Node: 2, Pool: "a", Removed: true, Unmounted: true}}},
			want: map[string][]int32{"a": {0, 1, 2}},
		},
		"an id with a volume of another pool is not free": {
			in:   Input{Pools: []PoolSpec{pool("b", 2)}, Volumes: volumes("a", 0)},
			want: map[string][]int32{"b": {1, 2}},
		},
		"not even if the user names it": {
			in:   Input{Pools: []PoolSpec{pool("b", 1).next("[0]")}, Volumes: volumes("a", 0)},
			want: map[string][]int32{"b": {1}},
		},
		"ids of brokers that are no nodes are skipped": {
			in:   Input{Pools: []PoolSpec{pool("a", 4, 0).next("[5,6]")}, Volumes: volumes("a", 1), Strays: []int32{1, 2, 5}},
			want: map[string][]int32{"a": {0, 3, 4, 6}},
		},
		"a node stays if another broker has its id": {
			in:   Input{Pools: []PoolSpec{pool("a", 2, 0, 1)}, Strays: []int32{1}},
			want: map[string][]int32{"a": {0, 1}},
		},
		"a range that can't be read is as good as none": {
			in:   Input{Pools: []PoolSpec{pool("a", 1).next("10-12")}},
			want: map[string][]int32{"a": {0}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Assign(c.in)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(wanted(got)).To(Equal(c.want))
		})
	}
}

func TestDuplicateIDsFail(t *testing.T) {
	g := NewWithT(t)
	_, err := Assign(Input{Pools: []PoolSpec{pool("a", 1, 4), pool("b", 1, 4)}})
	g.Expect(err).To(MatchError("Found duplicate node ID 4 in node pool b"))
}

func TestAnIDThatAVolumeOfAnotherPoolHasIsNotUsed(t *testing.T) {
	g := NewWithT(t)
	in := Input{Name: "my-cluster", Pools: []PoolSpec{pool("a", 1, 4)}, Volumes: []Volume{{Node: 4, Pool: "a"}, {Node: 4, Pool: "b"}}}
	_, err := Assign(in)
	g.Expect(err).To(MatchError(And(ContainSubstring("node ID 4 is in the status of KafkaNodePool a"),
		ContainSubstring("PersistentVolumeClaims of my-cluster-b-4"))))
	// Running nodes are kept.
	in.Running = []Node{{ID: 4, Pool: "a", Roles: in.Pools[0].Roles}}
	_, err = Assign(in)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestNodesThatAreNeededStay(t *testing.T) {
	for name, c := range map[string]struct {
		in    Input
		stays []int32
		why   string
	}{
		"a broker that holds replicas": {
			in: Input{Pools: []PoolSpec{pool("a", 2, 0, 1, 2)}, Running: nodes("a", broker, 0, 1, 2),
				Holdings: held(map[int32]int{0: 5, 1: 5, 2: 7})},
			stays: []int32{2},
			why:   "Reverting scale-down of KafkaNodePool a by changing number of replicas to 3: broker 2 holds 7 replicas of partitions",
		},
		"a broker while Kafka does not answer": {
			in:    Input{Pools: []PoolSpec{pool("a", 2, 0, 1, 2)}, Running: nodes("a", broker, 0, 1, 2)},
			stays: []int32{2}, why: "it is unknown which partitions broker 2 holds",
		},
		"an empty broker goes": {
			in: Input{Pools: []PoolSpec{pool("a", 2, 0, 1, 2)}, Running: nodes("a", broker, 0, 1, 2), Holdings: held(map[int32]int{2: 0})},
		},
		"a broker whose data may go": {
			in: Input{Pools: []PoolSpec{pool("a", 2, 0, 1, 2)}, Running: nodes("a", broker, 0, 1, 2), Force: true},
		},
		"all brokers of a pool that was deleted": {
			in:    Input{Running: nodes("a", broker, 0, 1), Holdings: held(map[int32]int{0: 1, 1: 1})},
			stays: []int32{0, 1}, why: "Removal of KafkaNodePool a is blocked",
		},
		"those of them that hold replicas": {
			in:    Input{Running: nodes("a", broker, 0, 1), Holdings: held(map[int32]int{0: 1, 1: 0})},
			stays: []int32{0}, why: "broker 0 holds 1 replicas",
		},
		"a voter, even if the data may go": {
			in:    Input{Running: nodes("a", controller, 0), Force: true},
			stays: []int32{0}, why: "the voters of the controller quorum can't change while the cluster runs (nodes 0)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Assign(c.in)
			g.Expect(err).NotTo(HaveOccurred())
			var stays []int32
			for _, n := range got.Nodes() {
				if n.Leaving {
					stays = append(stays, n.ID)
				}
			}
			g.Expect(stays).To(Equal(c.stays))
			if c.why == "" {
				g.Expect(got.Blocked).To(BeEmpty())
				return
			}
			g.Expect(got.Blocked).To(HaveLen(1))
			g.Expect(got.Blocked[0].Nodes).To(Equal(c.stays))
			g.Expect(got.Blocked[0].Message).To(ContainSubstring(c.why))
		})
	}
}

func TestNodesThatCannotBecomeVotersAreNamedTogether(t *testing.T) {
	g := NewWithT(t)
	got, err := Assign(Input{Pools: []PoolSpec{pool("a", 3, 0, 1, 2).as(combined)}, Running: nodes("a", broker, 0, 1, 2)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Blocked).To(HaveLen(1))
	g.Expect(got.Blocked[0].Message).To(Equal("Reverting role change of KafkaNodePool a (setting roles to [broker]) for nodes 0, 1, 2: " +
		"the voters of the controller quorum can't change while the cluster runs (nodes 0, 1, 2)"))
}

func TestRolesThatCannotChangeStay(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, got Roles
		replicas      map[int32]int
	}{
		"a voter can't become a broker":         {from: combined, to: broker, got: combined},
		"a broker can't become a voter":         {from: broker, to: combined, got: broker},
		"a broker with replicas stays a broker": {from: combined, to: controller, got: combined, replicas: map[int32]int{0: 1}},
		"an empty broker can stop being one":    {from: combined, to: controller, got: controller, replicas: map[int32]int{0: 0}},
		"an unknown broker stays one":           {from: combined, to: controller, got: combined},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Assign(Input{Pools: []PoolSpec{pool("a", 1, 0).as(c.to), pool("b", 1, 9)},
				Running: append(nodes("a", c.from, 0), nodes("b", broker, 9)...), Holdings: held(c.replicas)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Nodes()[0].Roles).To(Equal(c.got))
			if c.got != c.to {
				g.Expect(got.Blocked).NotTo(BeEmpty())
			} else {
				g.Expect(got.Blocked).To(BeEmpty())
			}
		})
	}
}

// A pool that should take over as brokers, and may not because its nodes are voters, must not leave Kafka without a broker.
func TestTheOnlyBrokersStay(t *testing.T) {
	voters := func() []Node { return nodes("voters", controller, 0) }
	for name, c := range map[string]struct {
		pools   []PoolSpec
		running []Node
		stay    []int32
		blocked bool
	}{
		"they should lose the role": {
			pools:   []PoolSpec{pool("brokers", 1, 1).as(controller), pool("voters", 1, 0).as(broker)},
			running: append(voters(), nodes("brokers", combined, 1)...), stay: []int32{1}, blocked: true,
		},
		"their pool should have no nodes": {
			pools:   []PoolSpec{pool("brokers", 0, 1, 2), pool("voters", 1, 0).as(broker)},
			running: append(voters(), nodes("brokers", broker, 1, 2)...), stay: []int32{1, 2}, blocked: true,
		},
		"their pool is gone": {
			pools:   []PoolSpec{pool("voters", 1, 0).as(broker)},
			running: append(voters(), nodes("brokers", broker, 1, 2)...), stay: []int32{1, 2}, blocked: true,
		},
		"new brokers take over": {
			pools:   []PoolSpec{pool("new", 1), pool("voters", 1, 0).as(controller)},
			running: append(voters(), nodes("brokers", broker, 1)...), stay: nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, force := range []bool{false, true} {
				got, err := Assign(Input{Pools: c.pools, Running: c.running, Force: force, Voters: []int32{0},
					Holdings: held(map[int32]int{0: 0, 1: 0, 2: 0})})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got.Brokers()).NotTo(BeEmpty())
				var stay []int32
				for _, n := range got.Brokers() {
					if slices.ContainsFunc(c.running, func(r Node) bool { return r.ID == n.ID }) {
						stay = append(stay, n.ID)
					}
				}
				g.Expect(stay).To(Equal(c.stay))
				told := slices.ContainsFunc(got.Blocked, func(b Blocked) bool {
					return b.Pool == "brokers" && b.Stalled && strings.Contains(b.Message, "the only brokers")
				})
				g.Expect(told).To(Equal(c.blocked), "%v", got.Blocked)
			}
		})
	}
}

func TestVotersAreFixedOnceTheyRun(t *testing.T) {
	g := NewWithT(t)
	got, err := Assign(Input{Pools: []PoolSpec{pool("a", 5, 0, 1, 2).as(combined)}, Running: nodes("a", combined, 0, 1, 2)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(wanted(got)).To(Equal(map[string][]int32{"a": {0, 1, 2}}))
	g.Expect(got.Blocked).To(HaveLen(1))

	// Nodes whose ids are in a status were voters from the start, even if they have no pods yet.
	got, err = Assign(Input{Pools: []PoolSpec{pool("a", 1, 0).as(combined), pool("b", 2, 1, 2).as(combined)},
		Running: nodes("a", combined, 0)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(wanted(got)).To(Equal(map[string][]int32{"a": {0}, "b": {1, 2}}))
	g.Expect(got.Blocked).To(BeEmpty())
}

// TestAnyHistoryKeepsIDs edits pools at random, loses statuses, and lets Kafka stop responding. No id changes its pool while its node runs
// or its volume exists, and no node with replicas is dropped.
func TestAnyHistoryKeepsIDs(t *testing.T) {
	first := int64(randomtest.Seed(t)) // it fits
	for seed := first; seed < first+300; seed++ {
		r := rand.New(rand.NewSource(seed))
		in := Input{Namespace: "ns", Name: "my-cluster"}
		volumes := map[Volume]bool{}
		pools := map[string]*PoolSpec{}
		for step := range 60 {
			name := string(rune('a' + r.Intn(3)))
			if p := pools[name]; p == nil {
				pools[name] = &PoolSpec{Name: name, Replicas: int32(r.Intn(5)), Roles: broker, NextIDs: []string{"", "[3-0]", "[7]", "x"}[r.Intn(4)]}
			} else if r.Intn(6) == 0 {
				delete(pools, name)
			} else {
				p.Replicas = int32(r.Intn(5))
				p.RemoveIDs = []string{"", "[0-2]"}[r.Intn(2)]
			}
			in.Pools, in.Volumes = nil, slices.Collect(maps.Keys(volumes))
			for _, p := range pools {
				if r.Intn(5) == 0 {
					p.Known = nil
				}
				in.Pools = append(in.Pools, *p)
			}
			var replicas map[int32]int // Kafka does not respond
			if r.Intn(3) > 0 {
				replicas = map[int32]int{}
				for _, n := range in.Running {
					replicas[n.ID] = r.Intn(2)
				}
			}
			in.Holdings = held(replicas)
			got, err := Assign(in)
			if err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			if len(in.Running) > 0 && len(got.Brokers()) == 0 {
				t.Fatalf("seed %d, step %d: no broker is left", seed, step)
			}
			for _, n := range in.Running {
				stays := slices.ContainsFunc(got.Nodes(), func(m Node) bool { return m.ID == n.ID && m.Pool == n.Pool })
				if n := replicas[n.ID]; !stays && (replicas == nil || n > 0) {
					t.Fatalf("seed %d, step %d: a node goes with %d replicas (known: %v)", seed, step, n, replicas != nil)
				}
			}
			seen := map[int32]bool{}
			for _, n := range got.Nodes() {
				if seen[n.ID] {
					t.Fatalf("seed %d, step %d: id %d is given twice", seed, step, n.ID)
				}
				seen[n.ID] = true
				for v := range volumes {
					if v.Node == n.ID && v.Pool != n.Pool {
						t.Fatalf("seed %d, step %d: id %d goes to pool %s, and pool %s has its volume", seed, step, n.ID, n.Pool, v.Pool)
					}
				}
				volumes[Volume{Node: n.ID, Pool: n.Pool}] = true
			}
			in.Running = got.Nodes()
			for i := range in.Running {
				in.Running[i].Leaving = false
			}
			for _, p := range got.Pools {
				if spec := pools[p.Name]; spec != nil {
					spec.Known = nil
					for _, n := range p.Nodes {
						spec.Known = append(spec.Known, n.ID)
					}
				}
			}
		}
	}
}

func FuzzIDs(f *testing.F) {
	for _, text := range []string{"", "[]", "[0,1, 10-20,50-30]", "[99999999999]", "[2147483647-0]", "[a]", "0-1", "[-1]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseIDs(text)
		if err != nil {
			return
		}
		tries := 0
		if id, found := list.first(func(int32) bool { tries++; return tries > 100 }); found && id < 0 {
			t.Errorf("%q has the id %d", text, id)
		}
	})
}

func TestAnAnnotationThatIsNoRangeIsNamedAndIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		pool    PoolSpec
		message string
		want    []int32
	}{
		"next": {pool("a", 3, 0, 1).next("10-12"), "Invalid annotation strimzi.io/next-node-ids on KafkaNodePool a with value 10-12",
			[]int32{0, 1, 2}},
		"remove": {pool("a", 1, 0, 1).remove("[0, x]"), "Invalid annotation strimzi.io/remove-node-ids on KafkaNodePool a with value [0, x]",
			[]int32{0}},
		"an id that is too large": {pool("a", 1).next("[2147483648]"),
			"Invalid annotation strimzi.io/next-node-ids on KafkaNodePool a with value [2147483648]", []int32{0}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Assign(Input{Pools: []PoolSpec{c.pool}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Notes).To(Equal([]Note{{Pool: "a", Message: c.message}}))
			g.Expect(wanted(got)["a"]).To(Equal(c.want))
		})
	}
}
