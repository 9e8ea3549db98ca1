// Command topic-operator makes the topics of one Apache Kafka cluster follow the KafkaTopic objects of a Kubernetes cluster.
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
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/app"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/commandline"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/exit"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
)

func main() {
	p := commandline.Program{Operator: operator, Signals: ctrl.SetupSignalHandler, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(p.Run(os.Args[1:]))
}

// operator runs the operator until it is stopped.
func operator(args []string) error {
	o, warnings, err := options.Parse(args, settings.Environment{Lookup: settings.InPod(os.LookupEnv, os.ReadFile),
		Variables: os.Environ()})
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case errors.Is(err, settings.ErrVersion):
		fmt.Println("topic-operator", build.Current())
		return nil
	}
	log := logging.New(os.Stdout, o.Log)
	for _, w := range warnings {
		logging.Warn(log, w)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "topic-operator: %v\n", err)
		return exit.Usage
	}
	config, err := ctrl.GetConfig()
	if err == nil {
		err = app.Run(ctrl.SetupSignalHandler(), config, o, log)
	}
	if err != nil {
		log.Error(err, "Topic operator failed")
		return exit.Status(1)
	}
	return nil
}
