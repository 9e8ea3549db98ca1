package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Place contains what was read from one Kubernetes cluster.
type Place struct {
	// ID is the cluster's id; empty for the one where the roller runs.
	ID string
	// Err is the reason why it could not be read; everything else is empty then.
	Err error
	// Pods are the pods of the Kafka cluster.
	Pods []corev1.Pod
	// Sets are the pod sets of the Kafka cluster.
	Sets []PodSet
	// ClusterIDs are the ids of the Kafka cluster in the nodes' ConfigMaps, by pod.
	ClusterIDs map[string]string
	// Properties are the contents of the nodes' configuration files, by pod.
	Properties map[string]string
}

// PodSet is a StrimziPodSet with its desired pods.
type PodSet struct {
	Name, UID string
	// Manual means that an annotation of the set requests a restart. Hold is the annotation that forbids restarts.
	Manual bool
	Hold   string
	// Idle explains why its controller creates no pods, or why another component restarts them; empty otherwise.
	Idle string
	// RolledByRoller means that it is annotated as left to the roller.
	RolledByRoller bool
	// Agent is the namespace of the Lease of the operator that recreates its pods; empty if it names none.
	Agent string
	// Everywhere means that its owner leaves the sets in all Kubernetes clusters to the roller.
	Everywhere bool
	Pods       []corev1.Pod
}

// Seen contains everything that was read.
type Seen struct {
	At time.Time
	// From is when reading began.
	From   time.Time
	Places []Place
	Kafka  KafkaFacts
	// Recovery has the log recovery of each node that is not ready.
	Recovery map[roller.NodeID]roller.Fact[*roller.Recovery]
	// Silent is since when a node has not answered.
	Silent map[roller.NodeID]time.Time
	// Elsewhere explains why Kafka's answers are not about these pods, because another cluster answers. It is empty if nothing shows that.
	Elsewhere string
	// Lasting is how long a pod must have been unscheduled, or without a container, before it counts as stuck.
	Lasting time.Duration
}

