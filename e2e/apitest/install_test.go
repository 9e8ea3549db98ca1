package apitest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const installNamespace = "kafka-topics"

// TestInstall applies the overlays of config/ as the README describes, and checks the rights that the operator then has. The overlays build
// on each other, so each also upgrades the one before. Applying one twice changes nothing.
func TestInstall(t *testing.T) {
	s := needServer(t)
	run := kubectl(t, s)
	other := s.namespace(t.Context(), t)

	const caSecret = "my-cluster-cluster-ca-cert"
	everywhere := []review{
		{verb: "watch", resource: "kafkatopics", namespace: installNamespace, allowed: true},
		{verb: "patch", resource: "kafkatopics", namespace: installNamespace, allowed: true},
		{verb: "patch", resource: "kafkatopics/status", namespace: installNamespace, allowed: true},
		{verb: "create", group: "events.k8s.io", resource: "events", namespace: installNamespace, allowed: true},
		{verb: "update", group: "coordination.k8s.io", resource: "leases", namespace: installNamespace, allowed: true},
		{verb: "create", resource: "kafkatopics", namespace: installNamespace},
		{verb: "get", resource: "kafkatopics/status", namespace: installNamespace},
		{verb: "delete", resource: "kafkatopics", namespace: installNamespace},
		{verb: "get", group: coreGroup, resource: "secrets", namespace: installNamespace},
		{verb: "list", group: coreGroup, resource: "secrets", namespace: installNamespace},
		{verb: "get", group: coreGroup, resource: "secrets", name: caSecret, namespace: other},
	}
	cases := []struct {
		folder string
		more   []review
	}{
		{folder: "topic-operator/default", more: []review{
			{verb: "get", group: coreGroup, resource: "secrets", name: caSecret, namespace: installNamespace},
			{verb: "watch", resource: "kafkatopics", namespace: other},
		}},
		{folder: "topic-operator/overlays/example", more: []review{
			{verb: "get", group: coreGroup, resource: "secrets", name: caSecret, namespace: installNamespace},
			{verb: "watch", resource: "kafkatopics", namespace: other},
		}},
		{folder: "topic-operator/overlays/tls", more: []review{
			{verb: "get", group: coreGroup, resource: "secrets", name: caSecret, namespace: installNamespace, allowed: true},
			{verb: "watch", group: coreGroup, resource: "secrets", name: caSecret, namespace: installNamespace, allowed: true},
			{verb: "get", group: coreGroup, resource: "secrets", name: "another", namespace: installNamespace},
			{verb: "watch", resource: "kafkatopics", namespace: other},
		}},
		{folder: "topic-operator/overlays/all-namespaces", more: []review{
			{verb: "watch", resource: "kafkatopics", namespace: other, allowed: true},
			{verb: "create", group: "events.k8s.io", resource: "events", namespace: other, allowed: true},
			{verb: "update", group: "coordination.k8s.io", resource: "leases", namespace: other},
		}},
	}
	for _, tc := range cases {
		t.Run(tc.folder, func(t *testing.T) {
			run("apply", "--server-side", "--force-conflicts", "-k", "../../config/"+tc.folder)
			first := installed(t, run, tc.folder)
			run("apply", "--server-side", "-k", "../../config/"+tc.folder)
			g := NewWithT(t)
			g.Expect(installed(t, run, tc.folder)).To(Equal(first), "applied again, it changes something")
			for _, r := range slices.Concat(everywhere, tc.more) {
				g.Expect(r.ask(t, s)).To(Equal(r.allowed), "%+v", r)
			}
			admitPod(t, s)
		})
	}
	run("apply", "--server-side", "-n", other, "-k", "../../config/samples")
}

