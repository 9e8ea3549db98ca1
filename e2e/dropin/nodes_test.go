//go:build linux

package dropin_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// strimziInstall names the folder install/topic-operator of a release of Strimzi, whose manifests replace the standalone ones here.
const strimziInstall = "STRIMZI_INSTALL"

// pod is how Strimzi runs a topic operator in a pod, besides its arguments, variables and rights.
type pod struct {
	// name names the Deployment, container its container.
	name, container string
	bootstrap       string
	shape           func(*corev1.PodSpec)
}

var pods = map[string]pod{
	standalone: {name: "strimzi-topic-operator", container: "strimzi-topic-operator", bootstrap: "my-cluster-kafka-bootstrap:9092",
		shape: standalonePod},
	entityOperator: {name: "my-cluster-entity-operator", container: "topic-operator", bootstrap: "my-cluster-kafka-bootstrap:9091",
		shape: entityPod},
}

// standalonePod has the restricted rights and the small memory of 05-Deployment, and mounts the token itself.
func standalonePod(p *corev1.PodSpec) {
	mountToken(p)
	c := &p.Containers[0]
	probe := corev1.Probe{InitialDelaySeconds: 10, PeriodSeconds: 30}
	c.LivenessProbe, c.ReadinessProbe = get(probe, "/healthy", intstr.FromInt32(8080)), get(probe, "/ready", intstr.FromInt32(8080))
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	c.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi"), corev1.ResourceCPU: resource.MustParse("500m")},
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi"), corev1.ResourceCPU: resource.MustParse("100m")},
	}
}

// entityPod has the named port and the three probes of the Entity Operator's container.
func entityPod(p *corev1.PodSpec) {
	mountToken(p)
	c, port := &p.Containers[0], intstr.FromString("healthcheck")
	c.Ports = []corev1.ContainerPort{{Name: port.StrVal, ContainerPort: 8080}}
	probe := corev1.Probe{InitialDelaySeconds: 10, TimeoutSeconds: 5}
	c.LivenessProbe, c.ReadinessProbe = get(probe, "/healthy", port), get(probe, "/ready", port)
	c.StartupProbe = get(corev1.Probe{PeriodSeconds: 10, FailureThreshold: 12}, "/healthy", port)
}

// mountToken mounts what Kubernetes would mount by itself.
func mountToken(p *corev1.PodSpec) {
	const name = "kube-api-access"
	p.AutomountServiceAccountToken = new(bool)
	p.Volumes = append(p.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		}}}})
	p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts,
		corev1.VolumeMount{Name: name, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true})
}

func get(p corev1.Probe, path string, port intstr.IntOrString) *corev1.Probe {
	p.HTTPGet = &corev1.HTTPGetAction{Path: path, Port: port}
	return &p
}

// manifests writes the objects of a deployment to a folder, with Strimzi's image.
func (p pod) manifests(t *testing.T, d deployment) string {
	t.Helper()
	g := NewWithT(t)
	meta, labels := metav1.ObjectMeta{Name: p.name}, map[string]string{"name": p.name}
	env := []corev1.EnvVar{
		{Name: "STRIMZI_KAFKA_BOOTSTRAP_SERVERS", Value: p.bootstrap},
		{Name: "STRIMZI_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
	}
	for _, name := range slices.Sorted(maps.Keys(d.env)) {
		env = append(env, corev1.EnvVar{Name: name, Value: d.env[name]})
	}
	spec := corev1.PodSpec{
		ServiceAccountName: p.name,
		Volumes: []corev1.Volume{{Name: "strimzi-tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("5Mi"))}}}},
		Containers: []corev1.Container{{Name: p.container, Image: "quay.io/strimzi/operator:1.2.0", Args: d.args, Env: env,
			VolumeMounts: []corev1.VolumeMount{{Name: "strimzi-tmp", MountPath: "/tmp"}}}},
	}
	p.shape(&spec)
	dir := t.TempDir()
	for kind, object := range map[string]client.Object{
		"ServiceAccount": &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta},
		"Role": &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
			ObjectMeta: meta, Rules: d.rules},
		"RoleBinding": &rbacv1.RoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: p.name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: p.name}}},
		"Deployment": &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta,
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}}},
	} {
		text, err := yaml.Marshal(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(dir, kind+".yaml"), text, 0o600)).To(Succeed())
	}
	return dir
}

