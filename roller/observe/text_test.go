package observe_test

import (
	"testing"

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
		metadata = "[2026-11-21 09:59:58,000] INFO [LogLoader partition=__cluster_metadata-0, dir=/data] Recovering unflushed segment 0. 0 " +
			"recovered for __cluster_metadata-0. (org.apache.kafka.storage.internals.log.LogLoader)\n"
		read = "[2026-11-21 09:59:59,000] INFO [LogLoader partition=__cluster_metadata-0, dir=/data] Loading producer state till offset " +
			"0 (org.apache.kafka.storage.internals.log.UnifiedLog)\n"
		begins = "[2026-11-21 09:59:50,000] INFO Registered `kafka:type=kafka.Log4jController` MBean " +
			"(kafka.utils.Log4jControllerRegistration$)\n"
		recovering = true
	)
	for _, c := range []struct {
		name  string
		log   string
		known bool
		is    bool
	}{
		{"nothing yet", "", false, false},
		{"it has just begun", begins, true, false},
		{"it waits for the quorum, and nothing is cut off", begins + metadata + read, true, false},
		{"it has begun, and recovers", begins + metadata + read + loading + unclean, true, recovering},
		{"a clean start", loading + clean, true, false},
		{"an unclean start", loading + unclean, true, recovering},
		{"in the middle, the beginning is cut off", unflushed + unflushed, true, recovering},
		{"done", loading + unclean + unflushed + loaded, true, false},
		{"a controller recovers its log", metadata, true, recovering},
		{"a controller that has read its log, or a broker that waits for the quorum", metadata + read, false, false},
		{"a broker that goes on to its other logs", metadata + read + loading + unclean, true, recovering},
		{"a broker that is through", metadata + read + loading + unclean + unflushed + loaded, true, false},
		{"restarted in the same log, and waiting for the quorum", loading + unclean + metadata + read, false, false},
		{"restarted in the same log", loading + unclean + loaded + loading + unclean, true, recovering},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			r, known := observe.RecoveryFromLog(c.log).Get()
			g.Expect(known).To(Equal(c.known))
			g.Expect(r != nil).To(Equal(c.is))
			if r != nil {
				g.Expect(*r).To(Equal(roller.Recovery{RemainingLogs: -1, RemainingSegments: -1}))
			}
		})
	}
}
