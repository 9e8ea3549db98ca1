package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// render works out what nodes are made from, and has the API server validate their pods, before anything is written for them.
func (p *pass) render(ctx context.Context) error {
	live := p.live()
	p.rendered = map[*site]model.Result{}
	for _, s := range p.sites {
		var err error
		if p.rendered[s], err = model.Render(p.at(s), live); err != nil {
			return stalled("InvalidResourceException", "%s", err)
		}
		for _, m := range p.rendered[s].Manifests {
			if len(m.Pending) > 0 {
				p.status.Pending = append(p.status.Pending, fmt.Sprintf("the %s of node %d", strings.Join(m.Pending, " and "), m.Node.ID))
			}
		}
	}
	p.findLingering()
	return p.checkPods(ctx, p.rendered)
}

// nodes applies what nodes are made from, and the StrimziPodSets last.
func (p *pass) nodes(ctx context.Context) error {
	stay, err := p.removeNeverUsed(ctx)
	if err == nil {
		err = p.applyNodes(ctx)
	}
	if exceedsQuota(err) && len(stay) > 0 {
		return fmt.Errorf("%w. %s count too, and are of nodes that are not wanted any more and never ran: delete them", err, claimsIn(stay))
	}
	if err != nil {
		return err
	}
	known := p.known()
	for _, node := range p.input.Topology.Nodes() {
		why, delayed := p.input.Endpoints.Delayed[node.ID]
		runs := slices.ContainsFunc(known, func(n topology.Node) bool { return n.ID == node.ID })
		// One that runs gets its new listener later, and waits for it only if it is kept as it is.
		if delayed && (!runs || p.input.Endpoints.Keep[node.ID]) {
			p.log.Info("Delaying the start of a node", "node", node.ID, "waitsFor", why)
			p.waits(node.Pool, "node %d (%s)", node.ID, why)
		}
	}
	p.findUnconfigured()
	return nil
}

// findUnconfigured finds the nodes that do not run with their configuration, although their pods are up to date: the roller changes it
// while they run, or restarts them for it, and reports when that is done. The ConfigMap of a node that stays as it is, because its pool was
// removed, is not written: nothing says what was in it.
func (p *pass) findUnconfigured() {
	roller := core.RollerStatusIn(p.home().facts.ConfigMap(core.RollerStatusName(p.kafka.Name)))
	for _, l := range p.listed {
		running := p.pod(l.Node)
		wanted := l.Pod.Annotations[core.AnnotationConfigHash]
		if p.pools[l.Node.Pool] == nil && wanted != configHash(p.config(l.Node)) {
			p.status.Unconfigured = append(p.status.Unconfigured, l.Node.Pool)
			p.waits(l.Node.Pool, "node %d (ConfigMap %s does not have its configuration any more, and KafkaNodePool %s was removed: create it "+
				"again)", l.Node.ID, l.Pod.Name, l.Node.Pool)
			continue
		}
		if running == nil || running.DeletionTimestamp != nil || core.Outdated(running, l.Pod) ||
			roller.ConfigurationOf(running) == wanted {
			continue
		}
		p.status.Unconfigured = append(p.status.Unconfigured, l.Node.Pool)
		p.waits(l.Node.Pool, "node %d (the roller has not applied its configuration yet)", l.Node.ID)
	}
	blocked := slices.IndexFunc(roller.Conditions, func(c v1.Condition) bool { return c.Type == core.RollerBlocked })
	if len(p.status.Unconfigured) > 0 && blocked >= 0 {
		p.waits("", "Roller: %s", roller.Conditions[blocked].Message)
	}
}

// configHash returns the hash of the configuration in a node's ConfigMap, which may be nil.
func configHash(config *corev1.ConfigMap) string {
	if config == nil {
		return ""
	}
	return core.ConfigHash(config.Data[core.ConfigMapServerConfig])
}

// live returns the current manifests of nodes, by pod name.
func (p *pass) live() map[string]model.Live {
	live := map[string]model.Live{}
	contents := map[*core.StrimziPodSet]map[string]string{}
	for _, l := range p.listed {
		if _, read := contents[l.Set]; !read {
			contents[l.Set] = model.ContentsIn(l.Set)
		}
		live[l.Pod.Name] = model.Live{Pod: l.Raw, Config: p.config(l.Node), Content: contents[l.Set][l.Pod.Name],
			RestartedAt: p.restartedAt(l)}
	}
	for _, n := range p.input.Topology.Nodes() {
		if name := p.podName(n); live[name].Pod == nil {
			live[name] = model.Live{Config: p.config(n)}
		}
	}
	return live
}

// checkSizes refuses KafkaNodePools whose StrimziPodSets Kubernetes would not store, before anything is written for them.
func (p *pass) checkSizes(context.Context) error {
	live := p.live()
	for _, s := range p.sites {
		if err := model.CheckSizes(p.at(s), live); err != nil {
			return stalled("InvalidResourceException", "%s", err)
		}
	}
	return nil
}

