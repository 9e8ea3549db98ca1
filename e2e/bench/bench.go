package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Options are the options of a benchmark run.
type Options struct {
	// Topics is the size of the bulk measurements; 2,000 in the published figures.
	Topics int
	// Rounds is the number of alternating runs of floor and operator; the median counts.
	Rounds int
	// Burst is the number of objects that the last measurement applies at once; 0 skips it.
	Burst int
	// Nodes are the sizes of the Kafkas with which the cluster-operator is measured. Kafkas is the number of Kafkas of three nodes that are
	// applied at once; 0 skips that.
	Nodes  []int
	Kafkas int
	// Only names the measurements to make: ready, roll-processes, roll-pods (roll: both), stretch, kafkas, roller, latency, bulk, scale,
	// burst. None means all.
	Only []string
	// OperatorEnv are settings of the measured operator.
	OperatorEnv map[string]string
	// Out is the file for the figures, one JSON object per line; empty writes none (BENCH_OUT).
	Out string
	// Progress receives messages about the progress, Table the result.
	Progress, Table io.Writer
}

// Run measures, and writes the figures.
func Run(ctx context.Context, o Options) (err error) {
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	r := &Report{progress: o.Progress}
	wanted := func(name string) bool {
		means := func(only string) bool { return only == name || strings.HasPrefix(name, only+"-") }
		return len(o.Only) == 0 || slices.ContainsFunc(o.Only, means)
	}
	steps := []struct {
		name string
		run  func() error
	}{
		{"ready", func() error { return ready(ctx, r) }},
		{"roll-processes", func() error { return w.rollProcesses(ctx, r) }},
		{"roll-pods", func() error { return rollPods(ctx, r) }},
		{"stretch", func() error { return stretch(ctx, r) }},
		{"kafkas", func() error { return w.kafkas(ctx, r, o.Nodes, o.Kafkas) }},
		{"roller", func() error { return w.roller(ctx, r) }},
		{"latency", func() error { return w.latency(ctx, r, 200) }},
		{"bulk", func() error { return w.bulk(ctx, r, o.Topics, o.Rounds) }},
		{"scale", func() error { return w.scale(ctx, r, []int{o.Topics, o.Topics * 5 / 2}) }},
		{"burst", func() error { return w.burst(ctx, r, o.Burst) }},
	}
	for _, step := range steps {
		if !wanted(step.name) || step.name == "burst" && o.Burst == 0 {
			continue
		}
		r.logf("== %s", step.name)
		if err := step.run(); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", step.name, err), r.write(o))
		}
	}
	return r.write(o)
}

// write writes the figures, also if a later measurement failed.
func (r *Report) write(o Options) error {
	if err := r.Table(o.Table); err != nil || o.Out == "" {
		return err
	}
	file, err := os.Create(o.Out)
	if err != nil {
		return err
	}
	return errors.Join(r.JSON(file), file.Close())
}
