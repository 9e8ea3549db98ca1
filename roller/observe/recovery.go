package observe

import (
	"regexp"
	"strings"

	"github.com/kafka-operators/kafka-operators/roller"
)

// What a broker logs while it starts (kafka.log.LogManager, kafka.server.BrokerServer): the only sign of a log recovery that Kafka itself gives to
// somebody who may read no more than the pod's log.
var (
	recoveryBegins = regexp.MustCompile(`Recovering (\d+) logs? from \S+ since no clean shutdown file was found`)
	recoveryGoesOn = regexp.MustCompile(`Recovering unflushed segment`)
	logsLoaded     = regexp.MustCompile(`Loaded \d+ logs in \d+ ?ms`)
	loadsLogs      = regexp.MustCompile(`Loading logs from log dirs`)
)

// RecoveryFromLog tells by the log of a broker that is not ready whether it recovers its logs. Known and nil: it does not. A log that tells neither,
// because its beginning is cut off or the broker is not that far, leaves it unknown.
func RecoveryFromLog(text string) roller.Fact[*roller.Recovery] {
	begun, known := false, false
	for line := range strings.Lines(text) {
		switch {
		case loadsLogs.MatchString(line):
			begun, known = false, true
		case recoveryBegins.MatchString(line), recoveryGoesOn.MatchString(line):
			begun, known = true, true
		case logsLoaded.MatchString(line):
			begun, known = false, true
		}
	}
	switch {
	case !known:
		return roller.Unknown[*roller.Recovery]("the pod's log does not tell whether it recovers its logs")
	case begun:
		return roller.Known(&roller.Recovery{RemainingLogs: -1, RemainingSegments: -1})
	}
	return roller.Known[*roller.Recovery](nil)
}
