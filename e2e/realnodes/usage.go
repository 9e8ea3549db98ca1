//go:build linux

package realnodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is the processor time and memory used by a node and everything that runs on it.
type Usage struct {
	// CPU is the processor time since the power was switched on.
	CPU time.Duration
	// Memory is the anonymous memory in use, in bytes. It leaves out files, which the kernel keeps in memory only while the memory is not
	// needed.
	Memory int64
}

// Usage returns the usage of the node.
func (n *Node) Usage() (Usage, error) {
	cgroup := n.cluster.lab.scratch.cgroup(n.name)
	cpu, err := os.ReadFile(filepath.Join(n.hierarchy("cpuacct"), cgroup, "cpuacct.usage"))
	if err != nil {
		return Usage{}, err
	}
	nanoseconds, err := strconv.ParseInt(strings.TrimSpace(string(cpu)), 10, 64)
	if err != nil {
		return Usage{}, err
	}
	statistics, err := os.ReadFile(filepath.Join(n.hierarchy("memory"), cgroup, "memory.stat"))
	if err != nil {
		return Usage{}, err
	}
	for line := range strings.Lines(string(statistics)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "total_rss "); found {
			bytes, err := strconv.ParseInt(value, 10, 64)
			return Usage{CPU: time.Duration(nanoseconds), Memory: bytes}, err
		}
	}
	return Usage{}, fmt.Errorf("node %s: its cgroup does not tell its memory", n.name)
}

// hierarchy returns the folder at which the hierarchy of a controller is mounted on the machine.
func (n *Node) hierarchy(controller string) string {
	for _, h := range n.cluster.lab.programs.hierarchies {
		if h.Name == controller {
			return h.Source
		}
	}
	return "" // findHierarchies has found all required ones
}
