package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func asForeign(err error, target **apply.ForeignError) bool { return errors.As(err, target) }

// services applies the Services, and the Ingresses that lead to them, and finds out where nodes can be reached.
func (p *pass) services(ctx context.Context) error {
	err := p.eachHost(func(s *site) error {
		for _, o := range model.Services(p.at(s)) {
			if err := p.apply(ctx, s, o); err != nil {
				return err
			}
		}
		for _, o := range model.Ingresses(p.at(s)) {
			if err := p.apply(ctx, s, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	world, err := p.world(ctx)
	if err != nil {
		return err
	}
	if err := p.peers(ctx); err != nil {
		return err
	}
	p.input.Endpoints = model.ResolveEndpoints(p.input, world)
	maps.Copy(p.input.Endpoints.Hold, p.hold)
	if p.input.Stretch != nil {
		p.rememberEndpoints(world)
		if err := p.writeRecord(ctx); err != nil {
			return err
		}
	}
	p.status.Endpoints = &p.input.Endpoints
	for _, listener := range slices.Sorted(maps.Keys(p.input.Endpoints.Waiting)) {
		p.warn("ListenerNotReady", fmt.Sprintf("Listener %s is not reachable yet: %s", listener, p.input.Endpoints.Waiting[listener]))
		p.requeueAfter(10 * time.Second)
	}
	return nil
}

// world returns the addresses that Kubernetes assigned to the Services.
func (p *pass) world(ctx context.Context) (model.World, error) {
	world := model.World{
		Services: map[string]map[string]*corev1.Service{}, KubernetesNodes: map[int32]*corev1.Node{}, Configs: map[string]*corev1.ConfigMap{},
		Away: slices.Sorted(maps.Keys(p.away)), Now: p.Now(), Patience: p.AddressTimeout,
	}
	for _, s := range p.sites {
		world.Services[s.cluster] = map[string]*corev1.Service{}
		for key, o := range s.facts.Objects {
			switch o := o.(type) {
			case *corev1.Service:
				world.Services[s.cluster][key.Name] = o
			case *corev1.ConfigMap:
				world.Configs[key.Name] = o
			}
		}
	}
	if slices.ContainsFunc(p.kafka.Spec.Kafka.Listeners, func(l v1.Listener) bool { return l.Type == v1.ListenerNodePort }) {
		for _, n := range p.input.Topology.Brokers() {
			node, err := p.kubernetesNode(ctx, n)
			if err != nil {
				return world, err
			}
			if node != nil {
				world.KubernetesNodes[n.ID] = node
			}
		}
	}
	return world, nil
}

// kubernetesNode returns the Kubernetes node that a node's pod runs on, nil if there is none yet.
func (p *pass) kubernetesNode(ctx context.Context, n topology.Node) (*corev1.Node, error) {
	pod := p.pod(n)
	if pod == nil || pod.Spec.NodeName == "" {
		return nil, nil
	}
	node := &corev1.Node{}
	if err := p.site(n.Cluster).cache.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get node %s: %w", pod.Spec.NodeName, err)
	}
	return node, nil
}

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
	return p.checkPods(ctx)
}

// nodes applies what nodes are made from, and the StrimziPodSets last.
func (p *pass) nodes(ctx context.Context) error {
	if err := p.applyNodes(ctx); err != nil {
		return err
	}
	for _, node := range p.input.Topology.Nodes() {
		why, held := p.input.Endpoints.Hold[node.ID]
		if held && !slices.ContainsFunc(p.remembered, func(n topology.Node) bool { return n.ID == node.ID }) {
			p.log.Info("Delaying the start of a node", "node", node.ID, "waitsFor", why)
			p.waits(node.Pool, "node %d (%s)", node.ID, why)
		}
	}
	return p.finishRequests(ctx)
}

// live returns the current manifests of nodes, by pod name.
func (p *pass) live() map[string]model.Live {
	live := map[string]model.Live{}
	for _, l := range p.listed {
		live[l.Pod.Name] = model.Live{Pod: l.Raw, Config: p.config(l.Node), RestartedAt: p.restartedAt(l)}
	}
	for _, n := range p.input.Topology.Nodes() {
		if name := p.input.Topology.PodName(n); live[name].Pod == nil {
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
	objects := func(s *site) error {
		if err := p.applyCopies(ctx, s, p.at(s)); err != nil {
			return err
		}
		return p.applyAll(ctx, s, p.rendered[s].Objects)
	}
	sets := func(s *site) error { return p.applyAll(ctx, s, p.rendered[s].PodSets) }
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
		if err := p.apply(ctx, s, o); err != nil {
			return err
		}
	}
	return nil
}

// leaving returns the running brokers that are about to be stopped, unless the user allows to remove them with their data.
func (p *pass) leaving() []int32 {
	if p.forced() {
		return nil
	}
	brokers := map[int32]bool{}
	for _, n := range p.input.Topology.Brokers() {
		brokers[n.ID] = true
	}
	var leave []int32
	for _, l := range p.listed {
		if l.Node.Roles.Broker && !brokers[l.Node.ID] {
			leave = append(leave, l.Node.ID)
		}
	}
	return leave
}

// stillEmpty asks once more what brokers hold that are about to leave, right before they are stopped: since the pass began, a topic may
// have been made.
func (p *pass) stillEmpty(ctx context.Context, leave []int32) error {
	holdings, err := p.holdings(ctx, leave)
	for _, id := range leave {
		if why := holdings.Holds(id); why != "" {
			return &Failure{Err: err, Problem: status.Problem{Reason: "ScaleDownPreventionCheck",
				Message: fmt.Sprintf("broker %d was empty when the reconciliation began, and is kept: %s", id, why)}}
		}
	}
	return nil
}

// forced reports whether the user allows to remove brokers with their data.
func (p *pass) forced() bool { return v1.IsTrue(p.kafka.Annotations, v1.AnnotationSkipScaleDownCheck) }

// restartedAt identifies the last restart of a pod that was asked for by an annotation of its StrimziPodSet, or that a larger volume
// needed.
func (p *pass) restartedAt(l facts.ListedPod) string {
	// The running pod's uid makes one request one restart, however often the pass is repeated.
	if running := p.pod(l.Node); running != nil && (v1.IsTrue(l.Set.Annotations, podset.AnnotationManualRollingUpdate) ||
		p.resizeWaits(l.Node, running)) {
		return string(running.UID)
	}
	return l.Pod.Annotations[model.AnnotationRestartedAt]
}

// finishRequests takes annotations off StrimziPodSets that have had their effect: a request to restart, which the pods have now, and the
// hold of a pause that is over.
func (p *pass) finishRequests(ctx context.Context) error {
	return p.each(func(s *site) error { return s.finishRequests(ctx) })
}

func (s *site) finishRequests(ctx context.Context) error {
	for _, set := range s.facts.PodSets() {
		requested := v1.IsTrue(set.Annotations, podset.AnnotationManualRollingUpdate)
		held := set.Annotations[podset.AnnotationHold] == model.HoldPaused
		if !requested && !held {
			continue
		}
		live := &podset.StrimziPodSet{}
		if err := s.live.Get(ctx, client.ObjectKeyFromObject(set), live); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := live.DeepCopy()
		if requested {
			delete(live.Annotations, podset.AnnotationManualRollingUpdate)
		}
		if held {
			delete(live.Annotations, podset.AnnotationHold)
		}
		if err := s.live.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("StrimziPodSet %s: %w", set.Name, err)
		}
	}
	return nil
}

// warnOfWaiting names the pods that wait for something that their Kubernetes node does not have: see podset.
func (p *pass) warnOfWaiting(ctx context.Context) error {
	for _, n := range p.input.Topology.Nodes() {
		pod := p.pod(n)
		if pod == nil || pod.DeletionTimestamp != nil || !p.site(n.Cluster).made(pod) {
			continue
		}
		missing, err := placement.Missing(pod)
		if err != nil || len(missing) == 0 {
			continue // a wrong annotation is reported by its StrimziPodSet
		}
		node, err := p.kubernetesNode(ctx, n)
		if err != nil {
			return err
		}
		for _, fact := range missing {
			if node != nil && fact.Of(node) == "" {
				p.warnOf(n.Pool, "PlacementUnknown", placement.Waiting(pod, fact))
			}
		}
	}
	return nil
}

// made reports whether a pod belongs to a StrimziPodSet of the Kafka.
func (s *site) made(pod *corev1.Pod) bool {
	return slices.ContainsFunc(s.facts.PodSets(), func(set *podset.StrimziPodSet) bool { return metav1.IsControlledBy(pod, set) })
}

// prune deletes what the Kafka owns and does not want any more. Volumes go only if that was asked for while their node was there.
func (p *pass) prune(ctx context.Context) error {
	if p.input.Stretch != nil && !p.planned {
		return nil // what looks unwanted may be what nodes are reached by
	}
	return p.each(func(s *site) error {
		if err := p.pruneSite(ctx, s); err != nil || p.input.Stretch == nil {
			return err
		}
		return p.prunePlanned(ctx, s)
	})
}

func (p *pass) pruneSite(ctx context.Context, s *site) error {
	for _, key := range slices.SortedFunc(maps.Keys(s.facts.Objects),
		func(a, b facts.Key) int { return strings.Compare(a.Kind+a.Name, b.Kind+b.Name) }) {
		o := s.facts.Objects[key]
		if s.kept[key] || o.GetLabels()["app.kubernetes.io/managed-by"] != apply.FieldManager || !p.removable(s, key, o) {
			continue
		}
		outcome, err := s.applier.Delete(ctx, o)
		if err != nil {
			return err
		}
		switch outcome {
		case apply.Deleted, apply.Changed:
			p.wrote(s, key, outcome)
		case apply.Left:
			p.reportLeft(s, key, o)
		}
	}
	return nil
}

// reportLeft reports once, for as long as this program runs, that an object is not wanted and stays.
func (p *pass) reportLeft(s *site, key facts.Key, o client.Object) {
	if _, reported := p.leftovers.LoadOrStore(o.GetUID(), true); reported {
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

// removable reports whether an object that is not wanted can go now.
func (p *pass) removable(s *site, key facts.Key, o client.Object) bool {
	switch o := o.(type) {
	case *corev1.Secret:
		return o.Labels[podset.LabelComponentType] == podset.ComponentKafka && p.podGone(key.Name)
	case *corev1.ConfigMap:
		return p.podGone(key.Name)
	case *corev1.PersistentVolumeClaim:
		return o.Annotations[v1.AnnotationDeleteClaim] == "true" && p.noPodUses(s, key.Name)
	case *podset.StrimziPodSet:
		return len(o.Spec.Pods) == 0 || !p.lists(o)
	}
	return true
}

// lists reports whether a set lists a node that is still wanted.
func (p *pass) lists(set *podset.StrimziPodSet) bool {
	wanted := map[string]bool{}
	for _, n := range p.input.Topology.Nodes() {
		wanted[p.input.Topology.PodName(n)] = true
	}
	for _, raw := range set.Spec.Pods {
		pod := &corev1.Pod{}
		if json.Unmarshal(raw.Raw, pod) != nil || wanted[pod.Name] {
			return true
		}
	}
	return false
}

// podGone reports whether nothing runs under a name any more, and nothing is wanted under it.
func (p *pass) podGone(name string) bool {
	if len(p.away) > 0 {
		return false // it may run there
	}
	runs := slices.ContainsFunc(p.pods(), func(pod *corev1.Pod) bool { return pod.Name == name })
	return !runs && !slices.ContainsFunc(p.input.Topology.Nodes(), func(n topology.Node) bool { return p.input.Topology.PodName(n) == name })
}

// noPodUses reports whether nothing can write to a volume any more: its node is gone, or runs without it.
func (p *pass) noPodUses(s *site, claim string) bool {
	for _, pod := range s.facts.Pods {
		if mounts(pod, claim) {
			return false
		}
	}
	for _, l := range p.listed { // a missing pod is recreated as long as its set lists it
		if mounts(l.Pod, claim) {
			return false
		}
	}
	for _, n := range p.input.Topology.Nodes() {
		if !strings.HasSuffix(claim, "-"+p.input.Topology.PodName(n)) {
			continue
		}
		// A Kafka that can't cordon may have placed a replica there before the node was restarted.
		if p.pools[n.Pool] == nil || p.pod(n) == nil || !p.cordons() {
			return false
		}
	}
	return true
}

func mounts(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}
