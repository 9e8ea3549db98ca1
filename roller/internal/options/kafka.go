package options

import (
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	shared "github.com/kafka-operators/kafka-operators/operator/credentials"
)

// KafkaOptions configure the connection to Kafka: with Secrets, as in all programs of this project, or with files, which take precedence.
// Both are reloaded when they change.
type KafkaOptions struct {
	credentials.Settings
	Files shared.Files
}

// WithPassword returns the settings with the password, or the client's secret for OAUTHBEARER, from Files.Password.
func (k *KafkaOptions) WithPassword(content []byte) credentials.Settings {
	return shared.WithPassword(k.Settings, content)
}
