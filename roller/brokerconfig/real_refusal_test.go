package brokerconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// The assumptions of the rules about rejected values: a running broker rejects illegal values, and some legal ones; a rejected key makes
// Kafka reject the whole request; controllers check nothing; and a broker whose file has the stored value applies everything again. Until
// then it rejects all other keys as well, and names the key that prevents them.
func TestALiveBrokerRefusesWhatTheRulesSay(t *testing.T) {
	l := startLive(t, realkafka.Options{Controllers: 1, Config: map[string]string{threads: "4"}})
	for _, value := range []string{"0", "-3", "many"} {
		l.Expect(l.table.Judge(threads, value)).To(Equal(brokerconfig.Illegal))
		l.Expect(kafka.ClassOf(l.set(everyBroker, threads, value, true))).To(Equal(kafka.ClassInvalid), value)
	}
	for value, why := range map[string]string{"100": "double", "1": "half"} {
		l.Expect(l.table.Judge(threads, value)).To(Equal(brokerconfig.Legal))
		err := l.set(everyBroker, threads, value, true)
		l.Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassInvalid), value)
		l.Expect(err).To(MatchError(ContainSubstring(why)))
	}
	hundred, some := "100", "77"
	err := l.alter(everyBroker, []brokerconfig.Change{{Key: threads, To: &hundred}, {Key: "max.connections", To: &some}}, true)
	l.Expect(err).To(MatchError(ContainSubstring("double")), "all or nothing")

	controllers, err := saramakafka.NewControllers(kafka.Config{Bootstrap: l.cluster.ControllerBootstrap(), ClientID: "brokerconfig-test"})
	l.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(controllers.Close)
	change := kafka.ConfigChange{Resource: kafka.ClusterResource(), Set: map[string]string{threads: hundred}}
	answers, err := controllers.AlterConfigs(t.Context(), []kafka.ConfigChange{change}, false)
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(answers[kafka.ClusterResource()]).To(Succeed())
	entry := func(g Gomega) kafka.ConfigEntry {
		all, err := l.admin.DescribeNodeConfigs(t.Context(), []int32{l.id}, []string{threads})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(all[l.id].Err).NotTo(HaveOccurred())
		return all[l.id].Entries[threads]
	}
	l.Eventually(func(g Gomega) {
		g.Expect(entry(g).Synonyms).To(ContainElement(And(HaveField("Value", "100"),
			HaveField("Source", kafka.ConfigSource(brokerconfig.SourceDynamicGlobal)))))
	}).WithTimeout(time.Minute).Should(Succeed())
	l.Expect(entry(l).Value).To(Equal("4"), "it shows what it runs with")
	l.Expect(l.set(everyBroker, "max.connections", some, true)).To(MatchError(ContainSubstring(threads + "=100")))

	l.Expect(l.cluster.Stop(l.id)).To(Succeed())
	path := filepath.Join(filepath.Dir(l.cluster.LogFile(l.id)), "server.properties")
	text, err := os.ReadFile(path)
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), threads+"=4", threads+"=100")), 0o600)).To(Succeed())
	l.Expect(l.cluster.StartNode(t.Context(), l.id)).To(Succeed())
	l.Eventually(func(g Gomega) { g.Expect(entry(g).Value).To(Equal("100")) }).WithTimeout(time.Minute).Should(Succeed())
	l.Eventually(l.set).WithArguments(everyBroker, "max.connections", some, true).WithTimeout(time.Minute).Should(Succeed())
}
