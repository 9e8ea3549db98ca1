package traffic

import (
	"context"
	"fmt"
	"time"
)

// Through writes and reads while during runs, and until at least that many records are acknowledged. The error includes that of the report.
// patience is how long it waits for the first record before that, and for the number of records after it.
func Through(ctx context.Context, o Options, least int, patience time.Duration, during func(*Traffic)) (Report, error) {
	t, err := Start(ctx, o)
	if err != nil {
		return Report{}, err
	}
	over, end := context.WithCancel(ctx)
	end()
	defer t.Stop(over) // during may panic, as failures of Ginkgo do
	if err := t.await(ctx, patience, func(p Progress) bool { return p.Read > 0 }); err != nil {
		return Report{}, err
	}
	during(t)
	if err := t.await(ctx, patience, func(p Progress) bool { return p.Acknowledged >= least }); err != nil {
		return Report{}, err
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	report := t.Stop(limited)
	return report, report.Err()
}

// await waits until the progress is as wanted.
func (t *Traffic) await(ctx context.Context, patience time.Duration, wanted func(Progress) bool) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !wanted(t.Progress()) {
		select {
		case <-limited.Done():
			return fmt.Errorf("records do not flow: %+v: %w", t.Progress(), limited.Err())
		case <-tick.C:
		}
	}
	return nil
}
