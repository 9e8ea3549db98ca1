package realkafka

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

// process is one running JVM.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed once the process is gone and reaped
}

// raiseFiles starts a program with as many open files as the kernel allows: a broker keeps one per partition. The limit
// itself can be raised by root only; others get the hard limit.
const raiseFiles = `ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -Hn)"; exec "$@"`

// startProcess runs argv with its output appended to the file.
func startProcess(dir, output string, argv ...string) (*process, error) {
	out, err := os.OpenFile(output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command("sh", append([]string{"-c", raiseFiles, "sh"}, argv...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.SysProcAttr = sysProcAttr()
	if err := startFromLastingThread(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return os.ErrProcessDone
	}
	return p.cmd.Process.Signal(s)
}

// kill ends the process at once, also if it is suspended, and waits until it is gone.
func (p *process) kill() {
	if p.signal(syscall.SIGKILL) == nil {
		<-p.exited
	}
}

// terminate asks the process to end, and kills it if it has not ended in time.
func (p *process) terminate(within time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	// A suspended process would sleep over the request.
	_ = p.signal(syscall.SIGCONT)
	select {
	case <-p.exited:
		return nil
	case <-time.After(within):
		p.kill()
		return fmt.Errorf("not gone %v after SIGTERM, killed", within)
	}
}

// run is exec with all of this package's care, for programs that end by themselves.
func run(ctx context.Context, dir, output string, argv ...string) error {
	p, err := startProcess(dir, output, argv...)
	if err != nil {
		return err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
		return ctx.Err()
	}
	if state := p.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("%s", state)
	}
	return nil
}

// starts carries commands to the one thread that starts them all. A child's parent-death signal is sent when the thread
// that started it ends, not the process; so that thread must be one that lasts.
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
