package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	kafkav1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	kafkav1beta2 "github.com/kafka-operators/kafka-operators/api/kafka/v1beta2"
)

const crdName = "kafkatopics.kafka.strimzi.io"

// TestCRD checks the installed CustomResourceDefinition: its names and versions, and that the API server reports no problem.
func TestCRD(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: crdName}, crd)).To(Succeed())
	want := map[apiextensionsv1.CustomResourceDefinitionConditionType]apiextensionsv1.ConditionStatus{
		apiextensionsv1.Established:                           apiextensionsv1.ConditionTrue,
		apiextensionsv1.NamesAccepted:                         apiextensionsv1.ConditionTrue,
		apiextensionsv1.NonStructuralSchema:                   apiextensionsv1.ConditionFalse,
		apiextensionsv1.KubernetesAPIApprovalPolicyConformant: apiextensionsv1.ConditionFalse,
	}
	for _, condition := range crd.Status.Conditions {
		if status, known := want[condition.Type]; known {
			g.Expect(condition.Status).To(Equal(status), "%s: %s", condition.Type, condition.Message)
		}
		if condition.Type == apiextensionsv1.Established {
			delete(want, condition.Type)
		}
	}
	g.Expect(want).NotTo(HaveKey(apiextensionsv1.Established))
	g.Expect(crd.Status.StoredVersions).To(Equal([]string{"v1"}))
	for _, version := range crd.Spec.Versions {
		g.Expect(version.Served).To(BeTrue(), version.Name)
		g.Expect(version.Storage).To(Equal(version.Name == "v1"), version.Name)
	}
	g.Expect(crd.Spec.Names.ShortNames).To(Equal([]string{"kt"}))
	g.Expect(crd.Spec.Names.Categories).To(Equal([]string{"strimzi"}))
	// kubectl apply without --server-side stores a copy of the object in an annotation, which is limited to 256 KiB.
	text, err := json.Marshal(crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<=", 200<<10))
}

// TestInvalid creates invalid KafkaTopics. The message has to name the field.
func TestInvalid(t *testing.T) {
	s := needServer(t)
	cases := map[string]struct {
		spec   string
		status string
		want   string
	}{
		"no partitions":          {spec: `{"partitions":0}`, want: "spec.partitions in body should be greater than or equal to 1"},
		"negative partitions":    {spec: `{"partitions":-1}`, want: "spec.partitions in body should be greater than or equal to 1"},
		"no replicas":            {spec: `{"replicas":0}`, want: "spec.replicas in body should be greater than or equal to 1"},
		"too many replicas":      {spec: `{"replicas":32768}`, want: "spec.replicas in body should be less than or equal to 32767"},
		"partitions as text":     {spec: `{"partitions":"12"}`, want: `spec.partitions in body must be of type integer: "string"`},
		"partitions as fraction": {spec: `{"partitions":1.5}`, want: "spec.partitions in body must be of type int"},
		"more than 32 bits":      {spec: `{"partitions":2147483648}`, want: "spec.partitions"},
		"config as list":         {spec: `{"config":["a"]}`, want: `spec.config in body must be of type object: "array"`},
		"config as text":         {spec: `{"config":"a"}`, want: `spec.config in body must be of type object: "string"`},
		"topicName as number":    {spec: `{"topicName":1}`, want: `spec.topicName in body must be of type string: "integer"`},
		"managed as text":        {spec: `{"managed":"false"}`, want: `spec.managed in body must be of type boolean: "string"`},
		"spec as list":           {spec: `[]`, want: `spec in body must be of type object: "array"`},
		"unknown field":          {spec: `{"partition":1}`, want: `unknown field "spec.partition"`},
		"condition without quotes": {status: `{"conditions":[{"type":"Ready","status":true}]}`,
			want: `status.conditions[0].status: Invalid value: "boolean"`},
		"replicasChange state": {status: `{"replicasChange":{"state":"done"}}`, want: `Unsupported value: "done"`},
	}
	for name, tc := range cases {
		for _, version := range versions {
			t.Run(name+"/"+version.Version, func(t *testing.T) {
				g := NewWithT(t)
				object := &unstructured.Unstructured{}
				text := fmt.Sprintf(`{"apiVersion":%q,"kind":"KafkaTopic","metadata":{"name":"invalid","namespace":"default"}}`, version)
				g.Expect(object.UnmarshalJSON([]byte(text))).To(Succeed())
				c := s.strict()
				var err error
				if tc.spec != "" {
					object.Object["spec"] = value(t, tc.spec)
					err = c.Create(t.Context(), object)
				} else {
					object.SetName("")
					object.SetGenerateName("valid-")
					g.Expect(c.Create(t.Context(), object)).To(Succeed())
					object.Object["status"] = value(t, tc.status)
					err = c.Status().Update(t.Context(), object)
				}
				g.Expect(err).To(Or(Satisfy(apierrors.IsInvalid), Satisfy(apierrors.IsBadRequest)))
				g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
				neighbour := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
				neighbour.SetGroupVersionKind(version.WithKind("KafkaTopic"))
				neighbour.SetNamespace("default")
				neighbour.SetGenerateName("neighbour-")
				g.Expect(c.Create(t.Context(), neighbour, client.DryRunAll)).To(Succeed(), "a valid object beside it")
			})
		}
	}
}

