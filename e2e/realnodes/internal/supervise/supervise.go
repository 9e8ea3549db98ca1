//go:build linux

// Package supervise has the code of a node's first process: it turns its new namespaces into those of a node, runs the node's programs,
// restarts each one that ends, and serves requests until its input is closed.
package supervise

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

// events is the log of the node itself.
type events struct {
	mu  sync.Mutex
	out io.Writer
}

func (e *events) say(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintf(e.out, time.Now().Format("15:04:05.000 ")+format+"\n", args...)
}

// node is the state that requests can change.
type node struct {
	spec       *nodespec.Spec
	children   *children
	components map[string]*component
}

// Run runs this process as the first one of a node. It returns when the requests end. The node ends with the process.
func Run(spec *nodespec.Spec, requests io.Reader, answers, log io.Writer) error {
	if err := furnish(spec); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(spec.Dir, "logs"), 0o755); err != nil {
		return err
	}
	said := &events{out: log}
	n := &node{spec: spec, children: newChildren(), components: map[string]*component{}}
	for _, c := range spec.Components {
		n.components[c.Name] = &component{spec: c, env: spec.Env, log: logFile(spec, c.Name), children: n.children, events: said}
		n.components[c.Name].start()
	}
	lines := bufio.NewScanner(requests)
	for lines.Scan() {
		answer := nodespec.Done
		if err := n.fulfil(lines.Text()); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if _, err := fmt.Fprintln(answers, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (n *node) fulfil(request string) error {
	verb, object, _ := strings.Cut(request, " ")
	if verb == nodespec.Import {
		return n.importImage(object)
	}
	c, known := n.components[object]
	switch {
	case !known:
		return fmt.Errorf("there is no component %q", object)
	case verb == nodespec.Stop:
		c.stop()
	case verb == nodespec.Start:
		c.start()
	default:
		return fmt.Errorf("there is no request %q", verb)
	}
	return nil
}

// importImage imports an image archive. It runs here because the container runtime's socket is in this mount namespace.
func (n *node) importImage(archive string) error {
	output, err := os.CreateTemp(n.spec.Dir, "import-")
	if err != nil {
		return err
	}
	defer os.Remove(output.Name())
	defer output.Close()
	program, err := n.children.start(append(slices.Clone(n.spec.ImportImage), archive), n.spec.Env, output)
	if err != nil {
		return err
	}
	if status := <-program.ended; status.ExitStatus() == 0 {
		return nil
	}
	said, err := os.ReadFile(output.Name())
	if err != nil {
		return err
	}
	return fmt.Errorf("import %s: %s", archive, strings.TrimSpace(string(said)))
}
