package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/clusters"
)

// openAll connects the pass to the Kubernetes clusters that its pools name, or in which the Kafka has something: to all at once, so that a
// slow one does not delay the others. It returns those that it reached, and the ids of recorded ones that are not configured any more.
func (p *pass) openAll(ctx context.Context) (opened []*site, gone []string) {
	concerned := map[string]bool{}
	for _, pool := range p.pools {
		concerned[p.target(pool)] = true
	}
	for id := range p.record.Clusters {
		concerned[id] = true
	}
	anchored := p.anchoredClusters(ctx)
	for _, id := range anchored {
		concerned[id] = true
	}
	// Where the Kafka has something, only its record knows. Before there is one, another Kafka of this name may be anywhere.
	lost := p.record.Kafka != p.kafka.UID
	var members []Member
	for _, m := range p.Stretching.Members() {
		if m.Home() || !concerned[m.ID()] && !lost {
			continue
		}
		delete(concerned, m.ID())
		p.warnOfCredentials(m)
		members = append(members, m)
	}
	told, sites, errs := len(p.status.Warnings), make([]*site, len(members)), make([]error, len(members))
	p.atOnce(len(members), func(i int) { sites[i], errs[i] = p.open(ctx, members[i]) })
	p.sortWarnings(told)
	for i, m := range members {
		if errs[i] != nil {
			p.lose(m.ID(), m.Status(), errs[i])
			continue
		}
		opened = append(opened, sites[i])
	}
	for id := range p.record.Clusters {
		if concerned[id] {
			p.lose(id, clusters.Status{}, errors.New("the cluster is no longer configured in STRIMZI_REMOTE_KUBE_CONFIG"))
			gone = append(gone, id)
		}
	}
	return opened, gone
}

// forgetClaimed forgets those Kubernetes clusters, which are not configured any more, that were only to be claimed. Which nodes exist
// elsewhere must be known: see claiming.
func (p *pass) forgetClaimed(gone []string) {
	for _, id := range gone {
		if p.onlyClaimed(id) {
			delete(p.record.Clusters, id)
			delete(p.away, id)
		}
	}
}

// onlyClaimed reports whether a Kubernetes cluster, of which no pool wants anything any more, can hold nothing but an anchor.
func (p *pass) onlyClaimed(cluster string) bool {
	for _, pool := range p.pools {
		if p.target(pool) == cluster {
			return false
		}
	}
	return p.claiming() && p.kafka.DeletionTimestamp == nil && len(p.record.Clusters[cluster].Volumes) == 0
}

// anchoredClusters returns the Kubernetes clusters with an anchor of this Kafka, or of an earlier one of its name here, as far as caches
// tell. What is there is the Kafka's, whether its pools and its record say so or not.
func (p *pass) anchoredClusters(ctx context.Context) []string {
	now, err := p.holder(p.kafka)
	if err != nil {
		return nil
	}
	ctx, cancel := p.watching(ctx)
	defer cancel()
	var ids []string
	for _, a := range askRemotes(p.Reconciler, func(m Member) (types.UID, error) { return p.anchoredBy(ctx, m, now, true) }) {
		if a.err == nil && a.value != "" {
			ids = append(ids, a.member.ID())
		}
	}
	return ids
}

// credentialsNotice is how long before the credentials for a Kubernetes cluster end its Kafkas warn of it, and lastCredentialsNotice how
// long before they warn again.
const (
	credentialsNotice     = 7 * 24 * time.Hour
	lastCredentialsNotice = 24 * time.Hour
)

// warnOfCredentials warns before the credentials for a Kubernetes cluster expire, and of what is odd about them.
func (p *pass) warnOfCredentials(m Member) {
	s := m.Status()
	if at := s.CredentialsExpire; !at.IsZero() && at.Sub(p.Now()) < credentialsNotice {
		expire := "expire"
		switch left := at.Sub(p.Now()); {
		case left <= 0:
			expire = "expired"
		case left < lastCredentialsNotice:
			expire = "expire within 24 hours,"
		}
		p.warn("CredentialsExpire", fmt.Sprintf("The credentials for cluster '%s' %s at %s: put a kubeconfig with new ones into its Secret",
			m.ID(), expire, at.UTC().Format(time.RFC3339)))
	}
	if s.State == clusters.Connected && s.Reason != "" { // with credentials that were replaced by some that do not do
		p.warn(string(clusters.ReasonCredentialsRefused), fmt.Sprintf("cluster '%s': %s", m.ID(), s.Message))
	}
	for _, w := range s.Warnings {
		p.warn("Kubeconfig", fmt.Sprintf("The kubeconfig of cluster '%s': %s", m.ID(), w))
	}
}

