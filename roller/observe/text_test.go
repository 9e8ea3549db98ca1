package observe_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

func TestProperties(t *testing.T) {
	g := NewWithT(t)
	g.Expect(observe.Properties("# a comment\n! another\n\nnode.id=3\n listeners = PLAINTEXT://:9092 , X://:1 \nlog.dirs:/a,\\\n    " +
		"/b\nempty=\nalone\nspaced value here\nesc\\=aped=a\\tb\\\\c\r\nnode.id=4\n")).To(Equal(map[string]string{
		"node.id": "4", "listeners": "PLAINTEXT://:9092 , X://:1 ", "log.dirs": "/a,/b", "empty": "", "alone": "", "spaced": "value here",
		"esc=aped": "a\tb\\c",
	}))
}

func TestPropertiesWithCharactersByNumber(t *testing.T) {
	for value, want := range map[string]string{
		`M\u00FCller\u20ac`: "Müller€", `\uD83D\uDE00\n`: "😀\n", `\u12`: "u12", `\u12x4`: "u12x4", `\\u0041`: `\u0041`, `\u0041\ux`: "Aux",
	} {
		NewWithT(t).Expect(observe.Properties("key=" + value)).To(Equal(map[string]string{"key": want}))
	}
}

// Log lines of Apache Kafka 4.3.1 (kafka.log.LogManager).
func TestRecoveryByTheLog(t *testing.T) {
	const (
		loading = "[2026-11-21 10:00:00,000] INFO Loading logs from log dirs ArrayBuffer(/data) (kafka.log.LogManager)\n"
		clean   = "[2026-11-21 10:00:00,100] INFO Skipping recovery of 12 logs from /data since clean shutdown file was found " +
			"(kafka.log.LogManager)\n"
		unclean = "[2026-11-21 10:00:00,100] INFO Recovering 12 logs from /data since no clean shutdown file was found " +
			"(kafka.log.LogManager)\n"
		unflushed = "[2026-11-21 10:00:01,000] INFO [LogLoader partition=a-0, dir=/data] Recovering unflushed segment 0. 0 recovered for a-0. " +
			"(org.apache.kafka.storage.internals.log.LogLoader)\n"
		loaded   = "[2026-11-21 10:00:09,000] INFO Loaded 12 logs in 8900ms (kafka.log.LogManager)\n"
		started  = "[2026-11-21 10:00:10,000] INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)\n"
		metadata = "[2026-11-21 09:59:58,000] INFO [LogLoader partition=__cluster_metadata-0, dir=/data] Recovering unflushed segment 0. 0 " +
			"recovered for __cluster_metadata-0. (org.apache.kafka.storage.internals.log.LogLoader)\n"
		read = "[2026-11-21 09:59:59,000] INFO [LogLoader partition=__cluster_metadata-0, dir=/data] Loading producer state till offset " +
			"0 (org.apache.kafka.storage.internals.log.UnifiedLog)\n"
		begins = "[2026-11-21 09:59:50,000] INFO Registered `kafka:type=kafka.Log4jController` MBean " +
			"(kafka.utils.Log4jControllerRegistration$)\n"
		waits = "[2026-11-21 09:59:59,500] INFO [MetadataLoader id=1] initializeNewPublishers: the loader is still catching up because we " +
			"still don't know the high water mark yet. (org.apache.kafka.image.loader.MetadataLoader)\n"
		caughtUp = "[2026-11-21 09:59:59,900] INFO [MetadataLoader id=1] maybePublishMetadata(LOG_DELTA): The loader finished catching up to " +
			"the current high water mark of 17 (org.apache.kafka.image.loader.MetadataLoader)\n"
		publishes = "[2026-11-21 09:59:59,910] INFO [MetadataLoader id=1] InitializeNewPublishers: initializing BrokerMetadataPublisher " +
			"with a snapshot at offset 16 (org.apache.kafka.image.loader.MetadataLoader)\n"
		one = "[2026-11-21 10:00:02,000] INFO Completed load of Log(dir=/data/a-0, topic=a, partition=0, highWatermark=7, " +
			"lastStableOffset=7, logStartOffset=0, logEndOffset=7) with 1 segments, local-log-start-offset 0 and log-end-offset 7 in 12ms " +
			"(1/12 completed in /data) (kafka.log.LogManager)\n"
		recovering, loadingOnly = true, true
		long                    = time.Minute
	)
	for _, c := range []struct {
		name  string
		log   string
		age   time.Duration
		known bool
		is    bool
		loads bool
	}{
		{"nothing yet", "", 0, false, false, false},
		{"it has just begun", begins, 0, true, false, false},
		{"it has just come to the metadata", begins + metadata + read, long - 1, true, false, false},
		{"it waits for the quorum", begins + metadata + read + waits + waits, long, true, false, false},
		{"it waits for the quorum, and the beginning is cut off", waits, long, true, false, false},
		{"it has the metadata, and is silent about its logs", begins + waits + caughtUp, 0, false, false, false},
		{"the same, and it did not have to wait", begins + publishes, 0, false, false, false},
		{"it is silent about everything", begins, long, false, false, false},
		{"it has the metadata, and recovers", begins + waits + caughtUp + publishes + loading + unclean, long, true, recovering, false},
		{"it has begun, and recovers", begins + metadata + read + loading + unclean, long, true, recovering, false},
		{"a clean start, which may take minutes", loading + clean, long, true, true, loadingOnly},
		{"the same, and the beginning is cut off", one + one, long, true, true, loadingOnly},
		{"a clean start that is through", loading + clean + one + loaded + started, long, true, false, false},
		{"an unclean start, and some logs need nothing", loading + unclean + one, long, true, recovering, false},
		{"it stopped while it loaded, and starts again", loading + clean + begins, long, true, false, false},
		{"an unclean start", loading + unclean, long, true, recovering, false},
		{"in the middle, the beginning is cut off", unflushed + unflushed, long, true, recovering, false},
		{"done", loading + unclean + unflushed + loaded + started, long, true, false, false},
		{"a controller recovers its log", metadata, long, true, recovering, false},
		{"a controller that has read its log, or a broker that waits for the quorum", metadata + read, long, false, false, false},
		{"a broker that goes on to its other logs", metadata + read + loading + unclean, long, true, recovering, false},
		{"a broker that is through", metadata + read + loading + unclean + unflushed + loaded + started, long, true, false, false},
		{"restarted in the same log, and waiting for the quorum", loading + unclean + metadata + read, long, false, false, false},
		{"restarted in the same log", loading + unclean + loaded + loading + unclean, long, true, recovering, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			fact, err := observe.RecoveryFromLog(strings.NewReader(c.log), c.age, time.Now())
			g.Expect(err).NotTo(HaveOccurred())
			r, known := fact.Get()
			g.Expect(known).To(Equal(c.known))
			g.Expect(r != nil).To(Equal(c.is))
			if r != nil {
				g.Expect(*r).To(Equal(roller.Recovery{RemainingLogs: -1, RemainingSegments: -1, Loading: c.loads}))
			}
		})
	}
}

