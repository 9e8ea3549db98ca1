//go:build linux

package realnodes

import (
	"net/netip"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("three clusters", Ordered, func() {
	var servers []*server
	// first is the server in the first cluster.
	var first *server

	BeforeAll(func() {
		for _, c := range lab.Clusters() {
			servers = append(servers, startServer(c))
		}
		for _, s := range servers {
			s.ready()
		}
		first = servers[0]
	})

	It("run an image of a Go program that was made here, as a user without rights", func() {
		pod := first.ready()
		out, err := first.cluster.Kubectl(ctx, "exec", serverPod, "--", "/program", "whoami")
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.TrimSpace(out)).To(Equal(pod.Name))
		logs, err := first.cluster.Kubectl(ctx, "logs", serverPod)
		Expect(err).NotTo(HaveOccurred())
		Expect(logs).To(ContainSubstring("serving"))
	})

	It("name services in their DNS", func() {
		pod := first.ready()
		for _, name := range []string{"server.default.svc.cluster.local", "server", "server-0.servers.default.svc.cluster.local:8080"} {
			Eventually(func() (string, error) { return first.fetch(pod, "http://"+name+"/from") }).Should(HavePrefix("10.101."), name)
		}
		_, err := first.fetch(pod, "http://nobody.default.svc.cluster.local/from")
		Expect(err).To(MatchError(ContainSubstring("no such host")))
	})

	It("open node ports to everybody", func() {
		nodePort := netip.AddrPortFrom(first.cluster.Nodes()[0].Address(), 30080).String()
		Eventually(func() (string, error) { return first.do("GET", "http://"+nodePort+"/from", "") }).
			Should(HavePrefix(outsideAddress().String()))
		other := servers[1].ready()
		Eventually(func() (string, error) { return servers[1].fetch(other, "http://"+nodePort+"/from") }).Should(HavePrefix("10.102."))
	})

	It("take a pod that is not ready out of its service, and restart one that is not alive", func() {
		pod := first.ready()
		Expect(first.post(pod, "/fail/readiness", "")).To(Succeed())
		first.becomes("not ready", func(p *corev1.Pod) bool { return !podReady(p) })
		Eventually(func() error { _, err := first.fetch(pod, "http://server/from"); return err }).Should(HaveOccurred())

		restarts := pod.Status.ContainerStatuses[0].RestartCount
		Expect(first.post(pod, "/fail/liveness", "")).To(Succeed())
		first.becomes("restarted", func(p *corev1.Pod) bool {
			return podReady(p) && len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount > restarts
		})
		Eventually(func() error { _, err := first.fetch(pod, "http://server/from"); return err }).Should(Succeed())
	})

	It("let pods reach each other between all of them, under their own addresses", func() {
		for _, from := range servers {
			for _, to := range servers {
				pod, target := from.ready(), "http://"+address(to.ready())+"/from"
				Eventually(func() (string, error) { return from.fetch(pod, target) }).
					Should(HavePrefix(pod.Status.PodIP+":"), "%s to %s", from.cluster.Name(), to.cluster.Name())
			}
		}
		Expect(first.get(first.ready(), "/from")).To(HavePrefix(outsideAddress().String() + ":"))
	})

	It("keep the data of a volume over the end of its pod, and remove the volume with its claim", func() {
		pod := first.ready()
		Expect(first.post(pod, "/data", "before the deletion")).To(Succeed())
		Expect(first.k8s.Delete(ctx, pod)).To(Succeed())
		again := first.becomes("another one, and ready", func(p *corev1.Pod) bool { return p.UID != pod.UID && podReady(p) })
		Expect(first.get(again, "/data")).To(ContainSubstring("before the deletion"))

		other := servers[2]
		var claim corev1.PersistentVolumeClaim
		Expect(other.k8s.Get(ctx, client.ObjectKey{Namespace: "default", Name: "data-" + serverPod}, &claim)).To(Succeed())
		folder := other.cluster.Nodes()[0].path("volumes", claim.Spec.VolumeName)
		Expect(folder).To(BeADirectory())
		_, err := other.cluster.Kubectl(ctx, "delete", "statefulset/server", "pvc/data-"+serverPod, "--timeout=60s")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			var volumes corev1.PersistentVolumeList
			g.Expect(other.k8s.List(ctx, &volumes)).To(Succeed())
			g.Expect(volumes.Items).To(BeEmpty())
			g.Expect(folder).NotTo(BeAnExistingFile())
		}).Should(Succeed())
		servers[2] = startServer(other.cluster)
		servers[2].ready()
	})

	It("can be cut from each other, one pair or all, and healed", func() {
		a, b, c := servers[0], servers[1], servers[2]
		reaches := func(from, to *server) func() error {
			return func() error {
				_, err := from.fetch(from.pod(Default), "http://"+address(to.pod(Default))+"/from")
				return err
			}
		}
		DeferCleanup(lab.HealAll)

		Expect(lab.Cut(a.cluster, b.cluster)).To(Succeed())
		Expect(reaches(a, b)()).To(MatchError(ContainSubstring("deadline exceeded")), "nothing is refused, it is lost")
		Expect(reaches(b, a)()).NotTo(Succeed())
		Eventually(reaches(a, c)).Should(Succeed())
		Eventually(reaches(c, b)).Should(Succeed())

		Expect(lab.Isolate(a.cluster)).To(Succeed())
		Expect(reaches(a, c)()).NotTo(Succeed())
		Eventually(reaches(b, c)).Should(Succeed())
		Eventually(reaches(a, a)).Should(Succeed(), "an isolated cluster goes on by itself")

		pod := c.pod(Default)
		Expect(lab.Cut(c.cluster, Outside)).To(Succeed())
		Expect(c.isLost(pod)).To(BeTrue(), "the test process can be cut off, too")

		Expect(lab.HealAll()).To(Succeed())
		for _, pair := range [][2]*server{{a, b}, {b, a}, {a, c}, {c, a}} {
			Eventually(reaches(pair[0], pair[1])).Should(Succeed())
		}
	})

	It("notice a node whose kubelet is silent", func() {
		node := first.cluster.Nodes()[0]
		Expect(node.Stop(Kubelet)).To(Succeed())
		status := func(g Gomega) metav1.ConditionStatus {
			var found corev1.Node
			g.Expect(first.k8s.Get(ctx, client.ObjectKey{Name: node.Name()}, &found)).To(Succeed())
			for _, condition := range found.Status.Conditions {
				if condition.Type == corev1.NodeReady {
					return metav1.ConditionStatus(condition.Status)
				}
			}
			return ""
		}
		Eventually(status).Should(Equal(metav1.ConditionUnknown))
		Expect(node.Start(Kubelet)).To(Succeed())
		Eventually(status).Should(Equal(metav1.ConditionTrue))
		Expect(node.Stop("no such component")).To(MatchError(ContainSubstring("no component")))
	})

	It("come back from a loss of power with their data", func() {
		s := servers[1]
		pod := s.ready()
		Expect(s.post(pod, "/data", "before the loss")).To(Succeed())
		node := s.cluster.Nodes()[0]
		Expect(node.PowerOff(ctx)).To(Succeed())
		Expect(node.PowerOff(ctx)).NotTo(Succeed(), "there is none to lose")
		Expect(s.isLost(pod)).To(BeTrue())
		Expect(node.Stop(Kubelet)).To(MatchError(ContainSubstring("no power")))

		Expect(node.PowerOn()).To(Succeed())
		Expect(s.cluster.WaitReady(ctx)).To(Succeed())
		back := s.becomes("serving", func(p *corev1.Pod) bool {
			if !podReady(p) {
				return false
			}
			lines, err := s.get(p, "/data")
			return err == nil && strings.Contains(lines, "before the loss")
		})
		Eventually(func() (string, error) { return first.fetch(first.ready(), "http://"+address(back)+"/from") }).Should(HavePrefix("10.101."))
	})

	It("take a moderate amount of memory", func() {
		for _, c := range lab.Clusters() {
			used, err := c.Nodes()[0].Usage()
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry(c.Name(), ReportEntryVisibilityAlways, usageText(used))
			Expect(used.Memory).To(BeNumerically("<", 1<<30))
			Expect(used.CPU).To(BeNumerically(">", 0))
		}
	})
})
