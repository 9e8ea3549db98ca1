package traffic_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

const topic = "records"

func start(t *testing.T) (*kafkatest.Embedded, traffic.Options) {
	t.Helper()
	g := NewWithT(t)
	e, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 3})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(e.Close)
	admin, err := saramakafka.New(kafka.Config{Bootstrap: e.Bootstrap()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(admin.Close)
	create(t, admin)
	return e, traffic.Options{Bootstrap: e.Bootstrap(), Topic: topic, Group: "readers", Every: time.Millisecond}
}

func create(t *testing.T, admin *saramakafka.Admin) {
	t.Helper()
	g := NewWithT(t)
	created, err := admin.CreateTopics(t.Context(), []kafka.NewTopic{{Name: topic, Partitions: 3, ReplicationFactor: 3}}, false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(created[topic].Err).NotTo(HaveOccurred())
}

// flows waits until some records were read.
func flows(t *testing.T, f *traffic.Traffic) {
	t.Helper()
	NewWithT(t).Eventually(f.Progress).WithTimeout(30 * time.Second).Should(And(HaveField("Read", BeNumerically(">", 50)),
		HaveField("Acknowledged", BeNumerically(">", 50))))
}

func stop(t *testing.T, f *traffic.Traffic, patience time.Duration) traffic.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return f.Stop(ctx)
}

func TestAllRecordsAreRead(t *testing.T) {
	g := NewWithT(t)
	_, o := start(t)
	f, err := traffic.Start(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	flows(t, f)
	report := stop(t, f, 30*time.Second)
	g.Expect(report.Err()).NotTo(HaveOccurred())
	g.Expect(report.Acknowledged).To(HaveLen(report.Read))
	g.Expect(report.Read).To(BeNumerically(">", 0))
	g.Expect(report.Longest).To(BeNumerically(">", 0))
	values, err := traffic.ReadAll(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	want := map[string]int{}
	for _, value := range report.Acknowledged {
		want[value] = 1
	}
	g.Expect(values).To(Equal(want))
}

func TestARecordThatNobodyReadsIsLost(t *testing.T) {
	g := NewWithT(t)
	e, o := start(t)
	f, err := traffic.Start(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	flows(t, f)
	// From here on, the consumer gets no responses, but the producer does.
	hung := e.Inject(kafkatest.Fault{Requests: []string{"Fetch"}, Hang: true})
	before := f.Progress().Acknowledged
	g.Eventually(f.Progress).WithTimeout(30 * time.Second).Should(HaveField("Acknowledged", BeNumerically(">=", before+50)))
	report := stop(t, f, 100*time.Millisecond)
	hung.Remove()
	g.Expect(report.Err()).To(HaveOccurred())
	g.Expect(report.Lost).NotTo(BeEmpty())
}

func TestNothingIsInAnEmptyTopic(t *testing.T) {
	g := NewWithT(t)
	_, o := start(t)
	values, err := traffic.ReadAll(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values).To(BeEmpty())
	o.Topic = "missing"
	_, err = traffic.ReadAll(t.Context(), o)
	g.Expect(err).To(HaveOccurred())
}

func TestRecordsAreWrittenToTheirPartitions(t *testing.T) {
	g := NewWithT(t)
	_, o := start(t)
	records := []traffic.Record{{Partition: 2, Value: []byte("c")}, {Partition: 0, Value: []byte("a"), At: time.Now().Add(-time.Hour)}}
	g.Expect(traffic.Write(t.Context(), o, records...)).To(Succeed())
	values, err := traffic.ReadAll(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values).To(Equal(map[string]int{"a": 1, "c": 1}))
	senders, err := traffic.ReadFrom(t.Context(), o, "nowhere")
	sent := 0
	for _, n := range senders {
		sent += n
	}
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sent).To(Equal(len(records)))
	g.Expect(traffic.Write(t.Context(), o, traffic.Record{Partition: 3})).NotTo(Succeed(), "the partition does not exist")
}
