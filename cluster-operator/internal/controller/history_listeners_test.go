package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/nodeport"
)

// listening is a history of a Kafka whose listeners move. After each write of the operator, each running pod is reached where the
// configuration says that it started with.
type listening struct {
	*history
	// configs are the configurations that pods started with, by the uids of the pods.
	configs map[types.UID]string
}

func newListening(t testing.TB, seed int64) *listening {
	h := &listening{newHistory(t, seed), map[types.UID]string{}}
	judge := h.k8s.server.written
	h.k8s.server.written = func(key facts.Key, before, after client.Object) {
		judge(key, before, after)
		if h.writing != nil && (key.Kind == "Service" || key.Kind == "Ingress" || key.Kind == "NetworkPolicy") {
			h.judgeAddresses(key)
		}
	}
	h.spared = func(key facts.Key) bool { // accidents that the operator can't prevent
		return slices.Contains([]string{"Service", "Ingress", "NetworkPolicy", "ConfigMap", "StrimziPodSet"}, key.Kind)
	}
	return h
}

// newStretchedListening is newListening for a stretched Kafka: a network provider plans by what internal listeners are reached.
func newStretchedListening(t testing.TB, seed int64, name string, factory network.Factory, settings map[string]string) *listening {
	h := newListening(t, seed)
	h.target = func(string) string { return "central" }
	provider, err := factory(settings)
	h.must(err)
	home := connected{&member{id: "central", home: true, Client: h.r.Live, uid: "central"}}
	h.r.Stretching = &Stretching{Central: home.id, Namespace: historyNamespace, Provider: provider, ProviderName: name,
		Members: func() []Member { return []Member{home} }}
	return h
}

func (h *listening) one(of ...string) string { return of[h.rand.Intn(len(of))] }

// judgeAddresses checks that each running pod is reached where it advertises.
func (h *listening) judgeAddresses(key facts.Key) {
	ways := waysOf(h.all())
	for _, at := range sortedKeys(h.k8s.server.objects) {
		pod, is := h.k8s.server.objects[at].object().(*corev1.Pod)
		if !is || h.configs[pod.UID] == "" {
			continue
		}
		if h.target != nil && key.Kind == "Service" && key.Name != pod.Name+"-nodeport" {
			continue // it is new, and its own Service may not have followed yet
		}
		if why := ways.whyUnreachable(running{pod, h.configs[pod.UID]}); why != "" {
			h.failf("pod %s can't be reached any more once %s %s is written: %s", pod.Name, key.Kind, key.Name, why)
		}
	}
}

// run has pods created and replaced, and notes what those that are new start with.
func (h *listening) run(percent int) {
	h.runPods(h.k8s.server, percent)
	for _, key := range sortedKeys(h.k8s.server.objects) {
		pod, is := h.k8s.server.objects[key].object().(*corev1.Pod)
		if !is || h.configs[pod.UID] != "" {
			continue
		}
		if config, is := h.object(facts.Key{Kind: "ConfigMap", Name: pod.Name}).(*corev1.ConfigMap); is {
			h.configs[pod.UID] = config.Data[core.ConfigMapServerConfig]
		}
	}
}

// move changes a listener beside the two internal ones, or adds or removes one. Those with node ports keep their type: of two ports of one
// name, Kubernetes leaves the node port to one.
func (h *listening) move() string {
	k := h.kafka(h.name)
	listeners := k.Spec.Kafka.Listeners
	at := 2 + h.rand.Intn(2)
	if at < len(listeners) && h.rand.Intn(4) == 0 {
		k.Spec.Kafka.Listeners = append(listeners[:at:at], listeners[at+1:]...)
	} else {
		l := v1.Listener{Name: h.one("one", "two", "three"), Port: 9094 + int32(h.rand.Intn(3))}
		switch h.rand.Intn(4) {
		case 0:
			l.Type = v1.ListenerInternal
		case 1:
			l.Type = v1.ListenerClusterIP
			if h.target != nil { // which a stretched Kafka can't have
				l.Type = v1.ListenerInternal
			}
		case 2:
			l.Type, l.Name = v1.ListenerNodePort, h.one("four", "five")
		case 3:
			domain := h.one("a.org", "b.org")
			l.Type, l.TLS = v1.ListenerIngress, true
			l.Configuration = &v1.ListenerConfiguration{HostTemplate: "{nodeId}." + l.Name + "." + domain,
				Bootstrap: &v1.ListenerBootstrap{Host: l.Name + "." + domain}}
		}
		for i, other := range listeners {
			if i != at && (other.Name == l.Name || other.Port == l.Port) {
				return "nothing"
			}
		}
		if at < len(listeners) {
			listeners[at] = l
		} else {
			k.Spec.Kafka.Listeners = append(listeners, l)
		}
	}
	h.must(h.k8s.Update(h.t.Context(), k))
	return fmt.Sprintf("listeners %+v", k.Spec.Kafka.Listeners[2:])
}

func (h *listening) play(steps int) {
	defer h.report()
	k := newKafka()
	if h.target != nil {
		k = stretchedKafka()
	}
	k.Namespace = historyNamespace
	for _, o := range []client.Object{k, h.pool("controllers", 1, v1.RoleController), h.pool("a", 2, v1.RoleBroker)} {
		h.must(h.k8s.Create(h.t.Context(), o))
	}
	h.brokers.moving = h.judgeMetadata
	for h.step = range steps {
		if h.rand.Intn(2) == 0 {
			h.told = append(h.told, h.move())
		} else {
			h.told = append(h.told, h.edit())
		}
		h.now = h.now.Add(time.Minute)
		h.reconcile(h.rand.Intn(2) == 0)
		h.run(25 * h.rand.Intn(5))
	}
	h.settle()
}

// TestRandomHistoriesOfListeners plays a few histories; PROVE=full plays many.
func TestRandomHistoriesOfListeners(t *testing.T) {
	proveHistories(t, "random histories of listeners", 6, 2000, 50,
		func(t *testing.T, seed int64, steps int) { newListening(t, seed).play(steps) })
}

// TestRandomHistoriesOfListenersOfStretchedKafkas plays a few histories; PROVE=full plays many.
func TestRandomHistoriesOfListenersOfStretchedKafkas(t *testing.T) {
	proveHistories(t, "random histories of listeners of stretched Kafkas", 4, 200, 50, func(t *testing.T, seed int64, steps int) {
		settings := map[string]string{nodeport.SettingAddress + "central": "192.0.2.1"}
		newStretchedListening(t, seed, nodeport.Name, nodeport.New, settings).play(steps)
	})
}

// The oracle finds an operator that does not see which pods run.
func TestHistoriesOfListenersFindAPlantedFault(t *testing.T) {
	const histories, steps = 100, 50
	for seed := range int64(histories) {
		h := newListening(t, seed)
		h.r.Cache = withoutPods{h.r.Cache}
		if found := h.violation(func() { h.play(steps) }); found != "" {
			t.Logf("found after %d histories: %s", seed+1, found)
			return
		}
	}
	t.Errorf("%d histories did not find it", histories)
}
