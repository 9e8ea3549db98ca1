package saramakafka_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

const (
	idA = "clusterAAAAAAAAAAAAAA0"
	idB = "clusterBBBBBBBBBBBBBB0"
)

// guard counts the requests to a cluster, except for those that ask for its id.
func guard(e *kafkatest.Embedded) *kafkatest.Injected {
	// The oldest fault that matches counts a request.
	e.Inject(kafkatest.Fault{Requests: []string{"ApiVersions", "DescribeCluster", "SASLHandshake", "SASLAuthenticate"}})
	return e.Inject(kafkatest.Fault{})
}

// untouched fails the test if a request reached the cluster.
func untouched(t *testing.T, others *kafkatest.Injected) {
	t.Helper()
	if n := others.Hits(); n != 0 {
		t.Errorf("%d requests reached the other cluster", n)
	}
}

// strayed checks that an error reports that cluster B responded instead of cluster A.
func strayed(t *testing.T, what string, err error) {
	t.Helper()
	answering, ok := kafka.WrongCluster(err)
	if !ok || answering != idB || kafka.IsRetriable(err) {
		t.Errorf("%s: got %v of class %d", what, err, kafka.ClassOf(err))
		return
	}
	for _, want := range []string{idA, idB, "bootstrap 127.0.0.1:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the message does not name %q: %v", what, want, err)
		}
	}
}

// allStrayed calls strayed for each method, and checks that DescribeCluster returns the cluster that responds.
func allStrayed(t *testing.T, a kafka.Admin) {
	t.Helper()
	for method, call := range kafkatest.Calls(a, "x") {
		err := call(within(t, patience))
		if method == "DescribeCluster" {
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
			continue
		}
		strayed(t, method, err)
	}
	if cluster, err := a.DescribeCluster(within(t, patience)); err != nil || cluster.ID != idB {
		t.Errorf("DescribeCluster: %v, %v", cluster, err)
	}
}

func bind(t *testing.T, a kafka.Admin, id string) {
	t.Helper()
	if err := a.Pin(id); err != nil {
		t.Fatal(err)
	}
}

func TestAClientThatIsLedToAnotherCluster(t *testing.T) {
	for name, before := range map[string]bool{"bound before it is used": true, "bound when connections are open": false} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			ours := embedFronted(t, kafkatest.Options{Brokers: 3, ClusterID: idA})
			theirs := embed(t, kafkatest.Options{ClusterID: idB})
			others := guard(theirs)
			a := connect(t, ours.config())
			if before {
				bind(t, a, idA)
			}
			works(t, a, "before")
			bind(t, a, idA)
			works(t, a, "bound")

			ours.lead(theirs)
			if _, err := a.ListTopics(within(t, patience)); err != nil {
				t.Errorf("a connection from before leads where it did: %v", err)
			}
			ours.cut()
			_, err := a.ListTopics(within(t, patience))
			strayed(t, "the first call", err)
			for range 2 {
				allStrayed(t, a)
			}
			untouched(t, others)

			ours.leadBack()
			if cluster, err := a.DescribeCluster(within(t, patience)); err != nil || cluster.ID != idA {
				t.Errorf("the last connection, to the other cluster, is still in use: %v, %v", cluster, err)
			}
			works(t, a, "back")
			untouched(t, others)
		})
	}
}

// TestOneAddressThatLeadsToAnotherCluster covers an address of a broker that was reassigned to another cluster.
func TestOneAddressThatLeadsToAnotherCluster(t *testing.T) {
	noLeaks(t)
	for id := range int32(3) {
		ours := embedFronted(t, kafkatest.Options{Brokers: 3, ClusterID: idA})
		theirs := embed(t, kafkatest.Options{ClusterID: idB})
		others := guard(theirs)
		a := connect(t, ours.config())
		bind(t, a, idA)
		works(t, a, "before")
		ours.proxies[id].lead(theirs.Bootstrap()[0])
		ours.proxies[id].cut()
		works(t, a, "after")
		resource := kafka.BrokerResource(id)
		answers, err := a.DescribeConfigs(within(t, patience), []kafka.ConfigResource{resource}, nil)
		strayed(t, "what only this broker can answer", err)
		if answers != nil {
			t.Errorf("got %v", answers)
		}
		works(t, a, "later")
		untouched(t, others)
	}
}

