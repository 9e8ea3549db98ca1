package process

import "syscall"

// attributes puts a child in its own process group, so that Ctrl-C at the terminal reaches only the test, which then stops its nodes in
// order. The kernel kills the child when the test process dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
