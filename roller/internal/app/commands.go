package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/internal/lease"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
	"github.com/kafka-operators/kafka-operators/roller/internal/render"
)

// The exit codes of the commands.
const (
	ExitDone    = 0 // nothing to do, and all nodes are ready
	ExitError   = 1
	ExitUsage   = 2
	ExitPending = 3 // work is pending or in progress, or a node is not ready
	ExitBlocked = 4 // work is pending, or may be, and something else must change first
)

// Command runs the command that the options name. Commands also log warnings and errors. The given warnings are about the settings.
func Command(ctx context.Context, config *rest.Config, o options.Options, warnings []string) (exit int, err error) {
	log := logging.New(os.Stderr, logging.Options{Level: slog.LevelWarn})
	if o.Command == "run" {
		log = logging.New(os.Stdout, o.Log)
	}
	ctrl.SetLogger(log)
	for _, w := range warnings {
		logging.Warn(log, w)
	}
	switch o.Command {
	case "plan":
		return Plan(ctx, config, o, os.Stdout, log)
	case "explain":
		return Explain(ctx, config, o, os.Stdout, log)
	case "roll":
		confirm, err := Confirmation(o, os.Stdin, os.Stdout)
		if err != nil {
			return ExitUsage, err
		}
		return Roll(ctx, config, o, os.Stdout, confirm, log)
	}
	if err := Run(ctx, config, o, log); err != nil {
		return ExitError, err
	}
	return ExitDone, nil
}

// Plan prints the plan.
func Plan(ctx context.Context, config *rest.Config, o options.Options, out io.Writer, log logr.Logger) (exit int, err error) {
	s, progress, policy, err := look(ctx, config, o, log)
	if err != nil {
		return ExitError, err
	}
	plan := roller.NewPlan(&s, progress, policy)
	if o.Output == "json" {
		err = printJSON(out, plan)
	} else {
		err = render.Plan(out, plan)
	}
	if err != nil {
		return ExitError, err
	}
	return exitOfPlan(plan), nil
}

// exitOfPlan returns the exit code for all nodes. What is unknown may need something.
func exitOfPlan(plan roller.Plan) int {
	exit := ExitDone
	paused := slices.ContainsFunc(plan.Waits, func(b roller.Block) bool { return b.Rule == roller.RulePaused })
	switch {
	case len(plan.Blocked)+len(plan.Unknown) > 0 || plan.Unread != "" || paused:
		return ExitBlocked
	case len(plan.Batches)+len(plan.Reconfigurations) > 0:
		exit = ExitPending
	}
	for _, a := range plan.Nodes {
		switch {
		case a.Need == roller.NeedNothing:
			exit = max(exit, exitOf(a))
		case a.State != roller.StateReady: // it may be in no batch, because its pod is being stopped
			exit = max(exit, ExitPending)
		}
	}
	return exit
}

// Explain prints everything about one node.
func Explain(ctx context.Context, config *rest.Config, o options.Options, out io.Writer, log logr.Logger) (exit int, err error) {
	s, progress, policy, err := look(ctx, config, o, log)
	if err != nil {
		return ExitError, err
	}
	d := roller.Step(&s, progress, policy) // only to explain: not stored or carried out
	for _, a := range d.Nodes {
		if a.Name != o.Node && strconv.Itoa(int(a.Node)) != o.Node {
			continue
		}
		if o.Output == "json" {
			err = printJSON(out, a)
		} else {
			render.Node(out, a)
		}
		if err != nil {
			return ExitError, err
		}
		return exitOf(a), nil
	}
	return ExitError, fmt.Errorf("there is no node %s; there are %s", o.Node, names(d.Nodes))
}

