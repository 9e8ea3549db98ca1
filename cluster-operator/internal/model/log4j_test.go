package model

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Kafka ends before it logs anything with a key that log4j2 can't read. Manifests for Strimzi have had such keys since log4j 1.
func TestKeysThatLog4jCannotReadAreLeftOut(t *testing.T) {
	g := NewWithT(t)
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{}}
	kafka.Spec.Kafka.Logging = &v1.Logging{Type: v1.LoggingInline, Loggers: map[string]string{
		"kafka.root.logger.level": "INFO", "log4j.logger.kafka": "INFO", "logger.a.name": "a", "logger.a.level": "DEBUG",
		"mine.type": "Properties", "mine.x": "y", "status": "warn",
	}}
	c := &cluster{Input{Kafka: kafka}}
	g.Expect(c.logging()).NotTo(Or(ContainSubstring("kafka.root"), ContainSubstring("log4j.")))
	g.Expect(c.logging()).To(And(ContainSubstring("logger.a.level=DEBUG\n"), ContainSubstring("mine.x=y\n"), ContainSubstring("status=warn\n"),
		ContainSubstring("rootLogger.level=INFO\n")))
	g.Expect(Log4jFlaw(Loggers(kafka.Spec.Kafka.Logging))).To(BeEmpty())
}

// These were tried with log4j 2.25: Kafka starts with those without a flaw, and with none of the others.
func TestWithWhichLoggersKafkaStarts(t *testing.T) {
	const noKey = " is no key of log4j2, which has keys such as rootLogger.level, logger.kafka.name and logger.kafka.level"
	for text, flaw := range map[string]string{
		"":                              "",
		"# log4j.a=b\n! c.d=e\nfoo=bar": "",
		"property.x=y\nscript.x=1\ncustomLevel.NOTE=350\nstatus=warn": "",
		"logger.a.name=a\nlogger.a.level=DEBUGG":                      "",
		"foo.type=Properties\nfoo.x=y":                                "",
		"rootLogger=INFO, STDOUT\nrootLogger.appenderRef.z.ref=NOPE":  "",
		"appender.a.type : Console\r\nappender.a.name STDOUT":         "",
		"property.long = a\\\n  log4j.b=c":                            "",
		"log4j.rootLogger=INFO, CONSOLE":                              "log4j.rootLogger" + noKey,
		"arbiter.x.type=SystemPropertyArbiter":                        "arbiter.x.type" + noKey,
		"logger.kafka.controller.level=INFO":                          "logger.kafka.controller.level needs logger.kafka.name",
		"logger.a=DEBUG":                                              "logger.a needs logger.a.name",
		"logger.a.name=":                                              "logger.a.name needs logger.a.name",
		"appender.y.name=Y":                                           "appender.y.name needs appender.y.type",
		"filter.x.level=INFO":                                         "filter.x.level needs filter.x.type",
	} {
		NewWithT(t).Expect(Log4jFlaw(PropertiesOf(text))).To(Equal(flaw), text)
	}
}
