package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{New: func() (network.Provider, error) {
		return New(map[string]string{"domain": "kafka.example.com"})
	}})
}

func TestADomainIsNeeded(t *testing.T) {
	_, err := New(nil)
	NewWithT(t).Expect(err).To(HaveOccurred())
}
