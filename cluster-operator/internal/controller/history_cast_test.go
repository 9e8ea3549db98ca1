package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/providers"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// Faults that tests plant in the environment of the reconciler.
const (
	faultNoPreconditions = "the API servers do not look at uids and resourceVersions"
	faultNoIdentity      = "Kubernetes clusters are not told apart"
	faultOldAnchors      = "the API servers tell what the anchors were"
	faultOldIDs          = "the API servers tell which nodes and volumes there were"
	faultNoTraces        = "nobody looks for nodes elsewhere of a Kafka that says nothing of them"
	faultUpToDate        = "pods seem to be made from what StrimziPodSets list"
	faultOneCentral      = "volumes seem to be of the central cluster that reads them"
)

// central is a Kubernetes cluster with a Kafka object and the operators that reconcile it. It records the facts about the Kafka that the
// rules need.
type central struct {
	id        string
	server    *apiServer
	k8s       *inMemory
	operators []*operator
	// points maps each id to the Kubernetes cluster that its credentials lead to.
	points map[string]*apiServer
	// rival is the other central cluster.
	rival *central

	// ids, holders, uids and clusterIDs are all that the Kafka ever had: owner ids, the holders' hashes in terms, uids of Kafka objects, and
	// ids of Kafka clusters.
	ids, holders, clusterIDs map[string]bool
	// givenAtHome are the nodes that got their ids while the Kafka was in one Kubernetes cluster.
	givenAtHome map[node]bool
	uids        map[types.UID]bool
	epoch       int64
}

// learn records the owner's id, holder and epoch, and the cluster id, of a Kafka object.
func (c *central) learn(o client.Object) {
	kafka, ok := o.(*v1.Kafka)
	if !ok {
		return
	}
	c.uids[kafka.UID] = true
	c.holders[ownership.Owner{Holder: ownership.Holder{Central: c.id, Cluster: types.UID(c.server.id),
		Object: kafka.UID}}.Term().Holder] = true
	if id := kafka.Annotations[ownership.MarkID]; id != "" {
		c.ids[id] = true
	}
	if epoch, err := strconv.ParseInt(kafka.Annotations[v1.AnnotationOwnerEpoch], 10, 64); err == nil {
		c.epoch = max(c.epoch, epoch)
	}
	if kafka.Status.ClusterID != "" {
		c.clusterIDs[kafka.Status.ClusterID] = true
	}
}

// operator is one replica of an operator. Its process is started again each time that it is killed.
type operator struct {
	*central
	name  string
	r     *Reconciler
	links map[string]*link
}

// link is an operator's connection to a Kubernetes cluster. Like module clusters, it remembers the identity of the cluster until the
// process ends.
type link struct {
	h    *stretched
	op   *operator
	id   string
	home bool
	// bound is the Kubernetes cluster that the process found under this id when it started.
	bound *apiServer
	lost  bool
	// reads is the number of reads that succeed before all others fail; negative if none fails.
	reads int
	// writes is "before" or "after" if writes fail before or after the API server carries them out.
	writes string
	// view holds the objects in an outdated cache; nil if the cache is up to date.
	view objects
	live client.WithWatch
}

func (l *link) ID() string { return l.id }
func (l *link) Home() bool { return l.home }

// connected reports whether the cluster responds and is still the same one. Two ids that lead to one cluster are not connected.
func (l *link) connected() bool {
	for _, other := range l.op.links {
		if other != l && other.bound == l.bound {
			return false
		}
	}
	return !l.lost && l.op.points[l.id] == l.bound
}

func (l *link) Status() clusters.Status {
	s := clusters.Status{ID: l.id, State: clusters.Connected, Identity: types.UID(l.bound.id)}
	if l.h.fault == faultNoIdentity {
		s.Identity = types.UID(l.op.server.id + l.id)
		if l.home {
			s.Identity = types.UID(l.bound.id)
		}
	}
	if !l.connected() {
		s.State, s.Reason, s.Message = clusters.Unreachable, clusters.ReasonNoAnswer, errLost.Error()
	}
	return s
}

// Reader returns a reader of the cache.
func (l *link) Reader() client.Reader {
	return answering{l, &inMemory{server: l.bound, view: func() objects {
		if l.view != nil {
			return l.seen(l.view)
		}
		return l.seen(l.bound.objects)
	}}}
}

