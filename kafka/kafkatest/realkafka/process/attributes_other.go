//go:build unix && !linux

package process

import "syscall"

// attributes puts a child in its own group. Systems other than Linux have no parent-death signal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