// Kafka notes that its logs are whole when it stops, and only if it had started: one that is stopped right after it has read its logs
// recovers all of them again. One that does not start may need what a restart brings.
func TestABrokerThatHasReadItsLogsGetsTimeToStart(t *testing.T) {
	const (
		unclean = "2026-11-21T09:00:00.1Z [2026-11-21 09:00:00,100] INFO Recovering 12 logs from /data since no clean shutdown file was found\n"
		loaded  = "[2026-11-21 10:00:00,000] INFO Loaded 12 logs in 3600000ms (kafka.log.LogManager)\n"
		stamped = "2026-11-21T10:00:00.000000001Z " + loaded
		started = "[2026-11-21 10:00:10,000] INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)\n"
		begins  = "[2026-11-21 10:00:20,000] INFO Starting SharedServer\n"
		limit   = 5 * time.Minute
	)
	read := time.Date(2026, time.November, 21, 10, 0, 0, 1, time.UTC)
	for _, c := range []struct {
		name string
		log  string
		age  time.Duration
		now  time.Time
		is   bool
	}{
		{"it has just read them", unclean + stamped, time.Hour, read, true},
		{"by a clock that is behind", unclean + stamped, time.Hour, read.Add(-time.Minute), true},
		{"until the limit", unclean + stamped, time.Hour, read.Add(limit - 1), true},
		{"it does not start", unclean + stamped, time.Hour, read.Add(limit), false},
		{"it has started", unclean + stamped + started, time.Hour, read, false},
		{"it begins again", unclean + stamped + begins, 0, read, false},
		{"without a time, it is as long as it may be", unclean + loaded, limit - 1, read, true},
		{"the same, and that is too long", unclean + loaded, limit, read, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			fact, err := observe.RecoveryFromLog(strings.NewReader(c.log), c.age, c.now)
			g.Expect(err).NotTo(HaveOccurred())
			r, known := fact.Get()
			g.Expect(known).To(BeTrue())
			if !c.is {
				g.Expect(r).To(BeNil())
				return
			}
			g.Expect(r).To(HaveValue(Equal(roller.Recovery{RemainingLogs: -1, RemainingSegments: -1, Loaded: true})))
			g.Expect(r.String()).To(Equal("it has read its logs, and has not started yet"))
		})
	}
}

// A line of any length is none that matters, and a log that breaks off tells nothing.
func TestLogsThatAreLongOrBreakOff(t *testing.T) {
	g := NewWithT(t)
	const unclean = "Recovering 12 logs from /data since no clean shutdown file was found\n"
	long := strings.Repeat("x", 1<<20) + "\n"
	fact, err := observe.RecoveryFromLog(strings.NewReader(long+unclean+long), time.Hour, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fact.Or(nil)).NotTo(BeNil())
	_, err = observe.RecoveryFromLog(io.MultiReader(strings.NewReader(unclean), iotest.ErrReader(errors.New("cut"))), time.Hour, time.Now())
	g.Expect(err).To(MatchError("cut"))
}

// probes counts how many nodes are probed at once.
type probes struct{ now, most atomic.Int32 }

func (p *probes) Recovery(context.Context, string, string, time.Duration) (*roller.Recovery, error) {
	p.most.Store(max(p.most.Load(), p.now.Add(1)))
	<-time.After(time.Second) // of synctest
	p.now.Add(-1)
	return nil, nil
}

// After an outage of everything, not all logs are read at once.
func TestLogsAreReadAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var nodes []roller.Node
		for id := range roller.NodeID(100) {
			nodes = append(nodes, roller.Node{ID: id, Instance: roller.Known("1"), Ready: roller.Known(false)})
		}
		var p probes
		g.Expect((&observe.Observer{Prober: &p}).Recoveries(t.Context(), nodes)).To(HaveLen(100))
		g.Expect(p.most.Load()).To(BeNumerically("<=", 32))
	})
}
