package options

import (
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

const endpoint = `"sasl.oauthbearer.token.endpoint.url":"https://idp:8443/token"`

func TestCustomSASL(t *testing.T) {
	oauth := func(o credentials.OAuth) credentials.SASL {
		if o.TokenEndpoint == "" {
			o.TokenEndpoint = "https://idp:8443/token"
		}
		if o.Extensions == nil {
			o.Extensions = map[string]string{}
		}
		return credentials.SASL{Mechanism: kafka.SASLOAuthBearer, OAuth: &o}
	}
	cases := map[string]struct {
		json string
		want credentials.SASL
	}{
		"PLAIN": {`{"sasl.mechanism":"PLAIN","sasl.jaas.config":"` + plainJAAS + `"}`,
			credentials.SASL{Mechanism: kafka.SASLPlain, Username: "foo", Password: credentials.Conceal("bar")}},
		"SCRAM": {`{"sasl.mechanism":"SCRAM-SHA-512","sasl.jaas.config":"org.apache.kafka.common.security.scram.ScramLoginModule required ` +
			`username=foo password='b;a\"r';"}`,
			credentials.SASL{Mechanism: kafka.SASLScramSHA512, Username: "foo", Password: credentials.Conceal(`b;a"r`)}},
		"a distribution's own prefix": {`{"sasl.mechanism":"PLAIN","sasl.jaas.config":"kafkashaded.` + plainJAAS + `"}`,
			credentials.SASL{Mechanism: kafka.SASLPlain, Username: "foo", Password: credentials.Conceal("bar")}},
		"OAUTHBEARER by JAAS": {`{"sasl.mechanism":"OAUTHBEARER",` + endpoint + `,"sasl.jaas.config":"` + oauthJAAS + `"}`,
			oauth(credentials.OAuth{ClientID: "me", ClientSecret: credentials.Conceal("hush"), Scope: "a b",
				Extensions: map[string]string{"logicalCluster": "lc"}})},
		"OAUTHBEARER by KIP-1139": {`{"sasl.mechanism":"OAUTHBEARER",` + endpoint + `,"sasl.oauthbearer.client.credentials.client.id":"me",
			"sasl.oauthbearer.client.credentials.client.secret":"hush","sasl.oauthbearer.scope":"s",
			"sasl.jaas.config":"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required ;",
			"sasl.login.callback.handler.class":"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"}`,
			oauth(credentials.OAuth{ClientID: "me", ClientSecret: credentials.Conceal("hush"), Scope: "s"})},
		"OAUTHBEARER as Strimzi's library has it": {`{"sasl.mechanism":"OAUTHBEARER",` +
			`"sasl.jaas.config":"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required` +
			` oauth.token.endpoint.uri=\"https://keycloak/token\" oauth.client.id=\"me\" oauth.client.secret=\"hush\";",
			"sasl.login.callback.handler.class":"io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"}`,
			oauth(credentials.OAuth{TokenEndpoint: "https://keycloak/token", ClientID: "me", ClientSecret: credentials.Conceal("hush")})},
		"slashes in values are no comments": {`{"sasl.mechanism":"OAUTHBEARER"/**/,"sasl.oauthbearer.token.endpoint.url":"https://x/*y*/",` +
			`"sasl.oauthbearer.client.credentials.client.id":"a\"//b","sasl.oauthbearer.client.credentials.client.secret":"c" // end
			}`, oauth(credentials.OAuth{TokenEndpoint: "https://x/*y*/", ClientID: `a"//b`, ClientSecret: credentials.Conceal("c")})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o, _ := with("STRIMZI_SASL_ENABLED", "true", "STRIMZI_SASL_CUSTOM_CONFIG_JSON", c.json).parse(t)
			if c.want.OAuth != nil && o.Kafka.SASL.OAuth != nil {
				equal(t, "OAuth", *o.Kafka.SASL.OAuth, *c.want.OAuth)
				equal(t, "secret", o.Kafka.SASL.OAuth.ClientSecret.Reveal(), c.want.OAuth.ClientSecret.Reveal())
			}
			equal(t, "login", o.Kafka.SASL, c.want)
		})
	}
}

