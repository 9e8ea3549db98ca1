package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// kind is the type of a configuration's value.
type kind int

const (
	text kind = iota
	boolean
	integer
	long
	fraction
	list
)

// definition defines one key.
type definition struct {
	kind   kind
	preset string
	least  int64    // the lowest allowed number
	one    []string // if set, the allowed values
}

const anyNumber = -1 << 62

// definitions are the topic configurations of Kafka 4.3 (org.apache.kafka.storage.internals.log.LogConfig), with their defaults.
var definitions = map[string]definition{
	"cleanup.policy":                          {list, "delete", 0, []string{"compact", "delete"}},
	"compression.gzip.level":                  {integer, "-1", -1, nil},
	"compression.lz4.level":                   {integer, "9", 1, nil},
	"compression.type":                        {text, "producer", 0, []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}},
	"compression.zstd.level":                  {integer, "3", -131072, nil},
	"delete.retention.ms":                     {long, "86400000", 0, nil},
	"file.delete.delay.ms":                    {long, "60000", 0, nil},
	"flush.messages":                          {long, "9223372036854775807", 1, nil},
	"flush.ms":                                {long, "9223372036854775807", 0, nil},
	"follower.replication.throttled.replicas": {list, "", 0, nil},
	"index.interval.bytes":                    {integer, "4096", 0, nil},
	"leader.replication.throttled.replicas":   {list, "", 0, nil},
	"local.retention.bytes":                   {long, "-2", -2, nil},
	"local.retention.ms":                      {long, "-2", -2, nil},
	"max.compaction.lag.ms":                   {long, "9223372036854775807", 1, nil},
	"max.message.bytes":                       {integer, "1048588", 0, nil},
	"message.timestamp.after.max.ms":          {long, "3600000", 0, nil},
	"message.timestamp.before.max.ms":         {long, "9223372036854775807", 0, nil},
	"message.timestamp.type":                  {text, "CreateTime", 0, []string{"CreateTime", "LogAppendTime"}},
	"min.cleanable.dirty.ratio":               {fraction, "0.5", 0, nil},
	"min.compaction.lag.ms":                   {long, "0", 0, nil},
	"min.insync.replicas":                     {integer, "1", 1, nil},
	"preallocate":                             {boolean, "false", 0, nil},
	"remote.log.copy.disable":                 {boolean, "false", 0, nil},
	"remote.log.delete.on.disable":            {boolean, "false", 0, nil},
	"remote.storage.enable":                   {boolean, "false", 0, nil},
	"retention.bytes":                         {long, "-1", anyNumber, nil},
	"retention.ms":                            {long, "604800000", -1, nil},
	"segment.bytes":                           {integer, "1073741824", 1024 * 1024, nil},
	"segment.index.bytes":                     {integer, "10485760", 4, nil},
	"segment.jitter.ms":                       {long, "0", 0, nil},
	"segment.ms":                              {long, "604800000", 1, nil},
	"unclean.leader.election.enable":          {boolean, "false", 0, nil},
}

// Defaults returns the default of every topic configuration, by key.
func Defaults() map[string]string {
	out := make(map[string]string, len(definitions))
	for key, d := range definitions {
		out[key] = d.preset
	}
	return out
}

// throttled is the form of a list of throttled replicas (org.apache.kafka.server.config.ThrottledReplicaListValidator).
var throttled = regexp.MustCompile(`^(\*|([0-9]+:[0-9]+(,[0-9]+:[0-9]+)*)?)$`)

// Configs checks the configuration of a topic to create.
func Configs(configs map[string]*string) error {
	for _, key := range slices.Sorted(maps.Keys(configs)) {
		if configs[key] == nil {
			return kafka.NewError(kafka.CodeInvalidConfig, "Null value not supported for topic configs: "+key)
		}
		if err := Config(key, *configs[key]); err != nil {
			return err
		}
	}
	return nil
}

// Key checks that a topic configuration of this name exists.
func Key(key string) error {
	if _, ok := definitions[key]; !ok {
		return kafka.NewError(kafka.CodeInvalidConfig, "Unknown topic config name: "+key)
	}
	return nil
}

// Config checks one value.
func Config(key, value string) error {
	if err := Key(key); err != nil {
		return err
	}
	culprit, why := definitions[key].refuse(value)
	if strings.HasSuffix(key, ".replication.throttled.replicas") && !throttled.MatchString(value) {
		culprit = "[" + strings.Join(strings.Split(value, ","), ", ") + "]"
		why = key + " must be the literal '*' or a list of replicas in the following format: " +
			"[partitionId]:[brokerId],[partitionId]:[brokerId],..."
	}
	if why != "" {
		return kafka.NewError(kafka.CodeInvalidConfig, fmt.Sprintf("Invalid value %s for configuration %s: %s", culprit, key, why))
	}
	return nil
}

// refuse explains why a value is not of the kind, and which part of it is wrong; both are empty if the value is valid.
func (d definition) refuse(value string) (culprit, why string) {
	switch d.kind {
	case boolean:
		if lower := strings.ToLower(value); lower != "true" && lower != "false" {
			return value, "Expected value to be either true or false"
		}
	case integer:
		return d.number(value, 32, "INT")
	case long:
		return d.number(value, 64, "LONG")
	case fraction:
		return ratio(value)
	case list:
		for element := range strings.SplitSeq(value, ",") {
			if element = strings.TrimSpace(element); d.one != nil && !slices.Contains(d.one, element) {
				return element, "String must be one of: " + strings.Join(d.one, ", ")
			}
		}
	case text:
		if d.one != nil && !slices.Contains(d.one, value) {
			return value, "String must be one of: " + strings.Join(d.one, ", ")
		}
	}
	return "", ""
}

func (d definition) number(value string, bits int, name string) (culprit, why string) {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, bits)
	if err != nil {
		return value, "Not a number of type " + name
	}
	if n < d.least {
		return value, fmt.Sprintf("Value must be at least %d", d.least)
	}
	return "", ""
}

// ratio checks a number from 0 to 1, which Java prints with a fraction.
func ratio(value string) (culprit, why string) {
	f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	printed := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(printed, ".") {
		printed += ".0"
	}
	switch {
	case err != nil:
		return value, "Not a number of type DOUBLE"
	case f < 0:
		return printed, "Value must be at least 0"
	case f > 1:
		return printed, "Value must be no more than 1"
	}
	return "", ""
}
