package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// shown returns conditions as kubectl describe shows them, without times.
func shown(conditions []v1.Condition) (all []string) {
	for _, c := range conditions {
		text := c.Type + "=" + c.Status
		if c.Reason != "" {
			text += " " + c.Reason + ": " + c.Message
		}
		all = append(all, text)
	}
	return all
}

func TestAPoolIsReadyWhenItsNodesAre(t *testing.T) {
	set := func(name string, listed int, current, ready int32, behind int64) *core.StrimziPodSet {
		s := &core.StrimziPodSet{Spec: &core.StrimziPodSetSpec{Pods: make([]runtime.RawExtension, listed)}}
		s.Name, s.Generation = "c-"+name, 5
		s.Status = core.StrimziPodSetStatus{ObservedGeneration: 5 - behind, CurrentPods: current, ReadyPods: ready}
		return s
	}
	away := &Problem{Reason: "ConnectivityError", Message: "it is away"}
	for name, c := range map[string]struct {
		// change changes a converged Kafka with pool a of two nodes and pool b of one.
		change func(*Input)
		lost   *Problem
		want   []string
		// kafka is the condition Ready of the Kafka.
		kafka string
	}{
		"all is well": {func(*Input) {}, nil, []string{"Ready=True"}, "Ready=True"},
		"it has no nodes": {func(in *Input) { in.Topology.Pools[0].Nodes, in.Sets = nil, in.Sets[1:] }, nil, []string{"Ready=True"},
			"Ready=True"},
		"its StrimziPodSet is not made": {func(in *Input) { in.Sets = in.Sets[1:] }, nil,
			[]string{"Ready=False Creating: KafkaNodePool is being deployed: 0 of 2 nodes are ready"},
			"Ready=False Creating: Kafka cluster is being deployed: 1 of 3 nodes are ready"},
		"the Kafka is new": {func(in *Input) { in.Kafka.Status.KafkaVersion, in.Sets[0] = "", set("a", 2, 2, 1, 0) }, nil,
			[]string{"Ready=False Creating: KafkaNodePool is being deployed: 1 of 2 nodes are ready"},
			"Ready=False Creating: Kafka cluster is being deployed: 2 of 3 nodes are ready"},
		"it gets another node": {func(in *Input) { in.Topology.Pools[0].Nodes = append(in.Topology.Pools[0].Nodes, topology.Node{ID: 3}) }, nil,
			[]string{"Ready=False Creating: KafkaNodePool is being deployed: 2 of 3 nodes are ready"},
			"Ready=False Creating: Kafka cluster is being deployed: 3 of 4 nodes are ready"},
		"a key is being replaced": {func(in *Input) { in.Changed, in.KeyReplacement = map[string]bool{"c-a": true}, pki.Switching }, nil,
			[]string{"Ready=False Updating: 2 of 2 nodes are up to date, 2 are ready; the key of the cluster CA is being replaced: " +
				"second restart, to use the new key"},
			"Ready=False Updating: 3 of 3 nodes are up to date, 3 are ready; the key of the cluster CA is being replaced: " +
				"second restart, to use the new key"},
		"running nodes trust the old key": {func(in *Input) {
			in.Changed, in.KeyReplacement, in.Distrusting = map[string]bool{"c-a": true}, pki.Settled, true
		}, nil,
			[]string{"Ready=False Updating: 2 of 2 nodes are up to date, 2 are ready; the key of the cluster CA is being replaced: " +
				"third restart, to trust the old key no more"},
			"Ready=False Updating: 3 of 3 nodes are up to date, 3 are ready; the key of the cluster CA is being replaced: " +
				"third restart, to trust the old key no more"},
		"this pass changed it": {func(in *Input) { in.Changed = map[string]bool{"c-a": true} }, nil,
			[]string{"Ready=False Updating: 2 of 2 nodes are up to date, 2 are ready"},
			"Ready=False Updating: 3 of 3 nodes are up to date, 3 are ready"},
		"its StrimziPodSet was not looked at since": {func(in *Input) { in.Sets[0] = set("a", 2, 2, 2, 1) }, nil,
			[]string{"Ready=False Updating: 0 of 2 nodes are up to date, 0 are ready"},
			"Ready=False Updating: 1 of 3 nodes are up to date, 1 are ready"},
		"a node is to leave": {func(in *Input) { in.Topology.Pools[0].Nodes = in.Topology.Pools[0].Nodes[:1] }, nil,
			[]string{"Ready=False Updating: 1 of 1 nodes are up to date, 1 are ready"},
			"Ready=False Updating: 2 of 2 nodes are up to date, 2 are ready"},
		"its last nodes are leaving": {func(in *Input) { in.Topology.Pools[0].Nodes, in.Sets[0] = nil, set("a", 0, 0, 0, 1) }, nil,
			[]string{"Ready=False Updating: 0 of 0 nodes are up to date, 0 are ready"},
			"Ready=False Updating: 1 of 1 nodes are up to date, 1 are ready"},
		"nodes wait for their restart": {func(in *Input) { in.Sets[0] = set("a", 2, 1, 2, 0) }, nil,
			[]string{"Ready=False Updating: 1 of 2 nodes are up to date, 2 are ready"},
			"Ready=False Updating: 2 of 3 nodes are up to date, 3 are ready"},
		"a node is not ready": {func(in *Input) {
			in.Sets[0] = set("a", 2, 2, 1, 0)
			in.Waiting = []Wait{{"a", "pod c-a-1 (Unschedulable)"}, {"b", "pod c-b-2 (ImagePullBackOff)"}}
		}, nil, []string{"Ready=False NodesNotReady: 1 of 2 nodes are ready. Waiting: pod c-a-1 (Unschedulable)"},
			"Ready=False NodesNotReady: 2 of 3 nodes are ready. Waiting: pod c-a-1 (Unschedulable), pod c-b-2 (ImagePullBackOff)"},
		"nodes of another pool restart": {func(in *Input) {
			in.Sets[1], in.Changed = set("b", 1, 0, 0, 1), map[string]bool{"c-b": true}
		}, nil, []string{"Ready=True"}, "Ready=False Updating: 2 of 3 nodes are up to date, 2 are ready"},
		"the topic operator is not ready": {func(in *Input) { in.TopicOperatorNotReady = true }, nil, []string{"Ready=True"},
			"Ready=False TopicOperatorNotReady: all nodes are ready; the topic operator (Deployment c-entity-operator) is not"},
		"the topic operator ends again and again": {func(in *Input) {
			in.TopicOperatorNotReady, in.Waiting = true, []Wait{{"", "pod c-entity-operator-1 (CrashLoopBackOff)"}}
		}, nil, []string{"Ready=True"}, "Ready=False TopicOperatorNotReady: all nodes are ready; the topic operator (Deployment " +
			"c-entity-operator) is not. Waiting: pod c-entity-operator-1 (CrashLoopBackOff)"},
		"the pass failed": {func(in *Input) { in.Failure = &Problem{Reason: "ReconciliationFailed", Message: "x"} }, nil,
			[]string{"Ready=False ReconciliationFailed: x"}, "Ready=False ReconciliationFailed: x"},
		"the Kafka is invalid": {func(in *Input) {
			in.Topology, in.Failure = nil, &Problem{Reason: "InvalidResourceException", Message: "x", Stalled: true}
		}, nil, []string{"Ready=False InvalidResourceException: x", "Stalled=True InvalidResourceException: x"},
			"Ready=False InvalidResourceException: x"},
		"its Kubernetes cluster is away": {func(in *Input) {
			in.Stretch = &Stretch{Clusters: []Cluster{{ID: "west", Problem: away}}}
		}, away, []string{"Ready=False ConnectivityError: it is away"}, "Ready=False ConnectivityError: it is away."},
		"another Kubernetes cluster is away": {func(in *Input) {
			in.Stretch = &Stretch{Clusters: []Cluster{{ID: "west", Problem: away}}}
		}, nil, []string{"Ready=True"}, "Ready=False ConnectivityError: it is away."},
		"there are warnings": {func(in *Input) {
			in.Warnings = []Problem{{Reason: "A", Message: "of a", Pool: "a"}, {Reason: "B", Message: "of b", Pool: "b"},
				{Reason: "C", Message: "of all"}}
		}, nil, []string{"Ready=True", "Warning=True A: of a"}, "Ready=True"},
		"a listener is not reachable": {func(in *Input) { in.Unreachable, in.TopicOperatorNotReady = []string{"x", "y"}, true }, nil,
			[]string{"Ready=True"}, "Ready=False ListenerNotReady: x; y"},
		"a listener is not reachable, nor is a node ready": {func(in *Input) { in.Unreachable, in.Sets[1] = []string{"x"}, set("b", 1, 1, 0, 0) },
			nil, []string{"Ready=True"}, "Ready=False NodesNotReady: 2 of 3 nodes are ready"},
		"a change waits": {func(in *Input) { in.Warnings = []Problem{{Reason: "A", Message: "of a", Pool: "a", Blocks: true}} }, nil,
			[]string{"Ready=False ChangeBlocked: of a", "Warning=True A: of a"}, "Ready=True"},
		"a change waits, and another one for its user": {func(in *Input) {
			in.Warnings = []Problem{{Reason: "A", Message: "of a", Pool: "a", Blocks: true},
				{Reason: "B", Message: "of a", Pool: "a", Blocks: true, Stalled: true}}
		}, nil, []string{"Ready=False ChangeBlocked: of a", "Stalled=True ChangeBlocked: of a", "Warning=True A: of a", "Warning=True B: of a"},
			"Ready=True"},
		"a change of another pool waits": {func(in *Input) { in.Warnings = []Problem{{Reason: "A", Message: "of b", Pool: "b", Blocks: true}} },
			nil, []string{"Ready=True"}, "Ready=True"},
		"a change waits while nodes restart": {func(in *Input) {
			in.Sets[0] = set("a", 2, 1, 2, 0)
			in.Warnings = []Problem{{Reason: "A", Message: "of a", Pool: "a", Blocks: true, Stalled: true}}
		}, nil, []string{"Ready=False Updating: 1 of 2 nodes are up to date, 2 are ready", "Warning=True A: of a"},
			"Ready=False Updating: 2 of 3 nodes are up to date, 3 are ready"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kafka := &v1.Kafka{}
			kafka.Name, kafka.Status.KafkaVersion = "c", "4.3.1"
			in := Input{Kafka: kafka, Now: time.Unix(60, 0), Sets: []*core.StrimziPodSet{set("a", 2, 2, 2, 0), set("b", 1, 1, 1, 0)},
				Topology: &topology.Topology{Name: "c", Pools: []topology.Pool{{Name: "a", Nodes: []topology.Node{{ID: 0}, {ID: 1}}},
					{Name: "b", Nodes: []topology.Node{{ID: 2}}}}}}
			c.change(&in)
			pool := &v1.KafkaNodePool{Spec: &v1.KafkaNodePoolSpec{}}
			pool.Name, pool.Generation = "a", 7
			pool.Status = v1.KafkaNodePoolStatus{ObservedGeneration: 6, NodeIDs: []int32{0, 1}, Replicas: 2, ClusterID: "id", LabelSelector: "l",
				Roles: []v1.ProcessRole{v1.RoleBroker}}
			before := pool.DeepCopy()
			s := Pool(in, pool, c.lost)
			g.Expect(shown(s.Conditions)).To(Equal(c.want))
			g.Expect(shown(Of(in).Conditions)[0]).To(Equal(c.kafka))
			g.Expect(pool).To(Equal(before), "what a cache holds is not changed")

			// The rest of the status stays, and a second pass that finds the same writes the same status.
			now := s
			now.Conditions, now.ObservedGeneration = nil, 6
			g.Expect(now).To(Equal(before.Status))
			g.Expect(s.ObservedGeneration).To(BeEquivalentTo(7))
			pool.Status, in.Now = s, time.Unix(120, 0)
			g.Expect(Pool(in, pool, c.lost)).To(Equal(s))
		})
	}
}

