package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/operator/health"
)

// kindsInterval is how often the API server is asked for kinds that it does not serve yet.
const kindsInterval = 5 * time.Second

// awaitKinds waits until the API server serves the kinds that are watched, so that an operator that is installed before its
// CustomResourceDefinitions does not crash-loop. Until then /healthy succeeds and /ready fails with the missing kinds.
func awaitKinds(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return err
	}
	kinds := kindsOf(o)
	missing := served(mapper, kinds)
	if !meta.IsNoMatchError(missing) {
		return missing
	}
	log.Error(missing, "Waiting until the API server serves all watched kinds")
	stop, err := answerProbes(ctx, o.HTTP.Address, func(context.Context) error { return served(mapper, kinds) })
	if err != nil {
		return err
	}
	defer stop()
	return wait.PollUntilContextCancel(ctx, kindsInterval, true, func(context.Context) (bool, error) {
		return served(mapper, kinds) == nil, nil
	})
}

// kindsOf returns the kinds that are watched.
func kindsOf(o options.Options) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{core.GroupVersion.WithKind("StrimziPodSet")}
	if !o.PodSetsOnly {
		kinds = append(kinds, v1.GroupVersion.WithKind("Kafka"), v1.GroupVersion.WithKind("KafkaNodePool"))
	}
	return kinds
}

// served returns which kind is missing, and what to do about it.
func served(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) error {
	for _, kind := range kinds {
		if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return fmt.Errorf("the API server does not serve %s of %s: apply the CustomResourceDefinitions (kubectl apply --server-side -k "+
				"config/crd): %w",
				kind.Kind, kind.GroupVersion(), err)
		}
	}
	return nil
}

// answerProbes serves the probes until stop is called. The manager serves them later, at the same address.
func answerProbes(ctx context.Context, address string, ready health.Check) (stop func(), err error) {
	probes := &health.Probes{}
	probes.AddReady("kinds", ready)
	mux := http.NewServeMux()
	for path, handler := range probes.Handlers() {
		mux.Handle(path, handler)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve probes: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends when it is closed, which is no error
	return func() { _ = server.Close() }, nil
}
