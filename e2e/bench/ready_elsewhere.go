//go:build !linux

package bench

import (
	"context"
	"errors"
)

// ready needs what Linux has.
func ready(context.Context, *Report) error {
	return errors.New("a Kubernetes cluster of real machines needs Linux and root: leave it out with -only")
}

// stretch needs it as well.
func stretch(ctx context.Context, r *Report) error { return ready(ctx, r) }
