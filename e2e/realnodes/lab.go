//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options describe a lab. The zero value is one cluster of one node.
type Options struct {
	// Clusters is the number of clusters; 0 means 1.
	Clusters int
	// Nodes is the number of nodes of each cluster, including the one with the control plane; 0 means 1.
	Nodes int
	// NodeGrace is the time without a heartbeat after which a node counts as not ready; 0 means 20 s. Kubernetes' default is 50 s.
	NodeGrace time.Duration
	// APIServerArgs and ControllerManagerArgs are further flags of these programs, in the form --flag=value.
	APIServerArgs, ControllerManagerArgs []string
	// Audit logs the requests to each API server, for [Cluster.AuditLog].
	Audit bool
	// Images are archives that every node imports before Start returns.
	Images []string
	// StartTimeout is the timeout of Start, without building the programs; 0 means 6 minutes: machines that run tests are busy.
	StartTimeout time.Duration
	// Log, if set, receives the progress of the package.
	Log io.Writer
}

// Lab is a set of clusters that can reach each other.
type Lab struct {
	options  Options
	programs *programs
	scratch  *scratch
	network  *network
	clusters []*Cluster

	mu         sync.Mutex
	forwarders []*forwarder
	closed     bool
}

// patience is the timeout for the end of a lab, whose processes are killed.
const patience = time.Minute

// Start starts a lab and waits until its clusters are ready. The context limits the start only.
func Start(ctx context.Context, o Options) (*Lab, error) {
	o = withDefaults(o)
	if err := checkSize(o.Clusters, o.Nodes); err != nil {
		return nil, err
	}
	programs, err := findPrograms(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	l := &Lab{options: o, programs: programs}
	if l.scratch, err = newScratch(ctx, programs); err != nil {
		return nil, err
	}
	if err := l.bringUp(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func withDefaults(o Options) Options {
	if o.Clusters == 0 {
		o.Clusters = 1
	}
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.NodeGrace == 0 {
		o.NodeGrace = 20 * time.Second
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 6 * time.Minute
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

func (l *Lab) bringUp(ctx context.Context) error {
	began := time.Now()
	var err error
	if l.network, err = newNetwork(); err != nil {
		return fmt.Errorf("make the network: %w", err)
	}
	var starts errgroup.Group
	for number := range l.options.Clusters {
		c, err := newCluster(l, number+1)
		if err != nil {
			return err
		}
		l.clusters = append(l.clusters, c)
	}
	for _, c := range l.clusters {
		starts.Go(func() error {
			if err := c.bringUp(ctx, began); err != nil {
				return fmt.Errorf("cluster %s: %w", c.name, err)
			}
			return nil
		})
	}
	if err := starts.Wait(); err != nil {
		return err
	}
	l.say("everything ready after %v", time.Since(began).Round(time.Millisecond))
	return nil
}

// Clusters returns the clusters.
func (l *Lab) Clusters() []*Cluster { return slices.Clone(l.clusters) }

// Dir returns the lab's folder, with logs and kubeconfigs.
func (l *Lab) Dir() string { return l.scratch.Dir }

// Close stops everything and leaves nothing behind.
func (l *Lab) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	forwarders := l.forwarders
	l.mu.Unlock()
	for _, f := range forwarders {
		f.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	var ends errgroup.Group
	for _, c := range l.clusters {
		for _, n := range c.nodes {
			ends.Go(func() error { return n.end(ctx) })
		}
	}
	errs = append(errs, ends.Wait())
	if l.network != nil {
		l.network.close()
	}
	return errors.Join(append(errs, l.scratch.remove(ctx))...)
}

// end is PowerOff for a node that may be off already.
func (n *Node) end(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running == nil {
		return nil
	}
	return n.powerOff(ctx)
}

// Cut breaks the connection between two sites, in both directions, for pods and nodes alike. Packets are lost, and connections are not
// refused. Cutting two sites again has no effect.
func (l *Lab) Cut(a, b Site) error { return l.network.cut(a.site(), b.site()) }

// Heal restores the connection between two sites.
func (l *Lab) Heal(a, b Site) error { return l.network.heal(a.site(), b.site()) }

// Isolate cuts a cluster from all others. The test process still reaches it; Cut(c, Outside) breaks that connection as well.
func (l *Lab) Isolate(c *Cluster) error {
	for _, other := range l.clusters {
		if err := l.Cut(c, other); err != nil {
			return err
		}
	}
	return nil
}

// HealAll heals all cuts.
func (l *Lab) HealAll() error {
	var errs []error
	for _, pair := range l.network.severed() {
		errs = append(errs, l.network.heal(pair[0], pair[1]))
	}
	return errors.Join(errs...)
}

// Site is one end of a cut: a cluster with all its nodes, or Outside.
type Site interface{ site() int }

// Outside is the site of the test process and of everything that dials with the lab.
const Outside = outside(0)

type outside int

func (o outside) site() int { return int(o) }

func (l *Lab) say(format string, args ...any) {
	fmt.Fprintf(l.options.Log, "realnodes: "+format+"\n", args...)
}

func (l *Lab) path(elements ...string) string {
	return filepath.Join(append([]string{l.scratch.Dir}, elements...)...)
}
