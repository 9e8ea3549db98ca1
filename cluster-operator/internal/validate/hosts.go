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
	advertised := func(field, host string) {
		check(field, host)
		if isUnspecified(host) {
			f.listener("ListenerHost", "listener %s has %s %q, which stands for all addresses of a machine, so that no client can connect to it: "+
				"set the host or address at which clients reach the broker", l.Name, field, host)
		}
	}
	check("hostTemplate", filled(c.HostTemplate))
	advertised("advertisedHostTemplate", filled(c.AdvertisedHostTemplate))
	for _, b := range c.Brokers {
		check("brokers[].host", b.Host)
		advertised("brokers[].advertisedHost", b.AdvertisedHost)
	}
}

// filled is a template as it may be filled in.
func filled(template string) string {
	return strings.NewReplacer("{nodeId}", "0", "{nodePodName}", "pod").Replace(template)
}

// isUnspecified reports whether a host is 0.0.0.0 or ::, in any form. Kafka does not start if it is to advertise 0.0.0.0.
func isUnspecified(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsUnspecified()
}

// isHost reports whether a text is a host: none, a name, an address without a zone, or what only the node looks up.
func isHost(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Zone() == ""
	}
	return host == "" || strings.Contains(host, "${") || hostName.MatchString(host)
}
