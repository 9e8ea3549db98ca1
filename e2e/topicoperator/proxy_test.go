package topicoperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

// startProxy starts a proxy in front of brokers, which is stopped at the end of the spec.
func startProxy(brokers ...string) *proxy.Proxy {
	GinkgoHelper()
	p, err := proxy.Start(brokers...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Close)
	return p
}
