package app

import (
	"context"
	"crypto"
	"crypto/rsa"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// TestSpareHandsOutEachKeyOnce checks that each key is used once, whether it comes from the stock or not, and that it is of the right kind.
func TestSpareHandsOutEachKeyOnce(t *testing.T) {
	g := NewWithT(t)
	s := newSpare()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	g.Eventually(s.keys).WithTimeout(time.Minute).Should(HaveLen(1))
	leaf, err := s.NewKey(pki.ForLeaf)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.keys).To(HaveLen(1), "nodes have keys of another kind")
	keys := []crypto.Signer{leaf}
	for range 3 {
		key, err := s.NewKey(pki.ForCA)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(key).To(BeAssignableToTypeOf(&rsa.PrivateKey{}))
		for _, other := range keys {
			g.Expect(key.Public()).NotTo(Equal(other.Public()))
		}
		keys = append(keys, key)
	}
	cancel()
	g.Expect(<-ended).To(Succeed())
}
