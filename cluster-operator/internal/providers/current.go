package providers

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Current is a network provider whose settings may change. A call that has begun ends with the settings that it began with.
type Current struct {
	options Options
	name    string

	mu  sync.Mutex
	now *generation
}

// generation is the provider with one version of the settings.
type generation struct {
	network.Provider
	end      func()
	settings map[string]string
	calls    sync.WaitGroup
}

// Follow opens a provider whose settings may change.
func Follow(ctx context.Context, o Options) (*Current, error) {
	provider, end, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	about, err := provider.Info(ctx)
	if err != nil {
		end()
		return nil, err
	}
	return &Current{options: o, name: about.Name, now: &generation{Provider: provider, end: end, settings: maps.Clone(o.Settings)}}, nil
}

// Set makes the provider anew with other settings, and reports whether they differ. If they are wrong, the earlier ones stay in use.
// It may not be called concurrently.
func (c *Current) Set(ctx context.Context, settings map[string]string) (changed bool, err error) {
	if maps.Equal(settings, c.now.settings) {
		return false, nil
	}
	o := c.options
	o.Settings = maps.Clone(settings)
	provider, end, err := Open(ctx, o)
	if err != nil {
		return false, err
	}
	about, err := provider.Info(ctx)
	if err == nil && about.Name != c.name {
		err = fmt.Errorf("the network provider is %s now, and was %s", about.Name, c.name)
	}
	if err != nil {
		end()
		return false, err
	}
	c.mu.Lock()
	earlier := c.now
	c.now = &generation{Provider: provider, end: end, settings: o.Settings}
	c.mu.Unlock()
	go func() {
		earlier.calls.Wait()
		earlier.end()
	}()
	return true, nil
}

// Name is that of the provider.
func (c *Current) Name() string { return c.name }

// Close ends the provider.
func (c *Current) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.end()
}

// hold returns the provider for one call, which ends with Done of its calls.
func (c *Current) hold() *generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.calls.Add(1)
	return c.now
}

// Info implements network.Provider.
func (c *Current) Info(ctx context.Context) (network.Info, error) {
	g := c.hold()
	defer g.calls.Done()
	return g.Info(ctx)
}

// Plan implements network.Provider.
func (c *Current) Plan(ctx context.Context, r network.Request) ([]network.Object, error) {
	g := c.hold()
	defer g.calls.Done()
	return g.Plan(ctx, r)
}

// Resolve implements network.Provider.
func (c *Current) Resolve(ctx context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	g := c.hold()
	defer g.calls.Done()
	return g.Resolve(ctx, r, observed)
}
