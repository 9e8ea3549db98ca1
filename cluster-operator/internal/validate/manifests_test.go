package validate

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// manifests are the manifests that e2e/apitest applies. They are written as users of Strimzi write them.
const manifests = "../../../e2e/apitest/testdata/kafka/*.yaml"

// samples are the Kafkas that users are told to begin with.
const samples = "../../../config/samples/kafka*/kafka.yaml"

// refused maps the Kafkas that this operator rejects, as file/name, to the code of the first error. It accepts all others.
var refused = map[string]Code{
	"listeners-outside.yaml/my-cluster":   "RouteUnsupported",
	"removed-security-v1beta2.yaml/opa":   "AuthorizationRemoved",
	"removed-security-v1beta2.yaml/oauth": "OAuth",
}

var separator = regexp.MustCompile(`(?m)^---\n`)

func TestManifestsOfUsersAreTaken(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob(manifests)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(files)).To(BeNumerically(">", 10))
	ours, err := filepath.Glob(samples)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(ours)).To(BeNumerically(">", 1))
	files = append(files, ours...)
	seen := map[string]bool{}
	for _, file := range files {
		kafkas, pools := readManifests(t, file)
		for _, kafka := range kafkas {
			name := filepath.Base(file) + "/" + kafka.Name
			seen[name] = true
			t.Run(name, func(t *testing.T) {
				g := NewWithT(t)
				in := input(t, "")
				in.Kafka, in.Versions = kafka, append(in.Versions, "4.1.0")
				if own := slices.DeleteFunc(slices.Clone(pools),
					func(p *v1.KafkaNodePool) bool { return p.Labels[v1.LabelCluster] != kafka.Name }); hasBothRoles(own) {
					in.Pools = own
				}
				got := Validate(in)
				if code, no := refused[name]; no {
					g.Expect(got.Errors).To(ContainElement(HaveField("Code", code)))
				} else {
					g.Expect(got.Errors).To(BeEmpty())
				}
			})
		}
	}
	for name := range refused {
		g.Expect(seen).To(HaveKey(name))
	}
}

func hasBothRoles(pools []*v1.KafkaNodePool) bool {
	f := findings{Input: Input{Pools: pools}}
	return f.count(v1.RoleBroker) > 0 && f.count(v1.RoleController) > 0
}

func readManifests(t *testing.T, file string) (kafkas []*v1.Kafka, pools []*v1.KafkaNodePool) {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	for _, document := range separator.Split(string(text), -1) {
		kafka, pool := &v1.Kafka{}, &v1.KafkaNodePool{}
		switch {
		case bytes.Contains([]byte(document), []byte("kind: KafkaNodePool\n")):
			g.Expect(yaml.Unmarshal([]byte(document), pool)).To(Succeed())
			pools = append(pools, pool)
		case bytes.Contains([]byte(document), []byte("kind: Kafka\n")):
			g.Expect(yaml.Unmarshal([]byte(document), kafka)).To(Succeed())
			kafkas = append(kafkas, kafka)
		}
	}
	return kafkas, pools
}
