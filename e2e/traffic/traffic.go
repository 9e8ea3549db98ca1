// Package traffic writes records to a Kafka and reads them, with the defaults of clients: acks=all, idempotent, a timeout of two minutes
// for each record, and a consumer in a group. The [Report] has the results of all records.
package traffic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"        //nolint:depguard // the port has no records, and tests write and read some
	"github.com/twmb/franz-go/pkg/sasl/scram" //nolint:depguard // the same
)

// Options are the options of the clients.
type Options struct {
	// Bootstrap are the addresses of brokers.
	Bootstrap []string
	// Dial, if set, opens the connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS, if set, is the client's TLS configuration. Clients verify the names that the brokers advertise.
	TLS *tls.Config
	// Authorities, if set, returns the trusted CAs for each new TLS connection: a CA may be replaced while records are written.
	Authorities func() (*x509.CertPool, error)
	// User and Password, if set, are the credentials for SCRAM-SHA-512.
	User, Password string
	// Topic is the topic, which must exist, and Group the consumer's group.
	Topic, Group string
	// Every is the interval between records, 5 ms if not set.
	Every time.Duration
}

// Traffic is a running producer and consumer.
type Traffic struct {
	stop     context.CancelFunc
	stopped  sync.Once
	written  sync.WaitGroup
	consumer *kgo.Client

	mu     sync.Mutex
	report Report
	places map[string]map[string]bool // where each record was read, by its value
}

// Report has the results of all records. A consumer may read a record twice, but a record must not have two offsets.
type Report struct {
	// Acknowledged are the values of the acknowledged records, Refused the errors of the others.
	Acknowledged []string
	Refused      []error
	// Read is the number of different records that were read, Failures are the consumer's errors.
	Read     int
	Failures []error
	// Lost are acknowledged records that were not read, Doubled those with several offsets.
	Lost, Doubled []string
	// Longest is the longest time from sending a record to its acknowledgement.
	Longest time.Duration
	// Sends are the acknowledged records, in the order of their acknowledgement.
	Sends []Send
}

// Send is an acknowledged record.
type Send struct {
	At        time.Time
	Took      time.Duration
	Partition int32
}

// Percentile returns the time within which p percent of the records that were sent between from and to were acknowledged; zero if there
// were none.
func (r Report) Percentile(p float64, from, to time.Time) time.Duration {
	var took []time.Duration
	for _, s := range r.Sends {
		if !s.At.Before(from) && s.At.Before(to) {
			took = append(took, s.Took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(len(took)-1, int(float64(len(took))*p/100))]
}

// Err returns the problems: refused, lost or doubled records, and the consumer's errors.
func (r Report) Err() error {
	errs := append([]error{}, r.Refused...)
	errs = append(errs, r.Failures...)
	if len(r.Lost) > 0 || len(r.Doubled) > 0 {
		errs = append(errs, fmt.Errorf("of %d acknowledged records, %d are lost and %d are there twice", len(r.Acknowledged), len(r.Lost),
			len(r.Doubled)))
	}
	return errors.Join(errs...)
}

// Start starts to write and to read. Stop ends both.
func Start(ctx context.Context, o Options) (*Traffic, error) {
	if o.Every == 0 {
		o.Every = 5 * time.Millisecond
	}
	// Like Kafka's own clients, retry an unknown topic until the delivery timeout.
	producer, err := connect(o, kgo.DefaultProduceTopic(o.Topic), kgo.RecordDeliveryTimeout(2*time.Minute), kgo.UnknownTopicRetries(-1))
	if err != nil {
		return nil, err
	}
	consumer, err := connect(o, kgo.ConsumeTopics(o.Topic), kgo.ConsumerGroup(o.Group), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		producer.Close()
		return nil, err
	}
	t := &Traffic{consumer: consumer, places: map[string]map[string]bool{}}
	// Requests that are under way when the context ends still complete.
	writing, stop := context.WithCancel(ctx)
	t.stop = stop
	t.written.Go(func() { t.write(writing, context.WithoutCancel(ctx), producer, o.Every) })
	go t.read()
	return t, nil
}

// dialing is the timeout of a connection attempt: a machine without power does not respond at all.
const dialing = 10 * time.Second

// retryBackoff and retryBackoffMax are the shortest and the longest time after which Kafka's own clients retry and look for the leader
// after an error (retry.backoff.ms, retry.backoff.max.ms). By default, this client would look for the leader every 5 s at most.
const retryBackoff, retryBackoffMax = 100 * time.Millisecond, time.Second

// connect returns a client, which connects at its first request.
func connect(o Options, opts ...kgo.Opt) (*kgo.Client, error) {
	// A broker that stops or starts may close a connection before it answers the first request, which the client takes for a wrong setting.
	opts = append(opts, kgo.AlwaysRetryEOF(), kgo.SeedBrokers(o.Bootstrap...), kgo.MetadataMinAge(retryBackoff),
		kgo.RetryBackoffFn(func(tries int) time.Duration { return min(retryBackoff<<min(max(tries-1, 0), 10), retryBackoffMax) }))
	if o.User != "" {
		opts = append(opts, kgo.SASL(scram.Auth{User: o.User, Pass: o.Password}.AsSha512Mechanism()))
	}
	dial := o.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return kgo.NewClient(append(opts, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialing)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil || o.TLS == nil {
			return conn, err
		}
		return handshake(ctx, conn, o, address)
	}))...)
}

