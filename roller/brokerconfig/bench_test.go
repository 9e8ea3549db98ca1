package brokerconfig_test

import (
	"testing"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// fleet returns a cluster of brokers with 60 properties, each of which reports 300 keys.
func fleet(brokers int) []brokerconfig.Node {
	t := brokerconfig.Latest()
	m := newModel(t)
	for _, name := range t.Names() {
		k, _ := t.Key(name)
		if len(m.file) < 60 && k.Default != nil && k.Type != brokerconfig.Password {
			m.file[name] = *k.Default
		}
	}
	nodes := make([]brokerconfig.Node, brokers)
	for i := range nodes {
		n := m.clone()
		n.start()
		c := n.config()
		for name, e := range c.Live {
			if len(c.Live) > 300 && e.Source == brokerconfig.SourceDefault {
				delete(c.Live, name)
			}
		}
		nodes[i] = brokerconfig.Node{ID: int32(i), Roles: broker, Config: c}
	}
	return nodes
}

// BenchmarkCompareAThousandBrokers compares brokers that need no change, which is the usual case.
func BenchmarkCompareAThousandBrokers(b *testing.B) {
	nodes := fleet(1000)
	t := brokerconfig.Latest()
	for b.Loop() {
		if out := t.CompareAll(nodes); len(out.Nodes)+len(out.Global) != 0 {
			b.Fatal(out)
		}
	}
}

// BenchmarkCompareAThousandChangedBrokers compares brokers after an edit of ten keys.
func BenchmarkCompareAThousandChangedBrokers(b *testing.B) {
	nodes := fleet(1000)
	for i := range nodes {
		for _, key := range []string{"background.threads", "broker.heartbeat.interval.ms", "compression.lz4.level", "controlled.shutdown.enable",
			"delete.topic.enable", "log.retention.bytes", "log.segment.bytes", "num.io.threads", "num.network.threads", "message.max.bytes"} {
			nodes[i].Config.Desired[key] = "7"
		}
	}
	t := brokerconfig.Latest()
	for b.Loop() {
		if out := t.CompareAll(nodes); len(out.Nodes) != len(nodes) || len(out.Global) == 0 {
			b.Fatal(out)
		}
	}
}
