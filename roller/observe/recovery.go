package observe

import (
	"regexp"
	"strings"

	"github.com/kafka-operators/kafka-operators/roller"
)

// What a broker logs while it starts (kafka.log.LogManager, kafka.server.BrokerServer): the only sign of a log recovery that Kafka itself
// gives to somebody who may read no more than the pod's log.
var (
	recoveryBegins = regexp.MustCompile(`Recovering (\d+) logs? from \S+ since no clean shutdown file was found`)
	recoveryGoesOn = regexp.MustCompile(`Recovering unflushed segment`)
	logsLoaded     = regexp.MustCompile(`Loaded \d+ logs in \d+ ?ms`)
	loadsLogs      = regexp.MustCompile(`Loading logs from log dirs`)
	// What Kafka says first: a log that has this is not cut off.
	starts = regexp.MustCompile(`Registered .?kafka:type=kafka\.Log4jController|Starting SharedServer|\] Starting (controller|broker) ` +
		`\(kafka\.server`)
	// The log of the metadata is always recovered, after an orderly stop too, before all others. It is when its producers are read next.
	metadataRead = regexp.MustCompile(`partition=__cluster_metadata-0\b.*Loading producer state till offset`)
)

// RecoveryFromLog reads in the log of a broker that is not ready whether it recovers its logs. Known and nil: it does not. A log that tells
// neither, because its beginning is cut off, the broker is not that far or the node is no broker, leaves it unknown.
func RecoveryFromLog(text string) roller.Fact[*roller.Recovery] {
	begun, known, whole := false, false, false
	for line := range strings.Lines(text) {
		whole = whole || starts.MatchString(line)
		switch {
		case metadataRead.MatchString(line):
			begun, known = false, false // all that follows is still to come, if the node is a broker
		case loadsLogs.MatchString(line):
			begun, known = false, true
		case recoveryBegins.MatchString(line), recoveryGoesOn.MatchString(line):
			begun, known = true, true
		case logsLoaded.MatchString(line):
			begun, known = false, true
		}
	}
	switch {
	case !known && whole: // it is not that far yet, or has none
		return roller.Known[*roller.Recovery](nil)
	case !known:
		return roller.Unknown[*roller.Recovery]("the pod's log does not show whether it is recovering its logs")
	case begun:
		return roller.Known(&roller.Recovery{RemainingLogs: -1, RemainingSegments: -1})
	}
	return roller.Known[*roller.Recovery](nil)
}
