// Command example is the smallest operator on module operator: it connects to Kafka and waits.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/credentials"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

const name = "example-operator"

// Options are all settings of the program. Parse fills them.
type Options struct {
	Watched  settings.Namespaces
	Kafka    *credentials.Settings
	Election election.Options
	HTTP     manager.HTTP
	Log      logging.Options
}

func (o *Options) table() settings.Table {
	o.Kafka = credentials.NewSettings(credentials.Program{ClientID: name})
	watched := settings.Setting{Env: "STRIMZI_NAMESPACE", Mandatory: true, Parse: settings.Into(&o.Watched, settings.ParseNamespaces),
		Doc: "The watched namespaces."}
	groups := append([]settings.Group{{Title: "What is watched", Settings: []settings.Setting{watched, o.Kafka.Namespace()}}},
		o.Kafka.Groups()...)
	return settings.Table{Program: name, Summary: name + " does nothing, safely.", Hints: settings.CommonHints(), Groups: append(groups,
		settings.Group{Title: "Replicas", Settings: election.Settings(&o.Election, name)},
		settings.Group{Title: "Observation", Settings: append(logging.Settings(&o.Log), manager.Settings(&o.HTTP)...)})}
}

// Parse reads the settings, and checks what they mean together. The warnings are for the log.
func Parse(args []string, env settings.Environment) (o Options, warnings []string, err error) {
	r, err := o.table().Parse(args, env)
	if err != nil {
		return Options{}, nil, err // --help or --version
	}
	home := r.Home(o.Watched)
	o.Kafka.Complete(r, home)
	o.Election.Complete(r, name, home)
	o.HTTP.Complete(r)
	return o, r.Warnings(), r.Err()
}

func main() {
	o, warnings, err := Parse(os.Args[1:], settings.Environment{Lookup: settings.InPod(os.LookupEnv, os.ReadFile), Variables: os.Environ()})
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(new(Options).table().Help())
		return
	case errors.Is(err, settings.ErrVersion):
		fmt.Println(name, build.Current())
		return
	}
	log := logging.New(os.Stdout, o.Log)
	for _, w := range warnings {
		logging.Warn(log, w)
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		log.Error(err, "Operator failed")
		os.Exit(1)
	}
}

func run(o Options) error {
	ctx := ctrl.SetupSignalHandler()
	mgr, probes, err := manager.New(ctrl.GetConfigOrDie(),
		manager.Options{Name: name, Scheme: scheme.Scheme, Namespaces: o.Watched, HTTP: o.HTTP, Election: o.Election})
	if err != nil {
		return err
	}
	recorder := events.New(mgr.GetEventRecorder(name), events.DefaultLimits, func() {}) // give it to the reconcilers
	connect := func(kafka.Config) error { return nil }                                  // a changed Secret: give it to the Kafka client
	watcher := credentials.NewWatcher(kubernetes.NewForConfigOrDie(mgr.GetConfig()), o.Kafka.Result, connect, logging.Slog(mgr.GetLogger()))
	config, err := watcher.Load(ctx) // what the Secrets hold now; make the Kafka client of it
	if err == nil {
		err = connect(config)
	}
	if err != nil {
		return err
	}
	_ = probes // probes.AddHealthy("loop", ...), probes.AddReady("kafka", ...)
	if err := errors.Join(mgr.Add(recorder), mgr.Add(watcher)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
