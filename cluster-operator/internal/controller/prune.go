package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/removal"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// prune deletes what the Kafka owns and does not want any more. Volumes go only if that was asked for while their node was there.
func (p *pass) prune(ctx context.Context) error {
	obsolete := p.planRemoval(ctx).Delete
	err := p.each(func(s *site) error {
		if err := p.pruneSite(ctx, s, obsolete); err != nil || p.input.Stretch == nil || !p.planned {
			return err
		}
		return p.prunePlanned(ctx, s)
	})
	p.status.Pruned = err == nil
	return err
}

func (p *pass) pruneSite(ctx context.Context, s *site, obsolete []removal.Ref) error {
	for _, ref := range obsolete {
		if ref.Cluster != s.cluster {
			continue
		}
		key := facts.Key{Kind: ref.Kind, Name: ref.Name}
		o := s.facts.Objects[key]
		outcome, err := s.applier.Delete(ctx, o)
		if err != nil {
			return err
		}
		switch outcome {
		case apply.Deleted, apply.Changed:
			p.wrote(s, key, outcome)
		case apply.Unproven:
			p.reportKept(s, key, o)
		}
	}
	return nil
}

// reportKept reports once, for as long as this program knows the Kafka, that an object is not wanted and stays.
func (p *pass) reportKept(s *site, key facts.Key, o client.Object) {
	of, _ := p.reportedKept.LoadOrStore(client.ObjectKeyFromObject(p.kafka), &sync.Map{})
	if _, reported := of.(*sync.Map).LoadOrStore(o.GetUID(), true); reported {
		return
	}
	note := fmt.Sprintf("%s %s is no longer needed, but is kept: it lacks the annotation %s with its own name, so it may be a copy that "+
		"somebody made, or be older than this version of the operator. Delete it if nobody needs it", key.Kind, key.Name, ownership.MarkSelf)
	if s.cluster != topology.Home {
		note = fmt.Sprintf("In Kubernetes cluster %s, %s", s.cluster, note)
	}
	p.log.Info(note)
	p.Events.Warning(p.kafka, "NotDeleted", "Delete", note)
}

// planRemoval decides which objects are deleted. Brokers are asked about the nodes that left whose volumes could go otherwise. A pass waits
// for a new answer only about nodes that were empty in the last one.
func (p *pass) planRemoval(ctx context.Context) removal.Plan {
	in := p.removalFacts()
	plan := removal.Decide(in)
	for _, fresh := range []bool{false, true} {
		if len(plan.Ask) == 0 {
			break
		}
		ask := p.holdings
		if fresh {
			ask = p.freshHoldings
		}
		holdings, _ := ask(ctx, plan.Ask)
		for _, id := range plan.Ask {
			why := holdings.WhyKept(id)
			in.Answers[id] = removal.Answer{WhyKept: why, Fresh: fresh}
			if why != "" {
				p.requeueAfter(time.Minute) // no event reports that it is empty now
				p.warn("VolumesKept", fmt.Sprintf("The PersistentVolumeClaims of removed node %d are not deleted yet: %s", id, why))
			}
		}
		plan = removal.Decide(in)
	}
	for _, kept := range plan.Kept {
		if kept.Why == removal.CameBack {
			p.warn("VolumesKept", fmt.Sprintf("PersistentVolumeClaim %s is not deleted: %s. Delete it if nobody needs its data",
				kept.Name, kept.Why))
		}
	}
	return plan
}

// removalFacts returns what the decision depends on. Brokers were not asked yet.
func (p *pass) removalFacts() removal.Input {
	in := removal.Input{
		Away: len(p.away) > 0, Planned: p.input.Stretch == nil || p.planned, TopicOperator: model.WantsTopicOperator(p.kafka),
		Replacing: p.replacing, Cordons: p.cordons(), Forced: p.mayLoseData(), Answers: map[int32]removal.Answer{},
	}
	for _, n := range p.input.Topology.Nodes() {
		in.Nodes = append(in.Nodes, removal.Node{Cluster: n.Cluster, Pod: p.podName(n), HasPool: p.pools[n.Pool] != nil})
	}
	for _, l := range p.listed {
		in.Listed = append(in.Listed, removal.Pod{Cluster: l.Node.Cluster, Name: l.Pod.Name, Claims: claimsOf(l.Pod)})
	}
	for _, s := range p.sites {
		for _, pod := range s.facts.Pods {
			in.Running = append(in.Running, removal.Pod{Cluster: s.cluster, Name: pod.Name, Claims: claimsOf(pod)})
		}
		for key, o := range s.facts.Objects {
			in.Objects = append(in.Objects, p.removalObject(s, key, o))
		}
	}
	return in
}

func (p *pass) removalObject(s *site, key facts.Key, o client.Object) removal.Object {
	object := removal.Object{Ref: removal.Ref{Cluster: s.cluster, Kind: key.Kind, Name: key.Name}, Wanted: s.kept[key]}
	if object.Wanted {
		return object // nothing else matters
	}
	object.Own = o.GetLabels()[core.LabelManagedBy] == apply.FieldManager && s.applier.Owns(o)
	object.Serves = p.mayServe(s, o)
	switch o := o.(type) {
	case *corev1.Secret:
		if key.Name == pki.TopicOperatorSecret(p.kafka.Name) {
			object.Holds = removal.OfTopicOperator
		} else if o.Labels[core.LabelComponentType] == core.ComponentKafka {
			object.Holds = removal.OfNode
		}
	case *corev1.PersistentVolumeClaim:
		id, _ := core.NodeID(key.Name)
		object.Claim = removal.Claim{Pod: p.podOf(o), Node: id, Deletable: o.Annotations[v1.AnnotationDeleteClaim] == "true",
			KeptByPool: p.keepsClaim(o), Terminating: o.DeletionTimestamp != nil,
			Empty: isEmpty(o)}
	case *core.StrimziPodSet:
		for _, l := range p.listed {
			if l.Node.Cluster == s.cluster && l.Set.Name == key.Name {
				object.Lists = append(object.Lists, l.Pod.Name)
			}
		}
	}
	return object
}

// keepsClaim reports whether the pool of a volume wants its claim to be kept by now. If the node leaves in the same pass, the annotation of
// the claim is from before.
func (p *pass) keepsClaim(claim *corev1.PersistentVolumeClaim) bool {
	pool := p.pools[claim.Labels[core.LabelPoolName]]
	return pool != nil && model.KeepsClaim(pool.Spec.Storage, claim.Name, p.kafka.Name+"-"+pool.Name)
}

// claimsOf returns the names of the claims that a pod mounts.
func claimsOf(pod *corev1.Pod) (names []string) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

func mounts(pod *corev1.Pod, claim string) bool {
	return slices.Contains(claimsOf(pod), claim)
}
