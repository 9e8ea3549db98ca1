package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// traces are signs of nodes in other Kubernetes clusters while the Kafka object is not marked as stretched: somebody removed both its
// annotation and its finalizer, or deleted it and recreated it without them.
type traces struct {
	// kafka is the object that there is now. accepted reports that it runs in one Kubernetes cluster: an earlier pass found it there, and it
	// has nodes. Its status alone may be that of an earlier object, from a backup.
	kafka    types.UID
	accepted bool
	// recorded are the Kubernetes clusters in which there are nodes by the record, which is that of the object recordedBy.
	recorded   []string
	recordedBy types.UID
	// anchors are the objects that the anchors of this central cluster name, by the Kubernetes clusters that these are in.
	anchors map[string]types.UID
	// unread are the Kubernetes clusters whose anchor could not be read.
	unread []string
}

// nodeOwner says to which Kafka the nodes in other Kubernetes clusters belong.
type nodeOwner int

const (
	// nobodys: there are none.
	nobodys nodeOwner = iota
	// itsOwn: they are the Kafka's.
	itsOwn
	// anEarlier: they belong to an earlier Kafka object of the same name.
	anEarlier
	// besideIt: the same, and this one runs in one Kubernetes cluster already.
	besideIt
	// notKnown: a Kubernetes cluster that may have some can't be read.
	notKnown
)

// judge decides to which Kafka the nodes belong, and returns their Kubernetes clusters.
func (t traces) judge() (nodeOwner, []string) {
	own, earlier := map[string]bool{}, map[string]bool{}
	note := func(cluster string, of types.UID) {
		if of == t.kafka {
			own[cluster] = true
		} else {
			earlier[cluster] = true
		}
	}
	for _, cluster := range t.recorded {
		note(cluster, t.recordedBy)
	}
	for cluster, of := range t.anchors {
		note(cluster, of)
	}
	runs := t.accepted && (len(t.recorded) == 0 || t.recordedBy == t.kafka)
	switch {
	case len(earlier) > 0 && !runs:
		return anEarlier, slices.Sorted(maps.Keys(earlier))
	case len(own) > 0:
		return itsOwn, slices.Sorted(maps.Keys(own))
	case len(earlier) > 0:
		return besideIt, slices.Sorted(maps.Keys(earlier))
	case len(t.unread) > 0 && !t.accepted:
		return notKnown, t.unread
	}
	return nobodys, nil
}

// findTraces looks for objects in other Kubernetes clusters of a Kafka that is not marked as stretched. If there are some, the pass treats
// the Kafka as a stretched one that should return to one Kubernetes cluster; objects of an earlier Kafka make it fail, unless it runs.
func (p *pass) findTraces(ctx context.Context) error {
	t, unread, err := p.traces(ctx)
	if err != nil {
		return err
	}
	switch verdict, in := t.judge(); verdict {
	case itsOwn:
		p.forgotten = true
	case anEarlier:
		return aboutAnother(stalled(reasonConflict,
			"an earlier Kafka %s/%s was stretched over several Kubernetes clusters, and left nodes or volumes in %s (ConfigMap %s there, "+
				"and %s here, if it still exists): the operator changes nothing. To continue with its nodes, annotate this Kafka %s: \"true\" and its "+
				"KafkaNodePools with %s. If nobody needs its data any more, delete these ConfigMaps: the objects that they own are deleted too, "+
				"and volumes "+
				"with deleteClaim: true", p.kafka.Namespace, p.kafka.Name, quoted(in), model.AnchorName(p.kafka.Name),
			model.RecordName(p.kafka.Name), v1.AnnotationStretch, v1.AnnotationTargetCluster))
	case besideIt:
		p.warn(reasonConflict, fmt.Sprintf("By ConfigMap %s in %s, an earlier Kafka %s/%s was stretched over several Kubernetes clusters: the "+
			"operator changes nothing there while this Kafka exists. If nobody needs its data any more, delete that ConfigMap: the objects that it "+
			"owns are deleted too, and volumes with deleteClaim: true. The operator does that %s after this Kafka is deleted. To keep the objects, "+
			"delete the ConfigMap with kubectl delete --cascade=orphan", model.AnchorName(p.kafka.Name), quoted(in), p.kafka.Namespace,
			p.kafka.Name, 2*p.Interval))
	case notKnown:
		problem := unread[in[0]]
		problem.Message = fmt.Sprintf("The operator creates nothing until it knows whether an earlier Kafka %s/%s left nodes in %s. %s",
			p.kafka.Namespace, p.kafka.Name, quoted(in), problem.Message)
		return &Failure{Problem: problem, Err: fmt.Errorf("cluster %s is away", in[0])}
	}
	return nil
}

// tracesTimeout is how long a Kafka that is in one Kubernetes cluster waits for the others.
const tracesTimeout = 5 * time.Second

