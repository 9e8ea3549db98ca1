package saramakafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// pin is the cluster that a client is bound to. All its routers share it, including those that only finish their calls.
type pin struct{ id atomic.Pointer[string] }

// cluster returns the cluster's id, empty for none.
func (p *pin) cluster() string {
	if id := p.id.Load(); id != nil {
		return *id
	}
	return ""
}

// refuses reports whether answers of this cluster must not be used. That includes an unknown cluster.
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

// pinned discards the table of another cluster when the client is pinned.
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

// errNoClusterID is the failure of a connection whose broker does not return its cluster id.
var errNoClusterID = errors.New("the broker does not report its cluster id")

// prove checks that the connection ends at the pinned cluster. A connection ends at one process, so it is checked once: when it is opened,
// or after the client was pinned.
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

// identify reads the broker's cluster id. It uses DescribeCluster first, which needs no permission, whose version was negotiated when the
// connection was opened, and whose answer also updates the table of brokers. For brokers without it, it uses Metadata.
func (r *router) identify(ctx context.Context, n *node, c *conn) error {
	if !r.isSilent(n) {
		if _, err := r.describeCluster(ctx, c); err != nil && !unsent(err) {
			r.wasSilent(ctx, n, c)
			return err
		}
	}
	if c.cluster == "" {
		other := identifyByMetadata
		if r.kind == controllers {
			other = r.identifyByFetch
		}
		if err := other(ctx, c); err != nil {
			return err
		}
	}
	if c.cluster == "" {
		return errNoClusterID
	}
	return nil
}

// identifyByFetch asks a controller whether it is of the pinned cluster. Controllers have no Metadata, and no DescribeCluster until they
// know the metadata version, which takes a leader after their start. They reject a Fetch with another cluster's id before they look at
// anything else, and one of the right cluster because it names no partition (KafkaRaftClient.handleFetchRequest).
func (r *router) identifyByFetch(ctx context.Context, c *conn) error {
	const withClusterID = 12 // the first version that names the cluster
	pinned := r.pin.cluster()
	req := kmsg.NewPtrFetchRequest()
	req.ClusterID = &pinned
	resp, err := c.raw(ctx, req, withClusterID)
	if unsent(err) {
		return errNoClusterID
	}
	if err != nil {
		return err
	}
	if resp.(*kmsg.FetchResponse).ErrorCode == int16(sarama.ErrInvalidRequest) {
		c.cluster = pinned
	}
	return nil
}

// identifyByMetadata requests Metadata without topics. Sarama can't express that: it would request all topics.
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

// strayed handles a connection that ended at another cluster. Other connections to the same address may be older than that change.
func (r *router) strayed(t *trial, n *node, c *conn, e *wrongCluster) {
	t.last = e
	if !c.fresh {
		return // opened some time ago: the address may lead elsewhere now
	}
	if t.foreign == "" || e.answering < t.foreign {
		t.foreign = e.answering // the same one each time if there are several
	}
	t.tried[n] = true
	t.failures++
	r.mu.Lock()
	defer r.mu.Unlock()
	r.avoid(n)
}

// foreignOnly returns the error of a call for which no broker of the right cluster was found.
func (r *router) foreignOnly(ctx context.Context, t *trial) error {
	if t.unclear && t.request.changes {
		return r.gaveUp(ctx, t) // something may have been executed
	}
	err := kafka.NewWrongClusterError(r.pin.cluster(), t.foreign)
	err.Message += fmt.Sprintf(" (%s)", r.settings.addresses())
	return err
}
