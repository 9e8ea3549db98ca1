//go:build linux

package clusteroperator

import (
	"fmt"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// metrics returns the metrics that a node serves to Prometheus.
func (k *cluster) metrics(g Gomega, pod string) string {
	var found corev1.Pod
	g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: pod}, &found)).To(Succeed())
	url := ""
	for _, p := range found.Spec.Containers[0].Ports {
		if p.Name == "tcp-prometheus" {
			url = fmt.Sprintf("http://%s:%d/metrics", found.Status.PodIP, p.ContainerPort)
		}
	}
	g.Expect(url).NotTo(BeEmpty(), "the pod has a port for Prometheus")
	transport := &http.Transport{DialContext: lab.DialContext, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(url)
	g.Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
	return string(text)
}
