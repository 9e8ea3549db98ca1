package podsets

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// Scheme returns a scheme with the kinds of Kubernetes, and StrimziPodSets.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), core.AddToScheme(scheme))
}

// newManager returns a manager for one namespace; a process may run several. Warnings go to the log.
func newManager(c *rest.Config, namespace string, log io.Writer) (manager.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	return ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:    server.Options{BindAddress: "0"},
		Logger:     logr.FromSlogHandler(slog.NewTextHandler(cmp.Or[io.Writer](log, io.Discard), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
}

// Follow creates the pods of the StrimziPodSets of one namespace, on a Kubernetes cluster with nodes and with the CRD of StrimziPodSets,
// until ctx ends or stop is called. stop returns when Follow has ended. The pods remain.
func Follow(ctx context.Context, c *rest.Config, namespace string, log io.Writer) (stop func() error, err error) {
	mgr, err := newManager(c, namespace, log)
	if err != nil {
		return nil, err
	}
	if err := (&controller{client: mgr.GetClient()}).addTo(mgr); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}
