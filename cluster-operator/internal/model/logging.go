package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// defaultLogging is the default logging configuration of a node, in keys of log4j2's properties. Source: Strimzi's defaults for
// Kafka.
var defaultLogging = map[string]string{
	"name":                               "KafkaConfig",
	"appender.console.type":              "Console",
	"appender.console.name":              "STDOUT",
	"appender.console.layout.type":       "PatternLayout",
	"appender.console.layout.pattern":    "%d{yyyy-MM-dd HH:mm:ss} %-5p [%t] %c{1}:%L - %m%n",
	"rootLogger.level":                   "INFO",
	"rootLogger.appenderRefs":            "console",
	"rootLogger.appenderRef.console.ref": "STDOUT",
	"logger.kafka.name":                  "kafka",
	"logger.kafka.level":                 "INFO",
	"logger.orgapachekafka.name":         "org.apache.kafka",
	"logger.orgapachekafka.level":        "INFO",
	"logger.requestlogger.name":          "kafka.request.logger",
	"logger.requestlogger.level":         "WARN",
	"logger.requestchannel.name":         "kafka.network.RequestChannel$",
	"logger.requestchannel.level":        "WARN",
	"logger.controller.name":             "org.apache.kafka.controller",
	"logger.controller.level":            "INFO",
	"logger.logcleaner.name":             "kafka.log.LogCleaner",
	"logger.logcleaner.level":            "INFO",
	"logger.statechange.name":            "state.change.logger",
	"logger.statechange.level":           "INFO",
	"logger.authorizer.name":             "kafka.authorizer.logger",
	"logger.authorizer.level":            "INFO",
}

// logging returns the configuration of log4j2. Nodes read it again every 30 s, so that a change needs no restart.
func (c *cluster) logging() string {
	return c.loggingAs(Loggers(c.spec().Logging), escapeKey, escapeValue)
}

// loggingInputs is the user's part of it, without escapes, so that a change of how the operator writes the file changes no node.
func (c *cluster) loggingInputs() string {
	asIs := func(text string) string { return text }
	return c.loggingAs(inlineLoggers(c.spec().Logging), asIs, asIs)
}

func (c *cluster) loggingAs(entries map[string]string, key, value func(string) string) string {
	l := c.spec().Logging
	text := ""
	switch {
	case l != nil && l.Type == v1.LoggingExternal:
		text = c.Logging
	default:
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			fmt.Fprintf(&b, "%s=%s\n", key(name), value(entries[name]))
		}
		text = b.String()
	}
	if !strings.Contains(text, "monitorInterval") {
		text = strings.TrimRight(text, "\n") + "\nmonitorInterval=30\n"
	}
	return text
}
