package brokerconfig_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// someValue returns one of a few values of the key's type, in different spellings, and sometimes Kafka's default.
func someValue(r *rand.Rand, k brokerconfig.Key) string {
	if k.Default != nil && r.IntN(4) == 0 {
		return *k.Default
	}
	n := strconv.Itoa(1 + r.IntN(3))
	switch k.Type {
	case brokerconfig.Boolean:
		return []string{"true", "false", "TRUE"}[r.IntN(3)]
	case brokerconfig.Integer:
		return []string{n, "0" + n, " " + n}[r.IntN(3)]
	case brokerconfig.Double:
		return []string{n, n + ".0", n + "e0"}[r.IntN(3)]
	case brokerconfig.List, brokerconfig.Map:
		return []string{"a:" + n, "a:" + n + ",b:1", "a:" + n + ", b:1", "b:1,a:" + n}[r.IntN(4)]
	}
	return []string{"v" + n, "${env:V" + n + "}", ""}[r.IntN(3)]
}

// legalValue returns a value that the key's definition allows.
func legalValue(r *rand.Rand, t *brokerconfig.Table, k brokerconfig.Key) string {
	if value := someValue(r, k); t.Judge(k.Name, value) != brokerconfig.Illegal {
		return value
	}
	values := append(append([]string{k.Values.Min}, k.Values.OneOf...), k.Values.Items...)
	if least, err := strconv.ParseInt(k.Values.Min, 10, 64); err == nil {
		values = append(values, strconv.FormatInt(least+1, 10), strconv.FormatInt(least+2, 10))
	}
	if k.Default != nil {
		values = append(values, *k.Default)
	}
	values = slices.DeleteFunc(values, func(value string) bool { return t.Judge(k.Name, value) == brokerconfig.Illegal })
	return values[r.IntN(len(values))]
}

// scatter sets about one key in n to a random legal value.
func scatter(r *rand.Rand, t *brokerconfig.Table, n int, into map[string]string) {
	for _, name := range t.Names() {
		if k, _ := t.Key(name); r.IntN(n) == 0 {
			into[name] = legalValue(r, t, k)
		}
	}
}

// randomNode returns a node with a history: started with one file, with some stored values, and now with another file that shares many
// values with the first one.
func randomNode(r *rand.Rand, t *brokerconfig.Table, terse bool) *model {
	m := newModel(t)
	m.terse = terse
	scatter(r, t, 4, m.file)
	m.start()
	edit(r, m)
	scatter(r, t, 8, m.node)
	scatter(r, t, 8, m.global)
	return m
}

func edit(r *rand.Rand, m *model) {
	for _, name := range slices.Sorted(maps.Keys(m.file)) {
		if r.IntN(3) == 0 {
			delete(m.file, name)
		}
	}
	scatter(r, m.table, 6, m.file)
}

func randomRoles(r *rand.Rand) brokerconfig.Roles {
	return []brokerconfig.Roles{broker, controller, combined}[r.IntN(3)]
}

// eachHistory checks a property for many seeds and all tables.
func eachHistory(t *testing.T, check func(g *WithT, r *rand.Rand, table *brokerconfig.Table)) {
	t.Helper()
	first := randomtest.Seed(t)
	for _, version := range brokerconfig.Versions() {
		t.Run(version, func(t *testing.T) {
			table, exact := brokerconfig.For(version)
			NewWithT(t).Expect(exact).To(BeTrue())
			for seed := first; seed < first+25; seed++ {
				ok := t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { check(NewWithT(t), rand.New(rand.NewPCG(seed, 5)), table) })
				if !ok {
					return
				}
			}
		})
	}
}

// No endless loop: after a comparison's changes were applied, the next comparison finds none.
func TestApplyingTheResultLeavesNothingToDo(t *testing.T) {
	eachHistory(t, func(g *WithT, r *rand.Rand, table *brokerconfig.Table) {
		m, roles := randomNode(r, table, false), randomRoles(r)
		m.apply(m.diff(roles))
		g.Expect(m.diff(roles)).To(Equal(brokerconfig.Diff{}))
	})
}

func TestWithoutSynonymsTwiceIsEnough(t *testing.T) {
	eachHistory(t, func(g *WithT, r *rand.Rand, table *brokerconfig.Table) {
		m, roles := randomNode(r, table, true), randomRoles(r)
		m.apply(m.diff(roles))
		m.apply(m.diff(roles))
		g.Expect(m.diff(roles)).To(Equal(brokerconfig.Diff{}))
	})
}

// The converse: a node without changes has the desired value of each compared key.
func TestNothingToDoMeansThatTheDesiredValuesCount(t *testing.T) {
	eachHistory(t, func(g *WithT, r *rand.Rand, table *brokerconfig.Table) {
		m := randomNode(r, table, false)
		m.apply(m.diff(combined))
		for name, e := range m.config().Live {
			k, _ := table.Key(name)
			want, desired := m.file[name]
			if !desired && k.Default != nil {
				want = *k.Default
			}
			shadowed := slices.ContainsFunc(k.Before, func(key string) bool { _, ok := m.file[key]; return ok })
			if e.Sensitive || shadowed || brokerconfig.Owned(name) != "" || len(want) > 2 && want[:2] == "${" {
				continue
			}
			g.Expect(k.Type.Same(e.Value, want)).To(BeTrue(), "%s is %q, want %q", name, e.Value, want)
		}
	})
}

