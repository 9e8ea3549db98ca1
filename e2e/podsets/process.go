package podsets

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// process is the process of one node, and the pod that it runs for. Only the goroutine of the pod uses it.
type process struct {
	kafka *realkafka.Cluster
	node  int32
	// pod is the uid of the pod, and since the position at which the pod's log begins in the node's log. The fixture's mutex guards since.
	pod   types.UID
	since int64
	// begun is true if the process was started for this pod, or ran already.
	begun bool
	// starting is closed when the start has ended; nil if the process was not started. cancel ends the wait for the start, and failed is why
	// the node does not serve.
	starting chan struct{}
	cancel   context.CancelFunc
	failed   error
}

// running reports whether there is a process.
func (p *process) running() bool { return p.kafka.PID(p.node) != 0 }

// serves reports whether the node serves. The error is why its start failed.
func (p *process) serves() (bool, error) {
	if p.starting == nil {
		return p.running(), nil // it ran before there was a pod
	}
	if p.isStarting() {
		return false, nil
	}
	return p.failed == nil && p.running(), p.failed
}

// isStarting reports whether a start is under way.
func (p *process) isStarting() bool {
	if p.starting == nil {
		return false
	}
	select {
	case <-p.starting:
		return false
	default:
		return true
	}
}

// start starts the node in the background; ctx limits the start.
func (p *process) start(ctx context.Context) {
	ctx, p.cancel = context.WithCancel(ctx)
	p.starting = make(chan struct{})
	go func() {
		defer close(p.starting)
		p.failed = p.kafka.StartNode(ctx, p.node)
	}()
}

// abandon ends the wait for a start.
func (p *process) abandon() {
	if p.starting != nil {
		p.cancel()
		<-p.starting
	}
}

// stop shuts the process down gracefully.
func (p *process) stop() error {
	p.abandon()
	if !p.running() {
		return nil
	}
	return p.kafka.Stop(p.node)
}

// crash kills the process, as in a crash.
func (p *process) crash() error {
	p.abandon()
	if !p.running() {
		return nil
	}
	return p.kafka.Kill(p.node)
}

// logLength returns the size of the node's log.
func (p *process) logLength() (int64, error) {
	info, err := os.Stat(p.kafka.LogFile(p.node))
	if err != nil {
		return 0, fmt.Errorf("the log of node %d: %w", p.node, err)
	}
	return info.Size(), nil
}
