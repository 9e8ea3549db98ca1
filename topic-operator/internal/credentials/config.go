package credentials

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
)

// KafkaConfig says how to reach Kafka, by the options and the content of the Secrets they name (options.Options.SecretNames), by name.
// The error tells all that is missing or malformed. Nothing is read or connected to, except by the Token function when it is called.
func KafkaConfig(opts options.Options, secrets map[string]*corev1.Secret) (kafka.Config, error) {
	m, err := read(opts, secrets)
	if err != nil {
		return kafka.Config{}, err
	}
	return configure(opts, m), nil
}

// configure puts options and material together.
func configure(opts options.Options, m material) kafka.Config {
	config := kafka.Config{Bootstrap: opts.Bootstrap, ClientID: opts.ClientID}
	if opts.SecurityProtocol.TLS() {
		config.TLS = &kafka.TLS{
			TrustedCertificates:      []byte(m.trust),
			Certificate:              []byte(m.certificate),
			Key:                      []byte(m.key),
			SkipHostnameVerification: opts.TLS.SkipHostnameVerification,
		}
	}
	if !opts.SecurityProtocol.SASL() {
		return config
	}
	config.SASL = &kafka.SASL{Mechanism: opts.SASL.Mechanism}
	if opts.SASL.Mechanism == kafka.SASLOAuthBearer && opts.SASL.OAuth != nil {
		config.SASL.Token = newTokenSource(*opts.SASL.OAuth, m).token
	} else {
		config.SASL.Username, config.SASL.Password = m.name, m.secret
	}
	return config
}