// traces reads the traces from the record and the anchors. unread has the problems of Kubernetes clusters that can't be read.
func (p *pass) traces(ctx context.Context) (t traces, unread map[string]status.Problem, err error) {
	// The status names Kubernetes clusters until a pass has found that there is nothing in any of them.
	t = traces{kafka: p.kafka.UID, anchors: map[string]types.UID{},
		accepted: p.kafka.Status.ClusterID != "" && len(p.kafka.Status.StretchClusters) == 0 && len(p.listed) > 0}
	if t.recorded, t.recordedBy, err = p.recordedNodes(); err != nil || p.Stretching == nil {
		return t, nil, err
	}
	now, err := p.holder(p.kafka)
	if err != nil {
		if t.accepted {
			return t, nil, nil
		}
		return t, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, tracesTimeout)
	defer cancel()
	unread = map[string]status.Problem{}
	anchored := askRemotes(p.Reconciler, func(m Member) (types.UID, error) { return p.anchoredBy(ctx, m, now, t.accepted) })
	for _, a := range anchored {
		id := a.member.ID()
		if a.err != nil {
			t.unread, unread[id] = append(t.unread, id), remoteProblem(id, a.member.Status(), a.err)
		} else if a.value != "" {
			t.anchors[id] = a.value
		}
	}
	return t, unread, nil
}

// recordedNodes returns the Kubernetes clusters in which there are nodes by the record, and the object that the record is of.
func (p *pass) recordedNodes() (in []string, of types.UID, err error) {
	r, err := p.readRecord()
	if err != nil {
		return nil, "", err
	}
	for id, has := range r.Clusters {
		if len(has.Nodes) > 0 {
			in = append(in, id)
		}
	}
	return in, r.Kafka, nil
}

// anchoredBy returns the Kafka object that the anchor in a Kubernetes cluster names, "" if there is no anchor of this central cluster. For
// an accepted Kafka, the cache is enough.
func (p *pass) anchoredBy(ctx context.Context, m Member, now ownership.Holder, accepted bool) (types.UID, error) {
	if s := m.Status(); s.State != clusters.Connected {
		return "", fmt.Errorf("it is not connected: %s", s.Message)
	}
	reader := m.APIReader()
	if accepted {
		reader = m.Reader()
	}
	found, err := anchor(ctx, reader, client.ObjectKeyFromObject(p.kafka))
	if err != nil || found == nil {
		return "", err
	}
	if h, err := ownership.ParseHolder(found.Data[anchorHolder]); err == nil && h.Cluster == now.Cluster && holds(found, h) {
		return h.Object, nil
	}
	return "", nil // it belongs to another Kafka, or shows nothing
}

// holds reports whether an anchor shows that the holder which it names made it. One that lost its marks still has the field manager of its
// owner.
func holds(anchor *corev1.ConfigMap, h ownership.Holder) bool {
	live := ownership.Read(anchor, "ConfigMap")
	if live.Term != nil {
		return live.Term.Holder == ownership.Owner{Holder: h}.Term().Holder
	}
	if len(live.Applied) != 1 {
		return false // several owners had it, and nothing shows which one has it now
	}
	_, applied := live.Applied[live.ID]
	return applied || live.ID == ""
}

// restoreOwner restores the finalizer and the owner's annotations of a Kafka with nodes in other Kubernetes clusters, even if the Kafka is
// invalid.
func (p *pass) restoreOwner(ctx context.Context) error {
	if !p.forgotten {
		return nil
	}
	return p.writeOwner(ctx)
}

// warnOfNodesElsewhere names the Kubernetes clusters with nodes of a Kafka that is not to be stretched any more.
func (p *pass) warnOfNodesElsewhere() {
	if p.input.Stretch == nil || p.kafka.Annotations[v1.AnnotationStretch] == "true" {
		return
	}
	in := map[string]bool{}
	for _, l := range p.listed {
		in[l.Node.Cluster] = true
	}
	for _, n := range p.remembered {
		in[n.Cluster] = true
	}
	delete(in, topology.Home)
	if len(in) == 0 {
		return
	}
	p.warn("NodesElsewhere", fmt.Sprintf("Kafka %s/%s is not annotated %s: \"true\" any more, and has nodes in %s. They belong to the Kafka "+
		"cluster until they are removed: delete their KafkaNodePools, and brokers are removed once they hold no partitions. Controllers "+
		"can't be. To keep "+
		"the nodes, annotate the Kafka again, and its KafkaNodePools with %s", p.kafka.Namespace, p.kafka.Name, v1.AnnotationStretch,
		quoted(slices.Sorted(maps.Keys(in))), v1.AnnotationTargetCluster))
}

// quoted lists the ids of Kubernetes clusters.
func quoted(clusters []string) string {
	if len(clusters) == 1 {
		return "cluster '" + clusters[0] + "'"
	}
	return "clusters '" + strings.Join(clusters, "', '") + "'"
}