// exitOf returns the exit code for one node, as in a plan: one that only waits for its turn or a window is not blocked, an unknown one may
// need something, and of one that does not get ready by itself, a user must find out why.
func exitOf(a roller.Assessment) int {
	a.Blocks = slices.DeleteFunc(slices.Clone(a.Blocks), func(b roller.Block) bool { return b.Rule == roller.RuleWindow })
	_, blocked := engine.Obstacle(a)
	needy := slices.Contains([]roller.State{roller.StateFailed, roller.StateStuck, roller.StateUnknown}, a.State)
	switch {
	case blocked, a.Need == roller.NeedNothing && (needy || len(a.Unknown) > 0):
		return ExitBlocked
	case a.Need == roller.NeedNothing && a.State == roller.StateReady:
		return ExitDone
	}
	return ExitPending
}

func names(nodes []roller.Assessment) string {
	var words []string
	for _, a := range nodes {
		words = append(words, a.Name)
	}
	return strings.Join(words, ", ")
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// look observes once, for a command that does nothing else.
func look(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) (
	s roller.Snapshot, progress roller.Progress, policy roller.Policy, err error,
) {
	r, err := commandRoll(ctx, config, o, log)
	if err != nil {
		return s, progress, policy, err
	}
	defer r.Close(ctx)
	return r.glance(ctx)
}

// commandRoll returns the roll of the Kafka cluster that the options name.
func commandRoll(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) (*roll, error) {
	w, err := forCommands(ctx, config, o, log)
	if err != nil {
		return nil, err
	}
	r := w.newRoll(types.NamespacedName{Namespace: o.Namespace, Name: o.Cluster})
	r.ended = w.end
	return r, nil
}

// ErrNotConfirmed is the error of a roll that the user did not confirm.
var ErrNotConfirmed = errors.New("nothing was changed: the roll was not confirmed; --yes skips the question")

// Roll prints the plan, calls confirm, restarts the nodes that need it, and prints the progress. A nil confirm agrees.
func Roll(
	ctx context.Context, config *rest.Config, o options.Options, out io.Writer, confirm func(context.Context) bool, log logr.Logger,
) (exit int, err error) {
	r, err := commandRoll(ctx, config, o, log)
	if err != nil {
		return ExitError, err
	}
	defer r.Close(ctx)
	s, progress, policy, err := r.glance(ctx)
	if err != nil {
		return ExitError, err
	}
	if confirm != nil {
		if err := confirmed(ctx, roller.NewPlan(&s, progress, policy), out, confirm); err != nil {
			return ExitError, err
		}
	}
	if o.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("not finished within %s", o.Limit))
		defer cancel()
	}
	return r.toItsEnd(ctx, out)
}

// confirmed prints the plan, and asks unless all is done. Otherwise a node may need a restart later, when it is ready, known or not
// blocked.
func confirmed(ctx context.Context, plan roller.Plan, out io.Writer, confirm func(context.Context) bool) error {
	if err := render.Plan(out, plan); err != nil {
		return err
	}
	if exitOfPlan(plan) == ExitDone || confirm(ctx) {
		return nil
	}
	return ErrNotConfirmed
}

// toItsEnd rolls until all is done, or the roll can't continue.
func (r *roll) toItsEnd(ctx context.Context, out io.Writer) (exit int, err error) {
	narrator := &narrator{out: out}
	r.Reports = append(r.Reports, narrator)
	ending := &ending{patience: r.world.options.Policy.Patience}
	var last roller.Decision
	run := func() error {
		return r.Run(ctx, r.world.options.Interval, func(d roller.Decision) bool {
			last = d
			return ending.reached(d, time.Now())
		})
	}
	err = run()
	var held *lease.HeldError
	if errors.As(err, &held) { // another roller holds the Lease: it is running, or was killed
		fmt.Fprintf(out, "Waiting: %v\n", held)
		err = whileHeld(ctx, held.Until, run)
	}
	if errors.Is(err, engine.ErrHeld) || errors.Is(err, engine.ErrDeleted) {
		return ExitBlocked, err
	}
	if apierrors.IsForbidden(err) {
		return ExitError, fmt.Errorf("%w: grant the permission, then run `roller roll` again", err)
	}
	if err != nil || last.Phase != roller.PhaseDone {
		for _, a := range last.Nodes {
			if a.Need != roller.NeedNothing || a.State != roller.StateReady || len(a.Unknown)+len(a.Blocks) > 0 {
				render.Node(out, a)
			}
		}
		if err != nil {
			return ExitBlocked, fmt.Errorf("the roll did not finish: %w; run `roller roll` again to continue", err)
		}
		return ExitBlocked, engine.ErrFailed
	}
	fmt.Fprintf(out, "Done: %s, %s.\n", count(narrator.restarted, "node", "restarted"),
		count(narrator.reconfigured, "node", "reconfigured without a restart"))
	return ExitDone, nil
}

