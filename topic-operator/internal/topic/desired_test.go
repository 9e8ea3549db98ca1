package topic

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func topicFrom(t testing.TB, spec string) *v1.KafkaTopic {
	t.Helper()
	kt := &v1.KafkaTopic{}
	text := `{"metadata":{"name":"orders","namespace":"ns","generation":3},"spec":` + spec + `}`
	NewWithT(t).Expect(json.Unmarshal([]byte(text), kt)).To(Succeed())
	return kt
}

func TestDesired(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want Desired
	}{
		"an empty spec takes Kafka's defaults": {`{}`, Desired{Name: "orders", Partitions: -1, Replicas: -1}},
		"everything": {`{"topicName":"__x","partitions":3,"replicas":2}`,
			Desired{Name: "__x", Partitions: 3, Replicas: 2}},
		"values of every type": {`{"config":{"s":"text","i":7200000,"l":9223372036854775807,"d":0.5,"b":true,"a":["compact","delete"]}}`,
			Desired{Name: "orders", Partitions: -1, Replicas: -1,
				Config: map[string]string{"s": "text", "i": "7200000", "l": "9223372036854775807", "d": "0.5", "b": "true", "a": "compact,delete"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if c.want.Config == nil {
				c.want.Config = map[string]string{}
			}
			d, refusal := DesiredOf(topicFrom(t, c.spec))
			g.Expect(refusal).To(BeNil())
			g.Expect(d).To(Equal(c.want))
		})
	}
}

func TestDesiredRefusals(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"shouldFailTheReconciliationWithNullConfig": {`{"config":{"retention.ms":null}}`,
			"KafkaError: InvalidConfigurationException: Null value not supported for topic configs: retention.ms"},
		"shouldFailTheReconciliationWithUnexpectedConfig": {`{"config":{"retention.ms":{"a":1}}}`,
			`InternalError: Invalid value for topic config 'retention.ms': {"a":1}`},
		"a name that is none": {`{"topicName":"a b"}`,
			"KafkaError: InvalidTopicException: Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', " +
				"'_' and '-'"},
		"a name with a slash": {`{"topicName":"a/b"}`,
			"KafkaError: InvalidTopicException: Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, " +
				"'.', '_' and '-'"},
		"a name with a wildcard": {`{"topicName":"orders-*"}`,
			"KafkaError: InvalidTopicException: Topic name is invalid: 'orders-*' contains one or more characters other than ASCII alphanumerics, " +
				"'.', '_' and '-'"},
		"a name with an umlaut": {`{"topicName":"straße"}`,
			"KafkaError: InvalidTopicException: Topic name is invalid: 'straße' contains one or more characters other than ASCII alphanumerics, " +
				"'.', '_' and '-'"},
		"a name with a line end": {`{"topicName":"orders\n"}`,
			"KafkaError: InvalidTopicException: Topic name is invalid: 'orders\n' contains one or more characters other than ASCII alphanumerics, " +
				"'.', '_' and '-'"},
		"a dot as name":    {`{"topicName":"."}`, "KafkaError: InvalidTopicException: Topic name is invalid: '.' is not allowed"},
		"two dots as name": {`{"topicName":".."}`, "KafkaError: InvalidTopicException: Topic name is invalid: '..' is not allowed"},
		"a name of 250": {`{"topicName":"` + strings.Repeat("x", 250) + `"}`,
			"KafkaError: InvalidTopicException: Topic name is invalid: the length of '" + strings.Repeat("x", 250) +
				"' is longer than the max allowed length 249"},
		"a list with an object": {`{"config":{"cleanup.policy":["compact",{"a":1}]}}`,
			`InternalError: Invalid value for topic config 'cleanup.policy': ["compact",{"a":1}]`},
		"an empty object": {`{"config":{"retention.ms":{}}}`, `InternalError: Invalid value for topic config 'retention.ms': {}`},
		"a name that is too long": {`{"topicName":"` + strings.Repeat("x", 70_000) + `"}`,
			"KafkaError: InvalidTopicException: Topic name is invalid: the length of '" + strings.Repeat("x", 253) +
				"...' is longer than the max allowed length 249"},
		"a key that is too long": {`{"config":{"` + strings.Repeat("k", 1025) + `":1}}`,
			"KafkaError: InvalidConfigurationException: Unknown topic config name: " + strings.Repeat("k", 253) + "..."},
		"a value that is too long": {`{"config":{"retention.ms":"` + strings.Repeat("9", 32_768) + `"}}`,
			"KafkaError: InvalidConfigurationException: Invalid value " + strings.Repeat("9", 253) +
				"... for configuration retention.ms: it has 32768 bytes, and Kafka's protocol carries at most 32767"},
		"a throttle list that is too long": {`{"config":{"leader.replication.throttled.replicas":"0:0` + strings.Repeat(",1:1", 8192) + `"}}`,
			"KafkaError: InvalidConfigurationException: Invalid value 0:0" + strings.Repeat(",1:1", 62) +
				",1... for configuration leader.replication.throttled.replicas: it has 32771 bytes, and Kafka's protocol carries at most 32767"},
		"a long object as value": {`{"config":{"retention.ms":{"a":"` + strings.Repeat("x", 600_000) + `"}}}`,
			`InternalError: Invalid value for topic config 'retention.ms': {"a":"` + strings.Repeat("x", 247) + "..."},
		"a long key without a value": {`{"config":{"` + strings.Repeat("k", 600_000) + `":null}}`,
			"KafkaError: InvalidConfigurationException: Null value not supported for topic configs: " + strings.Repeat("k", 253) + "..."},
		"a long key with an object": {`{"config":{"` + strings.Repeat("k", 600_000) + `":{}}}`,
			"InternalError: Invalid value for topic config '" + strings.Repeat("k", 253) + "...': {}"},
		"more partitions than the protocol carries": {`{"partitions":2147483648}`,
			"KafkaError: InvalidPartitionsException: spec.partitions is 2147483648, and Kafka's protocol carries at most 2147483647"},
		"more replicas than the protocol carries": {`{"replicas":32768}`,
			"KafkaError: InvalidReplicationFactorException: spec.replicas is 32768, and Kafka's protocol carries at most 32767"},
		"no spec": {`null`, "NotSupported: Topic has no spec: add one (spec: {} takes the defaults of the Kafka cluster)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, refusal := DesiredOf(topicFrom(t, c.spec))
			g.Expect(refusal).NotTo(BeNil())
			g.Expect(refusal.Reason + ": " + refusal.Message).To(Equal(c.want))
		})
	}
}

func FuzzDesiredNeverPanicsAndNeverInventsAName(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"topicName":""}`, `{"config":{"a":[1,[2]]}}`, `{"partitions":0,"replicas":-1}`,
		`{"config":{"":1e400}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Name: "orders"}}
		if json.Unmarshal([]byte(spec), &kt.Spec) != nil {
			return
		}
		d, refusal := DesiredOf(kt)
		if refusal == nil && d.Name != kt.TopicName() {
			t.Fatalf("%q became topic %q", spec, d.Name)
		}
		_ = d.NewTopic()
		_ = Compare(d, have([]int32{1}), Rules{})
	})
}