// seen returns the objects that the operator can read. faultNoTraces hides the anchor and the record of a Kafka that is not stretched.
func (l *link) seen(all objects) objects {
	if l.h.fault == faultUpToDate {
		return withRevisions(l.h.t, all)
	}
	if l.h.fault == faultOneCentral {
		return withCentral(all, l.op.server.id)
	}
	kafka := l.op.kafka()
	if l.h.fault != faultNoTraces || kafka == nil || kafka.Annotations[v1.AnnotationStretch] == "true" || len(kafka.Finalizers) > 0 {
		return all
	}
	all = maps.Clone(all)
	delete(all, anchorKey)
	delete(all, facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")})
	return all
}

// withCentral returns objects in which all claims that name a central cluster name that one.
func withCentral(all objects, id string) objects {
	all = maps.Clone(all)
	for key, o := range all {
		if of := o.GetAnnotations()[ownership.MarkCentral]; key.Kind == "PersistentVolumeClaim" && of != "" && of != id {
			changed := copied(o.Object)
			changed.SetAnnotations(with(changed.GetAnnotations(), ownership.MarkCentral, id))
			all[key] = &stored{changed, o.applied}
		}
	}
	return all
}

func (l *link) APIReader() client.Reader {
	return answering{l, &inMemory{server: l.bound, view: func() objects {
		if l.h.fault == faultOldAnchors && l.view != nil && l.view[anchorKey] != nil {
			all := maps.Clone(l.bound.objects)
			all[anchorKey] = l.view[anchorKey]
			return all
		}
		if l.h.fault == faultOldIDs && l.view != nil {
			all := maps.Clone(l.bound.objects)
			hasIDs := func(key facts.Key, _ *stored) bool {
				return key.Kind == "StrimziPodSet" || key.Kind == "PersistentVolumeClaim"
			}
			maps.DeleteFunc(all, hasIDs)
			for key, o := range l.view {
				if hasIDs(key, o) {
					all[key] = o
				}
			}
			return all
		}
		return l.seen(l.bound.objects)
	}}}
}

func (l *link) Client() (client.Client, error) {
	if !l.connected() {
		return nil, errLost
	}
	return l.live, nil
}

// answering is a Reader that fails when the connection is lost.
type answering struct {
	link *link
	client.Reader
}

func (a answering) ask() error {
	if !a.link.connected() || a.link.reads == 0 {
		return errLost
	}
	if a.link.reads > 0 {
		a.link.reads--
	}
	return nil
}

func (a answering) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := a.ask(); err != nil {
		return err
	}
	return a.Reader.Get(ctx, key, o, opts...)
}

func (a answering) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := a.ask(); err != nil {
		return err
	}
	return a.Reader.List(ctx, list, opts...)
}

// liveReads is a client that reads with reader.
type liveReads struct {
	client.WithWatch
	reader client.Reader
}

func (c liveReads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.reader.Get(ctx, key, o, opts...)
}

func (c liveReads) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, list, opts...)
}

// stretched is a history of a Kafka over three Kubernetes clusters, with a rival central cluster and objects of other owners.
type stretched struct {
	*history
	servers []*apiServer
	// spare is a Kubernetes cluster that the Kafka does not use; wrong credentials lead there.
	spare    *apiServer
	centrals []*central
	// acting is the operator whose pass runs. inside is the number of passes under way, one inside the other.
	acting *operator
	inside int
	// fault is the planted fault that the rules must find; empty for none.
	fault string
	// targets maps each pool to the Kubernetes cluster that it was created for.
	targets map[string]string
	// makers are the central clusters whose operators made claims, by the uids of these.
	makers map[types.UID]*central
}

func (h *stretched) central(id string, scheme *apiServer) *central {
	s := h.server(id, scheme.scheme)
	c := &central{id: "central", server: s, k8s: s.client(), points: map[string]*apiServer{},
		givenAtHome: map[node]bool{}, ids: map[string]bool{}, holders: map[string]bool{}, clusterIDs: map[string]bool{},
		uids: map[types.UID]bool{}}
	judge := s.written
	s.written = func(key facts.Key, before, after client.Object) {
		judge(key, before, after)
		if after != nil {
			c.learn(after)
		}
	}
	h.centrals, h.servers = append(h.centrals, c), append(h.servers, s)
	return c
}