// whileHeld runs again and again until the Lease of another roller is released or has expired at that time. If it is renewed, that roller
// is at work.
func whileHeld(ctx context.Context, until time.Time, run func() error) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Second):
		}
		expired := time.Now().After(until)
		err := run()
		var held *lease.HeldError
		if !errors.As(err, &held) || held.Until.After(until) || expired {
			return err
		}
	}
}

func count(n int, thing, what string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s %s", n, thing, what)
}

// narrator prints what happens, without repetitions.
type narrator struct {
	out                     io.Writer
	reported                map[roller.NodeID]string
	restarted, reconfigured int
	// left is how many replicas of a node still had to catch up when that was last printed, at the time at.
	left map[roller.NodeID]int
	at   time.Time
}

// often is the interval at which the progress of replicas that catch up is printed.
const often = 10 * time.Second

// ReportLook implements engine.Reporter.
func (n *narrator) ReportLook(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	at := s.At.UTC().Format("15:04:05")
	acted := map[roller.NodeID]bool{}
	for _, o := range outcomes {
		acted[o.Action.Node] = true
	}
	reported := map[roller.NodeID]string{}
	for _, a := range d.Nodes {
		line := engine.Line(a)
		reported[a.Node] = line
		news := n.reported[a.Node] != line && (n.reported != nil || a.State != roller.StateReady) // the first report omits ready nodes
		if news && !acted[a.Node] {
			if line == "" {
				line = "ready"
			}
			fmt.Fprintf(n.out, "%s  node %d: %s\n", at, a.Node, line)
		}
	}
	n.reported = reported
	for _, o := range outcomes {
		_, _, note := engine.Describe(o)
		fmt.Fprintf(n.out, "%s  %s\n", at, note)
		if o.Result != actuate.Done {
			continue
		}
		switch o.Action.Kind {
		case roller.ActionRestart:
			n.restarted++
			if !d.Expected.IsZero() {
				fmt.Fprintf(n.out, "%s  about %s left\n", at, d.Expected.Sub(s.At).Round(time.Second))
			}
		case roller.ActionReconfigure:
			n.reconfigured++
		case roller.ActionElectLeaders: // part of a restart
		}
	}
	n.progress(s.At, d)
}

// progress prints for each node that catches up how many replicas remain, and how long they take at the present rate.
func (n *narrator) progress(now time.Time, d roller.Decision) {
	if now.Sub(n.at) < often {
		return
	}
	left := map[roller.NodeID]int{}
	for _, a := range d.Nodes {
		r, underWay := d.Progress.Restarts[a.Node]
		if !underWay || r.Ready.IsZero() || r.Left == 0 {
			continue
		}
		left[a.Node] = r.Left
		if n.left[a.Node] == r.Left {
			continue
		}
		text := count(r.Left, "replica", "to catch up")
		if _, rest, known := r.Rate(now); known {
			text += ", about " + rest.Round(time.Second).String()
		}
		fmt.Fprintf(n.out, "%s  node %d: %s\n", now.UTC().Format("15:04:05"), a.Node, text)
		n.at = now
	}
	n.left = left
}
