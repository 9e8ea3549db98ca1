package podsets

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// process is the process of one node, and the pod that it runs for. It is used by one goroutine at a time: that of the pod.
type process struct {
	kafka *realkafka.Cluster
	node  int32
	// pod is the uid of the pod that it runs for, and since where its log begins in that of the node; the fixture's mutex guards since.
	pod   types.UID
	since int64
	// begun: it was started for this pod before, or ran already.
	begun bool
	// starting is closed once the start is over; nil: it was not started. cancel ends the wait for it, and failed is why it does not serve.
	starting chan struct{}
	cancel   context.CancelFunc
	failed   error
}

// running reports whether there is a process.
func (p *process) running() bool { return p.kafka.PID(p.node) != 0 }

// serves reports whether the node serves; the error says why its start came to nothing.
func (p *process) serves() (bool, error) {
	if p.starting == nil {
		return p.running(), nil // it ran before there was a pod
	}
	if p.isStarting() {
		return false, nil
	}
	return p.failed == nil && p.running(), p.failed
}

// isStarting reports whether a start is waited for.
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

// start begins to start the node; ctx bounds that.
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

// stop ends the process in order.
func (p *process) stop() error {
	p.abandon()
	if !p.running() {
		return nil
	}
	return p.kafka.Stop(p.node)
}

// crash ends it as a crash does.
func (p *process) crash() error {
	p.abandon()
	if !p.running() {
		return nil
	}
	return p.kafka.Kill(p.node)
}

// logLength is how much the node has logged.
func (p *process) logLength() (int64, error) {
	info, err := os.Stat(p.kafka.LogFile(p.node))
	if err != nil {
		return 0, fmt.Errorf("the log of node %d: %w", p.node, err)
	}
	return info.Size(), nil
}
