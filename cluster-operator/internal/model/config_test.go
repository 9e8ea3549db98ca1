package model

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestAUsersConfigurationWins(t *testing.T) {
	defaults := map[string]string{"socket.connection.setup.timeout.ms": "3000", "socket.connection.setup.timeout.max.ms": "10000",
		"replica.fetch.backoff.ms": "100"}
	for name, own := range map[string]map[string]string{
		"neither": {},
		"one":     {"socket.connection.setup.timeout.ms": "20000"},
		"both":    {"socket.connection.setup.timeout.ms": "20000", "socket.connection.setup.timeout.max.ms": "60000"},
		"another": {"replica.fetch.backoff.ms": "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			g, in := NewWithT(t), rich(t)
			text, err := json.Marshal(own)
			g.Expect(err).NotTo(HaveOccurred())
			var config map[string]v1.ConfigValue
			g.Expect(json.Unmarshal(text, &config)).To(Succeed())
			maps.Copy(in.Kafka.Spec.Kafka.Config, config)
			want := maps.Clone(defaults)
			maps.Copy(want, own)
			for _, m := range render(t, in, nil).Manifests {
				lines := strings.Split(m.Config.Data["server.config"], "\n")
				for key, value := range want {
					if key == "replica.fetch.backoff.ms" && !m.Node.Roles.Broker && own[key] == "" {
						continue // controllers have no replicas
					}
					g.Expect(lines).To(ContainElement(key+"="+value), "node %d", m.Node.ID)
				}
			}
		})
	}
}

func TestListenerConfigIsReadAsAPropertiesFile(t *testing.T) {
	for name, c := range map[string]struct{ value, line string }{
		"nothing to read": {"RULE:^CN=(.*?),.*$/$1/L", "RULE:^CN=(.*?),.*$/$1/L"},
		"lines that continue": {"com.example.LoginModule required \\\n  user=\"a\" \\\r\n\tpassword=\"b\";\n",
			`com.example.LoginModule required user="a" password="b";\n`},
		"lines that do not":                    {"a\n  b", `a\n  b`},
		"a backslash for a regular expression": {`RULE:^CN=a\\.b$/x/,DEFAULT`, `RULE:^CN=a\\.b$/x/,DEFAULT`},
		"the same, without Java's escape":      {`RULE:^CN=(\w+)\.b$/$1/`, `RULE:^CN=(\\w+)\\.b$/$1/`},
		"an escaped backslash at a line's end": {"a\\\\\nb", `a\\\nb`},
		"a backslash at the end":               {`a\`, `a\\`},
		"what separates keys, and comments":    {`https\://a\=b\#c\!d\ e`, `https://a=b#c!d e`},
		"control characters":                   {`a\tb\nc\rd`, `a\tb\nc\rd`},
		"characters by number":                 {`\u0041\\u0042`, `A\\u0042`},
		"no number":                            {`\user`, `\\user`},
		"leading space that is not to be lost": {`\ a`, `\ a`},
	} {
		t.Run(name, func(t *testing.T) {
			g, in := NewWithT(t), rich(t)
			text, err := json.Marshal(c.value)
			g.Expect(err).NotTo(HaveOccurred())
			in.Kafka.Spec.Kafka.Listeners[0].Authentication = &v1.ListenerAuthentication{Type: v1.AuthenticationCustom,
				ListenerConfig: map[string]v1.ConfigValue{"key": {Raw: text}}}
			config := render(t, in, nil).Manifests[0].Config.Data["server.config"]
			g.Expect(config).To(ContainSubstring("\nlistener.name.plain-9092.key=" + c.line + "\n"))
		})
	}
}

func TestSuperUsersAreReadAsAPropertiesFile(t *testing.T) {
	for item, line := range map[string]string{
		`CN=admin,O=x`:           `CN=admin,O=x`,
		`CN=Doe\\, John,O=x`:     `CN=Doe\\, John,O=x`,
		`CN=Doe\, John,O=x`:      `CN=Doe\\, John,O=x`, // Java would lose the backslash, and the name would be nobody's
		`CN=M\u00FCller`:         `CN=M\u00FCller`,
		`CN=Müller`:              `CN=M\u00FCller`,
		`CN=\\#1`:                `CN=\\#1`,
		`CN=a\=b`:                `CN=a=b`,
		`Doe\\\\John`:            `Doe\\\\John`,
		`CN=a\+b,OU=\\"c\\",O=x`: `CN=a\\+b,OU=\\"c\\",O=x`,
	} {
		g, in := NewWithT(t), rich(t)
		in.Kafka.Spec.Kafka.Authorization.SuperUsers = []string{item}
		g.Expect(render(t, in, nil).Manifests[0].Config.Data["server.config"]).To(ContainSubstring(";User:"+line+"\n"), item)
	}
}

func TestValuesAreWrittenInASCII(t *testing.T) {
	for value, want := range map[string]string{
		" !~\\": `\ !~\\`, "User:CN=Müller": `User:CN=M\u00FCller`, "€": `\u20AC`, "😀": `\uD83D\uDE00`, "\x7f": `\u007F`,
	} {
		g := NewWithT(t)
		g.Expect(escapeValue(value)).To(Equal(want))
		g.Expect(unescapeValue(want)).To(Equal(value))
	}
}

// Log4j reads its properties as java.util.Properties, like Kafka, so a regular expression keeps its backslashes only if they are escaped.
func TestLoggersAreReadAsAPropertiesFile(t *testing.T) {
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{}}
	kafka.Spec.Kafka.Logging = &v1.Logging{Type: v1.LoggingInline, Loggers: map[string]string{
		"appender.console.layout.pattern": `%replace{%m}{password=\S+}{password=ü}%n`, "two": "a\nlines=b", "a key": "c",
	}}
	got := (&cluster{Input{Kafka: kafka}}).logging()
	for _, line := range []string{
		`appender.console.layout.pattern=%replace{%m}{password=\\S+}{password=\u00FC}%n`, `two=a\nlines=b`, `a\ key=c`,
		"logger.requestchannel.name=kafka.network.RequestChannel$",
	} {
		NewWithT(t).Expect(strings.Split(got, "\n")).To(ContainElement(line))
	}
}
