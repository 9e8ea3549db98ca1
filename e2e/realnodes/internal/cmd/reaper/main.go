//go:build linux

// Command reaper waits for the end of the process that started it (the end of its standard input), and then removes what remains of its
// lab.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/remains"
)

// patience is how long processes may take to end. Killed processes take that long only if the kernel has a problem.
const patience = time.Minute

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: reaper LAB HIERARCHY...")
		os.Exit(2)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // an error also means the end
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := (remains.Lab{Dir: os.Args[1], Hierarchies: os.Args[2:]}).Remove(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "reaper:", err)
		os.Exit(1)
	}
}
