package controlplane

import (
	"context"
	"fmt"
	"time"
)

// WaitEstablished waits until the API server serves all installed CustomResourceDefinitions, for at most a minute. kubectl is the Kubectl
// of a control plane or of a real cluster.
//
// `kubectl wait` fails at once on a definition whose status.conditions is still null, as it is right after an apply, so WaitEstablished
// repeats the command until the minute is over.
func WaitEstablished(ctx context.Context, kubectl func(ctx context.Context, args ...string) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, err := kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not all kinds are served after a minute: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
