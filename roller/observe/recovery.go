package observe

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// The log lines of a starting broker (kafka.log.LogManager, kafka.server.BrokerServer): the only sign of a log recovery for a client that
// may read only the pod's log.
var (
	recoveryBegins = regexp.MustCompile(`Recovering (\d+) logs? from \S+ since no clean shutdown file was found`)
	recoveryGoesOn = regexp.MustCompile(`Recovering unflushed segment`)
	logsLoaded     = regexp.MustCompile(`Loaded \d+ logs in \d+ ?ms`)
	loadsLogs      = regexp.MustCompile(`Loading logs from log dirs`)
	logLoaded      = regexp.MustCompile(`Completed load of .* segments`)
	started        = regexp.MustCompile(`Kafka Server started`)
	// The first lines of a start: a log that contains one is not truncated.
	starts = regexp.MustCompile(`Registered .?kafka:type=kafka\.Log4jController|Starting SharedServer|\] Starting (controller|broker) ` +
		`\(kafka\.server`)
	// Kafka always recovers the log of the metadata before all others, even after an orderly stop. Next it reads the state of its
	// producers.
	metadataRead = regexp.MustCompile(`partition=__cluster_metadata-0\b.*Loading producer state till offset`)
	// A broker waits for the metadata (org.apache.kafka.image.loader.MetadataLoader) before it recovers its logs. It says so ten times a
	// second.
	waitsForMetadata = regexp.MustCompile(`[tT]he loader is still catching up`)
	hasMetadata      = regexp.MustCompile(`The loader finished catching up|InitializeNewPublishers: initializing `)
)

// reached is the time after which a broker that does not say that it waits counts as having come to its logs, even if its log shows
// neither: the levels of its loggers may be too high.
const reached = time.Minute

// starting is how long a broker that has read its logs may take to start. After that it may need what a restart brings, such as another
// configuration, more than it needs to keep what it has read.
const starting = 5 * time.Minute

// longestLine is how much of a line is read: many logs are read at once, and none is kept in memory.
const longestLine = 16 * 1024

// RecoveryFromLog finds out from the log of a broker that is not ready, and has run for that long, whether it is recovering or loading its
// logs, or has done so and has not started yet. Known and nil means that it is not. The result is unknown if the log shows neither, because
// its beginning is missing, the loggers are silent or the node is no broker. Lines may begin with the time at which they were written.
func RecoveryFromLog(log io.Reader, age time.Duration, now time.Time) (roller.Fact[*roller.Recovery], error) {
	var s start
	lines := bufio.NewReaderSize(log, longestLine)
	for {
		line, err := nextLine(lines)
		if errors.Is(err, io.EOF) {
			return s.recovery(now), nil
		}
		if err != nil {
			return roller.Fact[*roller.Recovery]{}, err
		}
		s.read(line, age, now)
	}
}

// start is how far a broker has come with its start.
type start struct {
	// known means that it has come to its logs. It loads all of them, and meanwhile recovers those that need it.
	known, loads, recovers bool
	// early means that it has not come to its logs yet.
	early bool
	// loaded is when it had read all its logs, if it has not started since.
	loaded time.Time
}

// read updates the start with a line of the log.
func (s *start) read(line []byte, age time.Duration, now time.Time) {
	switch {
	case starts.Match(line):
		s.loads, s.early, s.loaded = false, age < reached, time.Time{}
	case waitsForMetadata.Match(line):
		*s = start{early: true}
	case hasMetadata.Match(line):
		s.early = false
	case metadataRead.Match(line):
		*s = start{early: s.early} // everything else is still to come if the node is a broker
	case loadsLogs.Match(line):
		s.known, s.loads, s.recovers, s.loaded = true, true, false, time.Time{}
	case logLoaded.Match(line):
		s.known, s.loads = true, true
	case recoveryBegins.Match(line), recoveryGoesOn.Match(line):
		s.known, s.recovers = true, true
	case logsLoaded.Match(line):
		s.known, s.loads, s.recovers, s.loaded = true, false, false, writtenAt(line, now.Add(-age))
	case started.Match(line):
		s.loaded = time.Time{}
	}
}

// writtenAt returns the time at the beginning of a line, or another one if there is none.
func writtenAt(line []byte, otherwise time.Time) time.Time {
	first, _, _ := bytes.Cut(line, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(first))
	if err != nil {
		return otherwise
	}
	return at
}

// recovery returns what the start shows of the recovery.
func (s *start) recovery(now time.Time) roller.Fact[*roller.Recovery] {
	switch {
	case s.recovers, s.loads:
		return roller.Known(&roller.Recovery{RemainingLogs: -1, RemainingSegments: -1, Loading: !s.recovers})
	case !s.loaded.IsZero() && now.Sub(s.loaded) < starting:
		return roller.Known(&roller.Recovery{RemainingLogs: -1, RemainingSegments: -1, Loaded: true})
	case !s.known && !s.early:
		return roller.Unknown[*roller.Recovery]("the pod's log does not show whether it is recovering its logs")
	}
	return roller.Known[*roller.Recovery](nil)
}

// nextLine returns the next line, or the beginning of one that is longer than the buffer.
func nextLine(lines *bufio.Reader) ([]byte, error) {
	line, rest, err := lines.ReadLine()
	if !rest {
		return line, err
	}
	line = bytes.Clone(line)
	for rest && err == nil {
		_, rest, err = lines.ReadLine()
	}
	return line, err
}
