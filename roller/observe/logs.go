package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/roller"
)

// logLines is how many lines of a pod's log are read: between the start and the end of a log recovery, a broker logs lines for each
// partition.
const logLines = 2000

// Logs is a Prober that reads the log of the pod.
type Logs struct {
	Namespace string
	// Place returns the client of a Kubernetes cluster by its id.
	Place func(id string) (corev1client.PodsGetter, error)
}

// Recovery implements Prober.
func (l *Logs) Recovery(ctx context.Context, place, pod string, age time.Duration) (*roller.Recovery, error) {
	c, err := l.Place(place)
	if err != nil {
		return nil, err
	}
	lines := int64(logLines)
	tail := &corev1.PodLogOptions{Container: core.ContainerKafka, TailLines: &lines, Timestamps: true}
	// The log is read as it arrives, and without LimitBytes, which would cut off the newest lines.
	log, err := c.Pods(l.Namespace).GetLogs(pod, tail).Stream(ctx)
	switch {
	case apierrors.IsForbidden(err): // client-go does not say so
		return nil, errors.New("read the pod's log: forbidden: the roller needs the verb get on pods/log")
	case err != nil:
		return nil, fmt.Errorf("read the pod's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	fact, err := RecoveryFromLog(log, age, time.Now())
	if err != nil {
		return nil, fmt.Errorf("read the pod's log: %w", err)
	}
	r, known := fact.Get()
	if !known {
		return nil, fmt.Errorf("%s", fact.Why())
	}
	return r, nil
}
