//go:build linux

package rollernodes

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
)

// deployment is the roller's Deployment in one Kubernetes cluster.
type deployment struct {
	in        *realnodes.Cluster
	k8s       client.Client
	namespace string
	// kafka is the name of the Kafka cluster that it rolls, lease the name of the Lease by which its replicas elect a leader.
	kafka, lease string
}

// deploy applies an overlay of config/roller and waits until both replicas are ready.
func deploy(in *realnodes.Cluster, namespace, kafka, lease, overlay string) *deployment {
	GinkgoHelper()
	d := &deployment{in: in, k8s: clientOf(in), namespace: namespace, kafka: kafka, lease: lease}
	_, err := in.Kubectl(ctx, "apply", "--server-side", "-k", overlay)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(g Gomega) {
		var found appsv1.Deployment
		g.Expect(d.k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "roller"}, &found)).To(Succeed())
		g.Expect(found.Status.ReadyReplicas).To(BeEquivalentTo(2))
		g.Expect(found.Status.UpdatedReplicas).To(BeEquivalentTo(2))
	}).Should(Succeed(), func() string {
		out, err := in.Kubectl(ctx, "describe", "pods", "-n", namespace, "-l", "app.kubernetes.io/name=roller")
		return fmt.Sprint(out, err, d.logs())
	})
	return d
}

// leader returns the pod of the leader, which holds the lease.
func (d *deployment) leader() *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(func(g Gomega) {
		var lease coordinationv1.Lease
		g.Expect(d.k8s.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: d.lease}, &lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).To(HaveValue(Not(BeEmpty())))
		name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		g.Expect(d.k8s.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: name}, &pod)).To(Succeed())
	}).Should(Succeed())
	return &pod
}

// logs returns the logs of the existing replicas.
func (d *deployment) logs() string {
	GinkgoHelper()
	out, err := d.in.Kubectl(ctx, "logs", "-n", d.namespace, "-l", "app.kubernetes.io/name=roller", "--prefix", "--tail=-1")
	Expect(err).NotTo(HaveOccurred())
	return out
}

// metrics returns the metrics that a pod serves.
func (d *deployment) metrics(pod *corev1.Pod) string {
	GinkgoHelper()
	web := &http.Client{Transport: &http.Transport{DialContext: lab.DialContext, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(pod.Status.PodIP, "8080")+"/metrics", nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := web.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(Equal(http.StatusOK), string(body))
	return string(body)
}

// status returns the latest status that the roller recorded.
func (d *deployment) status() (string, error) {
	var journal corev1.ConfigMap
	err := d.k8s.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: d.kafka + "-roller"}, &journal)
	return journal.Data["status"], err
}

// run runs a command of the roller in one of the replicas. The error has its exit code.
func (d *deployment) run(args ...string) (string, error) {
	return d.in.Kubectl(ctx, append([]string{"exec", "-n", d.namespace, "deploy/roller", "--", image.ProgramPath}, args...)...)
}

// eventsOf returns the roller's Events on a pod of that name in a Kubernetes cluster, each as "reason: note", in no order.
func (d *deployment) eventsOf(c *realnodes.Cluster, pod string) ([]string, error) {
	var list eventsv1.EventList
	err := clientOf(c).List(ctx, &list, client.InNamespace(d.namespace))
	list.Items = slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Name != pod || e.ReportingController != "kafka-operators-roller"
	})
	told := make([]string, len(list.Items))
	for i, e := range list.Items {
		told[i] = e.Reason + ": " + e.Note
	}
	return told, err
}
