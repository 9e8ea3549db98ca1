// Package render prints plans and nodes for people.
package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Plan prints a plan: the batches in order, then what is blocked and why, then the summary.
func Plan(w io.Writer, p roller.Plan) error {
	byID := nodesByID(p.Nodes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(p.Reconfigurations)+len(p.Batches)+len(p.Blocked) > 0 {
		fmt.Fprintln(t, "BATCH\tNODE\tPOD\tROLES\tSTATE\tREASONS")
	}
	for _, r := range p.Reconfigurations {
		a := byID[r.Node]
		fmt.Fprintf(t, "live\t%d\t%s\t%s\t%s\t%s\n", a.Node, a.Name, rolesOf(a), a.State, keysOf(r))
	}
	for i, b := range p.Batches {
		for _, id := range b.Nodes {
			a := byID[id]
			fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%s\n", i+1, id, a.Name, rolesOf(a), stateOf(a), roller.Reasons(a.Reasons))
		}
	}
	for _, id := range p.Blocked {
		a := byID[id]
		fmt.Fprintf(t, "-\t%d\t%s\t%s\t%s\t%s\n", id, a.Name, rolesOf(a), stateOf(a), cmp.Or(roller.Reasons(a.Reasons), string(a.Need)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	details(w, p, byID)
	return nil
}

// details prints what does not fit into the table.
func details(w io.Writer, p roller.Plan, byID map[roller.NodeID]roller.Assessment) {
	for i, b := range p.Batches {
		if b.Split != "" && (i == 0 || b.Split != p.Batches[i-1].Split) {
			fmt.Fprintf(w, "\nBatch %d is not part of batch %d: %s.\n", i+1, i, b.Split)
		}
		for _, risk := range slices.Sorted(maps.Keys(b.Risks)) {
			fmt.Fprintf(w, "Batch %d: while it is down, partition %s (and possibly others) is %s.\n", i+1, b.Risks[risk], risk)
		}
		for _, id := range b.Nodes {
			if forced := byID[id].Forced; forced != "" {
				fmt.Fprintf(w, "Node %d: %s.\n", id, forced)
			}
		}
	}
	for _, id := range p.Blocked {
		blocks(w, byID[id])
	}
	unready(w, p)
	unknown(w, p, byID)
	for _, d := range p.Disputes {
		fmt.Fprintf(w, "\nThe nodes' configurations have different values for %s, which is a setting of the whole cluster.\n", d.Key)
	}
	rejected(w, p)
	for _, a := range p.Nodes {
		if len(a.Repeated) > 0 {
			fmt.Fprintf(w, "\nNode %d was restarted for %s, but the reason persists; the roller does not restart it for that again.\n", a.Node,
				roller.Reasons(a.Repeated))
		}
	}
	if len(p.Reconfigurations)+len(p.Batches)+len(p.Blocked) > 0 {
		fmt.Fprintln(w)
	}
	for _, block := range p.Waits {
		fmt.Fprintf(w, "Nothing begins now (%s): %s.\n", block.Rule, block.Why)
	}
	if p.Refilled {
		fmt.Fprintln(w, "Batches are refilled: a broker restarts as soon as availability allows it, if no earlier broker has to wait for it.")
	}
	fmt.Fprintln(w, summary(p))
}

// rejected prints the rejected values of nodes that are not blocked. Blocked nodes list theirs already.
func rejected(w io.Writer, p roller.Plan) {
	for _, a := range p.Nodes {
		if slices.Contains(p.Blocked, a.Node) {
			continue
		}
		for _, x := range a.Changes.Rejected {
			fmt.Fprintf(w, "\nNode %d: %s.\n", a.Node, x)
		}
	}
}

// unready prints the nodes that are in no row of the table, and not ready or blocked: the roller waits for them, or they wait for a user.
func unready(w io.Writer, p roller.Plan) {
	rows := slices.Clone(p.Blocked)
	for _, b := range p.Batches {
		rows = append(rows, b.Nodes...)
	}
	for _, r := range p.Reconfigurations {
		rows = append(rows, r.Node)
	}
	for _, a := range p.Nodes {
		if slices.Contains(rows, a.Node) {
			continue
		}
		elsewhere := a.State == roller.StateUnknown && slices.Contains(p.Unknown, a.Node)
		if a.State != roller.StateReady && !elsewhere {
			fmt.Fprintf(w, "\nNode %d is %s.\n", a.Node, stateOf(a))
		}
		if a.Need == roller.NeedNothing {
			blocks(w, a)
		}
	}
}

func blocks(w io.Writer, a roller.Assessment) {
	for _, block := range a.Blocks {
		fmt.Fprintf(w, "\nNode %d is blocked (%s): %s.\n", a.Node, block.Rule, block.Why)
	}
}

// unknown prints the nodes that may need something because a fact is unknown.
func unknown(w io.Writer, p roller.Plan, byID map[roller.NodeID]roller.Assessment) {
	for _, id := range p.Unknown {
		fmt.Fprintf(w, "\nNode %d may need something, because this is unknown: %s.\n", id, strings.Join(byID[id].Unknown, "; "))
	}
	if p.Unread != "" {
		fmt.Fprintf(w, "\nThere may be other nodes: %s.\n", p.Unread)
	}
}

func summary(p roller.Plan) string {
	restarts := 0
	for _, b := range p.Batches {
		restarts += len(b.Nodes)
	}
	if restarts+len(p.Blocked)+len(p.Reconfigurations) == 0 {
		unwell := 0
		for _, a := range p.Nodes {
			if (a.State != roller.StateReady || len(a.Blocks) > 0) && len(a.Unknown) == 0 {
				unwell++
			}
		}
		if unwell+len(p.Unknown) == 0 && p.Unread == "" {
			return fmt.Sprintf("Nothing to do: %d nodes are up to date.", len(p.Nodes))
		}
		return fmt.Sprintf("No pending work is known. Of %d nodes, %d are not ready, and the state of %d is unknown.",
			len(p.Nodes), unwell,
			len(p.Unknown))
	}
	text := fmt.Sprintf("%d of %d nodes need a restart, in %d batches", restarts, len(p.Nodes), len(p.Batches))
	if restarts > 0 {
		text += fmt.Sprintf(" (at least %d are needed: %s)", p.Fewest, p.Proof)
	}
	switch {
	case p.PredictedSeconds > 0 && p.Estimated:
		text += fmt.Sprintf(", which takes about %s or somewhat longer, an estimate from how long the nodes took to start",
			rounded(p.PredictedSeconds))
	case p.PredictedSeconds > 0:
		text += fmt.Sprintf(", which takes about %s, judging by the last restarts", rounded(p.PredictedSeconds))
	}
	text += fmt.Sprintf("; %d reconfigured without a restart; %d blocked.", len(p.Reconfigurations), len(p.Blocked))
	return text
}

// rounded returns a duration of so many seconds, rounded for people.
func rounded(seconds int64) time.Duration {
	d := time.Duration(seconds) * time.Second
	if d > 10*time.Minute {
		return d.Round(time.Minute)
	}
	return d
}

// Node prints everything about one node.
func Node(w io.Writer, a roller.Assessment) {
	fmt.Fprintf(w, "Node %d (pod %s, %s)\n", a.Node, a.Name, rolesOf(a))
	fmt.Fprintf(w, "  state    %s\n", stateOf(a))
	fmt.Fprintf(w, "  needs    %s\n", a.Need)
	for _, r := range a.Reasons {
		fmt.Fprintf(w, "  because  %s\n", r)
	}
	for _, r := range a.Repeated {
		fmt.Fprintf(w, "  done     %s: already restarted for that\n", r)
	}
	for _, c := range a.Changes.Restart {
		fmt.Fprintf(w, "  config   %s: %s -> %s, by a restart\n", c.Key, text(c.From), text(c.To))
	}
	for _, c := range slices.Concat(a.Changes.Node, a.Changes.Global) {
		fmt.Fprintf(w, "  config   %s: %s -> %s, while it runs\n", c.Key, text(c.From), text(c.To))
	}
	for _, c := range slices.Concat(a.Changes.StoredNode, a.Changes.StoredGlobal) {
		fmt.Fprintf(w, "  config   %s: %s -> %s, stored for the next start\n", c.Key, text(c.From), text(c.To))
	}
	for _, x := range a.Changes.Rejected {
		fmt.Fprintf(w, "  config   %s\n", x)
	}
	for _, u := range a.Unknown {
		fmt.Fprintf(w, "  unknown  %s\n", u)
	}
	for _, b := range a.Blocks {
		fmt.Fprintf(w, "  blocked  %s: %s\n", b.Rule, b.Why)
	}
	if a.Forced != "" {
		fmt.Fprintf(w, "  forced   %s\n", a.Forced)
	}
	if a.Need != roller.NeedNothing && len(a.Blocks) == 0 {
		fmt.Fprintln(w, "  nothing blocks it")
	}
}

func nodesByID(nodes []roller.Assessment) map[roller.NodeID]roller.Assessment {
	byID := make(map[roller.NodeID]roller.Assessment, len(nodes))
	for _, a := range nodes {
		byID[a.Node] = a
	}
	return byID
}

func rolesOf(a roller.Assessment) string {
	if a.ActiveController {
		return a.Roles.String() + " (active controller)"
	}
	return a.Roles.String()
}

func stateOf(a roller.Assessment) string {
	if a.Detail == "" {
		return string(a.State)
	}
	return string(a.State) + ": " + a.Detail
}

func keysOf(r roller.Reconfiguration) string {
	var words []string
	for _, c := range slices.Concat(r.Changes.Global, r.Changes.Node, r.Changes.StoredGlobal, r.Changes.StoredNode) {
		words = append(words, fmt.Sprintf("%s: %s -> %s", c.Key, text(c.From), text(c.To)))
	}
	return strings.Join(words, ", ")
}

func text(value *string) string {
	if value == nil {
		return "(none)"
	}
	return fmt.Sprintf("%q", *value)
}