// Each requested restart changes something: without it, the node keeps its values.
func TestARestartIsAskedForOnlyWhereItChangesSomething(t *testing.T) {
	eachHistory(t, func(g *WithT, r *rand.Rand, table *brokerconfig.Table) {
		m, roles := randomNode(r, table, r.IntN(2) == 0), randomRoles(r)
		for _, c := range m.diff(roles).Restart {
			k, _ := table.Key(c.Key)
			was, now := m.static[c.Key], m.file[c.Key]
			if k.Default != nil {
				if _, ok := m.static[c.Key]; !ok {
					was = *k.Default
				}
				if _, ok := m.file[c.Key]; !ok {
					now = *k.Default
				}
			}
			g.Expect(k.Type.Same(was, now)).To(BeFalse(), "%s: %q in the file of the last start, %q in that of the next", c.Key, was, now)
		}
	})
}

// A read-only key is never set at runtime, and a restart of the node applies the file only.
func TestNothingThatIsReadOnlyIsSetWhileItRuns(t *testing.T) {
	eachHistory(t, func(g *WithT, r *rand.Rand, table *brokerconfig.Table) {
		m, roles := randomNode(r, table, r.IntN(2) == 0), randomRoles(r)
		d := m.diff(roles)
		for _, c := range slices.Concat(d.Node, d.Global) {
			k, _ := table.Key(c.Key)
			g.Expect(k.Mode).To(BeElementOf(brokerconfig.PerBroker, brokerconfig.ClusterWide, brokerconfig.PerListener), c.Key)
			g.Expect(k.Mode == brokerconfig.PerListener && c.To != nil).To(BeFalse(), c.Key)
		}
		for _, c := range d.Global {
			k, _ := table.Key(c.Key)
			g.Expect(k.Mode).To(Equal(brokerconfig.ClusterWide), c.Key)
			g.Expect(c.Key == "min.insync.replicas" && c.To == nil).To(BeFalse())
		}
		for _, c := range d.Node {
			g.Expect(c.Key == "min.insync.replicas" && c.To != nil).To(BeFalse())
		}
	})
}

// clusterOf returns nodes of one cluster, which share the values that Kafka stores for all nodes.
func clusterOf(r *rand.Rand, table *brokerconfig.Table, agree bool) []*model {
	first := randomNode(r, table, false)
	models := []*model{first}
	for range 2 + r.IntN(3) {
		m := first.clone() // clones share the map of values stored for all nodes
		m.static, m.node = map[string]string{}, map[string]string{}
		scatter(r, table, 4, m.static)
		scatter(r, table, 8, m.node)
		if !agree {
			edit(r, m)
		}
		models = append(models, m)
	}
	return models
}

func nodesOf(models []*model, roles []brokerconfig.Roles) []brokerconfig.Node {
	nodes := make([]brokerconfig.Node, len(models))
	for i, m := range models {
		nodes[i] = brokerconfig.Node{ID: int32(i), Roles: roles[i], Config: m.config()}
	}
	return nodes
}

func settle(table *brokerconfig.Table, models []*model, roles []brokerconfig.Roles) {
	out := table.CompareAll(nodesOf(models, roles))
	for id, d := range out.Nodes {
		models[id].apply(d)
	}
	alter(models[0].global, out.Global)
}

func TestAWholeClusterThatAgreesSettles(t *testing.T) {
	eachHistory(t, func(g *WithT, r *rand.Rand, table *brokerconfig.Table) {
		models := clusterOf(r, table, true)
		roles := make([]brokerconfig.Roles, len(models))
		for i := range roles {
			roles[i] = []brokerconfig.Roles{broker, combined}[r.IntN(2)]
		}
		settle(table, models, roles)
		settle(table, models, roles)
		out := table.CompareAll(nodesOf(models, roles))
		g.Expect(out.Nodes).To(BeEmpty())
		g.Expect(out.Global).To(BeEmpty())
	})
}

// Pools that want different values of a cluster-wide key must not revert each other's changes forever.
func TestAClusterThatDoesNotAgreeSettles(t *testing.T) {
	eachHistory(t, func(g *WithT, r *rand.Rand, table *brokerconfig.Table) {
		models := clusterOf(r, table, false)
		roles := make([]brokerconfig.Roles, len(models))
		for i := range roles {
			roles[i] = randomRoles(r)
		}
		for range 4 {
			settle(table, models, roles)
		}
		out := table.CompareAll(nodesOf(models, roles))
		g.Expect(out.Nodes).To(BeEmpty())
		g.Expect(out.Global).To(BeEmpty())
	})
}
