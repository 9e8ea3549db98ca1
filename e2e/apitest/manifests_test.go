package apitest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kafkav1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	kafkav1beta2 "github.com/kafka-operators/kafka-operators/api/kafka/v1beta2"
)

var versions = []schema.GroupVersion{kafkav1.GroupVersion, kafkav1beta2.GroupVersion}

// manifest is an object of one of our kinds in a file.
type manifest struct {
	file   string
	object *unstructured.Unstructured
}

func (m manifest) String() string { return filepath.Base(m.file) + "/" + m.object.GetName() }

// manifests returns all objects: those of Strimzi's users in testdata, and our samples.
func manifests(t *testing.T) []manifest {
	t.Helper()
	var all []manifest
	for _, pattern := range []string{
		"testdata/*.yaml", "testdata/kafka/*.yaml", "../../config/samples/*.yaml", "../../config/samples/extra/*.yaml",
		"../../config/samples/kafka*/kafka.yaml",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, file := range files {
			all = append(all, read(t, file)...)
		}
	}
	return all
}

func read(t *testing.T, file string) []manifest {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var found []manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		g.Expect(err).NotTo(HaveOccurred(), "%s", file)
		text, err := utilyaml.ToJSON(document)
		g.Expect(err).NotTo(HaveOccurred(), "%s", file)
		if strings.Contains(string(text), `"kind":"Kustomization"`) {
			continue
		}
		object := &unstructured.Unstructured{}
		g.Expect(object.UnmarshalJSON(text)).To(Succeed(), "%s", file)
		if object.GetKind() == "ConfigMap" {
			continue // the sample of a namespace policy, and rules for metrics
		}
		found = append(found, manifest{file: file, object: object})
	}
}

// TestManifestsApplyUnchanged creates each manifest in its own version, writes its status as the operator would, and reads both back in
// both versions, as JSON and with our types.
func TestManifestsApplyUnchanged(t *testing.T) {
	s := needServer(t)
	for _, m := range manifests(t) {
		t.Run(m.String(), func(t *testing.T) {
			ctx := t.Context()
			namespace := s.namespace(ctx, t)
			written := m.object.DeepCopy()
			written.SetNamespace(namespace)
			NewWithT(t).Expect(s.strict().Create(ctx, written)).To(Succeed(), "create")
			if status, found := m.object.Object["status"]; found {
				written.Object["status"] = runtime.DeepCopyJSONValue(status)
				NewWithT(t).Expect(s.strict().Status().Update(ctx, written)).To(Succeed(), "update of the status")
			}
			for _, version := range versions {
				got := get(t, s, version.WithKind(m.object.GetKind()), namespace, m.object.GetName())
				compare(t, version.Version, m.object, got)
				compare(t, version.Version+" through the Go types", m.object, throughTypes(t, got))
			}
		})
	}
}

// TestServerSideApply applies each manifest twice, after a dry run. The first apply creates it, the second changes nothing. The same owner
// can continue with the other version without a conflict, and nothing is lost.
func TestServerSideApply(t *testing.T) {
	s := needServer(t)
	for _, m := range manifests(t) {
		t.Run(m.String(), func(t *testing.T) {
			namespace := s.namespace(t.Context(), t)
			apply := func(version schema.GroupVersion) *unstructured.Unstructured {
				object := m.object.DeepCopy()
				object.SetNamespace(namespace)
				object.SetAPIVersion(version.String())
				delete(object.Object, "status")
				unstructured.RemoveNestedField(object.Object, "metadata", "generation")
				for _, c := range []client.Client{client.NewDryRunClient(s.strict()), s.strict()} {
					NewWithT(t).Expect(c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()),
						client.FieldOwner("apitest"))).To(Succeed(), "apply through %s", version)
				}
				return get(t, s, version.WithKind(m.object.GetKind()), namespace, m.object.GetName())
			}
			own := m.object.GroupVersionKind().GroupVersion()
			first := apply(own)
			compareSpecs(t, "first", m.object, first)
			// The API server drops the status when it creates the object, and stores the default status with the first update: once, and nothing
			// else.
			again := apply(own)
			compareSpecs(t, "again", m.object, again)
			g := NewWithT(t)
			g.Expect(again.GetGeneration()).To(Equal(first.GetGeneration()))
			g.Expect(again.Object["status"]).To(Equal(first.Object["status"]))
			g.Expect(apply(own).GetResourceVersion()).To(Equal(again.GetResourceVersion()), "applying the same again changed it")
			for _, version := range versions {
				compareSpecs(t, version.Version, m.object, apply(version))
			}
		})
	}
}

func get(t *testing.T, s *server, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	NewWithT(t).Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object)).To(Succeed(), "get %s", kind)
	return object
}

// throughTypes decodes an object into our Go type of its version, and encodes it again.
func throughTypes(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	text, err := object.MarshalJSON()
	g.Expect(err).NotTo(HaveOccurred())
	typed, err := shared.client.Scheme().New(object.GroupVersionKind())
	g.Expect(err).NotTo(HaveOccurred())
	return reencode(t, text, typed)
}

// compare compares the object that was read with the one that was written. It ignores metadata that the API server adds.
func compare(t *testing.T, what string, want, got *unstructured.Unstructured) {
	t.Helper()
	compareSpecs(t, what, want, got)
	status := want.Object["status"]
	if status == nil {
		status = map[string]any{"observedGeneration": int64(-1)} // the default, until an operator writes a status
		if replicas, found, _ := unstructured.NestedInt64(got.Object, "status", "replicas"); found && replicas == 0 {
			unstructured.RemoveNestedField(got.Object, "status", "replicas") // the Go type of KafkaNodePool always has it
		}
	}
	NewWithT(t).Expect(got.Object["status"]).To(Equal(status), "%s: status", what)
}

func compareSpecs(t *testing.T, what string, want, got *unstructured.Unstructured) {
	t.Helper()
	parts := func(o *unstructured.Unstructured) map[string]any {
		return map[string]any{"spec": o.Object["spec"], "labels": o.GetLabels(), "annotations": o.GetAnnotations(),
			"finalizers": o.GetFinalizers()}
	}
	NewWithT(t).Expect(parts(got)).To(Equal(parts(want)), what)
}

// reencode decodes JSON into a Go type, and returns the type's encoding.
func reencode(t *testing.T, text []byte, typed any) *unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	g.Expect(json.Unmarshal(text, typed)).To(Succeed(), "decoding")
	again, err := json.Marshal(typed)
	g.Expect(err).NotTo(HaveOccurred(), "encoding")
	object := &unstructured.Unstructured{}
	g.Expect(object.UnmarshalJSON(again)).To(Succeed(), "decoding again")
	return object
}
