package credentials

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
)

// KafkaConfig says how to reach Kafka, by the options and the content of the Secrets they name (options.Options.SecretNames), by name.
// The error tells all that is missing or malformed. Nothing is read or connected to, except by the Token function when it is called.
func KafkaConfig(opts options.Options, secrets map[string]*corev1.Secret) (kafka.Config, error) {
	m, err := read(opts, secrets)
	if err != nil {
		return kafka.Config{}, err
	}
	return credentials.KafkaConfig(opts.Kafka(), m), nil
}

func read(opts options.Options, secrets map[string]*corev1.Secret) (credentials.Material, error) {
	entries := credentials.Secrets{}
	for name, secret := range secrets {
		if secret != nil {
			entries[name] = secret.Data
		}
	}
	return credentials.Read(opts.Kafka(), entries)
}