// open connects the pass to a remote Kubernetes cluster, and reads its anchor, which names the holder that may write.
func (p *pass) open(ctx context.Context, m Member) (*site, error) {
	if err := p.checkConflicts(m.ID()); err != nil {
		return nil, err
	}
	c, err := m.Client()
	if err != nil {
		return nil, err
	}
	if has, known := m.Status().Identity, p.record.Clusters[m.ID()].Identity; known != "" && has != known {
		return nil, fmt.Errorf("%w: the uid of its namespace %s is %s, not %s", errOtherCluster, clusters.IdentityNamespace, has, known)
	}
	s := &site{cluster: m.ID(), member: m, cache: &watchedReader{Reader: m.Reader(), by: p.Reconciler,
		lacks: "the credentials don't permit to list and watch it, apply your copy of the current " +
			"config/cluster-operator/overlays/remote there again"}}
	s.nodes = s.cache
	s.live = &remoteClient{Client: c, reader: m.APIReader(), confirm: func(ctx context.Context) error { return p.confirm(ctx, s) }}
	name := client.ObjectKeyFromObject(p.kafka)
	if p.kafka.DeletionTimestamp == nil {
		if s.anchor, err = anchor(ctx, s.cache, name); err != nil {
			return nil, err
		}
	}
	if s.anchor == nil { // the cache does not hold one that lacks the Kafka's label
		if s.anchor, err = anchor(ctx, s.live, name); err != nil {
			return nil, err
		}
		s.confirmed = true
	}
	if s.anchor != nil {
		s.owner = anchorOwner(s.anchor)
	}
	if p.kafka.DeletionTimestamp != nil {
		return s, nil // Kubernetes deletes what the anchor owns, whether an operator is there or not
	}
	return s, p.checkAgent(ctx, s)
}

// checkAgent warns if no operator makes pods in a Kubernetes cluster, and leaves one out whose operator does not understand this one.
func (p *pass) checkAgent(ctx context.Context, s *site) error {
	beat, err := p.beats.Read(ctx, s.cache, s.cluster, p.Stretching.Namespace, p.Now())
	if err != nil {
		return err
	}
	switch problem, mismatch := beat.Problem(p.OperatorVersion, p.Now()); {
	case mismatch:
		return fmt.Errorf("%w: %s", errVersions, problem)
	case problem != "":
		p.warn("RemoteOperatorNotRunning", fmt.Sprintf("In cluster '%s': %s", s.cluster, problem))
		p.requeueAfter(time.Minute) // no event reports that it is there now
	}
	if skew := beat.Skew(p.OperatorVersion); skew != "" {
		p.warn("OperatorVersionsDiffer", fmt.Sprintf("In cluster '%s': %s", s.cluster, skew))
	}
	return nil
}

// errOtherCluster means that a user has to correct the credentials.
var errOtherCluster = errors.New("its credentials point to a Kubernetes cluster other than that with the nodes of this Kafka")

// errVersions means that the operators of two Kubernetes clusters don't work together.
var errVersions = errors.New("version mismatch")

// watchTimeout is how long a pass waits for the first watches in a Kubernetes cluster, which never begin where they are not permitted.
const watchTimeout = 15 * time.Second

// watching returns a context for reads from the cache of a Kubernetes cluster.
func (r *Reconciler) watching(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(r.WatchTimeout, watchTimeout))
}

// watchedReader reads from the cache of a Kubernetes cluster, and waits for a watch that does not begin no longer than watching.
type watchedReader struct {
	client.Reader
	by *Reconciler
	// lacks is what may be wrong if it does not begin.
	lacks string
	// vain, if set, is true from when a read waited in vain until one is answered: meanwhile, none waits. A member does that itself.
	vain *atomic.Bool
}

// Get reads one object.
func (r *watchedReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return r.read(ctx, func(ctx context.Context) error { return r.Reader.Get(ctx, key, o, opts...) })
}

// List reads many objects.
func (r *watchedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return r.read(ctx, func(ctx context.Context) error { return r.Reader.List(ctx, list, opts...) })
}

func (r *watchedReader) read(ctx context.Context, do func(context.Context) error) error {
	timeout := cmp.Or(r.by.WatchTimeout, watchTimeout)
	if r.vain != nil && r.vain.Load() {
		timeout = 0 // the cache responds nevertheless if it is in sync
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := do(ctx)
	answered := err == nil || ctx.Err() == nil && !apierrors.IsTimeout(err) // a member does not wait that long again
	if r.vain != nil {
		r.vain.Store(!answered)
	}
	if answered {
		return err
	}
	return &unwatchedError{err, r.lacks}
}

// unwatchedError means that a watch did not begin in time.
type unwatchedError struct {
	err   error
	lacks string
}

// Error says what may be wrong.
func (e *unwatchedError) Error() string { return fmt.Sprintf("%v (if %s)", e.err, e.lacks) }

// Unwrap returns what the read failed with.
func (e *unwatchedError) Unwrap() error { return e.err }