func TestBootstrapAddressesOfTwoClusters(t *testing.T) {
	noLeaks(t)
	ours := embed(t, kafkatest.Options{Brokers: 2, ClusterID: idA})
	theirs := embed(t, kafkatest.Options{Brokers: 2, ClusterID: idB})
	cfg := quick(ours)
	cfg.Bootstrap = append(theirs.Bootstrap(), ours.Bootstrap()...)
	t.Run("bound from the start", func(t *testing.T) {
		others := guard(theirs)
		defer others.Remove()
		a := connect(t, cfg)
		bind(t, a, idA)
		works(t, a, "x")
		if cluster, err := a.DescribeCluster(within(t, patience)); err != nil || cluster.ID != idA {
			t.Errorf("of two clusters the right one is preferred: got %s, %v", cluster.ID, err)
		}
		untouched(t, others)
	})
	t.Run("bound when it knows the wrong one", func(t *testing.T) {
		a := connect(t, cfg)
		created, err := a.CreateTopics(within(t, patience), []kafka.NewTopic{{Name: "theirs", Partitions: 1, ReplicationFactor: 1}}, false)
		if err != nil || created["theirs"].Err != nil || theirs.Fake().TopicInfo("theirs") == nil {
			t.Fatal("the first address was not asked first", err)
		}
		bind(t, a, idA)
		others := guard(theirs)
		defer others.Remove()
		works(t, a, "y")
		untouched(t, others)
	})
	t.Run("the right one is away", func(t *testing.T) {
		others := guard(theirs)
		defer others.Remove()
		a := connect(t, cfg)
		bind(t, a, idA)
		works(t, a, "z")
		for id := range int32(2) {
			if err := ours.StopNode(id); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = a.ListTopics(within(t, patience)) // may fail because of broken connections
		allStrayed(t, a)
		for id := range int32(2) {
			if err := ours.StartNode(id, false); err != nil {
				t.Fatal(err)
			}
		}
		works(t, a, "again")
		untouched(t, others)
	})
}

// TestBindingWhileCallsAreInFlight checks that calls that start after Pin are bound, whatever connections are open.
func TestBindingWhileCallsAreInFlight(t *testing.T) {
	for name, id := range map[string]string{"to its own cluster": idA, "to another": "elsewhere"} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			e := embed(t, kafkatest.Options{Brokers: 3, ClusterID: idA})
			a := connect(t, quick(e))
			var (
				mu    sync.Mutex
				bound bool
				calls int
				after int
				users sync.WaitGroup
			)
			for i := range 6 {
				users.Go(func() {
					for {
						mu.Lock()
						calls++
						late := bound
						if late {
							after++
						}
						done := after > 60
						mu.Unlock()
						if done {
							return
						}
						ctx := within(t, patience)
						var err error
						if i%2 == 0 {
							_, err = a.ListTopics(ctx)
						} else {
							_, err = a.DescribeQuorum(ctx) // raw
						}
						_, wrong := kafka.WrongCluster(err)
						switch {
						case id == idA && err != nil, !late && err != nil && !wrong, late && id != idA && !wrong:
							t.Errorf("a call that began when bound is %t: %v", late, err)
							return
						}
					}
				})
			}
			until(t, "calls are made", func() bool { mu.Lock(); defer mu.Unlock(); return calls > 60 })
			bind(t, a, id)
			mu.Lock()
			bound = true
			mu.Unlock()
			users.Wait()
		})
	}
}