// Assemble creates a Snapshot from everything that was read.
func Assemble(seen Seen) roller.Snapshot {
	nodes := map[roller.NodeID]roller.Node{}
	for i := range seen.Places {
		place := &seen.Places[i]
		for p := range place.Pods {
			if n, ok := seen.node(place, &place.Pods[p]); ok {
				if other, twice := nodes[n.ID]; twice {
					n = doubled(n, other)
				}
				nodes[n.ID] = n
			}
		}
	}
	seen.addMissing(nodes)
	unread := seen.addUnseen(nodes)
	s := roller.Snapshot{At: seen.At, From: seen.From, Topics: seen.Kafka.Topics, Quorum: seen.Kafka.Quorum, Unread: unread}
	for _, n := range nodes {
		n.Foreign, n.Rack = cmp.Or(seen.Elsewhere, n.Foreign), seen.Kafka.rack(n.ID)
		s.Nodes = append(s.Nodes, n)
	}
	slices.SortFunc(s.Nodes, func(a, b roller.Node) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// node returns the node in a pod.
func (seen *Seen) node(place *Place, pod *corev1.Pod) (roller.Node, bool) {
	number, ok := core.NodeID(pod.Name)
	if !ok {
		return roller.Node{}, false
	}
	id := roller.NodeID(number)
	ready, since := readiness(pod)
	n := roller.Node{
		ID: id, Name: pod.Name, Place: place.ID, Roles: roller.Roles(core.RolesIn(pod.Labels)),
		Instance: roller.Known(string(pod.UID)), Terminating: pod.DeletionTimestamp != nil, Deleted: deleted(pod), Overdue: overdue(pod),
		Ready: roller.Known(ready), ReadyChanged: since, Created: pod.CreationTimestamp.Time, LastReady: lastReady(pod),
		StartTook: startTook(pod), CrashesSince: crashesSince(pod),
		Stuck: roller.Known(stuck(pod, seen.At, seen.Lasting)), Sidecar: sidecar(pod),
		Hold: hold(pod.Annotations),
	}
	set, desired := desiredPod(place.Sets, pod.Name)
	n.Foreign = foreign(pod, set)
	n.Requests = requests(pod, set, desired)
	if desired == nil {
		n.Revision = roller.Unknown[roller.Revision]("no StrimziPodSet has this pod")
	} else {
		n.Revision = roller.Known(roller.Revision{Current: revision(pod), Desired: revision(desired), Note: revisionNote(pod, desired)})
		n.ConfigHash = roller.Revision{Current: pod.Annotations[core.AnnotationConfigHash],
			Desired: desired.Annotations[core.AnnotationConfigHash]}
		n.Hold = cmp.Or(n.Hold, set.Hold)
	}
	seen.kafkaFacts(&n, place, pod)
	if n.Unsettled = unsettled(place, desired); n.Unsettled != "" {
		n.Config = roller.Unknown[brokerconfig.Config](n.Unsettled)
	}
	return n, true
}

// requests returns the restarts that users requested by annotations, and those for new certificates. desired is the pod as the set lists
// it; nil if no set does.
func requests(pod *corev1.Pod, set *PodSet, desired *corev1.Pod) (reasons []roller.Reason) {
	request := func(note, mark string) {
		reasons = append(reasons, roller.Reason{Kind: roller.ManualRollingUpdate, Note: note, Mark: mark})
	}
	switch {
	case desired != nil && manual(desired.Annotations): // each new pod has the annotation: it requests one restart
		request("the pod is annotated", "pod of the set")
	case manual(pod.Annotations):
		request("the pod is annotated", "pod "+string(pod.UID))
	}
	if desired == nil {
		return reasons
	}
	reasons = append(reasons, certificates(pod, desired)...)
	if set.Manual {
		request("StrimziPodSet "+set.Name+" is annotated", "podset "+set.UID)
	}
	return reasons
}

// revisionNote tells a new revision for which a restart was asked for from one of a changed template. What asks for it of the cluster
// operator is an annotation of the StrimziPodSet, or a volume that grows when it is mounted again.
func revisionNote(pod, desired *corev1.Pod) string {
	if desired.Annotations[core.AnnotationRestartedAt] == string(pod.UID) {
		return "a restart was asked for"
	}
	return ""
}

// unsettled explains why the desired state of the pod is not known yet, because the set and the ConfigMap are written one after the other;
// empty if it is known.
func unsettled(place *Place, desired *corev1.Pod) string {
	if desired == nil {
		return ""
	}
	wanted := desired.Annotations[core.AnnotationConfigHash]
	text, found := place.Properties[desired.Name]
	switch {
	case wanted == "":
		return ""
	case !found:
		return "ConfigMap " + desired.Name + " has no " + core.ConfigMapServerConfig +
			", but its StrimziPodSet expects hash " + wanted
	case core.ConfigHash(text) != wanted:
		return fmt.Sprintf("%s in ConfigMap %s has hash %s, but its StrimziPodSet expects hash %s: one of the two is not written yet",
			core.ConfigMapServerConfig, desired.Name, core.ConfigHash(text), wanted)
	}
	return ""
}

// kafkaFacts adds Kafka's facts about the node.
func (seen *Seen) kafkaFacts(n *roller.Node, place *Place, pod *corev1.Pod) {
	n.Recovery = roller.Unknown[*roller.Recovery]("the node was not asked")
	r, asked := seen.Recovery[n.ID]
	switch {
	case n.Ready.Or(false), !n.Roles.Broker && !r.IsKnown(): // a node that is only a controller has no logs but that of the metadata
		n.Recovery = roller.Known[*roller.Recovery](nil)
	case asked:
		n.Recovery = r
	}
	if text, found := place.Properties[n.Name]; found {
		n.Desired = roller.Known(Properties(text))
	}
	n.Answers, n.Config = roller.Unknown[bool]("the node was not asked"), roller.Unknown[brokerconfig.Config]("the node was not asked")
	if answer, asked := seen.Kafka.Nodes[n.ID]; asked {
		n.Answers, n.Failing, n.Expired = answer.answers(), answer.Failing, answer.Expired
		n.Recalled = seen.Kafka.Recalled[n.ID]
		n.Config = config(answer.Live, place, n.Name, pod.Annotations[v1.AnnotationKafkaVersion])
	}
	n.Silent, n.Hidden = seen.Silent[n.ID], seen.Kafka.Hidden[n.ID]
	if !n.Roles.Broker {
		return
	}
	brokers, known := seen.Kafka.Brokers.Get()
	b, registered := brokers[n.ID]
	switch {
	case !known:
		n.Fenced = roller.Unknown[bool](seen.Kafka.Brokers.Why())
	case registered:
		n.Fenced = roller.Known(b.Fenced)
	case seen.Kafka.FencedIncluded:
		n.Fenced = roller.Known(true) // it is not registered
	default:
		n.Fenced = roller.Unknown[bool]("the brokers do not report which of them are fenced")
	}
}

// config combines the live with the desired configuration. The version is that of the running pod, and not of the desired one: the running
// node decides whether it applies a change.
func config(live roller.Fact[map[string]brokerconfig.Entry], place *Place, pod, version string) roller.Fact[brokerconfig.Config] {
	entries, known := live.Get()
	if !known {
		return roller.Unknown[brokerconfig.Config](live.Why())
	}
	properties, found := place.Properties[pod]
	if !found {
		return roller.Unknown[brokerconfig.Config]("no ConfigMap has its desired configuration")
	}
	return roller.Known(brokerconfig.Config{Version: version, Desired: Properties(properties), Live: entries})
}

// doubled returns a node that two pods in two Kubernetes clusters claim to be: the roller does not act on it until only one does.
func doubled(a, b roller.Node) roller.Node {
	why := "pods " + b.Name + " in cluster " + name(b.Place) + " and " + a.Name + " in cluster " + name(a.Place) + " claim to be the same node"
	a.Instance, a.Ready = roller.Unknown[string](why), roller.Unknown[bool](why)
	return a
}

func name(place string) string { return cmp.Or(place, "home") }

// addMissing adds the desired nodes without a pod.
func (seen *Seen) addMissing(nodes map[roller.NodeID]roller.Node) {
	for i := range seen.Places {
		for s := range seen.Places[i].Sets {
			set := &seen.Places[i].Sets[s]
			for p := range set.Pods {
				pod := &set.Pods[p]
				number, ok := core.NodeID(pod.Name)
				id := roller.NodeID(number)
				if _, there := nodes[id]; !ok || there {
					continue
				}
				nodes[id] = roller.Node{
					ID: id, Name: pod.Name, Place: seen.Places[i].ID, Roles: roller.Roles(core.RolesIn(pod.Labels)),
					Instance: roller.Known(""), Ready: roller.Known(false), Stuck: roller.Known(""),
					Recovery: roller.Known[*roller.Recovery](nil), Hold: cmp.Or(hold(pod.Annotations), set.Hold),
				}
			}
		}
	}
}

// unread names the Kubernetes clusters that can't be read; empty if all were read.
func (seen *Seen) unread() string {
	why := ""
	for i := range seen.Places {
		if seen.Places[i].Err != nil {
			why = "cluster " + name(seen.Places[i].ID) + " can't be read: " + seen.Places[i].Err.Error()
		}
	}
	return why
}

// unreadPlace returns the Kubernetes cluster that can't be read, or roller.UnknownPlace if there are several.
func (seen *Seen) unreadPlace() string {
	place, unread := "", 0
	for i := range seen.Places {
		if seen.Places[i].Err != nil {
			place = seen.Places[i].ID
			unread++
		}
	}
	if unread > 1 {
		return roller.UnknownPlace
	}
	return place
}

// addUnseen adds the nodes that Kafka reports and nobody saw: all that may be in a Kubernetes cluster that can't be read; if all were read,
// those that Kafka takes for serving. They are unknown, and not missing. It returns why nodes may be missing; empty if none is.
func (seen *Seen) addUnseen(nodes map[roller.NodeID]roller.Node) (why string) {
	reported, place := seen.serving(nodes), roller.UnknownPlace
	if why = seen.unread(); why != "" {
		reported, place = seen.reported(), seen.unreadPlace()
	} else if len(reported) > 0 {
		why = roller.UnseenText(slices.Collect(maps.Keys(reported)))
	}
	add := func(id roller.NodeID, r roller.Roles) {
		n, there := nodes[id]
		if there && n.Instance.IsKnown() {
			return
		}
		if !there {
			n.Place = place
		}
		n.ID, n.Name = id, cmp.Or(n.Name, fmt.Sprintf("?-%d", id)) // a pod-like name, unique per node
		n.Roles.Broker, n.Roles.Controller = n.Roles.Broker || r.Broker, n.Roles.Controller || r.Controller
		n.Instance, n.Ready = roller.Unknown[string](why), roller.Unknown[bool](why)
		nodes[id] = n
	}
	for id, r := range reported {
		add(id, r)
	}
	return why
}

// reported returns all brokers and voters that Kafka reports.
func (seen *Seen) reported() map[roller.NodeID]roller.Roles {
	all := map[roller.NodeID]roller.Roles{}
	for _, v := range seen.Kafka.Quorum.Or(roller.Quorum{}).Voters {
		all[v.ID] = roller.Roles{Controller: true}
	}
	for id := range seen.Kafka.Brokers.Or(map[roller.NodeID]kafka.Node{}) {
		all[id] = roller.Roles{Controller: all[id].Controller, Broker: true}
	}
	return all
}

// serving returns the nodes that Kafka takes for serving and nobody saw. A broker that was removed stays registered, and is fenced. If
// another Kafka cluster answers, its nodes are none of these.
func (seen *Seen) serving(nodes map[roller.NodeID]roller.Node) map[roller.NodeID]roller.Roles {
	if seen.Elsewhere != "" {
		return nil
	}
	s := roller.Snapshot{Topics: seen.Kafka.Topics, Quorum: seen.Kafka.Quorum}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		s.Nodes = append(s.Nodes, nodes[id])
	}
	unseen := s.Unseen()
	for id, b := range seen.Kafka.Brokers.Or(nil) {
		if _, there := nodes[id]; there || b.Fenced {
			continue
		}
		if unseen == nil {
			unseen = map[roller.NodeID]roller.Roles{}
		}
		unseen[id] = roller.Roles{Controller: unseen[id].Controller, Broker: true}
	}
	return unseen
}
