package options

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/operator/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// name is the operator's name in Strimzi. Client ids and Leases begin with it.
const name = "strimzi-topic-operator"

// startScript is the command in Strimzi's manifests: /opt/strimzi/bin/topic_operator_run.sh. Our image has no scripts, and ignores this
// argument.
const startScript = "topic_operator_run.sh"

// draft contains the Options while they are being parsed.
type draft struct {
	Options
	kafka         *credentials.Settings
	cruiseControl bool
}

func newDraft() *draft {
	return &draft{kafka: credentials.NewSettings(credentials.Program{ClientID: name})}
}

// Parse reads the options from flags (without the program's name) and the environment. The strings are warnings, for the log.
//
// The error lists all problems. It is flag.ErrHelp or settings.ErrVersion if the command line asks for these; see Help.
func Parse(args []string, env settings.Environment) (Options, []string, error) {
	if len(args) > 0 && path.Base(args[0]) == startScript {
		args = args[1:]
	}
	d := newDraft()
	r, err := table(d).Parse(args, env)
	if err != nil {
		return Options{}, nil, err
	}
	home := r.Home(d.Namespaces)
	d.kafka.Complete(r, home)
	d.Kafka = d.kafka.Result
	// Operators of different Kafka clusters must not wait for each other, and those of one must.
	addresses := slices.Sorted(slices.Values(d.Kafka.Bootstrap))
	sum := sha256.Sum256([]byte(d.Namespaces.String() + "\n" + d.Selector.String() + "\n" + strings.Join(addresses, ",")))
	d.LeaderElection.Complete(r, name+"-"+hex.EncodeToString(sum[:4]), home)
	d.HTTP.Complete(r)
	d.completeGates(r)
	d.completeCruiseControl(r)
	if err := r.Err(); err != nil {
		return Options{}, r.Warnings(), err
	}
	d.Effective = r.String()
	return d.Options, r.Warnings(), nil
}

// Help returns the text of --help, with the usage texts of the subcommands.
func Help(subcommands ...string) string { return table(newDraft(), subcommands...).Help() }

// hints returns advice for variables that users set, and that nothing reads.
func hints() map[string]string {
	const gone = "it belongs to the bidirectional topic operator and has no effect: remove it"
	// Strimzi's documentation names these variables without their prefix.
	const noPrefix = "use STRIMZI_"
	all := map[string]string{
		"STRIMZI_USE_ZOOKEEPER_TOPIC_STORE":         gone,
		"STRIMZI_ZOOKEEPER_CONNECT":                 gone,
		"STRIMZI_ZOOKEEPER_SESSION_TIMEOUT_MS":      gone,
		"STRIMZI_TOPIC_METADATA_MAX_ATTEMPTS":       gone,
		"STRIMZI_TOPICS_PATH":                       gone,
		"STRIMZI_STORE_TOPIC":                       gone,
		"STRIMZI_STORE_NAME":                        gone,
		"STRIMZI_APPLICATION_ID":                    gone,
		"STRIMZI_STALE_RESULT_TIMEOUT_MS":           gone,
		"STRIMZI_REASSIGN_THROTTLE":                 gone,
		"STRIMZI_REASSIGN_VERIFY_INTERVAL_MS":       gone,
		"STRIMZI_MAX_BATCH_LINGER":                  "use STRIMZI_MAX_BATCH_LINGER_MS",
		"MAX_BATCH_LINGER_MS":                       noPrefix + "MAX_BATCH_LINGER_MS",
		"MAX_BATCH_SIZE":                            noPrefix + "MAX_BATCH_SIZE",
		"STRIMZI_CRUISE_CONTROL_TRUSTSTORE_ENABLED": "Cruise Control is not supported yet: remove it",
	}
	maps.Copy(all, settings.CommonHints())
	return all
}
