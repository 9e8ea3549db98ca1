package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// proof counts the attempts and the broken promises.
type proof struct {
	t    *testing.T
	name string
	// full is true if the proof runs in full. count is the number of its random choices.
	full  bool
	count int
	seed  uint64

	mu         sync.Mutex
	violations []violation
}

// violation is a broken promise about the object or topic of a name.
type violation struct{ name, what string }

// newProof prepares a proof, or skips it if the real programs are not available. In CI, it fails the test instead.
func newProof(t *testing.T, name string, small, full int) *proof {
	t.Helper()
	for _, available := range []func(context.Context) error{realkafka.Available, controlplane.Available} {
		if err := available(t.Context()); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	p := &proof{t: t, name: name, count: small, seed: randomtest.Seed(t)}
	if os.Getenv("PROVE") == "full" {
		p.full, p.count = true, full
	}
	t.Logf("%s: %d times", name, p.count)
	return p
}

// dice returns one of the proof's independent random sequences.
func (p *proof) dice(number int) dice {
	return dice{rand.New(rand.NewPCG(p.seed, uint64(number)))} // no secrets here
}

// violated records a broken promise.
func (p *proof) violated(name, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.violations = append(p.violations, violation{name: name, what: fmt.Sprintf(format, args...)})
}

// end prints the result, and fails the test if a promise was broken. It prints each name's history once.
func (p *proof) end(story func(name string) string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := json.Marshal(struct {
		Name       string `json:"name"`
		Count      int    `json:"count"`
		Violations int    `json:"violations"`
		Seed       uint64 `json:"seed"`
	}{p.name, p.count, len(p.violations), p.seed})
	if err != nil {
		p.t.Fatal(err)
	}
	fmt.Println("PROOF " + string(line))
	const most = 10
	told := map[string]bool{}
	for i, v := range p.violations {
		if i == most {
			p.t.Errorf("and %d more", len(p.violations)-most)
			break
		}
		p.t.Errorf("%s: %s", v.name, v.what)
		if !told[v.name] {
			told[v.name] = true
			p.t.Log("\n" + story(v.name))
		}
	}
}

// dice is a sequence of random numbers.
type dice struct{ *rand.Rand }

// between returns a random duration between from and to.
func (d dice) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64(to-from)+1))
}

// yes returns true with a probability of times/outOf.
func (d dice) yes(times, outOf int) bool { return d.IntN(outOf) < times }

// pause waits, to do the next step at a random time.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// look is the polling interval of await.
const look = 25 * time.Millisecond

// errNotYet means that an awaited state has not been reached.
var errNotYet = errors.New("not yet")

// await waits until f returns nil. On a timeout, it returns f's last error.
func await(ctx context.Context, within time.Duration, f func() error) error {
	deadline := time.Now().Add(within)
	for {
		last := f()
		switch {
		case last == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("not within %v: %w", within, last)
		}
		pause(ctx, look)
	}
}
