//go:build linux

// Command nodeinit is the first process of a node. It runs twice: as "boot" on the machine, where it enters the node's network and cgroups,
// and starts "init" in new namespaces; and as init, process 1 of the node, which ends with boot.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/supervise"
)

// The main thread enters the node's network, and the node ends with it: no other goroutine may run on it, and main must stay on it.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: nodeinit boot|init SPEC"))
	}
	spec, err := nodespec.Read(os.Args[2])
	if err != nil {
		fail(err)
	}
	switch os.Args[1] {
	case "boot":
		err = boot(spec)
	case "init":
		err = supervise.Run(spec, os.Stdin, os.Stdout, os.Stderr)
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "nodeinit:", err)
	os.Exit(1)
}

// boot moves this process into the node's cgroups before it starts the init: the root of the init's cgroup namespace is the cgroup in which
// the init starts.
func boot(spec *nodespec.Spec) error {
	if err := unix.Setns(nodespec.NetworkFile, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the node's network: %w", err)
	}
	for _, h := range spec.Hierarchies {
		if err := supervise.EnterCgroup(h, spec.Cgroup, os.Getpid()); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "init", os.Args[2])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWPID | unix.CLONE_NEWCGROUP,
		Pdeathsig:  unix.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// PowerOff ends the node through this process, which reaps the init: on some machines no other process does.
	power := make(chan os.Signal, 1)
	signal.Notify(power, unix.SIGTERM)
	go func() {
		<-power
		_ = cmd.Process.Kill() // it may have ended
	}()
	return cmd.Wait()
}
