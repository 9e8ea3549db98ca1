package controller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// site is a Kubernetes cluster in which the Kafka has objects, or may have them.
type site struct {
	// cluster is the id of the Kubernetes cluster; topology.Home is the one of the Kafka object.
	cluster string
	// cache holds what is watched there, and live reads and writes past it.
	cache client.Reader
	live  client.Client
	// nodes reads Kubernetes nodes from the cache. Their watch begins with the first read, and never where it is not permitted.
	nodes client.Reader
	// unread is why Kubernetes nodes can't be read there though all else can; nil if they can, or were not needed yet.
	unread error
	// member is the connection to another Kubernetes cluster than home, and anchor what owns the Kafka's objects there; nil if there is none
	// yet.
	member Member
	anchor *corev1.ConfigMap
	// confirmed reports that the anchor was read from the API server in this pass.
	confirmed bool
	// facts are what the Kafka has there.
	facts facts.Cluster
	// shown are all objects that the cache showed, also those that are not the Kafka's.
	shown   facts.Cluster
	applier *apply.Applier
	// claims are the names of the PersistentVolumeClaims there that are the Kafka's.
	claims []string
	// needed are those of them whose volumes were not removed.
	needed []string
	// owner owns what is made there, for Kubernetes' garbage collector.
	owner metav1.OwnerReference
	// entrances are the wanted Services and Ingresses, in the order in which they are changed.
	entrances []model.Object
	// lingering are the running pods of nodes that are not what is wanted of them.
	lingering []*corev1.Pod
	// keptServices are Services that the network provider planned, which have more until it is known which pods are lingering.
	keptServices []keptService
	// unobserved is a kind that the network provider needs to see, and that can't be read there; "" if there is none.
	unobserved string
	// observed are the objects that the network provider sees.
	observed []network.Object
	// kept are the objects that this pass applied there; all other objects of the Kafka are obsolete.
	kept map[facts.Key]bool
}

// site returns the Kubernetes cluster of that id, nil if nothing can be read or written there.
func (p *pass) site(cluster string) *site {
	for _, s := range p.sites {
		if s.cluster == cluster {
			return s
		}
	}
	return nil
}

// home returns the Kubernetes cluster of the Kafka object.
func (p *pass) home() *site { return p.sites[0] }

// each runs a step in the home cluster, and then in all other Kubernetes clusters concurrently, so that a slow one does not delay the
// others. A cluster that fails is skipped for the rest of the pass, but a conflict ends the pass; home must not fail.
func (p *pass) each(do func(*site) error) error {
	if err := do(p.home()); err != nil {
		return err
	}
	others, told := slices.Clone(p.sites[1:]), len(p.status.Warnings)
	errs := make([]error, len(others))
	p.atOnce(len(others), func(i int) { errs[i] = do(others[i]) })
	p.sortWarnings(told)
	for i, s := range others {
		err := errs[i]
		failure, is := errors.AsType[*Failure](err)
		switch {
		case err == nil:
		case isStale(err):
			p.conflicts.meet(client.ObjectKeyFromObject(p.kafka), s.cluster, err, p.Now())
			p.metElsewhere = true
			return err
		case is && failure.Stalled:
			return err
		default:
			p.drop(s, err)
		}
	}
	return nil
}

// sortWarnings sorts the warnings from that one on, which were added concurrently.
func (p *pass) sortWarnings(from int) {
	slices.SortStableFunc(p.status.Warnings[from:],
		func(a, b status.Problem) int { return cmp.Compare(a.Reason+a.Message, b.Reason+b.Message) })
}

// atOnce calls do concurrently with the numbers below n, and waits until all calls have returned.
func (r *Reconciler) atOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		if r.Serial {
			do(i)
			continue
		}
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// answer is the answer of a Kubernetes cluster, or its error.
type answer[T any] struct {
	member Member
	value  T
	err    error
}

// askRemotes asks all remote Kubernetes clusters concurrently, so that a slow one does not delay the others. The answers are in the order
// of the members.
func askRemotes[T any](r *Reconciler, question func(Member) (T, error)) []answer[T] {
	var answers []answer[T]
	for _, m := range r.Stretching.Members() {
		if !m.Home() {
			answers = append(answers, answer[T]{member: m})
		}
	}
	r.atOnce(len(answers), func(i int) { answers[i].value, answers[i].err = question(answers[i].member) })
	return answers
}

// eachHost carries out a step in the Kubernetes cluster of the Kafka object and in those that have nodes.
func (p *pass) eachHost(do func(*site) error) error {
	return p.each(func(s *site) error {
		if s.cluster != topology.Home && !p.hosts(s.cluster) {
			return nil
		}
		return do(s)
	})
}

