package validate

import (
	"cmp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestWhereAKafkaIsStretched(t *testing.T) {
	const (
		notConfigured = "Stretch mode is enabled for Kafka cluster 'c', but required environment variables are not properly configured. " +
			"Required: " +
			"STRIMZI_REMOTE_KUBE_CONFIG, STRIMZI_CENTRAL_CLUSTER_ID, STRIMZI_STRETCH_PLUGIN_CLASS_NAME, STRIMZI_STRETCH_PLUGIN_CLASS_PATH"
		noAnnotation = "Kafka CR 'c' is missing required annotation 'strimzi.io/enable-stretch-cluster: true' but the following node pools " +
			"have stretch " +
			"cluster annotations: %. Either add the annotation to the Kafka CR or remove stretch annotations from all node pools."
		noTarget = "The following node pools are missing required annotation 'strimzi.io/stretch-cluster-alias': %. " +
			"All node pools must specify a target cluster when stretch mode is enabled."
		badTarget = "The following target cluster IDs are not configured: %. Valid cluster IDs are: cluster-central, cluster-east, " +
			"cluster-west. " +
			"Please check STRIMZI_CENTRAL_CLUSTER_ID and STRIMZI_REMOTE_KUBE_CONFIG."
	)
	configured := &Clusters{Central: "cluster-central", Remotes: []string{"cluster-west", "cluster-east"}}
	for _, c := range []struct {
		name     string
		operator *Clusters
		kafka    string
		// The annotations of the pools broker and controller; "" is none, and "empty" is an empty one.
		broker, controller string

		reason  string
		message string
		names   string
	}{
		{name: "legal: operator no, Kafka no, pools none"},
		{name: "operator no, Kafka no, pools some", broker: "cluster-east", reason: "OperatorNotConfigured",
			message: notConfigured + ". These node pools have stretch cluster annotations: broker"},
		{
			name: "operator no, Kafka no, pools all", broker: "cluster-east", controller: "cluster-west",
			reason: "OperatorNotConfigured", message: notConfigured + ". These node pools have stretch cluster annotations: broker, controller",
		},
		{name: "operator no, Kafka yes, pools none", kafka: "true", reason: "OperatorNotConfigured", message: notConfigured},
		{
			name: "operator no, Kafka yes, pools all", kafka: "true", broker: "cluster-east", controller: "cluster-west",
			reason: "OperatorNotConfigured", message: notConfigured,
		},
		{name: "operator no, Kafka yes, pools some", kafka: "true", broker: "cluster-east", reason: "OperatorNotConfigured",
			message: notConfigured},
		{name: "legal: operator yes, Kafka no, pools none", operator: configured},
		{name: "operator yes, Kafka no, pools some", operator: configured, broker: "cluster-east", reason: "MissingStretchAnnotation",
			message: noAnnotation, names: "broker"},
		{
			name: "operator yes, Kafka no, pools all", operator: configured, broker: "cluster-east", controller: "cluster-west",
			reason: "MissingStretchAnnotation", message: noAnnotation, names: "broker, controller",
		},
		{name: "operator yes, Kafka yes, pools none", operator: configured, kafka: "true", reason: "MissingTargetCluster", message: noTarget,
			names: "broker, controller"},
		{
			name: "operator yes, Kafka yes, pools some", operator: configured, kafka: "true", broker: "cluster-east",
			reason: "MissingTargetCluster", message: noTarget, names: "controller",
		},
		{name: "legal: operator yes, Kafka yes, pools all", operator: configured, kafka: "true",
			broker: "cluster-central", controller: "cluster-west"},
		{
			name: "operator yes, Kafka yes, pools all, some unknown", operator: configured, kafka: "true", broker: "cluster-unknown",
			controller: "cluster-west",
			reason:     "InvalidTargetCluster", message: badTarget, names: "cluster-unknown",
		},
		{
			name: "an empty annotation is none", operator: configured, kafka: "true", broker: "cluster-east", controller: "empty",
			reason: "MissingTargetCluster", message: noTarget, names: "controller",
		},
		{name: "legal: an empty annotation is none without the Kafka's, too", operator: configured, broker: "empty"},
		{
			name: "all unknown: each id once, sorted", operator: configured, kafka: "true", broker: "b", controller: "a",
			reason: "InvalidTargetCluster", message: badTarget, names: "a, b",
		},
		{name: "only the literal true counts", operator: configured, kafka: "True", broker: "cluster-east", reason: "MissingStretchAnnotation",
			message: noAnnotation, names: "broker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input(t, "")
			in.Clusters = c.operator
			if c.kafka != "" {
				in.Kafka.Annotations = map[string]string{v1.AnnotationStretch: c.kafka}
			}
			for _, p := range in.Pools {
				if target := map[string]string{"broker": c.broker, "controller": c.controller}[p.Name]; target != "" {
					p.Annotations = map[string]string{v1.AnnotationTargetCluster: strings.TrimPrefix(target, "empty")}
				}
			}
			var want []Problem
			if c.reason != "" {
				want = []Problem{{Code: Code(c.reason), Reason: c.reason, Message: strings.ReplaceAll(c.message, "%", c.names)}}
			}
			NewWithT(t).Expect(Validate(in).Errors).To(Equal(want))
		})
	}
}

