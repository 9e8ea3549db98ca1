// Command topic-operator makes the topics of one Apache Kafka cluster follow the KafkaTopic objects of a Kubernetes cluster.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/app"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/policy"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == policy.Subcommand {
		os.Exit(policy.Command(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	o, warnings, err := options.Parse(os.Args[1:], options.InPod(os.LookupEnv, os.ReadFile), os.Environ())
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(options.Help(policy.Usage))
		return
	}
	log := logging.New(os.Stdout, o.Log.Level, o.Log.JSON)
	for _, w := range warnings {
		logging.Warn(log, w)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "topic-operator: %v\n", err)
		os.Exit(2)
	}
	config, err := ctrl.GetConfig()
	if err == nil {
		err = app.Run(ctrl.SetupSignalHandler(), config, o, log)
	}
	if err != nil {
		log.Error(err, "The topic-operator stops")
		os.Exit(1)
	}
}
