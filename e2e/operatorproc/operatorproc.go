package operatorproc

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/freeport"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

// Options describe an operator process.
type Options struct {
	// Binary is the path of the program; if empty, this checkout's is built.
	Binary string
	// Kubeconfig is the path of the operator's kubeconfig.
	Kubeconfig string
	// Namespace is the namespace that the operator watches (STRIMZI_NAMESPACE); "default" if empty.
	Namespace string
	// Bootstrap are the brokers' addresses.
	Bootstrap []string
	// Env are further variables. They override those above and the defaults: a free address for probes and metrics, and no leader election,
	// which would make the successor of a killed operator wait for the lease to expire.
	Env map[string]string
	// LogFile is the path of the log; a temporary file if empty. It remains when the process ends; Close removes it.
	LogFile string
}

// Process is an operator process, running or ended.
type Process struct {
	proc    *process.Process
	address string
	port    int
	logFile string
	client  *http.Client
}

// Start starts the operator. [Process.WaitReady] waits until it is ready.
func Start(ctx context.Context, o Options) (*Process, error) {
	binary := o.Binary
	if binary == "" {
		var err error
		if binary, err = Build(ctx); err != nil {
			return nil, err
		}
	}
	ports, err := freeport.Take(1)
	if err != nil {
		return nil, err
	}
	op := &Process{
		port:    ports[0],
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])),
		logFile: o.LogFile,
		client:  &http.Client{Timeout: 10 * time.Second},
	}
	env := op.environment(o)
	op.address = env[addressVariable]
	if err := op.start(binary, env); err != nil {
		freeport.Release(ports)
		return nil, err
	}
	return op, nil
}

func (op *Process) start(binary string, env map[string]string) error {
	if op.logFile == "" {
		f, err := os.CreateTemp("", "topic-operator-*.log")
		if err != nil {
			return err
		}
		op.logFile = f.Name()
		if err := f.Close(); err != nil {
			return err
		}
	}
	lines := inherited()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		lines = append(lines, name+"="+env[name])
	}
	var err error
	op.proc, err = process.Start(process.Options{Args: []string{binary}, Env: lines, Dir: filepath.Dir(op.logFile), Output: op.logFile})
	return err
}

const addressVariable = "STRIMZI_HTTP_ADDRESS"

func (op *Process) environment(o Options) map[string]string {
	env := map[string]string{
		"KUBECONFIG":                      o.Kubeconfig,
		"STRIMZI_NAMESPACE":               "default",
		"STRIMZI_KAFKA_BOOTSTRAP_SERVERS": strings.Join(o.Bootstrap, ","),
		"STRIMZI_LEADER_ELECTION_ENABLED": "false",
		addressVariable:                   op.address,
	}
	if o.Namespace != "" {
		env["STRIMZI_NAMESPACE"] = o.Namespace
	}
	maps.Copy(env, o.Env)
	return env
}

// inherited returns this process's environment without variables that would configure the operator.
func inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(line string) bool {
		return strings.HasPrefix(line, "STRIMZI_") || strings.HasPrefix(line, "KUBE") || strings.HasPrefix(line, "GORACE=")
	})
}

// PID returns the process id.
func (op *Process) PID() int { return op.proc.PID() }

// Address returns host and port of the probes and the metrics.
func (op *Process) Address() string { return op.address }

// Running reports whether the process has not ended.
func (op *Process) Running() bool { return op.proc.Running() }

// Exited returns a channel that is closed once the process has ended.
func (op *Process) Exited() <-chan struct{} { return op.proc.Exited() }

// ExitCode returns the code the process ended with; -1 while it runs, or if it was killed.
func (op *Process) ExitCode() int { return op.proc.ExitCode() }

// Kill kills the process (SIGKILL), like a crash, and waits until it has ended.
func (op *Process) Kill() { op.proc.Kill() }

// Terminate asks the process to end (SIGTERM), as the kubelet does, and returns its exit code. It kills a process that takes longer than
// Kubernetes' default grace period of 30 s, and returns an error.
func (op *Process) Terminate() (int, error) {
	const gracePeriod = 30 * time.Second
	if err := op.proc.Terminate(gracePeriod); err != nil {
		return op.proc.ExitCode(), fmt.Errorf("the topic-operator: %w", err)
	}
	return op.proc.ExitCode(), nil
}

// Close kills the process if it still runs, and removes its log.
func (op *Process) Close() error {
	op.proc.Kill()
	freeport.Release([]int{op.port})
	return os.Remove(op.logFile)
}

// WaitReady waits until the operator reports that it is ready.
func (op *Process) WaitReady(ctx context.Context) error {
	const pause = 50 * time.Millisecond
	for {
		_, last := op.get(ctx, "/ready")
		if last == nil {
			return nil
		}
		select {
		case <-op.proc.Exited():
			return fmt.Errorf("the topic-operator ended with code %d; its log ends with\n%s", op.ExitCode(), op.LogTail(20))
		case <-ctx.Done():
			return fmt.Errorf("the topic-operator is not ready: %w (%w); its log ends with\n%s", ctx.Err(), last, op.LogTail(20))
		case <-time.After(pause):
		}
	}
}

// get returns the body of a response with status 200.
func (op *Process) get(ctx context.Context, path string) ([]byte, error) {
	return fetch(ctx, op.client, "http://"+op.address+path)
}

func fetch(ctx context.Context, from *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := from.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return body, err
}
