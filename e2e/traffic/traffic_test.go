package traffic_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

const topic = "records"

func start(t *testing.T) (*kafkatest.Embedded, traffic.Options) {
	t.Helper()
	e, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	admin, err := saramakafka.New(kafka.Config{Bootstrap: e.Bootstrap()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	create(t, admin)
	return e, traffic.Options{Bootstrap: e.Bootstrap(), Topic: topic, Group: "readers", Every: time.Millisecond}
}

func create(t *testing.T, admin *saramakafka.Admin) {
	t.Helper()
	created, err := admin.CreateTopics(t.Context(), []kafka.NewTopic{{Name: topic, Partitions: 3, ReplicationFactor: 3}}, false)
	if err != nil || created[topic].Err != nil {
		t.Fatal(err, created)
	}
}

// flows waits until some records were read.
func flows(t *testing.T, f *traffic.Traffic) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		if p := f.Progress(); p.Read > 50 && p.Acknowledged > 50 {
			return
		}
		select {
		case <-deadline:
			t.Fatal("nothing flows")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func stop(t *testing.T, f *traffic.Traffic, patience time.Duration) traffic.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return f.Stop(ctx)
}

func TestAllRecordsAreRead(t *testing.T) {
	_, o := start(t)
	f, err := traffic.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	flows(t, f)
	report := stop(t, f, 30*time.Second)
	if err := report.Err(); err != nil || len(report.Acknowledged) == 0 || report.Read != len(report.Acknowledged) || report.Longest <= 0 {
		t.Errorf("got %v, %+v", err, report)
	}
	values, err := traffic.ReadAll(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range report.Acknowledged {
		if values[value] != 1 {
			t.Errorf("%s is there %d times", value, values[value])
		}
	}
	if len(values) != len(report.Acknowledged) {
		t.Errorf("%d records of %d", len(values), len(report.Acknowledged))
	}
}

func TestARecordThatNobodyReadsIsLost(t *testing.T) {
	e, o := start(t)
	f, err := traffic.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	flows(t, f)
	// From here on, the consumer gets no responses, but the producer does.
	hung := e.Inject(kafkatest.Fault{Requests: []string{"Fetch"}, Hang: true})
	before := f.Progress().Acknowledged
	deadline := time.After(30 * time.Second)
	for f.Progress().Acknowledged < before+50 {
		select {
		case <-deadline:
			t.Fatal("nothing is written")
		case <-time.After(10 * time.Millisecond):
		}
	}
	report := stop(t, f, 100*time.Millisecond)
	hung.Remove()
	if report.Err() == nil || len(report.Lost) == 0 {
		t.Errorf("got %+v", report)
	}
}

func TestNothingIsInAnEmptyTopic(t *testing.T) {
	_, o := start(t)
	values, err := traffic.ReadAll(t.Context(), o)
	if err != nil || len(values) != 0 {
		t.Errorf("got %v, %v", values, err)
	}
	o.Topic = "missing"
	if values, err := traffic.ReadAll(t.Context(), o); err == nil {
		t.Errorf("of a topic that does not exist: %v", values)
	}
}

func TestRecordsAreWrittenToTheirPartitions(t *testing.T) {
	_, o := start(t)
	records := []traffic.Record{{Partition: 2, Value: []byte("c")}, {Partition: 0, Value: []byte("a"), At: time.Now().Add(-time.Hour)}}
	if err := traffic.Write(t.Context(), o, records...); err != nil {
		t.Fatal(err)
	}
	values, err := traffic.ReadAll(t.Context(), o)
	if want := map[string]int{"a": 1, "c": 1}; err != nil || !maps.Equal(values, want) {
		t.Errorf("got %v, %v, want %v", values, err, want)
	}
	senders, err := traffic.ReadFrom(t.Context(), o, "nowhere")
	sent := 0
	for _, n := range senders {
		sent += n
	}
	if err != nil || sent != len(records) {
		t.Errorf("brokers sent %v, %v", senders, err)
	}
	if err := traffic.Write(t.Context(), o, traffic.Record{Partition: 3}); err == nil {
		t.Error("a record was written to a partition that does not exist")
	}
}
