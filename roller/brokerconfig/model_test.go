package brokerconfig_test

import (
	"maps"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

var (
	broker     = brokerconfig.Roles{Broker: true}
	controller = brokerconfig.Roles{Controller: true}
	combined   = brokerconfig.Roles{Broker: true, Controller: true}
)

// model is the configuration of a simulated node: the file, the values that the node read from the file at its last start, and the values
// that Kafka stores for the node and for all nodes.
type model struct {
	table  *brokerconfig.Table
	file   map[string]string // values that the next start reads
	static map[string]string // values that the last start read
	node   map[string]string // values stored for this node
	global map[string]string // values stored for all nodes, shared by their models
	// terse nodes return no synonyms.
	terse bool
}

func newModel(t *brokerconfig.Table) *model {
	return &model{table: t, file: map[string]string{}, static: map[string]string{}, node: map[string]string{}, global: map[string]string{}}
}

func (m *model) clone() *model {
	c := *m
	c.file, c.static, c.node = maps.Clone(m.file), maps.Clone(m.static), maps.Clone(m.node)
	return &c
}

func (m *model) start() { m.static = maps.Clone(m.file) }

// config returns the input of a comparison: the file, and the keys that the node reports.
func (m *model) config() brokerconfig.Config {
	live := map[string]brokerconfig.Entry{}
	for _, name := range m.table.Names() {
		k, _ := m.table.Key(name)
		live[name] = m.entry(k)
	}
	return brokerconfig.Config{Version: m.table.Version, Desired: m.file, Live: live}
}

// entry describes a key as Kafka does (ConfigHelper.createBrokerConfigEntry).
func (m *model) entry(k brokerconfig.Key) brokerconfig.Entry {
	e := brokerconfig.Entry{Source: brokerconfig.SourceDefault, ReadOnly: k.Mode == brokerconfig.ReadOnly,
		Sensitive: k.Type == brokerconfig.Password}
	add := func(values map[string]string, source brokerconfig.Source) {
		value, ok := values[k.Name]
		if !ok {
			return
		}
		if e.Sensitive {
			value = ""
		}
		e.Synonyms = append(e.Synonyms, brokerconfig.Synonym{Key: k.Name, Value: value, Source: source})
	}
	if k.Mode != brokerconfig.ReadOnly { // Kafka ignores stored values of read-only keys (DynamicBrokerConfig.fromPersistentProps)
		add(m.node, brokerconfig.SourceDynamicNode)
	}
	if k.Mode == brokerconfig.ClusterWide {
		add(m.global, brokerconfig.SourceDynamicGlobal)
	}
	add(m.static, brokerconfig.SourceStatic)
	if k.Default != nil && !e.Sensitive {
		e.Synonyms = append(e.Synonyms, brokerconfig.Synonym{Key: k.Name, Value: *k.Default, Source: brokerconfig.SourceDefault})
	}
	if len(e.Synonyms) > 0 {
		e.Value, e.Source = e.Synonyms[0].Value, e.Synonyms[0].Source
	}
	if m.terse {
		e.Synonyms = nil
	}
	return e
}

// apply makes the changes of a comparison.
func (m *model) apply(d brokerconfig.Diff) {
	alter(m.node, d.Node)
	alter(m.global, d.Global)
	if len(d.Restart) > 0 {
		m.start()
	}
}

func alter(values map[string]string, changes []brokerconfig.Change) {
	for _, c := range changes {
		if c.To == nil {
			delete(values, c.Key)
		} else {
			values[c.Key] = *c.To
		}
	}
}
