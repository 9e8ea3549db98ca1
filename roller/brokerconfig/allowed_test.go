package brokerconfig

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The values that a key's definition allows, according to Kafka's own classes.
func TestWhatADefinitionAllows(t *testing.T) {
	g := NewWithT(t)
	for _, c := range []struct {
		key, value string
		want       Verdict
	}{
		{"num.io.threads", "100", Legal}, {"num.io.threads", " 1 ", Legal}, {"num.io.threads", "0", Illegal}, {"num.io.threads", "-3", Illegal},
		{"num.io.threads", "many", Illegal}, {"num.io.threads", "3000000000", Illegal},
		{"log.retention.bytes", "3000000000", Legal},
		{"compression.type", "zstd", Legal}, {"compression.type", "zip", Illegal},
		{"log.cleaner.io.buffer.load.factor", "0.5", Legal}, {"log.cleaner.io.buffer.load.factor", "half", Illegal},
		{"auto.create.topics.enable", "TRUE", Legal}, {"auto.create.topics.enable", "yes", Illegal},
		{"transaction.state.log.num.partitions", "${file:/x:y}", Undecided},
		{"no.such.key", "1", Undecided},
		{"compression.gzip.level", "7", Undecided}, {"compression.gzip.level", "high", Illegal},
		{"log.cleanup.policy", "compact,delete", Legal}, {"log.cleanup.policy", "archive", Illegal},
	} {
		g.Expect(Latest().Judge(c.key, c.value)).To(Equal(c.want), c.key+"="+c.value)
	}
}
