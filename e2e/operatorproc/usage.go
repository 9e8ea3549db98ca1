package operatorproc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is the processor time and memory that a process has used.
type Usage struct {
	// CPU is the processor time since its start, in user and kernel mode.
	CPU time.Duration
	// RSS and PeakRSS are the current and the maximum resident memory, in bytes.
	RSS, PeakRSS int64
}

// Usage reads the operator's usage from /proc.
func (op *Process) Usage() (Usage, error) { return UsageOf(op.PID()) }

// UsageOf reads the usage of any process from /proc. Benchmarks also measure the brokers.
func UsageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	if u.CPU, err = parseCPU(stat); err != nil {
		return u, err
	}
	if u.RSS, err = parseMemory(string(status), "VmRSS:"); err != nil {
		return u, err
	}
	u.PeakRSS, err = parseMemory(string(status), "VmHWM:")
	return u, err
}

// parseCPU adds utime and stime. The program's name, the second field, may contain any characters, so the fields are counted from its end.
func parseCPU(stat []byte) (time.Duration, error) {
	const (
		utime, stime = 11, 12 // counted from the state, the first field after the name
		tick         = time.Second / 100
	)
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) <= stime {
		return 0, errors.New("/proc/<pid>/stat is not in the form it is known for")
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	return time.Duration(user+system) * tick, err
}

func parseMemory(status, field string) (int64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/<pid>/status has no %s the process has ended", field)
}
