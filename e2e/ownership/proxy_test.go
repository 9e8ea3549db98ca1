package ownership

import (
	"encoding/binary"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

// way is the way of an operator to a Kafka cluster, which can be replaced by another one at the same address.
type way struct{ *proxy.Proxy }

// refusal is how a way treats DescribeCluster requests.
type refusal int

const (
	// answered: it forwards the request.
	answered refusal = iota
	// denied: it responds with an error.
	denied
	// cut: it closes the connection.
	cut
)

// startProxy starts a proxy, which is stopped at the end of the spec or container that called startProxy.
func startProxy(target *cluster, refuse refusal) way {
	GinkgoHelper()
	p, err := proxy.Start(target.Bootstrap()...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Close)
	switch refuse {
	case answered:
	case denied:
		p.Answer(proxy.DescribeCluster, deny)
	case cut:
		p.Answer(proxy.DescribeCluster, func([]byte) ([]byte, bool) { return nil, false })
	}
	return way{p}
}

// lead makes the proxy forward to another cluster from now on. It closes connections to the earlier one.
func (w way) lead(to *cluster) { w.Lead(to.Bootstrap()...) }

// permit makes the proxy forward DescribeCluster from now on.
func (w way) permit() { w.Answer(proxy.DescribeCluster, nil) }

// count returns the number of requests that reached a cluster, of these kinds if there are any.
func (w way) count(c *cluster, keys ...uint16) int { return w.CountOf(c.Bootstrap()[0], keys...) }

// changes returns the number of requests that reached a cluster and change something there, or would without a flag.
func (w way) changes(c *cluster) int {
	return w.count(c, proxy.CreateTopics, proxy.DeleteTopics, proxy.CreatePartitions, proxy.IncrementalAlterConfigs)
}

// deny returns an error as the response to DescribeCluster.
func deny(request []byte) ([]byte, bool) {
	const clusterAuthorizationFailed = 31
	version := binary.BigEndian.Uint16(request[2:])
	answer := append([]byte{}, request[4:8]...)       // the correlation id
	answer = append(answer, 0)                        // no tags
	answer = binary.BigEndian.AppendUint32(answer, 0) // not throttled
	answer = binary.BigEndian.AppendUint16(answer, clusterAuthorizationFailed)
	answer = append(answer, 0) // no message
	if version >= 1 {
		answer = append(answer, 1) // the endpoints are brokers
	}
	answer = append(answer, 1)                                 // an empty cluster id
	answer = binary.BigEndian.AppendUint32(answer, 0xffffffff) // no controller
	answer = append(answer, 1)                                 // no brokers
	answer = binary.BigEndian.AppendUint32(answer, 0x80000000) // no authorized operations were requested
	return append(answer, 0), true                             // no tags
}
