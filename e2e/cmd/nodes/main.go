//go:build linux

// Command nodes runs whole Kubernetes clusters on this machine to play with, without Docker and without a registry:
//
//	nodes up [-clusters 3] [-nodes 1]   starts clusters c1, c2, ... and leaves them running
//	nodes kubectl c1 get pods -A        runs kubectl on a cluster
//	nodes load ARCHIVE                  imports an image archive into all nodes
//	nodes cut c1 c2                     takes the connection between two clusters away (or c1 outside: that of this machine)
//	nodes heal                          gives all connections back
//	nodes off c1-n1                     takes a node's power
//	nodes on c1-n1                      gives it back
//	nodes status                        says what there is
//	nodes down                          ends everything
//
// It has to be root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// supervise is the command that holds the clusters. It is not for people.
const supervise = "supervise"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		var kubectl *exec.ExitError
		if errors.As(err, &kubectl) {
			os.Exit(kubectl.ExitCode()) // it has said why
		}
		fmt.Fprintf(os.Stderr, "nodes: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: nodes up|kubectl|load|cut|heal|off|on|status|down")
	}
	switch args[0] {
	case "up":
		return up(ctx, args[1:])
	case supervise:
		err := hold(ctx, args[1:])
		if err != nil {
			fmt.Printf("nodes: %v\n", err) // to those who wait for the start; afterwards nobody listens
		}
		return err
	case "kubectl":
		return kubectl(ctx, args[1:])
	case "load":
		return load(ctx, args[1:])
	default:
		answer, err := ask(ctx, strings.Join(args, " "))
		fmt.Print(answer)
		return err
	}
}

// size reads the flags of up.
func size(args []string) (clusters, nodes int, err error) {
	flags := flag.NewFlagSet("nodes up", flag.ContinueOnError)
	flags.IntVar(&clusters, "clusters", 3, "how many clusters")
	flags.IntVar(&nodes, "nodes", 1, "how many nodes each has")
	return clusters, nodes, flags.Parse(args)
}

// up starts the process that holds the clusters, and shows its progress until they are ready.
func up(ctx context.Context, args []string) error {
	if _, _, err := size(args); err != nil {
		return err
	}
	if _, err := ask(ctx, "status"); err == nil {
		return errors.New("there are clusters already; end them first: nodes down")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	holder := exec.Command(self, append([]string{supervise}, args...)...)
	// In a session of its own, it stays when the terminal goes.
	holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	progress, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	if err := holder.Start(); err != nil {
		return err
	}
	interrupted := context.AfterFunc(ctx, func() { _ = holder.Process.Signal(syscall.SIGTERM) }) // gone is as good
	defer interrupted()
	// Its end is the end of the start, in one way or another.
	if _, err := io.Copy(os.Stdout, progress); err != nil {
		return err
	}
	answer, err := ask(ctx, "status")
	if err != nil {
		return errors.New("the clusters did not start, see above")
	}
	fmt.Print(answer)
	return nil
}

// load makes the path one that the process that holds the clusters finds, too.
func load(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: nodes load ARCHIVE")
	}
	archive, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	_, err = ask(ctx, "load "+archive)
	return err
}

func kubectl(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: nodes kubectl CLUSTER [ARGUMENT ...]")
	}
	answer, err := ask(ctx, "kubeconfig "+args[0])
	if err != nil {
		return err
	}
	program, kubeconfig, _ := strings.Cut(strings.TrimSpace(answer), "\n")
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+kubeconfig+".cache")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
