// Package demo is the demo of the operators: it starts the real programs and the operator, shows a short story with them, and leaves
// everything running.
//
// All background programs belong to one detached process, the supervisor. It runs the embedded Kafka, and is the parent of all other
// processes; when it ends, for whatever reason, they all end.
package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

const (
	// namespace is the namespace of the operator and the topics, the same as in config/.
	namespace = "kafka-topics"
	// interval is the interval of the operator's timed passes, which find changes in Kafka. The default of two minutes is long for a user in
	// front of a terminal.
	interval = 5 * time.Second
	// patience is the timeout of each wait in the story.
	patience = time.Minute
)

// Demo is the demonstration of one checkout.
type Demo struct {
	root string
	dir  string
	self []string
	tell *teller
}

// New returns the demo of the checkout of the working directory. It writes its story to out.
func New(out io.Writer) (*Demo, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &Demo{
		root: root,
		dir:  filepath.Join(root, ".demo"),
		self: []string{self, SuperviseCommand},
		tell: &teller{out: out},
	}, nil
}

func (d *Demo) path(name string) string { return filepath.Join(d.dir, name) }

// shown returns a path inside the checkout relative to it.
func (d *Demo) shown(path string) string {
	if rel, err := filepath.Rel(d.root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// teller writes the story, in plain text.
type teller struct {
	out     io.Writer
	chapter int
}

// section starts a chapter.
func (t *teller) section(title string) {
	t.chapter++
	fmt.Fprintf(t.out, "\n== %d. %s\n\n", t.chapter, title)
}

func (t *teller) say(format string, args ...any) {
	fmt.Fprintf(t.out, format+"\n", args...)
}

// quote writes the output of a command, indented.
func (t *teller) quote(text string) {
	_, _ = io.WriteString(t.out, indent(text)) // if the output is closed, there is nowhere to report the error
}

// Write writes the progress of preparations, indented.
func (t *teller) Write(b []byte) (int, error) {
	t.quote(string(b))
	return len(b), nil
}
