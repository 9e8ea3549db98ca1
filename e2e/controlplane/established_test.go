package controlplane_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

func TestWaitEstablishedAsksAgainWhileConditionsAreNull(t *testing.T) {
	asked := 0
	err := controlplane.WaitEstablished(t.Context(), func(context.Context, ...string) (string, error) {
		if asked++; asked < 3 {
			return "", errors.New("<nil> is not array or slice and cannot be filtered")
		}
		return "condition met", nil
	})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(Equal(3))
}

func TestWaitEstablishedTellsWhyItGaveUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	refused := errors.New("connection refused")
	err := controlplane.WaitEstablished(ctx, func(context.Context, ...string) (string, error) {
		cancel()
		return "", refused
	})
	NewWithT(t).Expect(err).To(MatchError(refused))
}
