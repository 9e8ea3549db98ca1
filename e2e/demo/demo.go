// Package demo is the demonstration: it starts the real parts and the operator, tells a short story with them, and leaves
// everything running to be played with.
//
// What runs in the background belongs to one detached process, the supervisor. It holds the embedded Kafka, and is the
// parent of all else; when it ends, however it ends, everything ends.
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
	// namespace is where the operator and the topics live, the same as in config/.
	namespace = "kafka-topics"
	// interval is how often the operator looks after topics that nobody has changed in Kubernetes. Its default of two
	// minutes is a long time to stand in front of a terminal.
	interval = 5 * time.Second
	// patience bounds each wait of the story.
	patience = time.Minute
)

// Demo is the demonstration of one checkout.
type Demo struct {
	root string
	dir  string
	self []string
	tell *teller
}

// New returns the demonstration of the checkout that the working directory is in. It tells its story to the writer.
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

// shown shortens a path inside the checkout for the eye.
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

// section begins a chapter.
func (t *teller) section(title string) {
	t.chapter++
	fmt.Fprintf(t.out, "\n== %d. %s\n\n", t.chapter, title)
}

func (t *teller) say(format string, args ...any) {
	fmt.Fprintf(t.out, format+"\n", args...)
}

// quote writes the output of a command, indented.
func (t *teller) quote(text string) {
	_, _ = io.WriteString(t.out, indent(text)) // as with all of the story, nobody is left to tell
}

// Write passes the progress of preparations on, indented.
func (t *teller) Write(b []byte) (int, error) {
	t.quote(string(b))
	return len(b), nil
}
