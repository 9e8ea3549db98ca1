//go:build linux

package realnodes

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

const separateHierarchies = `tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup /sys/fs/cgroup/devices cgroup rw,relatime,devices 0 0
cgroup /sys/fs/cgroup/freezer cgroup rw,relatime,freezer 0 0
cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,relatime,pids 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
`

func TestHierarchiesAreFoundWhereTheyAreMounted(t *testing.T) {
	g := NewWithT(t)
	found, err := findHierarchies(separateHierarchies)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(len(controllers)))
	g.Expect(found).To(ContainElements(
		nodespec.Hierarchy{Name: "memory", Source: "/sys/fs/cgroup/memory", Options: "memory"},
		nodespec.Hierarchy{Name: "systemd", Source: "/sys/fs/cgroup/systemd", Options: "name=systemd,none"},
	))
	g.Expect(sources(found)).To(HaveLen(len(controllers)))
}

func TestAHierarchyOfTwoControllersIsMountedWithBoth(t *testing.T) {
	g := NewWithT(t)
	h, ok := findHierarchy("cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,nodev,noexec,relatime,cpu,cpuacct 0 0\n", "cpuacct")
	g.Expect(ok).To(BeTrue())
	g.Expect(h).To(Equal(nodespec.Hierarchy{Name: "cpuacct", Source: "/sys/fs/cgroup/cpu,cpuacct", Options: "cpu,cpuacct"}))
	both := []nodespec.Hierarchy{h, {Name: "cpu", Source: h.Source, Options: h.Options}}
	g.Expect(sources(both)).To(HaveLen(1), "it is one hierarchy nevertheless")
}

func TestAMachineWithoutHierarchiesIsToldSo(t *testing.T) {
	_, err := findHierarchies("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n")
	NewWithT(t).Expect(err).
		To(MatchError("this machine has no cgroup hierarchy (version 1) of cpu, cpuacct, cpuset, memory, devices, freezer, blkio, pids, " +
			"name=systemd"))
}

func TestAddressesOfALabDoNotOverlap(t *testing.T) {
	g := NewWithT(t)
	g.Expect(checkSize(maxClusters, maxNodes)).To(Succeed())
	for _, size := range [][2]int{{0, 1}, {1, 0}, {maxClusters + 1, 1}, {1, maxNodes + 1}} {
		g.Expect(checkSize(size[0], size[1])).NotTo(Succeed())
	}
	for cluster := range maxClusters + 1 {
		site := sitePrefix(cluster)
		g.Expect(everything.Overlaps(site)).To(BeTrue())
		g.Expect(everything.Bits()).To(BeNumerically("<", site.Bits()))
		if cluster > 0 {
			g.Expect(site.Overlaps(sitePrefix(cluster - 1))).To(BeFalse())
			g.Expect(podPrefix(cluster, maxNodes).Overlaps(servicePrefix(cluster))).To(BeFalse())
			g.Expect(podPrefix(cluster, 1).Contains(nodeAddress(cluster, maxNodes))).To(BeFalse())
			g.Expect(servicePrefix(cluster).Contains(dnsAddress(cluster))).To(BeTrue())
			g.Expect(servicePrefix(cluster).Contains(apiServiceAddress(cluster))).To(BeTrue())
		}
	}
}
