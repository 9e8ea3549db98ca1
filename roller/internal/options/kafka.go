package options

import (
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	shared "github.com/kafka-operators/kafka-operators/operator/credentials"
)

// KafkaOptions say how to reach Kafka: as all programs of this project are told, with Secrets, or with files, which win over them. Both are
// read again when they change.
type KafkaOptions struct {
	credentials.Settings
	Files shared.Files
}

// WithPassword returns the settings with the password, or the client's secret for OAUTHBEARER, that Files.Password holds.
func (k *KafkaOptions) WithPassword(content []byte) credentials.Settings {
	return shared.WithPassword(k.Settings, content)
}
