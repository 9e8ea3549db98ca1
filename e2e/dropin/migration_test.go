package dropin_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// migration returns the commands of docs/migration.md: those that stop Strimzi's topic operators, the one that starts that of a Kafka
// again, and the one that replaces the kind.
func migration(t *testing.T) (stop map[string]string, start, kind string) {
	t.Helper()
	g := NewWithT(t)
	path, err := operatorproc.RepositoryPath("docs", "migration.md")
	g.Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	all := regexp.MustCompile("`(kubectl (?:scale|apply|patch) [^`]*)`").FindAllSubmatch(text, -1)
	if len(all) != 4 {
		t.Fatalf("docs/migration.md has the commands %q, want four", all)
	}
	return map[string]string{standalone: string(all[0][1]), entityOperator: string(all[2][1])}, string(all[3][1]), string(all[1][1])
}

// topicOfStrimzi is a KafkaTopic as Strimzi's topic operator leaves it, and its topic.
type topicOfStrimzi struct {
	name, topic string
	// paused topics have a status without topicId.
	paused bool
}

var leftByStrimzi = []topicOfStrimzi{
	{name: "orders", topic: "orders"},
	{name: "renamed", topic: "Renamed_Topic"},
	{name: "paused", topic: "paused", paused: true},
	{name: "deleted-in-between", topic: "deleted-in-between"},
}

// scene is a running topic operator of Strimzi: its kind, its Deployment or its Kafka, KafkaTopics, and their topics in Kafka. Strimzi's
// programs do not run; the test writes what they would write.
type scene struct {
	*WithT
	admin client.Client
	kafka *saramakafka.Admin
}

// make creates a topic and its KafkaTopic, with the fields that Strimzi writes: finalizer, condition, generation, name and id.
func (s scene) make(t *testing.T, o topicOfStrimzi) {
	t.Helper()
	retention, condition := "604800000", v1.ConditionReady
	kt := &v1.KafkaTopic{}
	s.Expect(yaml.UnmarshalStrict([]byte(`{spec: {partitions: 3, replicas: 1, config: {retention.ms: `+retention+`}}}`), kt)).To(Succeed())
	kt.Namespace, kt.Name, kt.Spec.TopicName = "default", o.name, &o.topic
	kt.Labels, kt.Finalizers = map[string]string{v1.LabelCluster: "my-cluster"}, []string{v1.FinalizerTopicOperator}
	if o.paused {
		condition, kt.Annotations = v1.ConditionReconciliationPaused, map[string]string{v1.AnnotationPauseReconciliation: "true"}
	}
	created, err := s.kafka.CreateTopics(t.Context(), []kafka.NewTopic{{Name: o.topic, Partitions: 3, ReplicationFactor: 1,
		Configs: map[string]*string{"retention.ms": &retention}}}, false)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(created[o.topic].Err).NotTo(HaveOccurred())
	s.Eventually(func() map[string]topicState { return s.inKafka(t) }).Should(HaveKey(o.topic)) // a broker knows it a moment later
	s.Expect(s.admin.Create(t.Context(), kt)).To(Succeed())
	s.status(t, kt, condition)
}

// status writes a status as Strimzi does, without a cluster id.
func (s scene) status(t *testing.T, kt *v1.KafkaTopic, condition string) {
	t.Helper()
	kt.Status = v1.KafkaTopicStatus{ObservedGeneration: kt.Generation, TopicName: *kt.Spec.TopicName, Conditions: []v1.Condition{
		{Type: condition, Status: "True", LastTransitionTime: "2026-03-01T10:30:00.123456789Z"}}}
	if condition == v1.ConditionReady {
		kt.Status.TopicID = s.inKafka(t)[*kt.Spec.TopicName].id
	}
	s.Expect(s.admin.Status().Update(t.Context(), kt)).To(Succeed())
}

// topicState is the state of a topic that must not change. The id identifies the topic: another one may have the same name.
type topicState struct {
	id         string
	partitions int
	config     map[string]string
}

// inKafka returns all topics in Kafka, by name.
func (s scene) inKafka(t *testing.T) map[string]topicState {
	t.Helper()
	topics, err := s.kafka.ListTopics(t.Context())
	s.Expect(err).NotTo(HaveOccurred())
	all := map[string]topicState{}
	for _, topic := range topics {
		resource := kafka.TopicResource(topic.Name)
		configs, err := s.kafka.DescribeConfigs(t.Context(), []kafka.ConfigResource{resource}, nil)
		s.Expect(err).NotTo(HaveOccurred())
		one := topicState{id: topic.ID.String(), partitions: len(topic.Partitions), config: map[string]string{}}
		for key, entry := range configs[resource].Entries {
			if entry.Source == kafka.SourceTopic {
				one.config[key] = entry.Value
			}
		}
		all[topic.Name] = one
	}
	return all
}

