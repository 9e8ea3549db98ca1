package decode_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// read decodes an object as clients do.
func read(t *testing.T, text string) runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, core.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	o, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	kafka   = `"apiVersion":"kafka.strimzi.io/v1","kind":"Kafka","metadata":{"name":"c","generation":7}`
	pool    = `"apiVersion":"kafka.strimzi.io/v1","kind":"KafkaNodePool","metadata":{"name":"c","generation":7}`
	set     = `"apiVersion":"core.strimzi.io/v1","kind":"StrimziPodSet","metadata":{"name":"c","generation":7}`
	beyond  = `3000000000`
	kafkas  = `"spec":{"kafka":{"version":"4.3.1","listeners":[{"name":"a","port":`
	replica = `"spec":{"roles":["broker"],"storage":{"type":"ephemeral"},"replicas":`
)

func TestObject(t *testing.T) {
	for name, tc := range map[string]struct {
		text, invalid string
		spec, status  bool
	}{
		"a Kafka": {kafka + `,` + kafkas + `9092}]}},"status":{"clusterId":"x"}`, "", true, true},
		"a Kafka with a port beyond 32 bits": {kafka + `,` + kafkas + beyond + `}]}},"status":{"clusterId":"x"}`,
			".spec.kafka.listeners.port is not a value of type int32: number 3000000000", false, true},
		"a status first": {`"status":{"clusterId":"x"},` + kafkas + beyond + `}]}},` + kafka,
			".spec.kafka.listeners.port is not a value of type int32: number 3000000000", false, true},
		"a fraction": {kafka + `,` + kafkas + `1.5}]}},"status":{"clusterId":"x"}`,
			".spec.kafka.listeners.port is not a value of type int32: number 1.5", false, true},
		"a Kafka with such a status": {kafka + `,` + kafkas + `9092}]}},"status":{"registeredNodeIds":[` + beyond + `]}`,
			".status.registeredNodeIds is not a value of type int32: number 3000000000", true, false},
		"such a status with conditions": {kafka + `,` + kafkas + `9092}]}},"status":{"registeredNodeIds":[` + beyond +
			`],"conditions":[{"type":"Ready"}]}`,
			".status.registeredNodeIds is not a value of type int32: number 3000000000 (kubectl edit --subresource=status corrects it)", true, true},
		"conditions that are a text": {kafka + `,` + kafkas + `9092}]}},"status":{"conditions":"none"}`, ".status.conditions is not", true,
			false},
		"a status that is a text": {kafka + `,` + kafkas + `9092}]}},"status":"none"`, ".status is not", true, false},
		"a spec that is a text": {kafka + `,"spec":"none","status":{"clusterId":"x"}`, ".spec is not a value of type v1.KafkaSpec: string", false,
			true},
		"no spec": {kafka + `,"status":{"clusterId":"x"}`, "", false, true},
		"a pool":  {pool + `,` + replica + `3},"status":{"replicas":3}`, "", true, true},
		"a pool with a text": {pool + `,` + replica + `"3"},"status":{"replicas":3}`,
			".spec.replicas is not a value of type int32: string", false, true},
		"a pool with both": {pool + `,` + replica + beyond + `},"status":{"nodeIds":[` + beyond + `]}`,
			".spec.replicas is not a value of type int32: number 3000000000; .status.nodeIds is not a value of type int32: number 3000000000",
			false, false},
		"a quantity that is none": {pool + `,"spec":{"resources":{"limits":{"cpu":"lots"}},"replicas":3},"status":{"replicas":3}`,
			".spec: quantities must match the regular expression", false, true},
		"a quantity without end": {pool + `,"spec":{"resources":{"limits":{"memory":"1e-900000000"}},"replicas":3},"status":{"replicas":3}`,
			".spec.resources.limits.memory is not a quantity: 1e-900000000", false, true},
		"a quantity without end in a list": {pool + `,"spec":{"replicas":3,"template":{"pod":{"volumes":[{"name":"v","emptyDir":` +
			`{"sizeLimit":"12345678901234567890E+0900000000"}}]}}},"status":{"replicas":3}`,
			".spec.template.pod.volumes[0].emptyDir.sizeLimit is not a quantity: 12345678901234567890E+0900000000", false, true},
		"a Kafka with a quantity without end": {kafka + `,"spec":{"kafka":{"resources":{"requests":{"cpu":".1e900000000"}}}},` +
			`"status":{"clusterId":"x"}`, ".spec.kafka.resources.requests.cpu is not a quantity: .1e900000000", false, true},
		"a quantity without end in a pod": {set + `,"spec":{"pods":[{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e900000000"}}}]}}]}`,
			".spec.pods[0].spec.containers[0].resources.limits.cpu is not a quantity: 1e900000000", false, false},
		"a hash that looks like a quantity": {pool + `,"spec":{"resources":{"limits":{"cpu":"1e2","memory":"1e002"}},"replicas":3,"template":` +
			`{"pod":{"metadata":{"labels":{"limit":"71523e1358234"}}}}}`, "", true, false},
		"a set": {set + `,"spec":{"pods":[{}]},"status":{"pods":1}`, "", true, true},
		"a set with such a status": {set + `,"spec":{"pods":[{}]},"status":{"pods":` + beyond + `}`,
			".status.pods is not a value of type int32: number 3000000000", true, false},
		"a set with such a spec": {set + `,"spec":{"selector":{"matchLabels":{"a":7}},"pods":[{}]},"status":{"pods":1}`,
			".spec.selector.matchLabels is not a value of type string: number", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := reflect.ValueOf(read(t, "{"+tc.text+"}")).Elem()
			if invalid := o.FieldByName("Invalid").String(); !strings.HasPrefix(invalid, tc.invalid) || tc.invalid == "" && invalid != "" {
				t.Errorf("Invalid is %q, want %q", invalid, tc.invalid)
			}
			if spec := !o.FieldByName("Spec").IsNil(); spec != tc.spec {
				t.Errorf("whether there is a spec is %t", spec)
			}
			if status := !o.FieldByName("Status").IsZero(); status != tc.status {
				t.Errorf("whether there is a status is %t", status)
			}
			if o.FieldByName("Name").String() != "c" || o.FieldByName("Generation").Int() != 7 {
				t.Errorf("its metadata is %v", o.FieldByName("ObjectMeta"))
			}
			if text, err := json.Marshal(o.Addr().Interface()); err != nil || strings.Contains(string(text), "nvalid") {
				t.Errorf("it is written as %s, %v", text, err)
			}
		})
	}
}

