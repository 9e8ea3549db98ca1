package saramakafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// pin is the cluster that a client is bound to. All its routers share it, those included that only end their calls.
type pin struct{ id atomic.Pointer[string] }

// cluster returns the cluster's id, empty for none.
func (p *pin) cluster() string {
	if id := p.id.Load(); id != nil {
		return *id
	}
	return ""
}

// refuses reports whether something of this cluster must not be used. An unknown cluster is one that must not.
func (p *pin) refuses(cluster string) bool {
	pinned := p.cluster()
	return pinned != "" && pinned != cluster
}

// Pin implements kafka.ClusterPinner.
func (c *client) Pin(clusterID string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := kafka.CheckPin(c.pin.cluster(), clusterID); err != nil {
		return err
	}
	c.pin.id.Store(&clusterID)
	c.current.pinned()
	return nil
}

// pinned forgets what was learned from another cluster before the pin.
func (r *router) pinned() {
	var gone []*conn
	r.mu.Lock()
	if r.pin.refuses(r.tableOf) {
		r.table, r.fenced, r.tableOf, r.learned = nil, nil, "", time.Time{}
		for _, n := range r.nodes {
			gone = append(gone, n.purge()...)
			n.id = -1
		}
	}
	r.mu.Unlock()
	closeAll(gone)
}

// wrongCluster is the failure of a connection that ends at another cluster.
type wrongCluster struct{ answering string }

func (e *wrongCluster) Error() string {
	return fmt.Sprintf("the broker belongs to the cluster %s", e.answering)
}

// errNoClusterID is the failure of a connection whose broker does not say to which cluster it belongs.
var errNoClusterID = errors.New("the broker does not report its cluster id")

// prove makes sure that the connection ends at the cluster that the client is bound to. A connection ends at one process, so that it is
// asked once: when it is opened, or when the client was bound since.
func (r *router) prove(ctx context.Context, n *node, c *conn) error {
	if c.cluster == "" {
		if err := r.identify(ctx, n, c); err != nil {
			return err
		}
	}
	if r.pin.refuses(c.cluster) {
		return &wrongCluster{c.cluster}
	}
	return nil
}

// identify asks a broker for its cluster. DescribeCluster is asked first: it needs no right, its version was negotiated when the connection
// was opened, and the answer also brings the table of brokers up to date. Brokers that can't answer it have Metadata.
func (r *router) identify(ctx context.Context, n *node, c *conn) error {
	if !r.isSilent(n) {
		if _, err := r.describeCluster(ctx, c); err != nil && !unsent(err) {
			r.wasSilent(ctx, n, c)
			return err
		}
	}
	if c.cluster == "" {
		if err := identifyByMetadata(ctx, c); err != nil {
			return err
		}
	}
	if c.cluster == "" {
		return errNoClusterID
	}
	return nil
}

// identifyByMetadata asks for no topics, which sarama can't express: it would ask for all.
func identifyByMetadata(ctx context.Context, c *conn) error {
	const withClusterID = 2 // the first version whose answer names the cluster
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := c.raw(ctx, req, withClusterID)
	if unsent(err) {
		return errNoClusterID
	}
	if err != nil {
		return err
	}
	c.cluster = text(resp.(*kmsg.MetadataResponse).ClusterID)
	return nil
}

// strayed notes that a connection ended at another cluster. Other connections to the same address may have been opened before it led there.
func (r *router) strayed(t *trial, n *node, c *conn, e *wrongCluster) {
	t.last = e
	if !c.fresh {
		return // opened some time ago: the address may lead elsewhere now
	}
	if t.foreign == "" || e.answering < t.foreign {
		t.foreign = e.answering // of several the same one each time
	}
	t.tried[n] = true
	t.failures++
	r.mu.Lock()
	defer r.mu.Unlock()
	r.avoid(n)
}

// foreignOnly is the error of a call for which no broker of the right cluster was found.
func (r *router) foreignOnly(ctx context.Context, t *trial) error {
	if t.unclear && t.request.changes {
		return r.gaveUp(ctx, t) // something may have been executed
	}
	err := kafka.NewWrongClusterError(r.pin.cluster(), t.foreign)
	err.Message += fmt.Sprintf(" (%s)", r.settings.addresses())
	return err
}