// objects returns all KafkaTopics, by name.
func (s scene) objects(t *testing.T) map[string]v1.KafkaTopic {
	t.Helper()
	list := &v1.KafkaTopicList{}
	s.Expect(s.admin.List(t.Context(), list)).To(Succeed())
	all := map[string]v1.KafkaTopic{}
	for _, kt := range list.Items {
		all[kt.Name] = kt
	}
	return all
}

// ours waits until the operator has taken over each KafkaTopic: it is Ready with a cluster id, or paused as before.
func (s scene) ours(t *testing.T, log func() string) {
	t.Helper()
	s.Eventually(func(g Gomega) {
		for name, kt := range s.objects(t) {
			if kt.IsPaused() {
				g.Expect(kt.Status.Conditions).To(ContainElement(HaveField("Type", v1.ConditionReconciliationPaused)), name)
				continue
			}
			g.Expect(kt.Status.ClusterID).NotTo(BeEmpty(), name)
			g.Expect(kt.Status.Conditions).To(ContainElement(And(HaveField("Type", v1.ConditionReady),
				HaveField("Status", BeEquivalentTo("True")))), name)
		}
	}).Should(Succeed(), log)
}

// unchanged compares the KafkaTopics and the topics with earlier ones: all KafkaTopics have the same specifications, claims and finalizers,
// and no topic in Kafka was created, changed or deleted.
func (s scene) unchanged(t *testing.T, objects map[string]v1.KafkaTopic, topics map[string]topicState) {
	t.Helper()
	s.Expect(s.inKafka(t)).To(Equal(topics))
	now := s.objects(t)
	s.Expect(now).To(HaveLen(len(objects)))
	for name, before := range objects {
		kt := now[name]
		s.Expect(kt.UID).To(Equal(before.UID), name)
		s.Expect(kt.Generation).To(Equal(before.Generation), name)
		s.Expect(kt.Finalizers).To(Equal([]string{v1.FinalizerTopicOperator}), name)
		s.Expect(kt.Status.TopicName).To(Equal(before.Status.TopicName), name)
		s.Expect(kt.Status.TopicID).To(Equal(before.Status.TopicID), name)
		s.Expect(kt.Labels).To(Equal(before.Labels), name)
		s.Expect(kt.Annotations).To(Equal(before.Annotations), name)
	}
}

// TestMigrationFromStrimzisTopicOperatorsAndBack replaces Strimzi's topic operators by this one with the commands of docs/migration.md,
// then back, and then again. No KafkaTopic and no topic changes. A KafkaTopic that is deleted while neither operator runs is deleted by the
// next one, with its topic.
func TestMigrationFromStrimzisTopicOperatorsAndBack(t *testing.T) {
	t.Run(strimzi0.name, func(t *testing.T) { migrate(t, strimzi0, standalone) })
	t.Run(strimzi1.name, func(t *testing.T) { migrate(t, strimzi1, standalone) })
	t.Run(strimzi1.name+" "+entityOperator, func(t *testing.T) { migrate(t, strimzi1, entityOperator) })
}

// strimzi is a Kubernetes cluster in which Strimzi runs a topic operator for a Kafka.
type strimzi struct {
	kafka kafka.Config
	// ours are the settings of the operator that replaces Strimzi's. stopped is called when Strimzi's has been stopped, and start starts it.
	ours           operatorproc.Options
	stopped, start func()
}

