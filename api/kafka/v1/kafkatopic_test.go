package v1_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/kafka/v1beta2"
)

func topic(name string, annotations map[string]string, spec *v1.KafkaTopicSpec) *v1.KafkaTopic {
	t := &v1.KafkaTopic{Spec: spec}
	t.Name = name
	t.Annotations = annotations
	return t
}

func TestTopicName(t *testing.T) {
	cases := map[string]struct {
		spec *v1.KafkaTopicSpec
		want string
	}{
		"no spec":             {spec: nil, want: "resource"},
		"no topicName":        {spec: &v1.KafkaTopicSpec{}, want: "resource"},
		"topicName":           {spec: &v1.KafkaTopicSpec{TopicName: new("__consumer_offsets")}, want: "__consumer_offsets"},
		"empty is no default": {spec: &v1.KafkaTopicSpec{TopicName: new("")}, want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := topic("resource", nil, tc.spec).TopicName(); got != tc.want {
				t.Errorf("TopicName() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestIsManaged(t *testing.T) {
	managed, unmanaged := &v1.KafkaTopicSpec{Managed: new(true)}, &v1.KafkaTopicSpec{Managed: new(false)}
	cases := map[string]struct {
		annotation *string
		spec       *v1.KafkaTopicSpec
		want       bool
	}{
		"nothing said":                         {want: true},
		"empty spec":                           {spec: &v1.KafkaTopicSpec{}, want: true},
		"annotation false":                     {annotation: new("false"), want: false},
		"annotation false, spec true":          {annotation: new("false"), spec: managed, want: false},
		"annotation true, spec false":          {annotation: new("true"), spec: unmanaged, want: false},
		"spec false":                           {spec: unmanaged, want: false},
		"spec true":                            {spec: managed, want: true},
		"both false":                           {annotation: new("false"), spec: unmanaged, want: false},
		"annotation False is not exact":        {annotation: new("False"), want: true},
		"annotation with a blank is not exact": {annotation: new("false "), want: true},
		"annotation empty":                     {annotation: new(""), want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var annotations map[string]string
			if tc.annotation != nil {
				annotations = map[string]string{v1.AnnotationManaged: *tc.annotation}
			}
			if got := topic("t", annotations, tc.spec).IsManaged(); got != tc.want {
				t.Errorf("IsManaged() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestIsPaused(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "false": false, "": false, "yes": false, "1": false} {
		if got := topic("t", map[string]string{v1.AnnotationPauseReconciliation: value}, nil).IsPaused(); got != want {
			t.Errorf("IsPaused() with %q = %t, want %t", value, got, want)
		}
	}
	if topic("t", nil, nil).IsPaused() {
		t.Error("IsPaused() without annotations = true")
	}
}

// TestManifestsAreLossless reads what Strimzi's users write and what Strimzi's operator wrote, and writes it back.
func TestManifestsAreLossless(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.ToJSON(data)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for version, into := range map[string]any{"v1": &v1.KafkaTopic{}, "v1beta2": &v1beta2.KafkaTopic{}} {
			t.Run(filepath.Base(file)+"/"+version, func(t *testing.T) {
				if err := json.Unmarshal(text, into); err != nil {
					t.Fatal(err)
				}
				back, err := json.Marshal(into)
				if err != nil {
					t.Fatal(err)
				}
				if want, got := generic(t, text), generic(t, back); !reflect.DeepEqual(want, got) {
					t.Errorf("lost something:\nwant %v\ngot  %v", want, got)
				}
			})
		}
	}
}

// TestUnstructuredIsLossless takes the way of server-side apply and of fake clients, which do not go through JSON text.
func TestUnstructuredIsLossless(t *testing.T) {
	before := topic("t", nil, &v1.KafkaTopicSpec{Config: map[string]v1.ConfigValue{
		"string":  {Raw: []byte(`"compact"`)},
		"integer": {Raw: json.RawMessage("9007199254740993")},
		"boolean": {Raw: json.RawMessage("true")},
		"list":    {Raw: json.RawMessage(`["a","b"]`)},
		"map":     {Raw: json.RawMessage(`{"a":1}`)},
		"null":    {},
	}})
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		t.Fatal(err)
	}
	if _, found := object["status"]; found {
		t.Error("an empty status was written")
	}
	after := &v1.KafkaTopic{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, after); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(before, after) {
		t.Errorf("want %+v, got %+v", before.Spec, after.Spec)
	}
}

func TestSchemeKnowsTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []schema.GroupVersion{v1.GroupVersion, v1beta2.GroupVersion} {
		for _, kind := range []string{"KafkaTopic", "KafkaTopicList"} {
			if !scheme.Recognizes(version.WithKind(kind)) {
				t.Errorf("%s %s is not registered", version, kind)
			}
		}
	}
}

// FuzzKafkaTopic feeds any JSON: what decodes must encode, and mean the same when decoded again and when copied.
func FuzzKafkaTopic(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		text, err := yaml.ToJSON(data)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first := &v1.KafkaTopic{}
		if json.Unmarshal(data, first) != nil {
			return
		}
		if copied := first.DeepCopy(); !reflect.DeepEqual(first, copied) {
			t.Fatalf("a copy differs: %+v, %+v", first, copied)
		}
		second := roundTrip(t, first)
		// Empty maps and lists go on the first way, so it is the second one that must change nothing.
		if third := roundTrip(t, second); !equality.Semantic.DeepEqual(second.Spec, third.Spec) ||
			!reflect.DeepEqual(second.Status, third.Status) {
			t.Fatalf("not stable:\n%+v\n%+v", second, third)
		}
		if first.TopicName() != second.TopicName() || first.IsManaged() != second.IsManaged() || first.IsPaused() != second.IsPaused() {
			t.Fatalf("%s changed its meaning", data)
		}
	})
}

// roundTrip encodes a topic and decodes it again.
func roundTrip(t *testing.T, before *v1.KafkaTopic) *v1.KafkaTopic {
	t.Helper()
	encoded, err := json.Marshal(before)
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	after := &v1.KafkaTopic{}
	if err := json.Unmarshal(encoded, after); err != nil {
		t.Fatalf("decoding %s again: %v", encoded, err)
	}
	return after
}

// generic decodes JSON without rounding its numbers.
func generic(t *testing.T, data []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
