//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/onsi/ginkgo/v2"
)

// server is the test server of testdata/server.yaml in a cluster.
type server struct {
	cluster *Cluster
	k8s     client.Client
	// http sends requests from outside of the clusters, each over its own connection.
	http *http.Client
}

// serverPod is the name of the only pod.
const serverPod = "server-0"

// startServer starts the test server in a cluster and waits until it is ready. The server is deleted with the spec.
func startServer(c *Cluster) *server {
	GinkgoHelper()
	s := serverIn(c)
	manifest, err := os.ReadFile(filepath.Join("testdata", "server.yaml"))
	Expect(err).NotTo(HaveOccurred())
	apply(c, strings.ReplaceAll(string(manifest), "$IMAGE", serverImage))
	return s
}

func serverIn(c *Cluster) *server {
	GinkgoHelper()
	return &server{
		cluster: c, k8s: clientOf(c),
		http: &http.Client{
			Timeout:   10 * time.Second,
			Transport: &http.Transport{DialContext: c.lab.DialContext, DisableKeepAlives: true},
		},
	}
}

// apply applies manifests.
func apply(c *Cluster, manifests string) {
	GinkgoHelper()
	_, err := c.KubectlInput(ctx, manifests, "apply", "--server-side", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

// pod returns the pod; nil if there is none.
func (s *server) pod(g Gomega) *corev1.Pod {
	pod := &corev1.Pod{}
	err := s.k8s.Get(ctx, client.ObjectKey{Namespace: "default", Name: serverPod}, pod)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	g.Expect(err).NotTo(HaveOccurred())
	return pod
}

// ready waits until the pod is ready, and returns it.
func (s *server) ready() *corev1.Pod {
	GinkgoHelper()
	return s.becomes("ready", podReady)
}

func (s *server) becomes(what string, condition func(*corev1.Pod) bool) *corev1.Pod {
	GinkgoHelper()
	var found *corev1.Pod
	Eventually(func(g Gomega) {
		found = s.pod(g)
		g.Expect(found).NotTo(BeNil())
		g.Expect(condition(found)).To(BeTrue(), "%s is %s: %s", serverPod, what, describeStatus(found))
	}).Should(Succeed())
	return found
}

func describeStatus(pod *corev1.Pod) string {
	return fmt.Sprintf("phase %s, conditions %v, containers %v", pod.Status.Phase, pod.Status.Conditions, pod.Status.ContainerStatuses)
}

func podReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// address returns the address of the server in its pod.
func address(pod *corev1.Pod) string { return net.JoinHostPort(pod.Status.PodIP, "8080") }

// get sends a request to the server from outside.
func (s *server) get(pod *corev1.Pod, path string) (string, error) {
	return s.do(http.MethodGet, "http://"+address(pod)+path, "")
}

// isLost reports whether a request gets neither a response nor a refused connection within a second.
func (s *server) isLost(pod *corev1.Pod) bool {
	hasty := *s.http
	hasty.Timeout = time.Second
	_, err := (&server{http: &hasty}).get(pod, "/from")
	var problem net.Error
	return errors.As(err, &problem) && problem.Timeout()
}

func (s *server) post(pod *corev1.Pod, path, body string) error {
	_, err := s.do(http.MethodPost, "http://"+address(pod)+path, body)
	return err
}

// fetch makes the server, in its pod, get a URL.
func (s *server) fetch(pod *corev1.Pod, what string) (string, error) {
	return s.get(pod, "/fetch?url="+url.QueryEscape(what))
}

func (s *server) do(method, where, body string) (string, error) {
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, where, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := s.http.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return string(answer), err
}
