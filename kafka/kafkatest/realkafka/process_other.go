//go:build unix && !linux

package realkafka

import "syscall"

// sysProcAttr puts a child in its own group. Systems other than Linux have no parent-death signal.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