func TestCustomSASLRefused(t *testing.T) {
	scram := `"sasl.mechanism":"SCRAM-SHA-256"`
	oauth := `"sasl.mechanism":"OAUTHBEARER",` + endpoint +
		`,"sasl.oauthbearer.client.credentials.client.id":"me","sasl.oauthbearer.client.credentials.client.secret":"hush"`
	cases := map[string]struct{ json, want string }{
		"Kerberos": {`{"sasl.mechanism":"GSSAPI"}`,
			"GSSAPI (Kerberos) is not supported; supported are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER"},
		"Kerberos's module": {`{"sasl.mechanism":"PLAIN","sasl.jaas.config":"com.sun.security.auth.module.Krb5LoginModule required;"}`,
			"the login module is not supported; supported are org.apache"},
		"MSK":               {`{"sasl.mechanism":"AWS_MSK_IAM"}`, "AWS_MSK_IAM is not supported"},
		"no mechanism":      {`{"sasl.jaas.config":"` + plainJAAS + `"}`, "sasl.mechanism is not set"},
		"unknown mechanism": {`{"sasl.mechanism":"plain"}`, "Invalid SASL_MECHANISM type: plain"},
		"unknown key": {`{` + scram + `,"sasl.login.refresh.buffer.seconds":300}`,
			"sasl.login.refresh.buffer.seconds is not supported; supported are "},
		"other login's module": {`{` + scram + `,"sasl.jaas.config":"` + plainJAAS + `"}`,
			"PlainLoginModule does not belong to mechanism SCRAM-SHA-256; use org.apache.kafka.common.security.scram.ScramLoginModule"},
		"other login's key": {`{` + scram + `,"sasl.oauthbearer.scope":"x"}`,
			"sasl.oauthbearer.scope does not belong to mechanism SCRAM-SHA-256"},
		"unknown class": {`{` + oauth + `,"sasl.login.callback.handler.class":"my.Handler"}`,
			"sasl.login.callback.handler.class names a Java class"},
		"unknown option": {`{` + scram +
			`,"sasl.jaas.config":"org.apache.kafka.common.security.scram.ScramLoginModule required username=a password=b tokenauth=true;"}`,
			"not supported: tokenauth"},
		"no credentials": {`{` + scram + `}`, "SASL credentials are not set"},
		"half of the credentials": {`{` + scram +
			`,"sasl.jaas.config":"org.apache.kafka.common.security.scram.ScramLoginModule required username=a;"}`, "SASL credentials are not set"},
		"no secret": {`{"sasl.mechanism":"OAUTHBEARER",` + endpoint + `,"sasl.oauthbearer.client.credentials.client.id":"me"}`,
			"SASL credentials are not set"},
		"no endpoint":           {`{"sasl.mechanism":"OAUTHBEARER"}`, "sasl.oauthbearer.token.endpoint.url is not set"},
		"endpoint in the clear": {`{"sasl.mechanism":"OAUTHBEARER","sasl.oauthbearer.token.endpoint.url":"http://idp/token"}`, "use https"},
		"endpoint in a file":    {`{"sasl.mechanism":"OAUTHBEARER","sasl.oauthbearer.token.endpoint.url":"file:///token"}`, "is not a URL"},
		"the client twice": {`{` + oauth + `,"sasl.jaas.config":"` + strings.Replace(oauthJAAS, "hush", "other", 1) + `"}`,
			"duplicate key: sasl.oauthbearer.client.credentials.client.secret and clientSecret"},
		"reserved extension": {`{` + oauth +
			`,"sasl.jaas.config":"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required extension_auth=x;"}`,
			"not a valid SASL extension"},
		"nested":                      {`{"sasl.mechanism":{"a":1}}`, "the value of sasl.mechanism is not a string"},
		"null":                        {`{"sasl.mechanism":null}`, "the value of sasl.mechanism is not a string"},
		"array":                       {`["sasl.mechanism"]`, "not a JSON object"},
		"more after the object":       {`{` + scram + `} {}`, "unexpected data after the object"},
		"a comment that does not end": {`{` + scram + `} /*`, "SASL credentials are not set"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			with("STRIMZI_SASL_ENABLED", "true", "STRIMZI_SASL_CUSTOM_CONFIG_JSON", c.json).fails(t, "STRIMZI_SASL_CUSTOM_CONFIG_JSON", c.want)
		})
	}
}

func TestSASLSecret(t *testing.T) {
	enabled := func(more ...string) environment {
		return with(append([]string{"STRIMZI_SASL_ENABLED", "true", "STRIMZI_SASL_SECRET_NAME", "login"}, more...)...)
	}
	o, _ := enabled("STRIMZI_SASL_MECHANISM", "scram-sha-512").parse(t)
	equal(t, "login", o.Kafka.SASL, credentials.SASL{Mechanism: kafka.SASLScramSHA512, Secret: "login"})
	equal(t, "Secrets", o.Kafka.SecretNames(), []string{"login"})

	o, _ = enabled("STRIMZI_SASL_MECHANISM", "scram-sha-512", "STRIMZI_SASL_USERNAME", "me").parse(t)
	equal(t, "name beside a KafkaUser's Secret", o.Kafka.SASL.Username, "me")

	enabled("STRIMZI_SASL_MECHANISM", "plain", "STRIMZI_SASL_PASSWORD", "hunter2").fails(t, "keep the password in one place")
	enabled("STRIMZI_SASL_CUSTOM_CONFIG_JSON", `{"sasl.mechanism":"PLAIN","sasl.jaas.config":"`+plainJAAS+`"}`).fails(t,
		"keep the password in one place")

	o, warnings := enabled("STRIMZI_SASL_CUSTOM_CONFIG_JSON", `{"sasl.mechanism":"OAUTHBEARER",`+endpoint+`}`,
		"STRIMZI_SASL_MECHANISM", "plain",
		"STRIMZI_SECURITY_PROTOCOL", "SASL_SSL").parse(t)
	equal(t, "Secret", o.Kafka.SASL.Secret, "login")
	equal(t, "endpoint", o.Kafka.SASL.OAuth.TokenEndpoint, "https://idp:8443/token")
	warnedOnce(t, warnings, "STRIMZI_SASL_MECHANISM has no effect beside")
}
