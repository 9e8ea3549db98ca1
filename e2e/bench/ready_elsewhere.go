//go:build !linux

package bench

import (
	"context"
	"errors"
)

// ready returns an error: it needs Linux.
func ready(context.Context, *Report) error {
	return errors.New("a Kubernetes cluster of real machines needs Linux and root: leave it out with -only")
}

// stretch returns the same error.
func stretch(ctx context.Context, r *Report) error { return ready(ctx, r) }

// rollPods returns the same error.
func rollPods(ctx context.Context, r *Report) error { return ready(ctx, r) }
