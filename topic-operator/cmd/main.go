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
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/policy"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/release"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case policy.Subcommand:
			os.Exit(policy.Command(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case release.Subcommand:
			os.Exit(release.Command(ctrl.SetupSignalHandler(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		}
	}
	o, warnings, err := options.Parse(os.Args[1:], settings.Environment{Lookup: settings.InPod(os.LookupEnv, os.ReadFile),
		Variables: os.Environ()})
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(options.Help(policy.Usage, release.Usage))
		return
	case errors.Is(err, settings.ErrVersion):
		fmt.Println("topic-operator", build.Current())
		return
	}
	log := logging.New(os.Stdout, o.Log)
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
		log.Error(err, "Topic operator failed")
		os.Exit(1)
	}
}
