//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// The first line of a response. The other lines are text for people, or the error.
const (
	fulfilled = "fulfilled"
	refused   = "refused"
)

// patience is the timeout of a request.
const patience = 2 * time.Minute

// socket returns the path of the socket of the process that holds the clusters: NODES_SOCKET, or a file in the user's cache.
func socket() (string, error) {
	if own := os.Getenv("NODES_SOCKET"); own != "" {
		return own, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "kafka-operators", "nodes.socket"), err
}

// ask sends a request to the process that holds the clusters, and returns its response.
func ask(ctx context.Context, request string) (string, error) {
	path, err := socket()
	if err != nil {
		return "", err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return "", errors.New("there are no clusters: nodes up")
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, request); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	how, text, _ := strings.Cut(string(answer), "\n")
	if how != fulfilled {
		return "", errors.New(strings.TrimSpace(text))
	}
	return text, nil
}

// holder holds the lab with the clusters.
type holder struct {
	lab *realnodes.Lab
	end context.CancelFunc
}

// hold starts the clusters and serves requests until one asks it to end. It closes its standard output when the clusters are ready.
func hold(ctx context.Context, args []string) (err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	clusters, nodes, err := size(args)
	if err != nil {
		return err
	}
	path, err := socket()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := realnodes.Prepare(ctx, os.Stdout); err != nil {
		return err
	}
	lab, err := realnodes.Start(ctx, realnodes.Options{Clusters: clusters, Nodes: nodes, Log: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	// Remove an old socket on which no process listens: up has checked that.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	if err := os.Stdout.Close(); err != nil {
		return err
	}
	h := &holder{lab: lab, end: end}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return nil // the listener was closed on purpose
		}
		h.serve(ctx, conn)
	}
}

// serve serves one request. One at a time is enough for interactive use.
func (h *holder) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return // there is no request
	}
	words := strings.Fields(line)
	text, err := h.fulfil(ctx, words)
	if err != nil {
		fmt.Fprintf(conn, "%s\n%v\n", refused, err)
		return
	}
	if len(words) == 1 && words[0] == "down" {
		// The response is sent after the lab has ended, so that the next up finds no clusters.
		err = h.lab.Close()
		h.end()
	}
	if err != nil {
		fmt.Fprintf(conn, "%s\n%v\n", refused, err)
		return
	}
	fmt.Fprintf(conn, "%s\n%s", fulfilled, text)
}

func (h *holder) fulfil(ctx context.Context, words []string) (string, error) {
	switch {
	case len(words) == 1 && words[0] == "status":
		return h.status(), nil
	case len(words) == 1 && words[0] == "down":
		return "", nil
	case len(words) == 1 && words[0] == "heal":
		return "", h.lab.HealAll()
	case len(words) == 2 && words[0] == "kubeconfig":
		return h.kubeconfig(words[1])
	case len(words) == 2 && words[0] == "load":
		return "", h.load(words[1])
	case len(words) == 2 && (words[0] == "on" || words[0] == "off"):
		return "", h.power(ctx, words[1], words[0] == "on")
	case len(words) == 3 && words[0] == "cut":
		return "", h.cut(words[1], words[2])
	default:
		return "", fmt.Errorf("nobody knows how to %s", strings.Join(words, " "))
	}
}

func (h *holder) status() string {
	var text strings.Builder
	for _, c := range h.lab.Clusters() {
		fmt.Fprintf(&text, "%s  KUBECONFIG=%s  addresses %s\n", c.Name(), c.Kubeconfig(), c.Addresses())
		for _, n := range c.Nodes() {
			state := "off"
			if used, err := n.Usage(); err == nil {
				state = fmt.Sprintf("%d MiB", used.Memory>>20)
			}
			fmt.Fprintf(&text, "  %s  %s  %s\n", n.Name(), n.Address(), state)
		}
	}
	fmt.Fprintf(&text, "logs: %s\n", h.lab.Dir())
	return text.String()
}

func (h *holder) cluster(name string) (*realnodes.Cluster, error) {
	for _, c := range h.lab.Clusters() {
		if c.Name() == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("there is no cluster %q", name)
}

func (h *holder) kubeconfig(name string) (string, error) {
	c, err := h.cluster(name)
	if err != nil {
		return "", err
	}
	return c.KubectlPath() + "\n" + c.Kubeconfig() + "\n", nil
}

func (h *holder) load(archive string) error {
	var errs []error
	for _, c := range h.lab.Clusters() {
		errs = append(errs, c.LoadImages(archive))
	}
	return errors.Join(errs...)
}

func (h *holder) power(ctx context.Context, name string, on bool) error {
	for _, c := range h.lab.Clusters() {
		for _, n := range c.Nodes() {
			switch {
			case n.Name() != name:
			case on:
				return n.PowerOn()
			default:
				return n.PowerOff(ctx)
			}
		}
	}
	return fmt.Errorf("there is no node %q", name)
}

func (h *holder) cut(a, b string) error {
	from, err := h.site(a)
	if err != nil {
		return err
	}
	to, err := h.site(b)
	if err != nil {
		return err
	}
	return h.lab.Cut(from, to)
}

func (h *holder) site(name string) (realnodes.Site, error) {
	if name == "outside" {
		return realnodes.Outside, nil
	}
	return h.cluster(name)
}
