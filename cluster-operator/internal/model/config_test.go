package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestAUsersConfigurationWins(t *testing.T) {
	defaults := map[string]string{"socket.connection.setup.timeout.ms": "3000", "socket.connection.setup.timeout.max.ms": "10000"}
	for name, own := range map[string]map[string]string{
		"neither": {},
		"one":     {"socket.connection.setup.timeout.ms": "20000"},
		"both":    {"socket.connection.setup.timeout.ms": "20000", "socket.connection.setup.timeout.max.ms": "60000"},
	} {
		t.Run(name, func(t *testing.T) {
			in := rich(t)
			text, err := json.Marshal(own)
			if err != nil {
				t.Fatal(err)
			}
			var config map[string]v1.ConfigValue
			if err := json.Unmarshal(text, &config); err != nil {
				t.Fatal(err)
			}
			maps.Copy(in.Kafka.Spec.Kafka.Config, config)
			want := maps.Clone(defaults)
			maps.Copy(want, own)
			for _, m := range render(t, in, nil).Manifests {
				lines := strings.Split(m.Config.Data["server.config"], "\n")
				for key, value := range want {
					if !slices.Contains(lines, key+"="+value) {
						t.Errorf("node %d does not have %s=%s", m.Node.ID, key, value)
					}
				}
			}
		})
	}
}
