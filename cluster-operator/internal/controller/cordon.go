package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// renewAgain is after how long a cordon is taken away again that a broker still ignores.
const renewAgain = 10 * time.Minute

// renewCordons has brokers take over their cordons once more if they ignore them. Kafka 4.3 tells its log directories of a cordon when that
// is changed, and not when it starts: after a restart, a cordoned log directory gets new replicas, and would never be reported as cordoned.
// So the cordon is taken away, and comes back when the roller has told the broker.
func (p *pass) renewCordons(ctx context.Context) {
	if !p.cordons() {
		return
	}
	lately := p.lately()
	roller := core.RollerStatusIn(p.home().facts.ConfigMap(core.RollerStatusName(p.kafka.Name)))
	var may []facts.ListedPod
	for _, l := range p.listed {
		config, running := p.config(l.Node), p.pod(l.Node)
		if config == nil || running == nil || !l.Node.Roles.Broker {
			continue
		}
		cordon, applied := model.CordonIn(config.Data[core.ConfigMapServerConfig]), roller.ConfigurationOf(running) == configHash(config)
		_, renewed := lately[container(running)]
		switch {
		case cordon.Away:
			if lately[container(running)] = p.Now(); !applied {
				p.input.Cordon.Renewed = append(p.input.Cordon.Renewed, l.Node.ID)
			}
		case cordon.Dirs != nil && applied && !renewed:
			may = append(may, l)
		}
	}
	for _, l := range p.ignoring(ctx, may) {
		p.log.Info("A broker ignores its cordon since it started, and is told of it again", "pod", l.Pod.Name)
		p.input.Cordon.Renewed = append(p.input.Cordon.Renewed, l.Node.ID)
	}
}

// lately returns when containers were seen without a cordon that they were to forget, unless that was long ago. Where a broker never takes
// its cordon over, its configuration would change all the time.
func (p *pass) lately() map[string]time.Time {
	at := map[string]time.Time{}
	stored, _ := p.renewedCordons.Swap(client.ObjectKeyFromObject(p.kafka), at)
	before, _ := stored.(map[string]time.Time)
	for container, seen := range before {
		if p.Now().Sub(seen) < renewAgain {
			at[container] = seen
		}
	}
	return at
}

// ignoring returns the brokers that ignore the cordon which they have applied. Those that seem to are asked again: the answer to an earlier
// call may be of before they applied it.
func (p *pass) ignoring(ctx context.Context, brokers []facts.ListedPod) []facts.ListedPod {
	to := p.connection()
	for _, to.Anew = range []bool{false, true} {
		reported := p.logDirs(ctx, to, brokers)
		brokers = slices.DeleteFunc(brokers, func(l facts.ListedPod) bool {
			return !model.CordonIn(p.config(l.Node).Data[core.ConfigMapServerConfig]).Ignored(reported[l.Node.ID])
		})
	}
	return brokers
}

// container identifies the container in which a broker runs.
func container(pod *corev1.Pod) string {
	restarts := int32(0)
	for _, s := range pod.Status.ContainerStatuses {
		restarts += s.RestartCount
	}
	return fmt.Sprint(pod.UID, "/", restarts)
}
