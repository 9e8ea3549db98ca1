// Command cluster-operator creates and manages the Kafka clusters of Kafka and KafkaNodePool objects.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/app"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == app.CopyExporter {
		if err := app.Copy(os.Args[2]); err != nil {
			fmt.Fprintf(os.Stderr, "cluster-operator: copy the JMX exporter: %v\n", err)
			os.Exit(1)
		}
		return
	}
	o, warnings, err := options.Parse(os.Args[1:], settings.Environment{Lookup: settings.InPod(os.LookupEnv, os.ReadFile),
		Variables: os.Environ()})
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(options.Help())
		return
	case errors.Is(err, settings.ErrVersion):
		fmt.Println("cluster-operator", build.Current())
		return
	}
	log := logging.New(os.Stdout, o.Log)
	for _, w := range warnings {
		logging.Warn(log, w)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cluster-operator: %v\n", err)
		os.Exit(2)
	}
	config, err := ctrl.GetConfig()
	if err == nil {
		err = app.Run(ctrl.SetupSignalHandler(), config, o, log)
	}
	if err != nil {
		log.Error(err, "Cluster operator failed")
		os.Exit(1)
	}
}