// TestLargeNumbers sends numbers that a float64 would round to the server and through our types.
func TestLargeNumbers(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	namespace := s.namespace(ctx, t)
	written := &kafkav1.KafkaTopic{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "large"},
		Spec: &kafkav1.KafkaTopicSpec{Config: map[string]kafkav1.ConfigValue{
			"beyond-53": {Raw: json.RawMessage("9007199254740993")},
			"largest":   {Raw: json.RawMessage("9223372036854775807")},
			"smallest":  {Raw: json.RawMessage("-9223372036854775808")},
			"exponent":  {Raw: json.RawMessage("6e5")},
			"fraction":  {Raw: json.RawMessage("0.1")},
			"list":      {Raw: json.RawMessage("[9007199254740993,1]")},
		}},
	}
	g.Expect(s.client.Create(ctx, written)).To(Succeed())
	want := map[string]string{
		"beyond-53": "9007199254740993", "largest": "9223372036854775807", "smallest": "-9223372036854775808",
		"exponent": "600000", "fraction": "0.1", "list": "9007199254740993,1",
	}
	v1, v1beta2 := &kafkav1.KafkaTopic{}, &kafkav1beta2.KafkaTopic{}
	for _, object := range []client.Object{v1, v1beta2} {
		g.Expect(s.client.Get(ctx, client.ObjectKeyFromObject(written), object)).To(Succeed())
	}
	for version, spec := range map[string]*kafkav1.KafkaTopicSpec{"v1": v1.Spec, "v1beta2": v1beta2.Spec} {
		for key, text := range want {
			g.Expect(spec.Config[key].Text()).To(Equal(text), "%s: %s", version, key)
		}
	}
	// Nothing was changed: a patch between the versions of our types must be empty, and must change nothing.
	patch := client.MergeFrom(v1.DeepCopy())
	g.Expect(patch.Data(v1)).To(BeEquivalentTo("{}"))
}

// TestStatusFieldsCanBeRemoved removes the claim of a topic from the status, as the operator does for unmanaged topics, with a merge patch
// that is written by hand and with one of our types.
func TestStatusFieldsCanBeRemoved(t *testing.T) {
	s := needServer(t)
	patches := map[string]func(*kafkav1.KafkaTopic) client.Patch{
		"null": func(*kafkav1.KafkaTopic) client.Patch {
			return client.RawPatch(types.MergePatchType, []byte(`{"status":{"topicName":null,"topicId":null,"clusterId":null}}`))
		},
		"types": func(topic *kafkav1.KafkaTopic) client.Patch {
			before := topic.DeepCopy()
			topic.Status.TopicName, topic.Status.TopicID, topic.Status.ClusterID = "", "", ""
			return client.MergeFrom(before)
		},
	}
	for name, patch := range patches {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx := t.Context()
			topic := claimed(ctx, t, s)
			g.Expect(s.client.Status().Patch(ctx, topic, patch(topic))).To(Succeed())
			for _, version := range versions {
				got := get(t, s, version.WithKind("KafkaTopic"), topic.Namespace, topic.Name)
				status, _, err := unstructured.NestedMap(got.Object, "status")
				g.Expect(err).NotTo(HaveOccurred())
				for _, field := range []string{"topicName", "topicId", "clusterId"} {
					g.Expect(status).NotTo(HaveKey(field), version.Version)
				}
				g.Expect(status).To(HaveKeyWithValue("observedGeneration", int64(1)), version.Version)
				g.Expect(status["conditions"]).To(HaveLen(3), version.Version)
			}
		})
	}
}

// TestStatusIsSeparate checks that users cannot claim a topic with a status, and that the operator cannot change a spec with one.
func TestStatusIsSeparate(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	topic := &kafkav1.KafkaTopic{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace(ctx, t), Name: "topic"},
		Spec:       &kafkav1.KafkaTopicSpec{Partitions: new(int64(3))},
		Status:     kafkav1.KafkaTopicStatus{ClusterID: "mine"},
	}
	g.Expect(s.client.Create(ctx, topic)).To(Succeed())
	g.Expect(topic.Status.ClusterID).To(BeEmpty())
	topic.Status.ClusterID = "theirs"
	topic.Spec.Partitions = new(int64(9))
	g.Expect(s.client.Status().Update(ctx, topic)).To(Succeed())
	g.Expect(topic.Spec.Partitions).To(HaveValue(BeEquivalentTo(3)))
	g.Expect(topic.Status.ClusterID).To(Equal("theirs"))
	g.Expect(topic.Generation).To(BeEquivalentTo(1))
}

