package app

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/internal/lease"
)

// A roller that was killed keeps its Lease until that expires, and one that ends releases it. One that renews it is at work.
func TestHowLongTheLeaseOfAnotherRollerIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		released, renewed time.Duration
		held              bool
		takes             time.Duration
	}{
		"it expires":  {time.Hour, time.Hour, false, 30 * time.Second},
		"is released": {5 * time.Second, time.Hour, false, 6 * time.Second},
		"is renewed":  {time.Hour, 9 * time.Second, true, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				began := time.Now()
				const duration = 30 * time.Second
				err := whileHeld(t.Context(), began.Add(duration), func() error {
					until := began.Add(duration)
					switch since := time.Since(began); {
					case since >= c.released, since >= duration && since < c.renewed:
						return nil
					case since >= c.renewed:
						until = began.Add(c.renewed + duration)
					}
					return fmt.Errorf("look: %w", &lease.HeldError{Until: until})
				})
				if c.held {
					g.Expect(err).To(MatchError(engine.ErrHeld))
				} else {
					g.Expect(err).NotTo(HaveOccurred())
				}
				g.Expect(time.Since(began)).To(Equal(c.takes))
			})
		})
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	NewWithT(t).Expect(whileHeld(ctx, time.Now().Add(time.Hour), nil)).To(MatchError(context.Canceled))
}
