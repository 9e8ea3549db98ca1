// Command roller restarts the nodes of Kafka clusters safely, and as fast as safety allows.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/roller/internal/app"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

func main() {
	exit, err := run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "roller: %v\n", err)
	}
	os.Exit(exit)
}

func run() (exit int, err error) {
	o, warnings, err := options.Parse(os.Args[1:], options.Surroundings{
		Program: os.Args[0], Version: fmt.Sprint(build.Current()), Env: settings.InPod(os.LookupEnv, os.ReadFile), Variables: os.Environ(),
		Namespace: app.ContextNamespace, Out: os.Stdout,
	})
	switch {
	case errors.Is(err, flag.ErrHelp):
		return app.ExitDone, nil
	case err != nil:
		return app.ExitUsage, err
	}
	config, err := app.KubernetesConfig(o.Connection)
	if err != nil {
		return app.ExitError, fmt.Errorf("no Kubernetes cluster is configured: %w", err)
	}
	return app.Command(ctrl.SetupSignalHandler(), config, o, warnings)
}
