package controller

import (
	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// renewCordon has a broker take over its cordon once more if it ignores it. Kafka 4.3 tells its log directories of a cordon when that is
// changed, and not when it starts: after a restart, a cordoned log directory gets new replicas, and would never be reported as cordoned. So
// the cordon is taken away, and comes back when the roller has told the broker.
func (p *pass) renewCordon(l facts.ListedPod, volume int32, dirs []kafka.LogDir) {
	config, running := p.config(l.Node), p.pod(l.Node)
	if config == nil || running == nil || !p.cordons() {
		return
	}
	roller := core.RollerStatusIn(p.home().facts.ConfigMap(core.RollerStatusName(p.kafka.Name)))
	applied := roller.ConfigurationOf(running) == configHash(config)
	if model.RenewsCordon(l.Node.ID, volume, config.Data[core.ConfigMapServerConfig], applied, dirs) {
		p.input.Cordon.Renewed = append(p.input.Cordon.Renewed, l.Node.ID)
	}
}