// applyNodes applies what nodes are made from, and the StrimziPodSets last. No Kubernetes cluster waits for the others, except where
// brokers are to leave.
func (p *pass) applyNodes(ctx context.Context) error {
	wait, err := p.findEmptyVoters(ctx)
	if err != nil {
		return err
	}
	objects := func(s *site) error {
		if err := p.applyCopies(ctx, s, p.at(s)); err != nil {
			return err
		}
		return p.applyAll(ctx, s, slices.DeleteFunc(slices.Clone(p.rendered[s].Objects), func(o model.Object) bool {
			key := facts.KeyOf(o)
			if key.Kind == "NetworkPolicy" && p.replacing && s.facts.Objects[key] != nil {
				s.kept[key] = true
				return true // nodes listen on ports that the new one lacks
			}
			return key.Kind == "PersistentVolumeClaim" && wait[o.GetName()]
		}))
	}
	sets := func(s *site) error { return p.applySets(ctx, s) }
	leaving := p.leaving()
	if len(leaving) == 0 {
		return p.eachHost(inOrder(objects, sets))
	}
	if err := p.eachHost(objects); err != nil {
		return err
	}
	if err := p.stillEmpty(ctx, leaving); err != nil {
		return err
	}
	return p.eachHost(sets)
}

// inOrder does one thing after the other in a Kubernetes cluster.
func inOrder(steps ...func(*site) error) func(*site) error {
	return func(s *site) error {
		for _, do := range steps {
			if err := do(s); err != nil {
				return err
			}
		}
		return nil
	}
}

func (p *pass) applyAll(ctx context.Context, s *site, objects []model.Object) error {
	for _, o := range objects {
		if claim, is := o.(*corev1.PersistentVolumeClaim); is {
			if anew, err := p.makeAnew(ctx, s, claim); err != nil {
				return err
			} else if anew {
				continue
			}
		}
		if err := p.apply(ctx, s, p.keepReachable(s, o)); err != nil {
			return err
		}
	}
	return nil
}

// applySets applies StrimziPodSets. The same write ends the request to restart their pods, which have it now: one that stays would be a new
// one for each pod that was restarted. The next pass takes the annotation off, because it does not apply it any more.
func (p *pass) applySets(ctx context.Context, s *site) error {
	for _, o := range p.rendered[s].PodSets {
		if set := p.input.Sets[o.GetName()]; set != nil && p.restarts(set) {
			annotations := maps.Clone(o.GetAnnotations())
			annotations[core.AnnotationManualRollingUpdate] = "false"
			o.SetAnnotations(annotations)
		}
		if err := p.apply(ctx, s, o); err != nil {
			return err
		}
	}
	return nil
}

// leaving returns the running brokers that are about to be stopped, unless the user allows to remove them with their data.
func (p *pass) leaving() []int32 {
	if p.mayLoseData() {
		return nil
	}
	brokers := map[int32]bool{}
	for _, n := range p.input.Topology.Brokers() {
		brokers[n.ID] = true
	}
	var leave []int32
	for _, n := range p.existing() {
		if n.Roles.Broker && !brokers[n.ID] {
			leave = append(leave, n.ID)
		}
	}
	return leave
}

// stillEmpty asks once more what brokers hold that are about to leave, right before they are stopped: since the pass began, a topic may
// have been made.
func (p *pass) stillEmpty(ctx context.Context, leave []int32) error {
	holdings, err := p.freshHoldings(ctx, leave)
	for _, id := range leave {
		if why := holdings.WhyKept(id); why != "" {
			return &Failure{Err: err, Problem: status.Problem{Reason: v1.ReasonScaleDownPrevented,
				Message: fmt.Sprintf("broker %d was empty when the reconciliation began, and is kept: %s", id, why)}}
		}
	}
	return nil
}

// mayLoseData reports whether the user accepts that data or metadata is lost: strimzi.io/skip-broker-scaledown-check.
func (p *pass) mayLoseData() bool {
	return v1.IsTrue(p.kafka.Annotations, v1.AnnotationSkipScaleDownCheck)
}

// restartedAt identifies the last restart of a pod that was asked for by an annotation of its StrimziPodSet, or that a larger volume
// needed. The nodes of a removed pool stay as they are, and their file systems as large.
func (p *pass) restartedAt(l facts.ListedPod) string {
	// The running pod's uid makes one request one restart, however often the pass is repeated.
	if running := p.pod(l.Node); running != nil && (p.restarts(l.Set) ||
		p.pools[l.Node.Pool] != nil && p.resizeWaits(l.Node, running)) {
		return string(running.UID)
	}
	return l.Pod.Annotations[model.AnnotationRestartedAt]
}

// restarts reports whether a user asked to restart the nodes of a StrimziPodSet. While one of them has to stay unchanged, all of them wait,
// so that each is restarted once.
func (p *pass) restarts(set *core.StrimziPodSet) bool {
	return v1.IsTrue(set.Annotations, core.AnnotationManualRollingUpdate) && !slices.ContainsFunc(p.listed, func(l facts.ListedPod) bool {
		return l.Set.Name == set.Name && p.input.Endpoints.Keep[l.Node.ID]
	})
}