// TestColumns checks the table that kubectl prints.
func TestColumns(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	topic := claimed(ctx, t, s)
	for _, version := range versions {
		config := rest.CopyConfig(s.env.Config)
		config.GroupVersion = &version
		config.APIPath = "/apis"
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		c, err := rest.RESTClientFor(config)
		g.Expect(err).NotTo(HaveOccurred())
		text, err := c.Get().Namespace(topic.Namespace).Resource("kafkatopics").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		table := &metav1.Table{}
		g.Expect(json.Unmarshal(text, table)).To(Succeed())
		var columns []string
		for i, column := range table.ColumnDefinitions {
			cell := fmt.Sprint(table.Rows[0].Cells[i])
			if column.Name == "Age" {
				cell = "-"
			}
			columns = append(columns, fmt.Sprintf("%s/%d=%s", column.Name, column.Priority, cell))
		}
		g.Expect(columns).To(Equal([]string{
			"Name/0=claimed", "Cluster/0=my-cluster", "Partitions/0=12", "Replication factor/0=3", "Ready/0=False", "Age/0=-",
			"Topic ID/1=7SnvzO8GQE2Al5oIAxLhVg", "Reason/1=KafkaError",
		}), version.Version)
	}
}

// TestKubectl checks kubectl: both kinds of apply, the short name, the category, and wait.
func TestKubectl(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	run := kubectl(t, s)
	for _, mode := range []string{"--server-side=false", "--server-side=true"} {
		namespace := s.namespace(ctx, t)
		first := run("apply", mode, "-n", namespace, "-f", "testdata/strimzi-examples.yaml")
		if again := run("apply", mode, "-n", namespace, "-f", "testdata/strimzi-examples.yaml"); mode == "--server-side=false" {
			g.Expect(again).NotTo(ContainSubstring("configured"), "the second time changes nothing")
		}
		g.Expect(strings.Count(first, "kafkatopic.kafka.strimzi.io/")).To(Equal(len(read(t, "testdata/strimzi-examples.yaml"))), "%s", first)
		g.Expect(run("get", "strimzi", "-n", namespace, "-o", "name")).To(ContainSubstring("kafkatopic.kafka.strimzi.io/my-topic\n"))
	}
	topic := claimed(ctx, t, s)
	g.Expect(strings.Fields(run("get", "kt", "-n", topic.Namespace, "--no-headers"))[:5]).To(
		Equal([]string{"claimed", "my-cluster", "12", "3", "False"}))
	run("wait", "--for=condition=Ready=false", "--timeout=10s", "-n", topic.Namespace, "kt/claimed")
	g.Expect(run("explain", "kafkatopic.spec.config")).To(ContainSubstring("lists of these, which Kafka gets joined by commas"))
}

// kubectl returns a function that runs kubectl as an administrator and returns its output. A warning fails the test.
func kubectl(t *testing.T, s *server) func(args ...string) string {
	t.Helper()
	g := NewWithT(t)
	binary := filepath.Join(os.Getenv(assetsVariable), "kubectl")
	if _, err := exec.LookPath(binary); err != nil {
		t.Skipf("%s holds no kubectl", assetsVariable)
	}
	user, err := s.env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	ctl, err := user.Kubectl()
	g.Expect(err).NotTo(HaveOccurred())
	ctl.Path = binary
	return func(args ...string) string {
		t.Helper()
		stdout, stderr, err := ctl.Run(args...)
		out, errText := readAll(t, stdout), readAll(t, stderr)
		g.Expect(err).NotTo(HaveOccurred(), "kubectl %s:\n%s%s", strings.Join(args, " "), out, errText)
		g.Expect(errText).To(BeEmpty(), "kubectl %s", strings.Join(args, " "))
		return out
	}
}

// claimed creates a topic with a status as Strimzi writes it, and with our additional fields.
func claimed(ctx context.Context, t *testing.T, s *server) *kafkav1.KafkaTopic {
	t.Helper()
	topic := &kafkav1.KafkaTopic{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace(ctx, t), Name: "claimed", Labels: map[string]string{kafkav1.LabelCluster: "my-cluster"},
		},
		Spec: &kafkav1.KafkaTopicSpec{Partitions: new(int64(12)), Replicas: new(int64(3))},
	}
	NewWithT(t).Expect(s.client.Create(ctx, topic)).To(Succeed())
	warning := kafkav1.Condition{
		Type: kafkav1.ConditionWarning, Status: kafkav1.ConditionTrue, Reason: kafkav1.ReasonInvalidConfig,
		LastTransitionTime: "2023-03-01T10:30:00.123456789Z",
	}
	topic.Status = kafkav1.KafkaTopicStatus{
		Conditions: []kafkav1.Condition{
			{Type: kafkav1.ConditionReady, Status: kafkav1.ConditionFalse, Reason: kafkav1.ReasonKafkaError, Message: "none"}, warning, warning,
		},
		ObservedGeneration: 1, TopicName: "claimed", TopicID: "7SnvzO8GQE2Al5oIAxLhVg", ClusterID: "5L6g3nShT-eMCtK--X86sw",
	}
	NewWithT(t).Expect(s.client.Status().Update(ctx, topic)).To(Succeed())
	return topic
}

func readAll(t *testing.T, reader io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// value decodes JSON as clients of the API server do: whole numbers to int64.
func value(t *testing.T, text string) any {
	t.Helper()
	object := &unstructured.Unstructured{}
	NewWithT(t).Expect(object.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"X","value":` + text + `}`))).To(Succeed())
	return object.Object["value"]
}
