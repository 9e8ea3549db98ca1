//go:build linux

// Command images builds the images that nodes have from the start, and imports them into a store that nodes copy. hack/assets.sh runs it
// for its target images.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/stock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var in stock.Inputs
	flag.StringVar(&in.Nodes, "nodes", "", "the folder of hack/assets.sh nodes")
	flag.StringVar(&in.Pause, "pause", "", "the pause program")
	flag.StringVar(&in.Jars, "jars", "", "the folder of Kafka's jars")
	flag.StringVar(&in.PreviousJars, "previous-jars", "", "the folder of the jars of the version of Kafka before")
	flag.StringVar(&in.JRE, "jre", "", "the folder of a Java runtime")
	out := flag.String("out", "", "the folder to write to")
	flag.Parse()
	if err := stock.Make(ctx, *out, in); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}
