package demo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// identity identifies a process by its id and start time: the id may be used again.
type identity struct {
	PID   int
	Start string
}

func identify(pid int) (identity, error) {
	start, alive := startOf(pid)
	if !alive {
		return identity{}, fmt.Errorf("process %d has ended", pid)
	}
	return identity{PID: pid, Start: start}, nil
}

// alive reports whether the process runs. A process that has ended and was not reaped does not.
func (i identity) alive() bool {
	if i.PID == 0 {
		return false
	}
	start, alive := startOf(i.PID)
	return alive && start == i.Start
}

func (i identity) signal(s syscall.Signal) error {
	if !i.alive() {
		return nil
	}
	if err := syscall.Kill(i.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// startOf returns when a process was started: on Linux in ticks since the boot, elsewhere as ps prints it.
func startOf(pid int) (start string, alive bool) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	const stateField, startField = 0, 19 // counted after the name, which ends with the last parenthesis
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= startField || fields[stateField] == "Z" {
		return "", false
	}
	return fields[startField], true
}
