package controller

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/removal"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestEachKindHasARuleForItsRemoval(t *testing.T) {
	g, scheme := NewWithT(t), newHistory(t, 1).k8s.Scheme()
	in := removal.Input{Planned: true, Forced: true}
	for _, o := range facts.Kinds() {
		gvk, err := apiutil.GVKForObject(o, scheme)
		g.Expect(err).NotTo(HaveOccurred())
		in.Objects = append(in.Objects, removal.Object{Ref: removal.Ref{Kind: gvk.Kind, Name: "a"}, Own: true, Holds: removal.OfNode,
			Claim: removal.Claim{Pod: "a", Deletable: true}})
	}
	g.Expect(removal.Decide(in).Kept).To(BeEmpty())
}

// mounting returns a pod that mounts a claim.
func mounting(name, claim string) *corev1.Pod {
	volume := corev1.Volume{Name: "data"}
	volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{volume, {Name: "tmp"}}}}
}

func TestWhatRemovalsDependOn(t *testing.T) {
	g, h := NewWithT(t), newHistory(t, 1)
	kafka := newKafka()
	kafka.UID = "1"

	pool := nodePool("a", 1, v1.RoleBroker)
	pool.Spec.Storage.DeleteClaim = new(true)
	kept := nodePool("b", 1, v1.RoleBroker)
	p := &pass{Reconciler: h.r, kafka: kafka, pools: map[string]*v1.KafkaNodePool{"a": pool, "b": kept}}
	p.input.Topology = topology.Topology{Name: kafka.Name, Pools: []topology.Pool{
		{Name: "a", Nodes: []topology.Node{{ID: 0, Pool: "a"}}},
		{Name: "gone", Cluster: "x", Nodes: []topology.Node{{ID: 1, Pool: "gone", Cluster: "x"}}},
	}}
	objects := func(s *site, list ...client.Object) {
		s.kept, s.facts.Objects = map[facts.Key]bool{}, map[facts.Key]client.Object{}
		s.applier = &apply.Applier{Client: h.k8s, Kafka: kafka.Name, UID: kafka.UID}
		for _, o := range list {
			o.SetOwnerReferences([]metav1.OwnerReference{{UID: kafka.UID}})
			gvk, err := apiutil.GVKForObject(o, h.k8s.Scheme())
			g.Expect(err).NotTo(HaveOccurred())
			s.facts.Objects[facts.Key{Kind: gvk.Kind, Name: o.GetName()}] = o
		}
	}
	named := func(name string, labels ...string) metav1.ObjectMeta {
		meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{core.LabelManagedBy: model.ManagedBy}}
		for i := 0; i < len(labels); i += 2 {
			meta.Labels[labels[i]] = labels[i+1]
		}
		return meta
	}
	set := &core.StrimziPodSet{ObjectMeta: named("c")}
	p.listed = []facts.ListedPod{{Set: set, Pod: mounting("my-cluster-c-5", "listed"), Node: topology.Node{ID: 5, Pool: "c", Cluster: "x"}}}
	goes := &corev1.PersistentVolumeClaim{ObjectMeta: named("data-my-cluster-a-7", core.LabelPoolName, "a")}
	goes.Annotations = map[string]string{v1.AnnotationDeleteClaim: "true"}
	ends := &corev1.PersistentVolumeClaim{ObjectMeta: named("data-my-cluster-b-8", core.LabelPoolName, "b")}
	ends.DeletionTimestamp = &metav1.Time{}
	foreign, unmanaged := &corev1.ConfigMap{ObjectMeta: named("foreign")}, &corev1.ConfigMap{ObjectMeta: named("unmanaged")}
	home, remote := &site{cluster: topology.Home}, &site{cluster: "x"}
	objects(home, goes, ends, foreign, unmanaged, &corev1.ConfigMap{ObjectMeta: named("wanted")}, &corev1.Secret{ObjectMeta: named("ca")},
		&corev1.Secret{ObjectMeta: named("node", core.LabelComponentType, core.ComponentKafka)},
		&corev1.Secret{ObjectMeta: named("my-cluster-entity-topic-operator-certs", core.LabelComponentType, core.ComponentKafka)},
		&core.StrimziPodSet{ObjectMeta: named("c")})
	home.kept[facts.Key{Kind: "ConfigMap", Name: "wanted"}] = true
	foreign.OwnerReferences, unmanaged.Labels = nil, nil
	home.facts.Pods = map[string]*corev1.Pod{"my-cluster-a-0": mounting("my-cluster-a-0", "data-my-cluster-a-0")}
	objects(remote, set)
	p.sites = []*site{home, remote}

	ref := func(kind, name string) removal.Ref { return removal.Ref{Kind: kind, Name: name} }
	want := removal.Input{
		Planned: true, Answers: map[int32]removal.Answer{},
		Nodes:   []removal.Node{{Pod: "my-cluster-a-0", HasPool: true}, {Cluster: "x", Pod: "my-cluster-gone-1"}},
		Running: []removal.Pod{{Name: "my-cluster-a-0", Claims: []string{"data-my-cluster-a-0"}}},
		Listed:  []removal.Pod{{Cluster: "x", Name: "my-cluster-c-5", Claims: []string{"listed"}}},
		Objects: []removal.Object{
			{Ref: ref("ConfigMap", "foreign")},
			{Ref: ref("ConfigMap", "unmanaged")},
			{Ref: ref("ConfigMap", "wanted"), Wanted: true},
			{Ref: ref("PersistentVolumeClaim", goes.Name), Own: true, Claim: removal.Claim{Pod: "my-cluster-a-7", Node: 7, Deletable: true}},
			{Ref: ref("PersistentVolumeClaim", ends.Name), Own: true,
				Claim: removal.Claim{Pod: "my-cluster-b-8", Node: 8, KeptByPool: true, Terminating: true}},
			{Ref: ref("Secret", "ca"), Own: true},
			{Ref: ref("Secret", "my-cluster-entity-topic-operator-certs"), Own: true, Holds: removal.OfTopicOperator},
			{Ref: ref("Secret", "node"), Own: true, Holds: removal.OfNode},
			{Ref: ref("StrimziPodSet", "c"), Own: true},
			{Ref: removal.Ref{Cluster: "x", Kind: "StrimziPodSet", Name: "c"}, Own: true, Lists: []string{"my-cluster-c-5"}},
		},
	}
	expect := func(what string) {
		t.Helper()
		in := p.removalFacts()
		slices.SortFunc(in.Objects, func(a, b removal.Object) int { return a.Compare(b.Ref) })
		g.Expect(in).To(Equal(want), what)
	}
	expect("a Kafka in one Kubernetes cluster")
	p.input.Stretch = &model.Stretch{}
	want.Planned = false
	expect("the provider has not planned")
	p.planned, want.Planned = true, true
	expect("the provider has planned")
	p.away, want.Away = map[string]away{"y": {}}, true
	expect("a cluster is away")
	kafka.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"}
	want.Forced = true
	expect("the user allows all")
	kafka.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	want.TopicOperator = true
	expect("a topic operator is wanted")
	p.input.Version, kafka.Status.KafkaMetadataVersion = "4.3.1", "4.3-IV0"
	want.Cordons = true
	expect("Kafka cordons")
}