func TestWhatAPoolSaysOfItsNodesDoesNotSayHowTheyAre(t *testing.T) {
	g := NewWithT(t)
	pool := &v1.KafkaNodePool{Spec: &v1.KafkaNodePoolSpec{Roles: []v1.ProcessRole{v1.RoleBroker}}}
	pool.Generation = 2
	pool.Status = v1.KafkaNodePoolStatus{ObservedGeneration: 1, Conditions: []v1.Condition{{Type: "Ready", Status: "True"}}}
	broker := topology.Roles{Broker: true}
	s := PoolNodes(pool, topology.Pool{Name: "a", Nodes: []topology.Node{{ID: 3, Roles: broker}, {ID: 4, Roles: broker}}}, "c", "id")
	g.Expect(s).To(Equal(v1.KafkaNodePoolStatus{
		ObservedGeneration: 1, Conditions: pool.Status.Conditions, NodeIDs: []int32{3, 4}, Replicas: 2, ClusterID: "id",
		LabelSelector: "strimzi.io/cluster=c,strimzi.io/kind=Kafka,strimzi.io/name=c-kafka,strimzi.io/pool-name=a",
		Roles:         []v1.ProcessRole{v1.RoleBroker},
	}))
}

func TestAPausedPoolSaysNothingOfItsNodes(t *testing.T) {
	g := NewWithT(t)
	pool := &v1.KafkaNodePool{}
	pool.Generation = 2
	pool.Status = v1.KafkaNodePoolStatus{ObservedGeneration: 1, Replicas: 3, Conditions: []v1.Condition{{Type: "Ready", Status: "True"},
		{Type: "Warning", Status: "True", Reason: "UnsupportedField", Message: "m", LastTransitionTime: "earlier"}}}
	s := PausedPool(pool, time.Unix(60, 0))
	g.Expect(s.Conditions).To(HaveExactElements(
		v1.Condition{Type: "Warning", Status: "True", Reason: "UnsupportedField", Message: "m", LastTransitionTime: "earlier"},
		And(HaveField("Type", "ReconciliationPaused"), HaveField("Status", "True"))))
	g.Expect(s.ObservedGeneration).To(BeEquivalentTo(1), "nobody looked")
	pool.Status = s
	g.Expect(PausedPool(pool, time.Unix(120, 0))).To(Equal(s))
}

func TestAPoolHasTheRolesOfItsNodes(t *testing.T) {
	type roles = []v1.ProcessRole
	const controller, broker = v1.RoleController, v1.RoleBroker
	combined, single := topology.Roles{Controller: true, Broker: true}, topology.Roles{Broker: true}
	for name, c := range map[string]struct {
		nodes        []topology.Node
		wanted, want roles
	}{
		"none yet":            {nil, roles{broker}, roles{broker}},
		"as wanted":           {[]topology.Node{{Roles: combined}}, roles{broker, controller}, roles{broker, controller}},
		"a role is kept":      {[]topology.Node{{Roles: combined}}, roles{controller}, roles{controller, broker}},
		"a role is not there": {[]topology.Node{{Roles: single}}, roles{controller, broker}, roles{broker}},
	} {
		pool := &v1.KafkaNodePool{Spec: &v1.KafkaNodePoolSpec{Roles: c.wanted}}
		NewWithT(t).Expect(PoolNodes(pool, topology.Pool{Nodes: c.nodes}, "c", "id").Roles).To(Equal(c.want), name)
	}
}
