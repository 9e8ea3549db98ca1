//go:build linux

package supervise

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

const (
	// restartDelay is the pause before a component that ended is restarted.
	restartDelay = time.Second
	// conditionInterval is the interval at which conditions are checked.
	conditionInterval = 50 * time.Millisecond
)

// component keeps one program running while it is wanted.
type component struct {
	spec     nodespec.Component
	env      []string
	log      string
	children *children
	events   *events

	mu     sync.Mutex
	cancel context.CancelFunc // nil while the component is not wanted
	down   chan struct{}      // closed once it is down after cancel
}

// start starts the component, unless it is started already.
func (c *component) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	down := make(chan struct{})
	c.cancel, c.down = cancel, down
	go func() {
		defer close(down)
		c.keepRunning(ctx)
	}()
}

// stop kills the program and returns when it has ended.
func (c *component) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		return
	}
	c.cancel()
	<-c.down
	c.cancel = nil
}

func (c *component) keepRunning(ctx context.Context) {
	for {
		for _, condition := range c.spec.After {
			if !await(ctx, condition) {
				return
			}
		}
		if err := c.runOnce(ctx); err != nil {
			c.events.say("%s: %v", c.spec.Name, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartDelay):
		}
	}
}

// runOnce runs the program until it ends or ctx ends.
func (c *component) runOnce(ctx context.Context) error {
	output, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	program, err := c.children.start(c.spec.Args, c.env, output)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.spec.Args[0], err)
	}
	c.events.say("%s: started", c.spec.Name)
	select {
	case status := <-program.ended:
		return fmt.Errorf("ended with code %d, signal %d", status.ExitStatus(), status.Signal())
	case <-ctx.Done():
		c.children.kill(program)
		c.events.say("%s: stopped", c.spec.Name)
		return nil
	}
}

// await waits for a condition. It returns false if the context ended first.
func await(ctx context.Context, condition nodespec.Condition) bool {
	ticker := time.NewTicker(conditionInterval)
	defer ticker.Stop()
	for !holds(ctx, condition) {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// probe only checks the status of a response, so it does not verify the server's certificate.
var probe = &http.Client{
	Timeout: time.Second,
	Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	},
}

func holds(ctx context.Context, condition nodespec.Condition) bool {
	if condition.Socket != "" {
		conn, err := net.DialTimeout("unix", condition.Socket, time.Second)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, condition.URL, nil)
	if err != nil {
		return false
	}
	response, err := probe.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// logFile returns the path of the log of a program.
func logFile(spec *nodespec.Spec, name string) string {
	return filepath.Join(spec.Dir, "logs", name+".log")
}