func TestAClusterThatIsNotConfiguredAnyMoreIsNotWrong(t *testing.T) {
	in := input(t, "")
	in.Kafka.Annotations = map[string]string{v1.AnnotationStretch: "true"}
	in.Clusters = &Clusters{Central: "cluster-central", Remotes: []string{"cluster-east"}, Former: []string{"cluster-west"}}
	for _, p := range in.Pools {
		p.Annotations = map[string]string{v1.AnnotationTargetCluster: "cluster-west"}
	}
	g := NewWithT(t)
	g.Expect(Validate(in).Errors).To(BeEmpty())
	in.Placed = map[string]string{"broker": "cluster-east"}
	g.Expect(Validate(in).Errors).To(ConsistOf(HaveField("Reason", "TargetClusterChangeForbidden")))
	in.Pools[0].Annotations[v1.AnnotationTargetCluster] = "cluster-north"
	g.Expect(Validate(in).Errors).To(ContainElement(HaveField("Message", ContainSubstring(
		"not configured: cluster-north. Valid cluster IDs are: cluster-central, cluster-east. Please"))))
}

func TestTheRacksOfAStretchedKafka(t *testing.T) {
	for _, c := range []struct{ stretched, rack, invalid, warning string }{
		{"true", "", "", ""},
		{"true", "zone", "", ""},
		{"true", "alias-zone", "", ""},
		{"true", "Zone", `annotation strimzi.io/stretch-rack is "Zone". Set it to zone or alias-zone, or remove it`, ""},
		{"", "zones", "", "Annotation strimzi.io/stretch-rack has no effect: the Kafka is not stretched over several Kubernetes clusters. "},
		{"", "zone", "", "Annotation strimzi.io/stretch-rack has no effect: the Kafka is not stretched over several Kubernetes clusters. " +
			"Its racks are those of .spec.kafka.rack"},
	} {
		t.Run(c.stretched+" "+c.rack, func(t *testing.T) {
			in := input(t, "")
			in.Kafka.Annotations = map[string]string{v1.AnnotationStretch: c.stretched, v1.AnnotationStretchRack: c.rack}
			in.Clusters = &Clusters{Central: "cluster-central"}
			if c.stretched != "" {
				for _, p := range in.Pools {
					p.Annotations = map[string]string{v1.AnnotationTargetCluster: "cluster-central"}
				}
			}
			got := Validate(in)
			g := NewWithT(t)
			g.Expect(messages(got.Errors)).To(Equal(c.invalid))
			g.Expect(messages(got.Warnings)).To(ContainSubstring(c.warning))
		})
	}
}

func messages(problems []Problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Message)
	}
	return strings.Join(all, "\n")
}

