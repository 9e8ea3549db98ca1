package app

import (
	"context"
	"crypto"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// spare generates the keys of a Kafka's two CAs ahead of time, because that takes seconds on a busy machine, for which a new Kafka would
// have to wait.
type spare struct{ keys chan crypto.Signer }

// newSpare returns a stock that is empty until it is started.
func newSpare() *spare {
	// One key is in the channel, and one in the hands of Start.
	return &spare{keys: make(chan crypto.Signer, 1)}
}

// Start fills the stock until the context ends.
func (s *spare) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		key, err := pki.GenerateKey(pki.ForCA)
		if err != nil {
			return err
		}
		select {
		case s.keys <- key:
		case <-ctx.Done():
		}
	}
	return nil
}

// NewKey returns a key that no other caller gets: one in stock, or else a new one.
func (s *spare) NewKey(use pki.Use) (crypto.Signer, error) {
	if use == pki.ForCA {
		select {
		case key := <-s.keys:
			return key, nil
		default:
		}
	}
	return pki.GenerateKey(use)
}
