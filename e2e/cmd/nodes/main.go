//go:build linux

// Command nodes runs whole Kubernetes clusters on this machine to play with, without Docker and without a registry:
//
//	nodes up [-clusters 3] [-nodes 1]   starts clusters c1, c2, ... and leaves them running
//	nodes kubectl c1 get pods -A        runs kubectl on a cluster
//	nodes load ARCHIVE                  imports an image archive into all nodes
//	nodes cut c1 c2                     breaks the connection between two clusters (or c1 outside: with this machine)
//	nodes heal                          restores all connections
//	nodes off c1-n1                     cuts a node's power
//	nodes on c1-n1                      restores the power
//	nodes status                        shows the clusters
//	nodes down                          stops everything
//
// It must run as root.
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

// supervise is the command of the process that holds the clusters. Users do not run it.
const supervise = "supervise"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		var kubectl *exec.ExitError
		if errors.As(err, &kubectl) {
			os.Exit(kubectl.ExitCode()) // kubectl printed the error
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
			fmt.Printf("nodes: %v\n", err) // for the up command, if it still waits
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
	// In its own session, the process survives the terminal.
	holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	progress, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	if err := holder.Start(); err != nil {
		return err
	}
	interrupted := context.AfterFunc(ctx, func() { _ = holder.Process.Signal(syscall.SIGTERM) }) // it may have ended
	defer interrupted()
	// The output ends when the start has succeeded or failed.
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

// load makes the path absolute, for the process that holds the clusters, and imports the archive.
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
