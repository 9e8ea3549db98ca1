package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// material reads the Secrets and files that the options name, and returns the settings with the password that is in a file. What is wrong or missing is told all
// at once.
func material(ctx context.Context, secrets client.Reader, o options.KafkaOptions) (credentials.Material, credentials.Settings, error) {
	var errs []error
	file := func(name string) []byte {
		if name == "" {
			return nil
		}
		data, err := os.ReadFile(name)
		errs = append(errs, err)
		return data
	}
	settings := o.Settings
	if o.PasswordFile != "" {
		settings = o.WithPassword(file(o.PasswordFile))
	}
	entries := credentials.Secrets{}
	for _, name := range settings.SecretNames() {
		secret := &corev1.Secret{}
		err := secrets.Get(ctx, client.ObjectKey{Namespace: settings.SecretNamespace, Name: name}, secret)
		switch {
		case err == nil:
			entries[name] = secret.Data
		case !apierrors.IsNotFound(err):
			errs = append(errs, fmt.Errorf("reading Secret %s in namespace %s (get must be allowed): %w", name, settings.SecretNamespace, err))
		}
	}
	trust, certificate, key := file(o.CAFile), file(o.CertFile), file(o.KeyFile)
	if err := errors.Join(errs...); err != nil {
		return credentials.Material{}, credentials.Settings{}, err
	}
	m, err := credentials.Read(settings, entries)
	return m.WithFiles(trust, certificate, key), settings, err
}

// kafkaConfig is that of the brokers.
func (w *world) kafkaConfig(settings credentials.Settings, m credentials.Material) kafka.Config {
	config := credentials.KafkaConfig(settings, m)
	config.NodeTimeout, config.RequestTimeout = nodeTimeout, w.options.Timeout
	return config
}

// refresh takes changed certificates and passwords up. What can't be read, or used, leaves the old ones in force.
func (w *world) refresh(ctx context.Context, log logr.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	m, settings, err := material(ctx, w.home, w.options.Kafka)
	if err == nil && m == w.inForce {
		w.problem = ""
		return
	}
	config := w.kafkaConfig(settings, m)
	if err == nil {
		err = w.brokers.Reconfigure(config)
	}
	if err == nil && w.controllers != nil {
		config.Bootstrap = w.options.Controllers
		err = w.controllers.Reconfigure(config)
	}
	if err != nil {
		if w.problem != err.Error() {
			log.Error(err, "The credentials for Kafka can't be used as they are now; the last good ones stay in force")
		}
		w.problem = err.Error()
		return
	}
	w.inForce, w.problem = m, ""
	log.Info("The changed credentials for Kafka are in use")
}
