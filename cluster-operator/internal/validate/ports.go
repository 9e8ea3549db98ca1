package validate

import (
	"fmt"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// portNames refuses listeners whose ports would have the name of another port of their pods and Services, where names are unique.
func (f *findings) portNames() {
	users := map[string]string{model.ControllerPortName: "the port of controllers", model.ReplicationPortName: "the port of replication"}
	if f.cluster().MetricsConfig != nil {
		users[model.MetricsPortName] = "the port of metrics"
	}
	for _, l := range f.cluster().Listeners {
		name := model.PortName(l)
		if user, taken := users[name]; taken && user != "listener "+l.Name { // a name that is there twice is reported as such
			f.listener("ListenerPortName", "listener %s cannot be used, because its port would have the name %s, as %s has: choose another name",
				l.Name, name, user)
			continue
		}
		users[name] = "listener " + l.Name
	}
}

// nodePorts refuses a node port that is asked for twice: Kubernetes would give it to one Service, and refuse the other one.
func (f *findings) nodePorts() {
	users := map[int32]string{}
	take := func(port *int32, user string) {
		if port == nil || *port == 0 { // Kubernetes chooses one
			return
		}
		if other, taken := users[*port]; taken {
			f.listener("NodePortTwice", "node port %d is requested by %s and by %s", *port, other, user)
			return
		}
		users[*port] = user
	}
	for _, l := range f.cluster().Listeners {
		if l.Configuration == nil || l.Type != v1.ListenerNodePort && l.Type != v1.ListenerLoadBalancer {
			continue
		}
		if b := l.Configuration.Bootstrap; b != nil {
			take(b.NodePort, "the bootstrap of listener "+l.Name)
		}
		for _, b := range l.Configuration.Brokers {
			take(b.NodePort, fmt.Sprintf("broker %d of listener %s", b.Broker, l.Name))
		}
	}
}
