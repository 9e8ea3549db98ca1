// Command roller restarts the nodes of Kafka clusters safely, as fast as that allows.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/logging"
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
	o, err := options.Parse(os.Args[1:], options.Surroundings{
		Program: os.Args[0], Version: fmt.Sprint(build.Current()), Env: settings.InPod(os.LookupEnv, os.ReadFile), Namespace: app.ContextNamespace, Out: os.Stdout,
	})
	switch {
	case errors.Is(err, flag.ErrHelp):
		return app.ExitDone, nil
	case err != nil:
		return app.ExitUsage, err
	}
	config, err := app.KubernetesConfig(o.Kubeconfig, o.Context)
	if err != nil {
		return app.ExitError, fmt.Errorf("no Kubernetes cluster is known: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	log := logging.New(os.Stderr, logging.Options{Level: app.CommandLevel})
	ctrl.SetLogger(log)
	switch o.Command {
	case "plan":
		return app.Plan(ctx, config, o, os.Stdout, log)
	case "explain":
		return app.Explain(ctx, config, o, os.Stdout, log)
	case "roll":
		confirm, err := app.Confirmation(o, os.Stdin, os.Stdout)
		if err != nil {
			return app.ExitUsage, err
		}
		return app.Roll(ctx, config, o, os.Stdout, confirm, log)
	}
	if err := app.Run(ctx, config, o, logging.New(os.Stdout, logging.Options{JSON: o.LogJSON})); err != nil {
		return app.ExitError, err
	}
	return app.ExitDone, nil
}
