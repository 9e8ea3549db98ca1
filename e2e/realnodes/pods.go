//go:build linux

package realnodes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PodLogFile returns the path, on the machine, of the log of a container of a pod of the node since one of its starts; the first one is 0.
func (n *Node) PodLogFile(pod *corev1.Pod, container string, start int) string {
	return n.path("pods", strings.Join([]string{pod.Namespace, pod.Name, string(pod.UID)}, "_"), container, strconv.Itoa(start)+".log")
}

// Pids returns the ids, on the machine, of the processes of a pod of the node that run a program, such as "java", in ascending order.
func (n *Node) Pids(pod *corev1.Pod, program string) ([]int, error) {
	cgroup := filepath.Join(n.hierarchy("memory"), n.cluster.lab.scratch.cgroup(n.name))
	containers, err := filepath.Glob(filepath.Join(cgroup, "kubepods", "*", "pod"+string(pod.UID), "*", "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, container := range containers {
		listed, _ := os.ReadFile(container) // what ended meanwhile runs nothing
		for _, word := range strings.Fields(string(listed)) {
			name, _ := os.ReadFile(filepath.Join("/proc", word, "comm")) // as above
			if strings.TrimSpace(string(name)) != program {
				continue
			}
			pid, err := strconv.Atoi(word)
			if err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}