// TestAConnectionOfBefore checks that an old connection to another cluster does not count for where the address leads now.
func TestAConnectionOfBefore(t *testing.T) {
	ours := embedFronted(t, kafkatest.Options{ClusterID: idA})
	theirs := embed(t, kafkatest.Options{ClusterID: idB})
	a := connect(t, ours.config())
	held := ours.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Delay: time.Hour, Count: 1})
	answer := make(chan error, 1)
	go func() {
		_, err := a.ListTopics(within(t, patience))
		answer <- err
	}()
	if err := held.Wait(within(t, patience), 1); err != nil {
		t.Fatal(err)
	}
	ours.lead(theirs)
	asked := theirs.Inject(kafkatest.Fault{Requests: []string{"Metadata"}})
	if _, err := a.ListTopics(within(t, patience)); err != nil || asked.Hits() != 1 {
		t.Fatal("there is no connection to the other cluster", err)
	}
	ours.leadBack()
	bind(t, a, idA)
	if _, err := a.ListTopics(within(t, patience)); err != nil || asked.Hits() != 1 {
		t.Errorf("got %v, and %d requests reached the other cluster", err, asked.Hits())
	}
	held.Remove()
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// TestARefusalOfTheRightCluster checks that an error of the client's own cluster is returned, even if the other brokers belong to another
// cluster.
func TestARefusalOfTheRightCluster(t *testing.T) {
	ours := embed(t, kafkatest.Options{Brokers: 2, ClusterID: idA, NoForwarding: true})
	theirs := embed(t, kafkatest.Options{ClusterID: idB})
	others := guard(theirs)
	cfg := quick(ours)
	cfg.Bootstrap = append(theirs.Bootstrap(), cfg.Bootstrap...)
	a := connect(t, cfg)
	bind(t, a, idA)
	if err := ours.StopNode(ours.Controller()); err != nil {
		t.Fatal(err)
	}
	refused := ours.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}})
	ctx := endable(t)
	go func() {
		_ = refused.Wait(t.Context(), 4)
		ctx.end()
	}()
	results, err := a.CreateTopics(ctx, []kafka.NewTopic{{Name: "x", Partitions: 1, ReplicationFactor: 1}}, false)
	if err != nil || kafka.ClassOf(results["x"].Err) != kafka.ClassRetriable {
		t.Errorf("got %v, %v", results, err)
	}
	untouched(t, others)
}

// TestAChangeThatMayHaveBeenCarriedOut checks that such a change is not reported as not made because the next broker belongs to another
// cluster.
func TestAChangeThatMayHaveBeenCarriedOut(t *testing.T) {
	ours := embedFronted(t, kafkatest.Options{ClusterID: idA})
	theirs := embed(t, kafkatest.Options{ClusterID: idB})
	others := guard(theirs)
	a := connect(t, ours.config())
	bind(t, a, idA)
	id := createOne(t, a, "gone").ID
	broken := ours.Inject(kafkatest.Fault{Requests: []string{"DeleteTopics"}, DropAfter: true, Count: 1})
	ours.lead(theirs)
	deleted, err := a.DeleteTopics(within(t, patience), []kafka.TopicID{id})
	if err != nil || kafka.ClassOf(deleted[id]) != kafka.ClassRetriable || broken.Hits() != 1 {
		t.Errorf("got %v, %v after %d broken connections", deleted, err, broken.Hits())
	}
	_, err = a.ListTopics(within(t, patience))
	strayed(t, "reading before writing again", err)
	untouched(t, others)
}

// TestBrokersThatCannotDescribeTheirCluster checks that the id of such a cluster is read in another way.
func TestBrokersThatCannotDescribeTheirCluster(t *testing.T) {
	lacking := func(e *kafkatest.Embedded) {
		e.Fake().ControlKey(int16(kmsg.ApiVersions), func(req kmsg.Request) (kmsg.Response, error, bool) {
			e.Fake().KeepControl()
			resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
			for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.ApiVersions, kmsg.CreateTopics, kmsg.DeleteTopics} {
				k := kmsg.NewApiVersionsResponseApiKey()
				k.ApiKey, k.MaxVersion = key.Int16(), min(kmsg.RequestForKey(key.Int16()).MaxVersion(), 12)
				resp.ApiKeys = append(resp.ApiKeys, k)
			}
			return resp, nil, true
		})
	}
	refusing := func(e *kafkatest.Embedded) {
		e.Inject(kafkatest.Fault{Requests: []string{"DescribeCluster"}, Code: kafka.CodeUnknownServer})
	}
	for name, prepare := range map[string]func(*kafkatest.Embedded){"they lack the request": lacking, "they answer with an error": refusing} {
		t.Run(name, func(t *testing.T) {
			e := embed(t, kafkatest.Options{Brokers: 2, ClusterID: idB})
			prepare(e)
			a := connect(t, quick(e))
			bind(t, a, idB)
			createOne(t, a, "x")
			created := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}})
			stranger := connect(t, quick(e))
			bind(t, stranger, idA)
			_, err := stranger.CreateTopics(within(t, patience), []kafka.NewTopic{{Name: "y", Partitions: 1, ReplicationFactor: 1}}, false)
			strayed(t, "CreateTopics", err)
			if created.Hits() != 0 {
				t.Error("it was sent")
			}
		})
	}
	t.Run("they tell nothing at all", func(t *testing.T) {
		e := embed(t, kafkatest.Options{Brokers: 2, ClusterID: idA})
		refusing(e)
		silent := e.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Code: kafka.CodeUnknownServer})
		others := guard(e)
		a := connect(t, quick(e))
		bind(t, a, idA)
		ctx := endable(t)
		go func() {
			_ = silent.Wait(t.Context(), 3)
			ctx.end()
		}()
		results, err := a.CreateTopics(ctx, []kafka.NewTopic{{Name: "y", Partitions: 1, ReplicationFactor: 1}}, false)
		if results != nil || kafka.ClassOf(err) != kafka.ClassRetriable || !strings.Contains(err.Error(), "no broker reported its cluster id") {
			t.Errorf("got %v, %v", results, err)
		}
		untouched(t, others)
	})
}

