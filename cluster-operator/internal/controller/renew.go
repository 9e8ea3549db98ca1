package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// renewDespite renews certificates in a pass that ends with an error, and returns that error; or the one of a write that is to be repeated
// at once.
func (p *pass) renewDespite(ctx context.Context, err error) error {
	if isStale(err) || isOthers(err) {
		return err
	}
	failed := p.renew(ctx)
	refused, is := errors.AsType[*pki.Error](failed)
	switch {
	case failed == nil:
	case isStale(failed):
		return failed
	case is && (p.firstAway() == nil || refused.Reason != pki.ReasonUnknown || refused.Err != nil):
		if first, same := errors.AsType[*pki.Error](err); !same || first.Error() != refused.Error() {
			p.warn(refused.Reason, refused.Error())
		}
	case is: // a Kubernetes cluster that is away is reported as such
	default:
		p.log.Error(failed, "Failed to renew certificates")
		p.warn(pki.ReasonNotRenewed, fmt.Sprintf("Certificates of running nodes were not renewed: %s", failed))
		p.requeueAfter(renewRetry)
	}
	return err
}

// renewRetry is when the renewal is tried again in a pass that only a user can fix.
const renewRetry = time.Minute

// isStale reports whether an error means that the cache was behind, so that the pass is repeated.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, errBehind)
}

// renew renews the certificates of the nodes that run, in a pass that ends before its own step for that: an object that nobody corrects
// must not become an outage on the day that certificates expire. All else stays as it is, see docs/decisions/renewal-while-invalid.md.
func (p *pass) renew(ctx context.Context) error {
	if len(p.listed) == 0 || slices.ContainsFunc(p.listed, madeByAnother) {
		return nil
	}
	running := p.runningNodes()
	in := p.pkiInput(ctx, renewOnly(running))
	in.Listeners = nil
	in.TopicOperator = in.TopicOperator && p.home().facts.Secret(pki.TopicOperatorSecret(p.kafka.Name)) != nil
	plan, err := pki.Plan(in)
	if err != nil {
		return err
	}
	if unusable := plan.ClientsCAError; unusable != nil {
		p.warn(unusable.Reason, unusable.Error())
	}
	for _, list := range [][]pki.Desired{plan.CAs, plan.Leaves} {
		for i := range list {
			list[i] = renewed(list[i], in.Secrets)
		}
	}
	plan.TrustBundle = renewed(plan.TrustBundle, in.Secrets)
	if err := p.writeAuthorities(ctx, plan); err != nil {
		return err
	}
	if err := p.writeLeaves(ctx, plan); err != nil {
		return err
	}
	p.status.ClusterCA, p.status.Served = string(plan.ClusterCA.TrustPEM), p.secretsOf(running)
	return p.each(func(s *site) error {
		if len(s.facts.PodSets()) == 0 {
			return nil
		}
		if s.cluster != topology.Home {
			if !p.claimed(s) || !p.ownerWritten() {
				return nil // nothing proves there what is the Kafka's
			}
			s.applier.Owner = new(p.owner)
		}
		at := p.at(s)
		at.Topology = running
		if err := p.applyCopies(ctx, s, at); err != nil {
			return err
		}
		return p.recertify(ctx, s, plan.PodAnnotations)
	})
}

// madeByAnother reports whether a pod is listed by a set of another operator, such as Strimzi's, whose certificates are that one's to
// renew. Somebody may have changed the label of those made here.
func madeByAnother(l facts.ListedPod) bool {
	return l.Set.Labels[core.LabelManagedBy] != apply.FieldManager && !ownership.Original(l.Set, "StrimziPodSet")
}

// renewOnly are nodes as their certificates are renewed, and nothing else.
func renewOnly(running topology.Topology) []pki.Node {
	var nodes []pki.Node
	for _, n := range running.Nodes() {
		nodes = append(nodes, pki.Node{PodName: running.PodName(n), RenewOnly: true})
	}
	return nodes
}

// claimed reports whether the anchor in a Kubernetes cluster is the Kafka's in its present epoch. What would be written there before could
// not be told from what an earlier Kafka of this name wrote.
func (p *pass) claimed(s *site) bool {
	if s.anchor == nil {
		return false
	}
	live := ownership.Read(s.anchor, "ConfigMap")
	return ownership.Decide(&live, p.owner, ownership.Facts{}) == ownership.Proceed
}

// secretsOf returns the certificates in the Secrets of nodes, as a status has them: those of users for listeners are among them.
func (p *pass) secretsOf(nodes topology.Topology) map[string]bool {
	served := map[string]bool{}
	for _, n := range nodes.Nodes() {
		if secret := p.home().facts.Secret(nodes.PodName(n)); secret != nil {
			for _, data := range secret.Data {
				served[string(pki.Certificates(data))] = true
			}
		}
	}
	return served
}

// runningNodes are the nodes that StrimziPodSets list, whether they are wanted or not.
func (p *pass) runningNodes() topology.Topology {
	pools, added := map[string]*topology.Pool{}, map[int32]bool{}
	add := func(n topology.Node) {
		if added[n.ID] {
			return // its Kubernetes cluster was read, and is left out since then
		}
		added[n.ID] = true
		if pools[n.Pool] == nil {
			pools[n.Pool] = &topology.Pool{Name: n.Pool, Cluster: n.Cluster, Removed: true}
		}
		pools[n.Pool].Nodes = append(pools[n.Pool].Nodes, n)
	}
	for _, l := range p.listed {
		add(l.Node)
	}
	for _, n := range p.remembered {
		add(n)
	}
	t := topology.Topology{Namespace: p.kafka.Namespace, Name: p.kafka.Name}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		t.Pools = append(t.Pools, *pools[name])
	}
	return t
}

// renewed leaves a Secret alone of which only the labels or the owner would change.
func renewed(d pki.Desired, live map[string]pki.Fact) pki.Desired {
	before := live[d.Name].Secret
	if d.Change != pki.Update || !maps.EqualFunc(d.Data, before.Data, bytes.Equal) {
		return d
	}
	wants, has := maps.Clone(d.Annotations), maps.Clone(before.Annotations)
	delete(wants, pki.AnnotationLabels)
	delete(has, pki.AnnotationLabels)
	if maps.Equal(wants, has) {
		d.Change = pki.Keep
	}
	return d
}

// recertify has the StrimziPodSets of a Kubernetes cluster list their pods with these annotations about certificates. One whose pods could
// not be made again stays as it is: its nodes would not come back from the restart.
func (p *pass) recertify(ctx context.Context, s *site, annotations map[string]map[string]string) error {
	var rejected []error
	for _, set := range s.facts.PodSets() {
		changed := set.DeepCopy()
		var first []byte
		for i, raw := range set.Spec.Pods {
			pod, err := model.Recertify(raw.Raw, annotations)
			if err != nil {
				return fmt.Errorf("StrimziPodSet %s: %w", set.Name, err)
			}
			if first == nil && !bytes.Equal(pod, raw.Raw) {
				first = pod
			}
			changed.Spec.Pods[i].Raw = pod
		}
		if first == nil {
			continue
		}
		if s.cluster == topology.Home {
			if err := p.checkPod(ctx, s, strings.TrimPrefix(set.Name, p.kafka.Name+"-"), first); err != nil {
				rejected = append(rejected, err)
				continue
			}
		}
		if err := s.patch(ctx, keyOfSet(set), set, changed); err != nil {
			return err
		}
		p.wrote(s, keyOfSet(set), apply.Changed)
	}
	return errors.Join(rejected...)
}