func handshake(ctx context.Context, conn net.Conn, o Options, address string) (net.Conn, error) {
	config := o.TLS.Clone()
	host, _, err := net.SplitHostPort(address)
	if err == nil && o.Authorities != nil {
		config.RootCAs, err = o.Authorities()
	}
	if err == nil {
		config.ServerName = host
		secured := tls.Client(conn, config)
		if err = secured.HandshakeContext(ctx); err == nil {
			return secured, nil
		}
	}
	return nil, errors.Join(err, conn.Close())
}

// write writes until writing ends, and waits for all acknowledgements.
func (t *Traffic) write(writing, ctx context.Context, producer *kgo.Client, every time.Duration) {
	defer producer.Close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; writing.Err() == nil; n++ {
		value, began := strconv.Itoa(n), time.Now()
		producer.Produce(ctx, &kgo.Record{Value: []byte(value)}, func(r *kgo.Record, err error) { t.answered(r, began, err) })
		select {
		case <-writing.Done():
		case <-tick.C:
		}
	}
	_ = producer.Flush(ctx) // each record's own error is reported
}

func (t *Traffic) answered(r *kgo.Record, began time.Time, err error) {
	took := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.report.Refused = append(t.report.Refused, err)
		return
	}
	t.report.Acknowledged = append(t.report.Acknowledged, string(r.Value))
	t.report.Longest = max(t.report.Longest, took)
	t.report.Sends = append(t.report.Sends, Send{At: began, Took: took, Partition: r.Partition})
}

// read reads until the consumer is closed.
func (t *Traffic) read() {
	for {
		fetches := t.consumer.PollFetches(context.Background())
		if fetches.IsClientClosed() {
			return
		}
		t.mu.Lock()
		fetches.EachError(func(topic string, partition int32, err error) {
			if rejoins(err) {
				return
			}
			t.report.Failures = append(t.report.Failures, fmt.Errorf("%s-%d: %w", topic, partition, err))
		})
		fetches.EachRecord(func(r *kgo.Record) {
			value := string(r.Value)
			if t.places[value] == nil {
				t.places[value] = map[string]bool{}
			}
			t.places[value][fmt.Sprintf("%d@%d", r.Offset, r.Partition)] = true
		})
		t.mu.Unlock()
	}
}

// rejoins reports whether an error means that the consumer lost its group because it could not reach a broker. It joins again by itself, as
// other clients do without an error. Records that it does not read count as lost.
func rejoins(err error) bool {
	var session *kgo.ErrGroupSession
	var network *net.OpError
	return errors.As(err, &session) && errors.As(session.Err, &network)
}

// Progress has the numbers of records so far.
type Progress struct{ Acknowledged, Refused, Read int }

// Progress returns the numbers of records so far.
func (t *Traffic) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Progress{Acknowledged: len(t.report.Acknowledged), Refused: len(t.report.Refused), Read: len(t.places)}
}

// Stop ends the writing, waits until each record is acknowledged or refused and each acknowledged one is read, or until the context ends,
// and returns the report. Further calls return the same report.
func (t *Traffic) Stop(ctx context.Context) Report {
	t.stopped.Do(func() { t.finish(ctx) })
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report
}

func (t *Traffic) finish(ctx context.Context) {
	t.stop()
	t.written.Wait()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(t.missing()) > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	t.consumer.Close()
	lost := t.missing()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Lost, t.report.Read = lost, len(t.places)
	for value, places := range t.places {
		if len(places) > 1 {
			t.report.Doubled = append(t.report.Doubled, value)
		}
	}
}

// missing returns the acknowledged records that were not read yet.
func (t *Traffic) missing() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var missing []string
	for _, value := range t.report.Acknowledged {
		if len(t.places[value]) == 0 {
			missing = append(missing, value)
		}
	}
	return missing
}
