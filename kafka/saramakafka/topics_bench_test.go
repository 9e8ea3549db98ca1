package saramakafka

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	largeBrokers    = 1000
	largePartitions = 200_000
	perTopic        = 50
)

// BenchmarkListTopics reads the topics of a cluster of 1,000 brokers and 200,000 partitions with three replicas each. The broker has the
// answer ready, so the client's own work is measured.
func BenchmarkListTopics(b *testing.B) {
	a := largeCluster(b)
	topics, err := a.ListTopics(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for b.Loop() {
		if topics, err = a.ListTopics(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	checkLarge(b, topics)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc)/(1<<20), "MiB-live")
	runtime.KeepAlive(topics)
}

// TestListTopicsOfALargeCluster checks the result, and bounds the memory of the same call.
func TestListTopicsOfALargeCluster(t *testing.T) {
	a := largeCluster(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	topics, err := a.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	checkLarge(t, topics)
	// All allocations, whether they are still in use or not.
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 100 {
		t.Errorf("it took %d MiB", mib)
	}
}

func checkLarge(t testing.TB, topics []kafka.Topic) {
	t.Helper()
	n := 0
	for _, topic := range topics {
		for i, p := range topic.Partitions {
			want := largeReplicas(n)
			if p.Index != int32(i) || p.Leader != want[0] || p.LeaderEpoch != 5 ||
				fmt.Sprint(p.Replicas, p.ISR, p.Offline) != fmt.Sprint(want, want[:2], want[2:]) {
				t.Fatalf("partition %d of %s is %+v", i, topic.Name, p)
			}
			n++
		}
	}
	if n != largePartitions || topics[0].Name != "topic-0000" || topics[0].ID != (kafka.TopicID{1}) {
		t.Fatalf("%d partitions, and the first topic is %s %s", n, topics[0].Name, topics[0].ID)
	}
}

func largeReplicas(partition int) []int32 {
	n := int32(partition)
	return []int32{n % largeBrokers, (n + 7) % largeBrokers, (n + 13) % largeBrokers}
}

// largeCluster returns a client of a broker that answers every request for topics with the same large answer.
func largeCluster(t testing.TB) *Admin {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-done })
	body := largeAnswer()
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveLarge(conn, body)
		}
	}()
	a, err := New(kafka.Config{Bootstrap: []string{listener.Addr().String()}, RequestTimeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func largeAnswer() []byte {
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = 11
	for id := range int32(largeBrokers) {
		resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: id, Host: fmt.Sprintf("broker-%d.kafka.svc", id), Port: 9092})
	}
	n := 0
	for i := range largePartitions / perTopic {
		name := fmt.Sprintf("topic-%04d", i)
		topic := kmsg.MetadataResponseTopic{Topic: &name, TopicID: [16]byte{1, byte(i >> 8), byte(i)}}
		for index := range int32(perTopic) {
			replicas := largeReplicas(n)
			topic.Partitions = append(topic.Partitions, kmsg.MetadataResponseTopicPartition{
				Partition: index, Leader: replicas[0], LeaderEpoch: 5, Replicas: replicas, ISR: replicas[:2], OfflineReplicas: replicas[2:],
			})
			n++
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp.AppendTo([]byte{0})
}

// serveLarge is the broker. It advertises ApiVersions and Metadata only.
func serveLarge(conn net.Conn, large []byte) {
	defer func() { _ = conn.Close() }()
	for {
		key, version, correlation, err := readRequest(conn)
		if err != nil {
			return
		}
		body := large
		if key == keyAPIVersions {
			resp := kmsg.NewPtrApiVersionsResponse()
			resp.Version = version
			resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: keyAPIVersions, MaxVersion: 3}, {ApiKey: 3, MinVersion: 11, MaxVersion: 11}}
			body = resp.AppendTo(nil)
		}
		frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		frame = binary.BigEndian.AppendUint32(frame, correlation)
		if _, err := conn.Write(frame); err != nil {
			return
		}
		if _, err := conn.Write(body); err != nil {
			return
		}
	}
}

func readRequest(conn net.Conn) (key, version int16, correlation uint32, err error) {
	var size [4]byte
	if _, err = io.ReadFull(conn, size[:]); err != nil {
		return 0, 0, 0, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err = io.ReadFull(conn, frame); err != nil {
		return 0, 0, 0, err
	}
	return int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:])), binary.BigEndian.Uint32(frame[4:]), nil
}
