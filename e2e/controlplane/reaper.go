package controlplane

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// reaper is a shell that waits for the end of this process, and then kills the control plane and removes its folder. envtest only stops its
// programs in Stop, which a test that panics or is killed never calls.
type reaper struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// reap reads until this process writes a line, or ends. It finds the programs by the random name of their folder in their arguments; the
// reaper has it in its environment only.
const reap = `read -r orderly && exit 0
for args in /proc/[0-9]*/cmdline; do
  if grep -qF "$CONTROL_PLANE/" "$args" 2>/dev/null; then
    pid=${args#/proc/}
    kill -9 "${pid%/cmdline}"
  fi
done
rm -rf "$CONTROL_PLANE"`

func startReaper(dir string) (*reaper, error) {
	cmd := exec.Command("sh", "-c", reap)
	cmd.Env = append(os.Environ(), "CONTROL_PLANE="+dir)
	cmd.Dir = "/"
	// In its own session, the reaper survives signals to the test's session.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &reaper{cmd, stdin}, cmd.Start()
}

// dismiss ends the reaper without further work.
func (r *reaper) dismiss() error {
	if _, err := io.WriteString(r.stdin, "stopped\n"); err != nil {
		return err
	}
	return r.cmd.Wait()
}