// describeClusters writes the Kubernetes clusters of the Kafka and their states into the status.
func (p *pass) describeClusters() {
	if p.Stretching == nil || !p.stretched() || p.sites == nil {
		return
	}
	in := &status.Stretch{Provider: p.Stretching.ProviderName, Central: p.Stretching.Central, Formed: p.record.Provider != ""}
	for _, s := range p.sites {
		c := status.Cluster{ID: p.clusterID(s.cluster), Nodes: ids(p.nodesIn(s.cluster))}
		for _, set := range s.facts.PodSets() {
			c.Ready += set.Status.ReadyPods
		}
		_, recorded := p.record.Clusters[s.cluster]
		if s.cluster == topology.Home || p.hosts(s.cluster) || len(c.Nodes) > 0 || recorded && p.status.Topology == nil {
			in.Clusters = append(in.Clusters, c)
		}
	}
	for id, a := range p.away {
		c := status.Cluster{ID: id, Nodes: ids(p.record.Clusters[id].Nodes), Problem: &a.Problem}
		if a.member.State != clusters.Connected { // else it is seen all the time
			c.LastSeen = a.member.LastSeen
		}
		in.Clusters = append(in.Clusters, c)
	}
	p.status.Stretch = in
}

// tellClusters records an Event for each Kubernetes cluster that the status did not show as lost before, or as back.
func (p *pass) tellClusters(before []v1.StretchClusterStatus) {
	if p.status.Stretch == nil {
		return
	}
	shown := map[string]v1.StretchClusterStatus{}
	for _, s := range before {
		shown[s.Name] = s
	}
	for _, c := range p.status.Stretch.Clusters {
		before, failure := shown[c.ID], p.status.Failure
		switch {
		case c.Problem == nil && before.State == v1.StretchClusterUnknown:
			p.Events.Normal(p.kafka, "RemoteClusterConnected", "Reconcile", fmt.Sprintf("Cluster '%s' is connected again", c.ID))
		case c.Problem != nil && before.Reason != c.Problem.Reason && (failure == nil || failure.Message != c.Problem.Message):
			p.Events.Warning(p.kafka, c.Problem.Reason, "Reconcile", c.Problem.Message)
		}
	}
}

// nodesIn returns the nodes in a Kubernetes cluster: those that are wanted, or those that exist if the pass ended before that was decided.
func (p *pass) nodesIn(cluster string) (nodes []topology.Node) {
	if p.status.Topology != nil {
		return p.input.Topology.In(cluster)
	}
	for _, l := range p.listed {
		if l.Node.Cluster == cluster {
			nodes = append(nodes, l.Node)
		}
	}
	return nodes
}

func ids(nodes []topology.Node) []int32 {
	var list []int32
	for _, n := range nodes {
		list = append(list, n.ID)
	}
	slices.Sort(list)
	return list
}

// podSets returns the StrimziPodSets in all Kubernetes clusters, in the order of their names.
func (p *pass) podSets() []*core.StrimziPodSet {
	var sets []*core.StrimziPodSet
	for _, s := range p.sites {
		sets = append(sets, s.facts.PodSets()...)
	}
	slices.SortFunc(sets, facts.ByName)
	return sets
}

// pod returns the running pod of a node; nil if there is none.
func (p *pass) pod(n topology.Node) *corev1.Pod {
	if s := p.site(n.Cluster); s != nil {
		return s.facts.Pods[p.podName(n)]
	}
	return nil
}

// config returns the ConfigMap of a node; nil if there is none.
func (p *pass) config(n topology.Node) *corev1.ConfigMap {
	if s := p.site(n.Cluster); s != nil {
		return s.facts.ConfigMap(p.podName(n))
	}
	return nil
}

// pods returns all pods with the Kafka's label: those of nodes, of its topic operator, and those of others that have the same name, like a
// KafkaConnect.
func (p *pass) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, s := range p.sites {
		for _, pod := range s.facts.Pods {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }) // their status stays the same
	return pods
}

// existingNodes returns the pods of nodes that exist, also those that terminate.
func (p *pass) existingNodes() []*corev1.Pod {
	return slices.DeleteFunc(p.pods(), func(pod *corev1.Pod) bool {
		return pod.Labels[core.LabelName] != p.kafka.Name+"-kafka" &&
			!slices.ContainsFunc(p.listed, func(l facts.ListedPod) bool { return l.Pod.Name == pod.Name })
	})
}

// nodePods returns the pods of nodes: those that exist, and those that StrimziPodSets list.
func (p *pass) nodePods() []*corev1.Pod {
	pods := p.existingNodes()
	for _, l := range p.listed {
		pods = append(pods, l.Pod)
	}
	return pods
}