func TestReplicationThatTheLossOfAKubernetesClusterBreaks(t *testing.T) {
	for _, c := range []struct {
		name string
		// brokers are the replicas of the pools in clusters a, b and c.
		brokers []int
		changes string
		want    string
	}{
		{name: "three clusters", brokers: []int{1, 1, 1}},
		{name: "three clusters, more brokers", brokers: []int{3, 1, 2}},
		{name: "two clusters", brokers: []int{2, 1}, want: "Brokers are in 'a', 'b': without one of these clusters, partitions have too few " +
			"replicas for records with acks=all, or none (default.replication.factor is 3, of which 1 may be left, and min.insync.replicas is " +
			"2; offsets.topic.replication.factor is 3, of which 1 may be left, and min.insync.replicas is 2; " +
			"transaction.state.log.replication.factor is 3, of which 1 may be left, and transaction.state.log.min.isr is 2). Put brokers into " +
			"more clusters, or change these options in .spec.kafka.config"},
		{name: "two clusters, four replicas", brokers: []int{2, 2}, changes: `{default.replication.factor: 4,
			offsets.topic.replication.factor: 4, transaction.state.log.replication.factor: 4}`},
		{name: "two clusters, of which one has too few brokers for four replicas", brokers: []int{3, 1}, changes: `{
			default.replication.factor: 4, offsets.topic.replication.factor: 2, transaction.state.log.replication.factor: 2,
			transaction.state.log.min.isr: 1, min.insync.replicas: 1}`},
		{name: "the same, with two in sync", brokers: []int{3, 1}, changes: `{default.replication.factor: 4,
			transaction.state.log.replication.factor: 2, transaction.state.log.min.isr: 1, offsets.topic.replication.factor: null}`,
			want: "(default.replication.factor is 4, of which 1 may be left, and min.insync.replicas is 2; offsets.topic.replication.factor is 3, " +
				"of which 1 may be left, and min.insync.replicas is 2)"},
		{name: "as many in sync as there are replicas", brokers: []int{1, 1, 1}, changes: `{min.insync.replicas: "3"}`,
			want: "(default.replication.factor is 3, of which 2 may be left, and min.insync.replicas is 3; offsets.topic.replication.factor is " +
				"3, of which 2 may be left, and min.insync.replicas is 3)"},
		{name: "one replica", brokers: []int{1, 1, 1}, changes: `{default.replication.factor: 1, min.insync.replicas: 1}`,
			want: "(default.replication.factor is 1, of which 0 may be left, and min.insync.replicas is 1)"},
		{name: "numbers that nodes look up", brokers: []int{2, 1}, changes: `{min.insync.replicas: "${strimzienv:A}",
			transaction.state.log.replication.factor: "${strimzienv:B}", default.replication.factor: 3}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, `kafka: {spec: {kafka: {config: `+cmp.Or(c.changes, "{}")+`}}}`)
			in.Kafka.Annotations = map[string]string{v1.AnnotationStretch: "true"}
			in.Clusters = &Clusters{Central: "a", Remotes: []string{"b", "c"}}
			var pools []*v1.KafkaNodePool
			for _, p := range in.Pools {
				p.Annotations = map[string]string{v1.AnnotationTargetCluster: "c"}
				if p.Name == "controller" {
					pools = append(pools, p)
					continue
				}
				for i, replicas := range c.brokers {
					at := p.DeepCopy()
					at.Name = in.Clusters.ids()[i]
					at.Annotations[v1.AnnotationTargetCluster], at.Spec.Replicas = at.Name, int32(replicas)
					pools = append(pools, at)
				}
			}
			in.Pools = pools
			r := Validate(in)
			g.Expect(r.Errors).To(BeEmpty())
			if c.want == "" {
				g.Expect(r.Warnings).To(BeEmpty())
			} else {
				g.Expect(r.Warnings).To(ConsistOf(And(HaveField("Reason", "ReplicationTopology"),
					HaveField("Message", ContainSubstring(c.want)))))
			}
			in.Kafka.Annotations[v1.AnnotationStretchRack] = v1.StretchRackZone
			g.Expect(Validate(in).Warnings).To(BeEmpty(), "the racks are zones, and unknown")
		})
	}
}