// TestStrimzisPodsRunOnNodes applies Strimzi's objects in a real Kubernetes cluster, beside a Kafka with Strimzi's names, and changes only
// the image: the pod becomes ready, creates a topic, and never restarts. This package describes the objects; with STRIMZI_INSTALL, the
// standalone ones are Strimzi's files. Only make prove runs it: it takes longer than a minute.
func TestStrimzisPodsRunOnNodes(t *testing.T) {
	if os.Getenv("PROVE") != "full" {
		return // a skipped test is a failure in CI
	}
	realnodes.Require(t)
	g := NewWithT(t)
	images, err := deploy.Images(t.Context(), t.TempDir(), "dropin.test", "cluster-operator", "topic-operator")
	g.Expect(err).NotTo(HaveOccurred())
	lab, err := realnodes.Start(t.Context(), realnodes.Options{Images: images, Log: t.Output()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(lab.Close()).To(Succeed()) })
	place, err := deploy.Connect(lab.Clusters()[0], "")
	g.Expect(err).NotTo(HaveOccurred())
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := place.Kubectl(t.Context(), args...)
		if err != nil {
			pods, _ := place.Kubectl(t.Context(), "describe", "pods") // more about a failure, if there is more
			logs, _ := place.Kubectl(t.Context(), "logs", "-l", "name", "--prefix")
			t.Fatal(err, out, pods, logs)
		}
		return out
	}
	g.Expect(place.Apply(t.Context(), filepath.Join("testdata", "operators"))).To(Succeed())
	g.Expect(place.Ready(t.Context())).To(Succeed())
	kubectl("apply", "-f", filepath.Join("testdata", "kafka.yaml"))
	kubectl("wait", "--for=condition=Ready", "kafka/my-cluster", "--timeout=4m")
	certify(t, place)

	began, ran, violations := time.Now(), 0, 1
	defer func() {
		fmt.Printf("PROOF {\"name\":\"Strimzi's pods with another image\",\"count\":%d,\"violations\":%d,\"seed\":0,\"longest\":%q}\n",
			ran, violations, time.Since(began).Round(time.Second))
	}()
	for _, name := range slices.Sorted(maps.Keys(deployments)) {
		p, topic := pods[name], pods[name].name
		files := os.Getenv(strimziInstall)
		if files == "" || name != standalone {
			files = p.manifests(t, deployments[name])
		}
		_, err = place.KubectlInput(t.Context(), withImage(t, files, "dropin.test/topic-operator:e2e"), "apply", "-f", "-")
		g.Expect(err).NotTo(HaveOccurred())
		kubectl("rollout", "status", "deployment/"+p.name, "--timeout=4m")
		g.Expect(place.Client.Create(t.Context(), &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: topic, Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
		})).To(Succeed())
		kubectl("wait", "--for=condition=Ready", "kafkatopic/"+topic, "--timeout=2m")
		g.Expect(kubectl("get", "kafkatopic", topic, "-o", "jsonpath={.status.topicId}")).NotTo(BeEmpty())
		g.Expect(kubectl("get", "pods", "-l", "name="+p.name, "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")).
			To(Equal("0"), "it never ended")
		g.Expect(kubectl("logs", "deployment/"+p.name)).To(ContainSubstring("Leader election is off: run one replica only"))
		kubectl("delete", "deployment", p.name, "--wait", "--cascade=foreground")
		ran++
	}
	violations = 0
}

// imageLine matches the line with the image of a container.
var imageLine = regexp.MustCompile(`(?m)^( +image: ).*$`)

// withImage returns the manifests in a folder with another image, which they have once. A manifest with the tag latest has to get it before
// it is applied: Kubernetes pulls that image always, and keeps the pull policy.
func withImage(t *testing.T, folder, image string) string {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		all = append(append(all, "\n---\n"...), text...)
	}
	g.Expect(imageLine.FindAll(all, -1)).To(HaveLen(1))
	return string(imageLine.ReplaceAll(all, []byte("${1}"+image)))
}

// certify makes the Secret that Strimzi's cluster operator makes for its topic operator.
func certify(t *testing.T, place *deploy.Place) {
	t.Helper()
	g := NewWithT(t)
	var certificate, key corev1.Secret
	for name, secret := range map[string]*corev1.Secret{"my-cluster-cluster-ca-cert": &certificate, "my-cluster-cluster-ca": &key} {
		g.Expect(place.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, secret)).To(Succeed())
	}
	authority, err := realkafka.ParseAuthority(certificate.Data["ca.crt"], key.Data["ca.key"])
	g.Expect(err).NotTo(HaveOccurred())
	issued, err := authority.Issue("entity-topic-operator")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(place.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: entityCertificate},
		Data:       map[string][]byte{"entity-operator.crt": issued.Cert, "entity-operator.key": issued.Key},
	})).To(Succeed())
}
