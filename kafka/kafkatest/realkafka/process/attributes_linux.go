package process

import "syscall"

// attributes puts a child in its own group, so that a Ctrl-C at the terminal reaches only the test, which then ends its
// nodes in order; and has the kernel kill it when the test process dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
