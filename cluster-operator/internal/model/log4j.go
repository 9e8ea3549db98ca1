package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// log4jNeeds are what begins keys of log4j2 with a dot, and what each component of that kind needs. Source:
// PropertiesConfigurationBuilder of log4j 2.25.
var log4jNeeds = map[string]string{
	"appender": "type", "customLevel": "", "filter": "type", "logger": "name", "property": "", "rootLogger": "", "script": "",
}

// OfLog4j reports whether log4j2 can read a key beside all others. Kafka does not start with one that it can't read, such as those of
// log4j 1.
func OfLog4j(key string, all map[string]string) bool {
	part, _, dotted := strings.Cut(key, ".")
	_, known := log4jNeeds[part]
	return !dotted || known || all[part+".type"] != ""
}

// Log4jFlaw returns why Kafka does not start with a configuration of log4j2, "" if nothing is known against it.
func Log4jFlaw(all map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !OfLog4j(key, all) {
			return key + " is no key of log4j2, which has keys such as rootLogger.level, logger.kafka.name and logger.kafka.level"
		}
		part, rest, _ := strings.Cut(key, ".")
		name, _, _ := strings.Cut(rest, ".")
		if need := log4jNeeds[part]; need != "" && rest != "" && all[part+"."+name+"."+need] == "" {
			return fmt.Sprintf("%s needs %s.%s.%s", key, part, name, need)
		}
	}
	return ""
}

// Loggers returns the configuration of log4j2 with a user's inline loggers, without keys that log4j2 can't read.
func Loggers(l *v1.Logging) map[string]string {
	entries := inlineLoggers(l)
	all := maps.Clone(entries)
	maps.DeleteFunc(entries, func(key, _ string) bool { return !OfLog4j(key, all) })
	return entries
}

// inlineLoggers returns the defaults, and over them what a user configured.
func inlineLoggers(l *v1.Logging) map[string]string {
	entries := maps.Clone(defaultLogging)
	if l != nil {
		maps.Copy(entries, l.Loggers)
	}
	return entries
}

// PropertiesOf reads a file of Java properties without escapes: a key with one is left out.
func PropertiesOf(text string) map[string]string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	properties := map[string]string{}
	const white = " \t\f"
	continues := false
	for line := range strings.SplitSeq(text, "\n") {
		begins := !continues
		line = strings.TrimLeft(line, white)
		if begins && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		continues = (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
		if !begins {
			continue
		}
		end := strings.IndexAny(line, "=:"+white)
		if end < 0 {
			end = len(line)
		}
		key := line[:end]
		value := strings.TrimLeft(line[end:], white)
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], white)
		}
		if !strings.Contains(key, `\`) {
			properties[key] = value
		}
	}
	return properties
}