// newStrimzi starts a Kafka, and Strimzi's topic operator.
func newStrimzi(t *testing.T, from string, plane *controlplane.ControlPlane, admin client.Client, sh shell, start string) strimzi {
	t.Helper()
	g := NewWithT(t)
	i := strimzi{ours: operatorproc.Options{Kubeconfig: plane.Kubeconfig(),
		Env: map[string]string{"STRIMZI_RESOURCE_LABELS": "strimzi.io/cluster=my-cluster"}}}
	if from == standalone {
		brokers, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 1})
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(brokers.Close)
		run(t, plane, "create", "deployment", "strimzi-topic-operator", "--image=quay.io/strimzi/operator")
		i.kafka.Bootstrap, i.ours.Bootstrap, i.stopped = brokers.Bootstrap(), brokers.Bootstrap(), func() {}
		i.start = func() { run(t, plane, "scale", "deployment", "strimzi-topic-operator", "--replicas=1") }
		return i
	}
	bootstrap := startSecured(t, admin, "default")
	i.kafka.Bootstrap, i.ours.Bootstrap = bootstrap, bootstrap
	secret := func(name string) map[string][]byte {
		found := &corev1.Secret{}
		g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, found)).To(Succeed())
		return found.Data
	}
	certificate := secret(entityCertificate)
	i.kafka.TLS = &kafka.TLS{TrustedCertificates: secret("my-cluster-cluster-ca-cert")["ca.crt"],
		Certificate: certificate["entity-operator.crt"], Key: certificate["entity-operator.key"]}
	// As Strimzi's user operator makes it for a KafkaUser.
	g.Expect(admin.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "my-topic-operator"},
		Data: map[string][]byte{"user.crt": i.kafka.TLS.Certificate, "user.key": i.kafka.TLS.Key}})).To(Succeed())
	maps.Copy(i.ours.Env, map[string]string{
		"STRIMZI_SECURITY_PROTOCOL": "SSL", "STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "my-cluster-cluster-ca-cert",
		"STRIMZI_TLS_SECRET_NAME": "my-topic-operator", "STRIMZI_TLS_CERT_NAME": "user.crt", "STRIMZI_TLS_KEY_NAME": "user.key"})
	run(t, plane, "create", "-f", filepath.Join("testdata", "kafka.yaml"))
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: entityCertificate}}
	i.stopped = func() { // Strimzi's cluster operator removes the certificate with the topic operator
		g.Expect(admin.Delete(t.Context(), own)).To(Succeed())
	}
	i.start = func() {
		out, err := sh.run(t.Context(), start)
		g.Expect(err).NotTo(HaveOccurred(), out)
		own.ResourceVersion, own.Data = "", certificate
		g.Expect(client.IgnoreAlreadyExists(admin.Create(t.Context(), own))).To(Succeed())
	}
	i.start()
	return i
}

func migrate(t *testing.T, r release, from string) {
	t.Helper()
	g := NewWithT(t)
	plane, admin := startPlane(t)
	theirs := r.kinds(t)
	run(t, plane, "create", "-f", theirs)
	sh := newShell(t, plane)
	stop, start, kind := migration(t)
	installed := newStrimzi(t, from, plane, admin, sh, start)
	installed.kafka.ClientID = "e2e"
	access, err := saramakafka.New(installed.kafka)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(access.Close)
	s := scene{WithT: NewWithT(t), admin: admin, kafka: access}
	s.SetDefaultEventuallyTimeout(time.Minute)
	for _, o := range leftByStrimzi {
		s.make(t, o)
	}
	objects, topics := s.objects(t), s.inKafka(t)
	// takeOver runs the commands of the page.
	takeOver := func() *operatorproc.Process {
		t.Helper()
		out, err := sh.run(t.Context(), stop[from])
		s.Expect(err).NotTo(HaveOccurred(), out)
		installed.stopped()
		p := startOperator(t, installed.ours)
		out, err = sh.run(t.Context(), kind)
		s.Expect(err).NotTo(HaveOccurred(), out)
		return p
	}

	p := takeOver()
	s.ours(t, p.Log)
	s.unchanged(t, objects, topics)

	// Back to Strimzi: this operator is stopped, and Strimzi's is installed with its kind, and writes its statuses.
	code, err := p.Terminate()
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(code).To(BeZero(), p.Log)
	s.unchanged(t, objects, topics)
	run(t, plane, "replace", "-f", theirs)
	installed.start()
	for _, kt := range s.objects(t) {
		if !kt.IsPaused() {
			s.status(t, &kt, v1.ConditionReady)
		}
	}
	s.unchanged(t, objects, topics)

	// A KafkaTopic that is deleted while no operator runs waits for the next operator.
	deleted := objects["deleted-in-between"]
	s.Expect(admin.Delete(t.Context(), &deleted)).To(Succeed())
	s.Expect(s.inKafka(t)).To(Equal(topics))
	p = takeOver()
	s.Eventually(func() bool {
		return apierrors.IsNotFound(admin.Get(t.Context(), client.ObjectKeyFromObject(&deleted), &v1.KafkaTopic{}))
	}).Should(BeTrue(), p.Log)
	delete(objects, deleted.Name)
	delete(topics, deleted.Name)
	s.ours(t, p.Log)
	s.unchanged(t, objects, topics)
}
