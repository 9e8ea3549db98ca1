// Package process runs programs for tests. Each program ends at the latest with the process that started it, can be suspended or killed at
// any time, and is always waited for.
package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a started program.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed once the process is gone and reaped
}

// Options describe a program.
type Options struct {
	// Args are the program and its arguments.
	Args []string
	// Env is the environment; that of this process if nil.
	Env []string
	// Dir is the working directory.
	Dir string
	// Output is the file that standard output and standard error are appended to.
	Output string
	// ManyFiles starts the program with as many open files as the system allows.
	ManyFiles bool
}

// raiseFiles runs its arguments with a high limit of open files. Root may raise the hard limit; others use the present one.
const raiseFiles = `ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -Hn)"; exec "$@"`

// Start starts a program.
func Start(o Options) (*Process, error) {
	out, err := os.OpenFile(o.Output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the child has its own
	args := o.Args
	if o.ManyFiles {
		args = append([]string{"sh", "-c", raiseFiles, "sh"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, out, out
	cmd.SysProcAttr = attributes()
	if err := startFromLastingThread(cmd); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		close(p.exited)
	}()
	return p, nil
}

// Run runs a program to its end, or kills it when the context ends.
func Run(ctx context.Context, o Options) error {
	p, err := Start(o)
	if err != nil {
		return err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.Kill()
		return ctx.Err()
	}
	if state := p.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("%s", state)
	}
	return nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited returns a channel that is closed once the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running reports whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ExitCode returns the code the process ended with; -1 if it runs, or was ended by a signal.
func (p *Process) ExitCode() int {
	if p.Running() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) error {
	if !p.Running() {
		return os.ErrProcessDone
	}
	return p.cmd.Process.Signal(s)
}

// Kill ends the process at once, even if it is suspended, and waits for its end.
func (p *Process) Kill() {
	if p.Signal(syscall.SIGKILL) == nil {
		<-p.exited
	}
}

// Terminate asks the process to end (SIGTERM) and waits until it is gone. A process that takes too long is killed, which is
// an error.
func (p *Process) Terminate(within time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = p.Signal(syscall.SIGCONT) // a suspended process would not handle the request; an ended process is fine
	select {
	case <-p.exited:
		return nil
	case <-time.After(within):
		p.Kill()
		return fmt.Errorf("not gone %v after SIGTERM, killed", within)
	}
}

// starts passes commands to the one thread that starts all children. The kernel sends the parent-death signal when the starting thread
// ends, not its process, so this thread must live as long as the process.
var starts = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func startFromLastingThread(cmd *exec.Cmd) error {
	result := make(chan error)
	starts() <- func() { result <- cmd.Start() }
	return <-result
}