// One object that can't be decoded hides no other, and what was read before into the same object is forgotten.
func TestList(t *testing.T) {
	list, ok := read(t, `{"apiVersion":"kafka.strimzi.io/v1","kind":"KafkaNodePoolList","metadata":{"resourceVersion":"9"},"items":[{`+
		pool+`,`+replica+beyond+`}},{`+pool+`,`+replica+`3}}]}`).(*v1.KafkaNodePoolList)
	if !ok || len(list.Items) != 2 || list.Items[0].Invalid == "" || list.Items[1].Invalid != "" || list.Items[1].Spec.Replicas != 3 {
		t.Fatalf("the list is %v", list)
	}
	good, bad := list.Items[1].DeepCopy(), `{`+pool+`,`+replica+beyond+`},"status":{"replicas":3}}`
	if err := json.Unmarshal([]byte(bad), good); err != nil || good.Spec != nil || good.Invalid == "" || good.Status.Replicas != 3 {
		t.Errorf("what can't be decoded became %v, %v", good, err)
	}
	if copied := good.DeepCopy(); copied.Invalid != good.Invalid {
		t.Errorf("the copy has %q", copied.Invalid)
	}
	if err := json.Unmarshal([]byte(`{`+pool+`,`+replica+`3}}`), good); err != nil || good.Invalid != "" || good.Spec.Replicas != 3 {
		t.Errorf("the fixed object became %v, %v", good, err)
	}
	if err := json.Unmarshal([]byte(`{"metadata":7}`), good); err == nil {
		t.Error("metadata that are a number can be decoded")
	}
}
