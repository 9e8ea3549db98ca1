package brokerconfig_test

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/freeport"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// configure runs Kafka's own tool against a controller (KIP-919).
func (l *live) configure(id string, args ...string) (string, error) {
	return l.cluster.Tool(l.t.Context(), "ConfigCommand",
		append([]string{"--bootstrap-controller", l.cluster.ControllerBootstrap()[0], "--entity-type", "brokers", "--entity-name", id},
			args...)...)
}

// described matches a line of the tool's output: key=value sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:key=value, ...}.
var described = regexp.MustCompile(`^\s+(\S+?)=(.*) sensitive=(true|false) synonyms=\{(.*)\}$`)

var sources = map[string]brokerconfig.Source{
	"DYNAMIC_BROKER_CONFIG": brokerconfig.SourceDynamicNode, "DYNAMIC_DEFAULT_BROKER_CONFIG": brokerconfig.SourceDynamicGlobal,
	"STATIC_BROKER_CONFIG": brokerconfig.SourceStatic, "DEFAULT_CONFIG": brokerconfig.SourceDefault,
}

var synonym = regexp.MustCompile(`(?:^|, )([A-Z_]+_CONFIG):([^=]+)=`)

// entries parses the tool's description of a node, synonyms included.
func (l *live) entries(id string) map[string]brokerconfig.Entry {
	out, err := l.configure(id, "--describe", "--all")
	l.Expect(err).NotTo(HaveOccurred())
	entries := map[string]brokerconfig.Entry{}
	for line := range strings.Lines(out) {
		m := described.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		e := brokerconfig.Entry{Value: m[2], Sensitive: m[3] == "true", Source: brokerconfig.SourceDefault}
		if e.Value == "null" {
			e.Value = ""
		}
		heads := synonym.FindAllStringSubmatchIndex(m[4], -1)
		for i, head := range heads {
			end := len(m[4])
			if i+1 < len(heads) {
				end = heads[i+1][0]
			}
			e.Synonyms = append(e.Synonyms, brokerconfig.Synonym{Key: m[4][head[4]:head[5]], Value: m[4][head[1]:end],
				Source: sources[m[4][head[2]:head[3]]]})
		}
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		entries[m[1]] = e
	}
	l.Expect(len(entries)).To(BeNumerically(">=", len(l.table.Names())))
	return entries
}

// A controller accepts each change and checks nothing, so only the table knows which keys it applies.
func TestALiveController(t *testing.T) {
	l := startLive(t, realkafka.Options{Controllers: 1, Config: map[string]string{"log.retention.hours": "72"}})
	const id = "1"
	l.id, l.roles = 1, controller
	file := l.file()
	compare := func() brokerconfig.Diff {
		return l.table.Compare(brokerconfig.Config{Desired: file, Live: l.entries(id)}, l.roles)
	}
	l.Expect(compare()).To(Equal(brokerconfig.Diff{}), "it runs with its file")

	ports, err := freeport.Take(1)
	l.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { freeport.Release(ports) })
	elsewhere := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	_, err = l.configure(id, "--alter", "--add-config", "listeners=[CONTROLLER://"+elsewhere+"],num.io.threads=3,log.retention.ms=5000")
	l.Expect(err).NotTo(HaveOccurred(), "it accepts other listeners")
	l.Eventually(func() string { return l.entries(id)["listeners"].Value }).WithTimeout(time.Minute).Should(HaveSuffix(elsewhere),
		"and shows them")

	d := compare()
	l.Expect(to(d.Node)).To(Equal(values{"listeners": "(none)", "num.io.threads": "(none)"}), "what is stored goes; it reads no retention")
	l.Expect(d.Global).To(BeEmpty())
	l.Expect(d.Restart).To(BeEmpty(), "its file is right")

	retention := l.entries(id)["log.retention.ms"]
	l.Expect(retention.Source).To(Equal(brokerconfig.SourceDynamicNode))
	l.Expect(retention.Synonyms).To(ContainElement(brokerconfig.Synonym{Key: "log.retention.hours", Value: "72",
		Source: brokerconfig.SourceStatic}))
	hours := l.entries(id)["log.retention.hours"]
	l.Expect(hours.Source).To(Equal(brokerconfig.SourceStatic), "another key's value does not make its own one look stored")

	_, err = net.DialTimeout("tcp", elsewhere, time.Second)
	l.Expect(err).To(HaveOccurred(), "and has still opened none")

	_, err = l.configure(id, "--alter", "--delete-config", "listeners,num.io.threads,log.retention.ms")
	l.Expect(err).NotTo(HaveOccurred())
	l.Eventually(compare).WithTimeout(time.Minute).Should(Equal(brokerconfig.Diff{}))
}
