package saramakafka

import (
	"slices"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

// table returns a client's table of brokers: their addresses, and their cluster's id.
func table(a *Admin) (addrs []string, cluster string, learned bool) {
	r := a.current
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.table {
		addrs = append(addrs, n.addr)
	}
	return addrs, r.tableOf, !r.learned.IsZero()
}

func TestTheTableIsNeverThatOfAnotherCluster(t *testing.T) {
	start := func(id string) *kafkatest.Embedded {
		e, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 2, ClusterID: id})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		return e
	}
	ours, theirs := start("ours"), start("theirs")
	a, err := New(kafka.Config{Bootstrap: append(theirs.Bootstrap(), ours.Bootstrap()...), DialTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	list := func() {
		t.Helper()
		if _, err := a.ListTopics(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list()
	if addrs, cluster, _ := table(a); !slices.Equal(addrs, theirs.Bootstrap()) || cluster != "theirs" {
		t.Fatalf("the first address was not asked first: %v of %s", addrs, cluster)
	}
	if err := a.Pin("ours"); err != nil {
		t.Fatal(err)
	}
	if addrs, cluster, learned := table(a); len(addrs) != 0 || cluster != "" || learned {
		t.Errorf("after the pin it still knows %v of %s", addrs, cluster)
	}
	if open, _ := connections(a); open != 0 {
		t.Errorf("%d connections to the other cluster are kept", open)
	}
	list()
	if addrs, cluster, _ := table(a); !slices.Equal(addrs, ours.Bootstrap()) || cluster != "ours" {
		t.Errorf("it learned %v of %s", addrs, cluster)
	}
	for id := range int32(2) {
		if err := ours.StopNode(id); err != nil {
			t.Fatal(err)
		}
	}
	if answering, err := a.DescribeCluster(t.Context()); err != nil || answering.ID != "theirs" {
		t.Fatal(answering, err)
	}
	if addrs, cluster, _ := table(a); !slices.Equal(addrs, ours.Bootstrap()) || cluster != "ours" {
		t.Errorf("the other cluster taught it %v of %s", addrs, cluster)
	}
	if open, _ := connections(a); open != 0 {
		t.Errorf("%d connections to the other cluster are kept", open)
	}
}
