package controller

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// configured is a client that remembers its configuration.
type configured struct {
	Admin
	config kafka.Config
	err    error
}

func (c *configured) Reconfigure(config kafka.Config) error {
	if c.err == nil {
		c.config = config
	}
	return c.err
}

func TestAClientHasThePresentAddressesAndCredentials(t *testing.T) {
	g := NewWithT(t)
	opened := 0
	clients := &Clients{Connect: func(config kafka.Config) (Admin, error) {
		opened++
		return &configured{config: config}, nil
	}}
	to := Connection{Kafka: types.NamespacedName{Namespace: "ns", Name: "my-cluster"},
		Config: kafka.Config{Bootstrap: []string{"a:9091"}, TLS: &kafka.TLS{Certificate: []byte("1")}}}
	used := func() kafka.Config {
		t.Helper()
		admin, err := clients.admin(to)
		g.Expect(err).NotTo(HaveOccurred())
		return admin.(*configured).config
	}
	g.Expect(used()).To(Equal(to.Config))
	to.Config.Bootstrap = []string{"b:9091"}
	g.Expect(used()).To(Equal(to.Config), "all nodes have got other addresses")
	to.Config.TLS = &kafka.TLS{Certificate: []byte("2")}
	g.Expect(used()).To(Equal(to.Config), "a certificate was renewed")

	before := to
	to.Config.TLS = &kafka.TLS{Certificate: []byte("wrong")}
	admin := clients.open[to.Kafka].Admin.(*configured)
	admin.err = errors.New("wrong certificate")
	_, err := clients.admin(to)
	g.Expect(err).To(MatchError(admin.err))
	to = before
	g.Expect(used()).To(Equal(before.Config), "a wrong certificate closes nothing")
	g.Expect(opened).To(Equal(1))
}
