package controller

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/loadbalancer"
)

// As in one Kubernetes cluster, clients reach a pod where its own configuration says until it is replaced, by what the network provider
// planned; and what led there is gone then. What differs with a load balancer is whether a port leads to another one.
func TestARunningPodOfAStretchedKafkaStaysReachable(t *testing.T) {
	first := v1.Listener{Name: "one", Port: 9095, Type: v1.ListenerInternal}
	second := v1.Listener{Name: "two", Port: 9096, Type: v1.ListenerInternal}
	moved, renamed, other, outside := first, first, second, first
	moved.Port, renamed.Name, outside.Type = 9097, "three", v1.ListenerNodePort
	other.Name = "four"
	swapped, swap := first, second
	swapped.Port, swap.Port = 9096, 9095
	for _, provider := range []string{"nodeport", "loadbalancer"} {
		for name, edits := range map[string][][]v1.Listener{
			"port":                    {{moved, second}},
			"port, and back":          {{moved, second}, {first, second}},
			"name":                    {{renamed, second}},
			"name and port":           {{other}},
			"one goes":                {{second}},
			"both go, and one is new": {{{Name: "five", Port: 9099, Type: v1.ListenerInternal}}},
			"ports are swapped":       {{swapped, swap}},
			"the port of one goes to the other, and it goes": {{swap}},
			"not an internal one any more":                   {{outside, second}},
		} {
			if provider == "loadbalancer" && !slices.Contains([]string{"port", "name and port", "one goes"}, name) {
				continue
			}
			t.Run(provider+", "+name, func(t *testing.T) {
				w := newStretchedWorld(t)
				if provider == "loadbalancer" {
					w.r.Stretching.ProviderName = provider
					w.r.Stretching.Provider, _ = loadbalancer.New(nil)
				}
				w.form(first, second)
				started := func(id, name string) running {
					pod, config := &corev1.Pod{}, &corev1.ConfigMap{}
					w.in(id, pod, name)
					w.in(id, config, name)
					return running{pod, config.Data["server.config"]}
				}
				pods := map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1"}
				before := map[string]running{}
				for id, pod := range pods {
					before[id] = started(id, pod)
					w.Expect(before[id].addresses("listeners")).To(And(HaveKey("ONE-9095"), HaveKey("TWO-9096")))
				}
				reached := func(of map[string]running, why string) {
					t.Helper()
					for id, r := range of {
						w.Expect(waysOf(w.listed(w.members[id])).whyUnreachable(r)).To(BeEmpty(), "%s, in %s", why, id)
					}
				}
				reached(before, "at first")
				for _, listeners := range edits {
					k := w.kafka()
					k.Spec.Kafka.Listeners = append(newKafka().Spec.Kafka.Listeners, listeners...)
					w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
					for range 3 {
						w.pass()
						reached(before, "while its pod runs")
						w.balance()
					}
				}
				w.settle()
				for id, pod := range pods {
					before[id] = started(id, pod)
				}
				reached(before, "after the restart")
				for id, pod := range pods {
					service := &corev1.Service{}
					w.in(id, service, pod+map[string]string{"nodeport": "-nodeport", "loadbalancer": "-lb"}[provider])
					var names []string
					for _, port := range service.Spec.Ports {
						names = append(names, port.Name)
					}
					wanted := []string{"tcp-ctrlplane", "tcp-replication", "tcp-clients", "tcp-clientstls"}
					for _, l := range w.kafka().Spec.Kafka.Listeners[2:] {
						if l.Type == v1.ListenerInternal {
							wanted = append(wanted, "tcp-"+l.Name)
						}
					}
					w.Expect(names).To(ConsistOf(wanted), "nothing stays that nobody needs")
				}
			})
		}
	}
}

// A port that somebody else added to a Service stays theirs: passes that add it to what is applied, and take it away again, would not end.
func TestAPortThatSomebodyAddedIsNotWrittenInALoop(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.settle()
	service := &corev1.Service{}
	w.in("east", service, "my-cluster-east-1-nodeport")
	target := service.Spec.Ports[0].TargetPort
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "theirs", Port: 9999, TargetPort: target})
	w.Expect(w.members["east"].Update(t.Context(), service, client.FieldOwner("kubectl-edit"))).To(Succeed())
	w.pass()
	w.in("east", service, service.Name)
	before := service.ResourceVersion
	for range 3 {
		w.pass()
	}
	w.in("east", service, service.Name)
	w.Expect(service.ResourceVersion).To(Equal(before))
	w.Expect(service.Spec.Ports).To(ContainElement(HaveField("Name", "theirs")))
}
