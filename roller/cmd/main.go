// Command roller restarts the nodes of a Kafka cluster safely, as fast as that allows.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/roller/internal/app"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

func main() { os.Exit(run()) }

func run() int {
	o, err := options.Parse(os.Args[1:], os.LookupEnv, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return app.ExitDone
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "roller: %v\n", err)
		return app.ExitUsage
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		fmt.Fprintf(os.Stderr, "roller: no Kubernetes cluster is known: %v\n", err)
		return app.ExitError
	}
	ctx := ctrl.SetupSignalHandler()
	exit := app.ExitError
	log := logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctrl.SetLogger(log)
	switch o.Command {
	case "plan":
		exit, err = app.Plan(ctx, config, o, os.Stdout, log)
	case "explain":
		exit, err = app.Explain(ctx, config, o, os.Stdout, log)
	case "roll":
		exit, err = app.Roll(ctx, config, o, os.Stdout, log)
	default:
		if err = app.Run(ctx, config, o, app.Log(os.Stdout, o.LogJSON)); err == nil {
			exit = app.ExitDone
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "roller: %v\n", err)
	}
	return exit
}
