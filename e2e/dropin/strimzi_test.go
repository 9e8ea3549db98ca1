package dropin_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
)

const topicKind = "kafkatopics.kafka.strimzi.io"

// release has the properties of Strimzi's CustomResourceDefinitions that differ between its releases.
type release struct {
	name string
	// served are the served versions, stored is the version in etcd.
	served []string
	stored string
}

var (
	strimzi0 = release{name: "Strimzi 0.49 to 0.51", served: []string{"v1", "v1beta2"}, stored: "v1beta2"}
	strimzi1 = release{name: "Strimzi 1.x", served: []string{"v1"}, stored: "v1"}
)

// kinds writes a file with the four CustomResourceDefinitions that Strimzi and this project share, as a release of Strimzi has them, with
// its labels and versions. KafkaTopic's is like Strimzi's; the fields of the others are this project's, which have all of Strimzi's.
func (r release) kinds(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	bases, err := operatorproc.RepositoryPath("config", "crd", "bases")
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob(filepath.Join(bases, "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(4))
	var all []byte
	topics, err := operatorproc.RepositoryPath("e2e", "apitest", "testdata", "strimzi-v1-crd", "kafkatopics.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		if filepath.Base(file) == "kafka.strimzi.io_kafkatopics.yaml" {
			file = topics
		}
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.UnmarshalStrict(text, crd)).To(Succeed())
		r.shape(g, crd)
		text, err = yaml.Marshal(crd)
		g.Expect(err).NotTo(HaveOccurred())
		all = append(append(all, "---\n"...), text...)
	}
	path := filepath.Join(t.TempDir(), "strimzi-crds.yaml")
	g.Expect(os.WriteFile(path, all, 0o600)).To(Succeed())
	return path
}

func (r release) shape(g Gomega, crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Labels, crd.Annotations = map[string]string{"app": "strimzi", "strimzi.io/crd-install": "true"}, nil
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return !slices.Contains(r.served, v.Name)
	})
	g.Expect(crd.Spec.Versions).To(HaveLen(len(r.served)))
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		version.Storage = version.Name == r.stored
		if crd.Name == topicKind {
			g.Expect(version.Schema.OpenAPIV3Schema.Properties["spec"].Properties).NotTo(HaveKey("managed"))
			g.Expect(version.Schema.OpenAPIV3Schema.Properties["status"].Properties).NotTo(HaveKey("clusterId"))
		}
	}
}

// startPlane starts a control plane without any of the kinds.
func startPlane(t *testing.T) (*controlplane.ControlPlane, client.Client) {
	t.Helper()
	g := NewWithT(t)
	if err := controlplane.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	plane, err := controlplane.Start(t.Context(), controlplane.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1.AddToScheme} {
		g.Expect(add(scheme)).To(Succeed())
	}
	c, err := client.New(plane.RESTConfig(), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return plane, c
}

// run runs kubectl, fails the test if kubectl fails, and waits until all kinds are served.
func run(t *testing.T, plane *controlplane.ControlPlane, args ...string) string {
	t.Helper()
	g := NewWithT(t)
	out, err := plane.Kubectl(t.Context(), args...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(controlplane.WaitEstablished(t.Context(), plane.Kubectl)).To(Succeed())
	return out
}