// TestTheProofCostsOneRequestForEachConnection, and none for a call.
// TestSomethingForbidsDescribeCluster is a proxy that closes the connection on a request that it does not know. Everything else works
// (the operator runs on without the cluster's id, docs/decisions/another-cluster.md), and a bound client is told the id by other means.
func TestSomethingForbidsDescribeCluster(t *testing.T) {
	for name, bound := range map[string]bool{"not bound": false, "bound": true} {
		t.Run(name, func(t *testing.T) {
			e := embed(t, kafkatest.Options{Brokers: 2})
			e.Inject(kafkatest.Fault{Requests: []string{"DescribeCluster"}, Drop: true})
			a := connect(t, quick(e))
			if bound {
				if err := a.Pin(e.ClusterID()); err != nil {
					t.Fatal(err)
				}
			}
			worksWithout(t, a, "x", "DescribeCluster")
			if _, err := a.DescribeCluster(within(t, time.Second)); err == nil {
				t.Error("DescribeCluster itself worked")
			}
			worksWithout(t, a, "y", "DescribeCluster")
		})
	}
}

func TestTheProofCostsOneRequestForEachConnection(t *testing.T) {
	e := embed(t, kafkatest.Options{ClusterID: idA})
	a := connect(t, quick(e))
	bind(t, a, idA)
	proofs := e.Inject(kafkatest.Fault{Requests: []string{"DescribeCluster"}})
	metadata := e.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Hang: true, Count: 3})
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			if _, err := a.ListTopics(within(t, patience)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := metadata.Wait(within(t, patience), 3); err != nil {
		t.Fatal(err)
	}
	if n := proofs.Hits(); n != 3 {
		t.Errorf("%d proofs for 3 connections", n)
	}
	metadata.Remove() // closes these connections
	calls.Wait()
	before := proofs.Hits()
	for range 10 {
		works(t, a, "x")
	}
	if n := proofs.Hits() - before; n != 10 { // the ones that works makes
		t.Errorf("%d more proofs", n-10)
	}
}

func TestAPinOutlivesTheConfiguration(t *testing.T) {
	ours := embed(t, kafkatest.Options{Brokers: 2, ClusterID: idA})
	theirs := embed(t, kafkatest.Options{ClusterID: idB})
	others := guard(theirs)
	a := connect(t, quick(ours))
	bind(t, a, idA)
	works(t, a, "x")

	// A call in flight is bound too, although it continues with the old configuration.
	slow := ours.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Hang: true, Count: 1})
	answer := make(chan error, 1)
	go func() {
		_, err := a.ListTopics(within(t, patience))
		answer <- err
	}()
	if err := slow.Wait(within(t, patience), 1); err != nil {
		t.Fatal(err)
	}
	if err := a.Reconfigure(quick(theirs)); err != nil {
		t.Fatal(err)
	}
	allStrayed(t, a)
	slow.Remove()
	if err := <-answer; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	if err := a.Pin(idB); kafka.ClassOf(err) != kafka.ClassInvalid {
		t.Errorf("bound to another cluster with another configuration: %v", err)
	}
	if err := a.Reconfigure(quick(ours)); err != nil {
		t.Fatal(err)
	}
	works(t, a, "y")
	untouched(t, others)
}

// TestACancelledCallOfABoundClient checks that the error is the cancellation, not a claim about the cluster.
func TestACancelledCallOfABoundClient(t *testing.T) {
	e := embed(t, kafkatest.Options{ClusterID: idB})
	a := connect(t, quick(e))
	bind(t, a, idA)
	hang := e.Inject(kafkatest.Fault{Requests: []string{"DescribeCluster"}, Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = hang.Wait(t.Context(), 1)
		cancel()
	}()
	if _, err := a.ListTopics(ctx); !errors.Is(err, context.Canceled) || kafka.ClassOf(err) != kafka.ClassRetriable {
		t.Errorf("got %v", err)
	}
}
