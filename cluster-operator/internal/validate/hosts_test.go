package validate

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestHostsOfListeners(t *testing.T) {
	for host, good := range map[string]bool{
		"kafka.example.com": true, "KAFKA_1.example.com.": true, "10.0.0.1": true, "fd00::1": true, "[fd00::1]": true,
		"${strimzienv:HOST}": true, "kafka.bücher.example": false, "https://kafka.example.com": false, "fe80::1%eth0": false,
		"kafka.example.com:9094": false, "a b": false, "-a": false, "*.example.com": false,
	} {
		for _, field := range []string{"brokers[].advertisedHost", "advertisedHostTemplate"} {
			config := fmt.Sprintf("advertisedHostTemplate: %q", host)
			if field != "advertisedHostTemplate" {
				config = fmt.Sprintf("brokers: [{broker: 0, advertisedHost: %q}]", host)
			}
			got := Validate(input(t, listening(fmt.Sprintf(`{name: l, port: 9094, type: nodeport, tls: true, configuration: {%s}}`, config)))).Errors
			if good {
				NewWithT(t).Expect(got).To(BeEmpty(), host)
			} else {
				NewWithT(t).Expect(got).To(HaveExactElements(HaveField("Message", badListener(fmt.Sprintf(
					"listener l has %s %q, which is not a DNS name in ASCII or an IP address", field, host)))), host)
			}
		}
	}
	in := input(t, listening(`{name: l, port: 9094, type: nodeport, tls: true, configuration: {advertisedHostTemplate: `+
		`"{nodePodName}-{nodeId}", bootstrap: {alternativeNames: ["*.example.com", "broker-*.example.com", "ü"]}}}`))
	NewWithT(t).Expect(Validate(in).Errors).To(HaveExactElements(HaveField("Message", badListener(
		`listener l has bootstrap.alternativeNames "ü", which is not a DNS name in ASCII or an IP address`))))
}
