package realkafka

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// suspended reports whether all threads of a process are stopped. The signal returns earlier: on a busy machine threads may run on for a
// while.
func suspended(pid int) (bool, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(tasks) == 0 {
		return false, fmt.Errorf("process %d is gone (%w)", pid, os.ErrProcessDone)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task)
		if err != nil {
			continue // the thread ended
		}
		// "1234 (name) T ...", where the name may hold anything.
		if _, state, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); !ok || len(state) == 0 || state[0] != 'T' {
			return false, nil
		}
	}
	return true, nil
}
