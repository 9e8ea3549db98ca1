package pki

import (
	"context"
	"crypto"
)

// Spare makes the keys of a Kafka's two CAs ahead of time. They take seconds on a busy machine, which a Kafka that is applied does not wait for then.
type Spare struct{ keys chan crypto.Signer }

// NewSpare returns a stock that is empty until it is started.
func NewSpare() *Spare {
	// One key is in the channel, and one in the hands of Start.
	return &Spare{keys: make(chan crypto.Signer, 1)}
}

// Start fills the stock until the context ends.
func (s *Spare) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		key, err := GenerateKey(ForCA)
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

// NewKey hands out a key that nobody else gets: one in stock, or a new one if there is none.
func (s *Spare) NewKey(use Use) (crypto.Signer, error) {
	if use == ForCA {
		select {
		case key := <-s.keys:
			return key, nil
		default:
		}
	}
	return GenerateKey(use)
}
