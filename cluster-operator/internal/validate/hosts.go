package validate

import (
	"net/netip"
	"regexp"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// hostName is what Kafka takes for a host, and what a certificate can have: ASCII, also with underscores.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// hostNames checks the hosts that users give to a listener. With another one, no certificate could be made, or the node would not start.
func (f *findings) hostNames(l v1.Listener) {
	c := l.Configuration
	if c == nil {
		return
	}
	check := func(field, host string) {
		if !isHost(host) {
			f.listener("ListenerHost", "listener %s has %s %q, which is not a DNS name in ASCII or an IP address", l.Name, field, host)
		}
	}
	if b := c.Bootstrap; b != nil {
		check("bootstrap.host", b.Host)
		for _, name := range b.AlternativeNames {
			check("bootstrap.alternativeNames", strings.ReplaceAll(name, "*", "0"))
		}
	}
	check("hostTemplate", filled(c.HostTemplate))
	check("advertisedHostTemplate", filled(c.AdvertisedHostTemplate))
	for _, b := range c.Brokers {
		check("brokers[].host", b.Host)
		check("brokers[].advertisedHost", b.AdvertisedHost)
	}
}

// filled is a template as it may be filled in.
func filled(template string) string {
	return strings.NewReplacer("{nodeId}", "0", "{nodePodName}", "pod").Replace(template)
}

// isHost reports whether a text is a host: none, a name, an address without a zone, or what only the node looks up.
func isHost(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Zone() == ""
	}
	return host == "" || strings.Contains(host, "${") || hostName.MatchString(host)
}
