// Command bench measures the operators, compares them with a floor where there is one, and prints the figures. BENCH_OUT names a file for
// the figures, one JSON object per line.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/e2e/bench"
)

func main() {
	o := bench.Options{Out: os.Getenv("BENCH_OUT"), OperatorEnv: map[string]string{}, Nodes: []int{3, 30, 300}, Progress: os.Stderr,
		Table: os.Stdout}
	flag.IntVar(&o.Topics, "topics", 2000, "size of the bulk measurements")
	flag.IntVar(&o.Rounds, "rounds", 3, "how often floor and operator take turns; the median counts")
	flag.IntVar(&o.Burst, "burst", 20000, "how many objects are applied at once in the last measurement; 0 leaves it out")
	flag.IntVar(&o.Kafkas, "kafkas", 100, "how many Kafkas of three nodes are applied at once; 0 leaves it out")
	flag.Func("nodes", "sizes of a Kafka to measure the cluster-operator with, with commas between (3,30,300)", func(s string) error {
		o.Nodes = nil
		for text := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			o.Nodes = append(o.Nodes, n)
		}
		return nil
	})
	only := flag.String("only", "",
		"measurements to make, with commas between: ready, roll-processes, roll-pods (roll: both), stretch, kafkas, roller, latency, bulk, "+
			"scale, burst (default: all)")
	flag.Func("env", "a setting of the operator to measure it with, as NAME=value; may be repeated", func(s string) error {
		name, value, _ := strings.Cut(s, "=")
		o.OperatorEnv[name] = value
		return nil
	})
	flag.Parse()
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	ctrl.SetLogger(logr.Discard()) // the figures are the output
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench.Run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
