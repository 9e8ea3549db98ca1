package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Options configure how to run a provider's program.
type Options struct {
	// Path is the path of the provider's executable.
	Path string
	// Settings are passed to the provider each time its program starts.
	Settings map[string]string
	// Check, if set, is called with what the program says of itself, each time it starts: it may have been replaced. Its error ends the start.
	Check func(network.Info) error
	// Deadline is how long a call may take, the start of the program included. 0: ten seconds. A program that takes longer is ended.
	Deadline time.Duration
	// Pause is how long a program that ended is left alone before it is started again. 0: one second.
	Pause time.Duration
	// Silence is how long a program that did not answer is not asked again. 0: thirty seconds.
	Silence time.Duration
	// Stderr receives the standard error of the program. Nil discards it.
	Stderr io.Writer
}

// Provider is a network.Provider in another process.
type Provider struct {
	options Options
	silent  silence

	mu      sync.Mutex
	command *exec.Cmd
	program *plugin.Client
	conn    *grpc.ClientConn
	started time.Time
	closed  bool
	// sockets is the folder in which the program makes its socket.
	sockets string
}

// Start starts a provider's program. It returns an error if the program is not one of a provider, or refuses its settings.
func Start(ctx context.Context, o Options) (*Provider, error) {
	if o.Deadline == 0 {
		o.Deadline = 10 * time.Second
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
	}
	p := &Provider{options: o}
	if _, err := p.connect(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the program.
func (p *Provider) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.program != nil {
		p.kill()
	}
}

// Info implements network.Provider.
func (p *Provider) Info(ctx context.Context) (network.Info, error) {
	return ask[network.Info](ctx, p, "Info", struct{}{})
}

// Plan implements network.Provider.
func (p *Provider) Plan(ctx context.Context, r network.Request) ([]network.Object, error) {
	return ask[[]network.Object](ctx, p, "Plan", r)
}

// Resolve implements network.Provider.
func (p *Provider) Resolve(ctx context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	slim := make([]network.Object, 0, len(observed))
	for _, o := range observed {
		slim = append(slim, slimmed(o))
	}
	return ask[network.Resolution](ctx, p, "Resolve", resolveArguments{Request: r, Observed: slim})
}

// slimmed returns an object without what no provider needs and makes up most of its size. It does not change the object.
func slimmed(o network.Object) network.Object {
	o.Object.Object = maps.Clone(o.Object.Object)
	for field, part := range map[string]string{"metadata": "managedFields", "status": "images"} {
		fields, ok := o.Object.Object[field].(map[string]any)
		if !ok || part == "images" && o.Object.GetKind() != "Node" {
			continue
		}
		fields = maps.Clone(fields)
		delete(fields, part)
		o.Object.Object[field] = fields
	}
	return o
}

func ask[Out any](caller context.Context, p *Provider, method string, in any) (out Out, err error) {
	if err := p.silent.lasts(p.options.Deadline + p.options.Silence); err != nil {
		return out, err
	}
	// A timer, not a deadline: gRPC would tell the program, and one that waits for it would answer right before.
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	defer time.AfterFunc(p.options.Deadline, cancel).Stop()
	lost := false // as when a program crashes, or is ended because another call got no answer
	conn, err := p.connect(ctx)
	if err == nil {
		out, err = call[Out](ctx, conn, method, in)
		lost = status.Code(err) == codes.Unavailable || status.Code(err) == codes.Canceled
		err = p.explain(method, err)
	}
	switch {
	case caller.Err() != nil:
		// It did not wait long enough to know.
	case err != nil && ctx.Err() != nil:
		p.hangs(conn)
		err = p.explain(method, fmt.Errorf("no answer within %s; the program was ended", p.options.Deadline))
		p.silent.note(err, p.options.Silence)
	case !lost:
		p.silent.note(nil, 0)
	}
	return out, err
}

// silence is that a program did not answer. Each call waits long for that, and would occupy a worker that other Kafkas need.
type silence struct {
	mu    sync.Mutex
	err   error // nil: it answers
	until time.Time
}

// lasts returns the error of before while the program is not to be asked. After that, one call finds out whether it answers again, and the
// others are spared for the time of this trial.
func (s *silence) lasts(trial time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || time.Now().Before(s.until) {
		return s.err
	}
	s.until = time.Now().Add(trial)
	return nil
}

// note notes how a call ended: err is nil unless there was no answer.
func (s *silence) note(err error, lasts time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.until = err, time.Now().Add(lasts)
}

// hangs ends the program of a connection, which is nil if it did not even start: it would never answer again. A later call starts it.
func (p *Provider) hangs(conn *grpc.ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == conn && p.program != nil {
		p.kill()
	}
}

// kill ends the program at once. A program that hangs may not respond to a request to end either.
func (p *Provider) kill() {
	if process := p.command.Process; process != nil {
		_ = process.Kill()
	}
	p.program.Kill()
	_ = os.RemoveAll(p.sockets) // a program that was killed left its socket there
	p.conn = nil
}

// explain names the program in an error, and leaves out what gRPC adds.
func (p *Provider) explain(method string, err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		err = errors.New(s.Message())
	}
	return fmt.Errorf("network provider %s: %s: %w", filepath.Base(p.options.Path), method, err)
}

// connect returns the connection to the program, which it starts if it does not run.
func (p *Provider) connect(ctx context.Context) (*grpc.ClientConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, fmt.Errorf("network provider %s was closed", filepath.Base(p.options.Path))
	case ctx.Err() != nil: // while another call waited for the program to start
		return nil, ctx.Err()
	case p.conn != nil && !p.program.Exited():
		return p.conn, nil
	case p.program != nil:
		p.kill()
		if wait := p.options.Pause - time.Since(p.started); wait > 0 {
			return nil, fmt.Errorf("network provider %s exited; restarting it in %s", filepath.Base(p.options.Path),
				wait.Round(time.Millisecond))
		}
	}
	sockets, err := os.MkdirTemp("", "network-provider-")
	if err != nil {
		return nil, fmt.Errorf("start network provider %s: no folder for its socket: %w", p.options.Path, err)
	}
	p.sockets, p.started = sockets, time.Now()
	p.command = exec.Command(p.options.Path) // the operator's own setting; it outlives the call
	// It does not know the operator's TMPDIR.
	p.command.Env = []string{plugin.EnvUnixSocketDir + "=" + sockets}
	p.program = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake(), Plugins: plugin.PluginSet{pluginName: &wire{}}, AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		StartTimeout: p.options.Deadline, AutoMTLS: true,
		Cmd: p.command, SkipHostEnv: true, Logger: hclog.NewNullLogger(), Stderr: p.options.Stderr,
	})
	conn, err := dispense(p.program)
	if err != nil {
		return nil, fmt.Errorf("start network provider %s: %w", p.options.Path, err)
	}
	if _, err := call[struct{}](ctx, conn, "Configure", p.options.Settings); err != nil {
		return nil, p.explain("Configure", err)
	}
	if err := p.check(ctx, conn); err != nil {
		return nil, err
	}
	p.conn = conn
	return conn, nil
}

func (p *Provider) check(ctx context.Context, conn *grpc.ClientConn) error {
	if p.options.Check == nil {
		return nil
	}
	about, err := call[network.Info](ctx, conn, "Info", struct{}{})
	if err != nil {
		return p.explain("Info", err)
	}
	return p.options.Check(about)
}

func dispense(program *plugin.Client) (*grpc.ClientConn, error) {
	protocol, err := program.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(pluginName)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return nil, fmt.Errorf("%T is not a connection", raw)
	}
	return conn, nil
}
