// Command demo shows the operators at work on this machine, with a real Kubernetes API server and a Kafka.
//
//	demo roller    shows the roller: a Kafka of three nodes is rolled while records are written, and everything is stopped
//	demo up        starts everything, shows it, and leaves it running (KAFKA=real for Apache Kafka itself)
//	demo topics    lists the topics as Kafka sees them
//	demo down      stops everything
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kafka-operators/kafka-operators/e2e/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	d, err := demo.New(os.Stdout)
	if err != nil {
		return err
	}
	command := ""
	if len(args) == 1 {
		command = args[0]
	}
	switch command {
	case "up":
		return d.Up(ctx, os.Getenv("KAFKA"))
	case "roller":
		return d.Roll(ctx)
	case "cluster":
		return d.Cluster(ctx)
	case "cluster-down":
		return d.ClusterDown(ctx)
	case "stretch":
		return d.Stretch(ctx)
	case "stretch-down":
		return d.StretchDown(ctx)
	case "topics":
		return d.Topics(ctx)
	case "down":
		return d.Down(ctx)
	case demo.SuperviseCommand:
		return d.Supervise(ctx)
	default:
		return fmt.Errorf("usage: demo up|topics|down|roller|cluster|cluster-down|stretch|stretch-down")
	}
}