// installed returns the objects of a folder, with their versions in the API server.
func installed(t *testing.T, run func(...string) string, folder string) string {
	t.Helper()
	return run("get", "-k", "../../config/"+folder, "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
}

// TestInstallOnlyWhatIsNeeded checks the kinds that each folder installs. The topic operator alone does not install those of Kafka
// clusters, so that it can run beside Strimzi.
func TestInstallOnlyWhatIsNeeded(t *testing.T) {
	run := kubectl(t, needServer(t))
	all := []string{"kafkanodepools.kafka.strimzi.io", "kafkas.kafka.strimzi.io", "kafkatopics.kafka.strimzi.io",
		"strimzipodsets.core.strimzi.io"}
	for folder, want := range map[string][]string{
		"topic-operator/default":                                {"kafkatopics.kafka.strimzi.io"},
		"cluster-operator/overlays/one-namespace/administrator": all,
		"cluster-operator/overlays/one-namespace/owner":         nil,
		"topic-operator/overlays/example":                       {"kafkatopics.kafka.strimzi.io"},
		"roller/default":                                        nil,
		"roller/overlays/example":                               nil,
		"cluster-operator/default":                              all,
		"cluster-operator/overlays/example":                     all,
		"cluster-operator/overlays/remote":                      all,
		"cluster-operator/overlays/remote-namespace":            all,
		"cluster-operator/overlays/several-clusters":            all,
		"default": all,
	} {
		var got []string
		for _, object := range strings.Split(run("kustomize", "../../config/"+folder), "\n---\n") {
			if strings.Contains(object, "kind: CustomResourceDefinition\n") {
				got = append(got, regexp.MustCompile(`(?m)^  name: (\S+)$`).FindStringSubmatch(object)[1])
			}
		}
		NewWithT(t).Expect(got).To(ConsistOf(want), "config/%s", folder)
	}
}

// TestNetworkProvidersHaveAFolderForTheirSockets checks the operator that may run programs of network providers: its image has no folder
// that can be written to.
func TestNetworkProvidersHaveAFolderForTheirSockets(t *testing.T) {
	run := kubectl(t, needServer(t))
	for object := range strings.SplitSeq(run("kustomize", "../../config/cluster-operator/overlays/several-clusters"), "\n---\n") {
		deployment := &appsv1.Deployment{}
		if !strings.Contains(object, "kind: Deployment\n") || yaml.Unmarshal([]byte(object), deployment) != nil ||
			deployment.Name != "cluster-operator" {
			continue
		}
		pod := deployment.Spec.Template.Spec
		g := NewWithT(t)
		g.Expect(pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
		g.Expect(pod.Containers[0].VolumeMounts).To(ConsistOf(corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"}))
		g.Expect(pod.Volumes).To(ConsistOf(And(HaveField("Name", "tmp"), HaveField("EmptyDir", Not(BeNil())))))
		return
	}
	t.Error("there is no Deployment")
}

// admitPod creates a pod as the Deployment would. The namespace enforces the strictest Pod Security Standard.
func admitPod(t *testing.T, s *server) {
	t.Helper()
	g := NewWithT(t)
	deployment := &appsv1.Deployment{}
	g.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: installNamespace, Name: "topic-operator"}, deployment)).To(Succeed())
	namespace := &corev1.Namespace{}
	g.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: installNamespace}, namespace)).To(Succeed())
	g.Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: installNamespace, GenerateName: "topic-operator-", Labels: deployment.Spec.Template.Labels},
		Spec:       deployment.Spec.Template.Spec,
	}
	g.Expect(s.client.Create(t.Context(), pod)).To(Succeed(), "the operator's pod is refused")
}

// coreGroup stands for the core group: a review without a group is about our own group.
const coreGroup = "core"

// review is an access review for the operator's account.
type review struct {
	verb, group, resource, name, namespace string
	allowed                                bool
}

func (r review) ask(t *testing.T, s *server) bool {
	t.Helper()
	attributes := &authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: "kafka.strimzi.io", Resource: r.resource, Name: r.name, Namespace: r.namespace,
	}
	switch r.group {
	case "":
	case coreGroup:
		attributes.Group = ""
	default:
		attributes.Group = r.group
	}
	if r.resource == "kafkatopics/status" {
		attributes.Resource, attributes.Subresource = "kafkatopics", "status"
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               fmt.Sprintf("system:serviceaccount:%s:topic-operator", installNamespace),
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + installNamespace, "system:authenticated"},
		ResourceAttributes: attributes,
	}}
	NewWithT(t).Expect(s.client.Create(t.Context(), access)).To(Succeed())
	return access.Status.Allowed
}