// newStretched creates the Kubernetes clusters, with a second central one for the rival.
func newStretched(h *history) *stretched {
	s := &stretched{history: h, targets: map[string]string{}, makers: map[types.UID]*central{}}
	h.target = func(pool string) string {
		if s.targets[pool] == "" {
			s.targets[pool] = s.one("central", "east", "west")
		}
		return s.targets[pool]
	}
	h.judgeMore = s.judgeMore
	h.spared = func(key facts.Key) bool { return s.misled() && key.Name == model.RecordName("my-cluster") }
	first := h.k8s.server
	s.central("central", first)
	s.central("rival", first)
	s.centrals[0].rival, s.centrals[1].rival = s.centrals[1], s.centrals[0]
	for _, id := range []string{"east", "west", "north"} {
		server := h.server(id, first.scheme)
		s.servers = append(s.servers, server)
		for _, c := range s.centrals {
			if id != "north" {
				c.points[id] = server
			} else {
				s.spare = server
			}
		}
	}
	h.k8s = s.centrals[0].k8s
	for i, server := range s.servers {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
		h.must(server.client().Create(h.t.Context(), node))
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", i+1)}}
		h.must(server.client().Status().Update(h.t.Context(), node))
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: heartbeat.LeaseName, Annotations: map[string]string{
				"kafka-operators.io/contract": heartbeat.Contract, "kafka-operators.io/operator-version": "1"}},
			Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: h.now.AddDate(1, 0, 0)}},
		}
		h.must(server.client().Create(h.t.Context(), lease))
	}
	for _, c := range s.centrals {
		c.points["central"] = c.server
		for _, name := range []string{"leader", "replica"} {
			o := &operator{central: c, name: c.server.id + "'s " + name}
			c.operators = append(c.operators, o)
			s.start(o)
		}
	}
	return s
}

// start starts a new process of an operator, without state and with up-to-date caches.
func (h *stretched) start(o *operator) {
	settings := h.r.Settings
	o.r = h.reconciler()
	o.r.Settings = settings
	lost := map[string]bool{}
	for id, l := range o.links {
		lost[id] = l.lost
	}
	o.links = map[string]*link{}
	r := o.r
	for id, server := range o.points {
		l := &link{h: h, op: o, id: id, home: server == o.server, bound: server, reads: -1, lost: lost[id]}
		l.live = liveReads{h.guarded(server.client(), func() *Reconciler { return r }, func(do func() error) error { return h.through(l, do) }),
			l.APIReader()}
		o.links[id] = l
	}
	home := o.links["central"]
	o.r.Cache, o.r.Live = home.Reader(), home.live
	provider, end, err := providers.Open(h.t.Context(), providers.Options{Name: "nodeport"})
	h.must(err)
	end()
	o.r.Stretching = &Stretching{Central: "central", Namespace: historyNamespace, Provider: provider, ProviderName: "nodeport",
		Members: func() []Member {
			var all []Member
			for _, id := range slices.Sorted(maps.Keys(o.links)) {
				all = append(all, o.links[id])
			}
			return all
		}}
}

// through carries out a write to a Kubernetes cluster. The connection may break before the write, or after it and before the response.
func (h *stretched) through(l *link, do func() error) error {
	switch {
	case !l.connected() || l.writes == "before":
		return errLost
	case l.writes == "after":
		l.writes = "before"
		err := h.write(do)
		if errors.Is(err, errKilled) {
			return err
		}
		return errLost
	}
	return h.write(do)
}

// pass runs a pass of an operator. The operator is killed after kill writes, unless kill is negative, and is then started again.
func (h *stretched) pass(o *operator, kill int) (reconcile.Result, error) {
	acting, fail, window := h.acting, h.fail, h.window
	h.acting, h.fail = o, kill
	h.inside++
	result, err := o.r.Reconcile(h.t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: "my-cluster"}})
	h.inside--
	killed := h.fail == -2
	h.acting, h.fail, h.window = acting, fail, window
	h.judgeUnregistered(o.central)
	if killed {
		h.start(o)
		return result, errKilled
	}
	return result, err
}
