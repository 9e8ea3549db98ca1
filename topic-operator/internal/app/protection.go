package app

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schema"
)

// schemaInterval is the time between two reads of the schema that the API server publishes. The answers to the operator's own patches
// reveal a change sooner.
const schemaInterval = 10 * time.Second

// protection tracks whether clusters can be distinguished: the id of the own one is known, and the API server stores it in statuses.
type protection struct {
	metrics *metrics.Metrics

	mu           sync.Mutex
	known, drops bool
}

func (p *protection) clusterKnown(known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = known
	p.metrics.ProtectionArmed(p.known && !p.drops)
}

func (p *protection) clusterIDKept(kept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = !kept
	p.metrics.ProtectionArmed(p.known && !p.drops)
}

// newSchema returns the watcher of the fields that the API server keeps. It requeues all KafkaTopics when these change.
func newSchema(mgr ctrl.Manager, p *protection, again func(func(*v1.KafkaTopic) bool), log logr.Logger) (*schema.Watcher, error) {
	clientset, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	rest := clientset.Discovery().RESTClient()
	return schema.New(schema.Options{
		Get: func(ctx context.Context, path string) ([]byte, error) {
			return rest.Get().RequestURI(path).SetHeader("Accept", "application/json").DoRaw(ctx)
		},
		Client:   mgr.GetClient(),
		Interval: schemaInterval,
		Changed: func(kept bool) {
			p.clusterIDKept(kept)
			again(func(*v1.KafkaTopic) bool { return true })
		},
		Log: log.WithName("schema"),
	}), nil
}
