package podsets

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

const (
	// kafkaContainer is the name of Kafka's container in a pod, configKey the key of the configuration file in its ConfigMap.
	kafkaContainer = "kafka"
	configKey      = "server.config"
)

// Options describe a fixture.
type Options struct {
	// Config is an administrator's configuration for the API server, in which the CRD of StrimziPodSets is installed.
	Config *rest.Config
	// Namespace is the watched namespace.
	Namespace string
	// Kafka has the nodes. The first pods of nodes that run when the fixture starts use the existing processes. Its StartTimeout is how long
	// the fixture waits for a node that can't serve, for example because there is no quorum; after that, the node's process keeps running, and
	// its pod never becomes ready.
	Kafka *realkafka.Cluster
	// Log, if set, receives what the fixture does.
	Log io.Writer
}

// Fault is a failure of a pod.
type Fault struct {
	// Waiting is the reason why its container does not run, for example CrashLoopBackOff; the node's process is killed. Empty: the container
	// runs but is never ready.
	Waiting string
	// Revision limits the fault to pods of this revision; empty: all pods.
	Revision string
}

// Start is the start of a node for a pod.
type Start struct {
	Node int32
	// Pod is the uid of the pod, Revision its revision.
	Pod, Revision string
	At            time.Time
}

// Fixture is a running fixture.
type Fixture struct {
	options Options
	end     context.CancelFunc
	ended   chan error
	logs    *logServer

	mu     sync.Mutex
	faults map[int32]Fault
	starts []Start
	nodes  map[int32]*process
}

// Run starts a fixture. It ends with ctx or Close.
func Run(ctx context.Context, o Options) (*Fixture, error) {
	o.Log = cmp.Or[io.Writer](o.Log, io.Discard)
	f := &Fixture{options: o, ended: make(chan error, 1), faults: map[int32]Fault{}, nodes: map[int32]*process{}}
	mgr, err := newManager(o.Config, o.Namespace, o.Log)
	if err != nil {
		return nil, err
	}
	if err := (&controller{client: mgr.GetClient()}).addTo(mgr); err != nil {
		return nil, err
	}
	k := &kubelet{client: mgr.GetClient(), reader: mgr.GetAPIReader(), fixture: f}
	atOnce := ctrlcontroller.Options{MaxConcurrentReconciles: len(o.Kafka.NodeIDs())}
	if err := ctrl.NewControllerManagedBy(mgr).Named("kubelet").For(&corev1.Pod{}).WithOptions(atOnce).Complete(k); err != nil {
		return nil, err
	}
	if f.logs, err = serveLogs(f); err != nil {
		return nil, err
	}
	if err := k.register(ctx, f.logs.port); err != nil {
		f.logs.close()
		return nil, err
	}
	ctx, f.end = context.WithCancel(ctx)
	go func() { f.ended <- mgr.Start(ctx) }()
	return f, nil
}

// Close ends the fixture. Pods and processes remain.
func (f *Fixture) Close() error {
	f.end()
	err := <-f.ended
	f.mu.Lock()
	nodes := f.nodes
	f.nodes = nil
	f.mu.Unlock()
	for _, p := range nodes {
		p.abandon()
	}
	f.logs.close()
	return err
}

// Break makes the pods of a node fail from now on.
func (f *Fixture) Break(node int32, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[node] = fault
}

// Mend ends the failure of a node's pods.
func (f *Fixture) Mend(node int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.faults, node)
}

// Starts returns the starts of nodes so far, each for a new pod, in their order. It leaves out restarts of containers in the same pod.
func (f *Fixture) Starts() []Start {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.starts)
}

// began records a start.
func (f *Fixture) began(start Start) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.starts = append(f.starts, start)
}

// fault returns the fault of a pod, and whether it has one.
func (f *Fixture) fault(node int32, pod *corev1.Pod) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault, broken := f.faults[node]
	return fault, broken && (fault.Revision == "" || fault.Revision == pod.Annotations[core.AnnotationRevision])
}

// configFile returns the path of a node's configuration.
func (f *Fixture) configFile(node int32) string {
	return filepath.Join(filepath.Dir(f.options.Kafka.LogFile(node)), "server.properties")
}

// Properties returns the content of a node's present configuration file, for the first version of its ConfigMap.
func (f *Fixture) Properties(node int32) (string, error) {
	text, err := os.ReadFile(f.configFile(node))
	return string(text), err
}

func (f *Fixture) logf(format string, args ...any) {
	fmt.Fprintf(f.options.Log, "podsets: "+format+"\n", args...)
}

// nodeID returns the id of the node in a pod.
func nodeID(podName string) (int32, bool) {
	id, err := strconv.ParseInt(podName[strings.LastIndexByte(podName, '-')+1:], 10, 32)
	return int32(id), err == nil
}
