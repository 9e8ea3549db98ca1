package options

import (
	"strings"
	"testing"
)

// FuzzParse: whatever the environment and the flags are, Parse does not panic, and what it accepts is valid and prints no secret.
func FuzzParse(f *testing.F) {
	f.Add("STRIMZI_NAMESPACE=a\nSTRIMZI_KAFKA_BOOTSTRAP_SERVERS=k:9092", "--leader-elect")
	f.Add("STRIMZI_NAMESPACE=*\nSTRIMZI_KAFKA_BOOTSTRAP_SERVERS=k:9092,[::1]:1\nSTRIMZI_SASL_ENABLED=true\nSTRIMZI_SASL_MECHANISM=plain\nSTRIMZI_SASL_USERNAME=a\nSTRIMZI_SASL_PASSWORD=b", "")
	f.Add("STRIMZI_SASL_ENABLED=true\nSTRIMZI_SASL_CUSTOM_CONFIG_JSON={\"sasl.mechanism\":\"PLAIN\"}", "--namespace=a\n--kafka-bootstrap-servers=k:1")
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
		o, _, err := Parse(args, e.lookup, e.list())
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		for _, problem := range problems(o) {
			t.Errorf("%s: %s", problem, o)
		}
	})
}

// problems finds what makes options useless.
func problems(o Options) []string {
	var found []string
	must := func(ok bool, problem string) {
		if !ok {
			found = append(found, problem)
		}
	}
	must(o.Namespaces.All != (len(o.Namespaces.Names) > 0), "namespaces")
	must(len(o.Bootstrap) > 0 && o.ClientID != "", "Kafka's address or the client id")
	must(namespacePattern.MatchString(o.SecretNamespace), "the Secrets' namespace")
	must(o.ReconciliationInterval > 0 && o.Concurrency > 0 && o.Batch.MaxSize > 0 && o.Batch.MaxLinger >= 0, "numbers")
	e := o.LeaderElection
	must(e.Name != "" && namespacePattern.MatchString(e.Namespace) && e.LeaseDuration > e.RenewDeadline && e.RenewDeadline > e.RetryPeriod && e.RetryPeriod > 0, "leader election")
	must(o.HTTPAddress != "" && o.HTTPAddress != o.PprofAddress, "addresses")
	must(o.SecurityProtocol.SASL() == (o.SASL.Mechanism != ""), "login without protocol, or protocol without login")
	must(o.TLS.IdentitySecret == "" || o.TLS.KeyEntry != "" && o.TLS.CertEntry != "", "entries of the identity")
	name, secret := o.SASL.Username, o.SASL.Password
	if o.SASL.OAuth != nil {
		name, secret = o.SASL.OAuth.ClientID, o.SASL.OAuth.ClientSecret
		must(strings.HasPrefix(strings.ToLower(o.SASL.OAuth.TokenEndpoint), "https://"), "token endpoint")
	}
	must(!o.SecurityProtocol.SASL() || o.SASL.Secret != "" || name != "" && !secret.IsEmpty(), "credentials")
	must(len(secret.Reveal()) < 12 || !strings.Contains(o.String(), secret.Reveal()), "a secret that is printed")
	return found
}
