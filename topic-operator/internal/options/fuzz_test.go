package options

import (
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// FuzzParse checks that Parse never panics, and that the options that it accepts are valid and print no secret.
func FuzzParse(f *testing.F) {
	f.Add("STRIMZI_NAMESPACE=a\nSTRIMZI_KAFKA_BOOTSTRAP_SERVERS=k:9092", "--leader-elect")
	f.Add("STRIMZI_NAMESPACE=*\nSTRIMZI_KAFKA_BOOTSTRAP_SERVERS=k:9092,[::1]:1\nSTRIMZI_SASL_ENABLED=true\nSTRIMZI_SASL_MECHANISM=plain\n"+
		"STRIMZI_SASL_USERNAME=a\nSTRIMZI_SASL_PASSWORD=b", "")
	f.Add("STRIMZI_SASL_ENABLED=true\nSTRIMZI_SASL_CUSTOM_CONFIG_JSON={\"sasl.mechanism\":\"PLAIN\"}",
		"--namespace=a\n--kafka-bootstrap-servers=k:1")
	for env, c := range settingCases {
		for text := range c.read {
			f.Add("STRIMZI_NAMESPACE=a\nSTRIMZI_KAFKA_BOOTSTRAP_SERVERS=k:9092\n"+env+"="+text, "")
		}
	}
	f.Fuzz(func(t *testing.T, variables, flags string) {
		e := environment{}
		for entry := range strings.SplitSeq(variables, "\n") {
			name, value, _ := strings.Cut(entry, "=")
			e[name] = value
		}
		var args []string
		if flags != "" {
			args = strings.Split(flags, "\n")
		}
		o, _, err := Parse(args, e.env())
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		for _, problem := range problems(o) {
			t.Errorf("%s: %s", problem, o.Effective)
		}
	})
}

// problems returns why options are not usable.
func problems(o Options) []string {
	var found []string
	must := func(ok bool, problem string) {
		if !ok {
			found = append(found, problem)
		}
	}
	must(o.Namespaces.All != (len(o.Namespaces.Names) > 0), "namespaces")
	must(len(o.Kafka.Bootstrap) > 0 && o.Kafka.ClientID != "", "Kafka's address or the client id")
	must(namespace(o.Kafka.SecretNamespace), "the Secrets' namespace")
	must(o.ReconciliationInterval > 0 && o.Concurrency > 0 && o.Batch.MaxSize > 0 && o.Batch.MaxLinger >= 0, "numbers")
	e := o.LeaderElection
	must(e.Name != "" && namespace(e.Namespace) && e.LeaseDuration > e.RenewDeadline && e.RenewDeadline > e.RetryPeriod && e.RetryPeriod > 0,
		"leader election")
	must(o.HTTP.Address != "" && o.HTTP.Address != o.HTTP.PprofAddress, "addresses")
	must(o.Kafka.Protocol.SASL() == (o.Kafka.SASL.Mechanism != ""), "login without protocol, or protocol without login")
	must(o.Kafka.TLS.IdentitySecret == "" || o.Kafka.TLS.KeyEntry != "" && o.Kafka.TLS.CertEntry != "", "entries of the identity")
	name, secret := o.Kafka.SASL.Username, o.Kafka.SASL.Password
	if o.Kafka.SASL.OAuth != nil {
		name, secret = o.Kafka.SASL.OAuth.ClientID, o.Kafka.SASL.OAuth.ClientSecret
		must(strings.HasPrefix(strings.ToLower(o.Kafka.SASL.OAuth.TokenEndpoint), "https://"), "token endpoint")
	}
	must(!o.Kafka.Protocol.SASL() || o.Kafka.SASL.Secret != "" || name != "" && !secret.IsEmpty(), "credentials")
	must(len(secret.Reveal()) < 12 || !strings.Contains(o.Effective, secret.Reveal()), "a secret that is printed")
	return found
}

func namespace(name string) bool {
	_, err := settings.Namespace(name)
	return err == nil
}
