package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// running is a pod with the configuration that it started with.
type running struct {
	pod    *corev1.Pod
	config string
}

// ways are the objects by which clients reach pods.
type ways struct {
	services  []*corev1.Service
	ingresses []*networkingv1.Ingress
	policies  []*networkingv1.NetworkPolicy
}

func waysOf(objects map[facts.Key]client.Object) (w ways) {
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			w.services = append(w.services, o)
		case *networkingv1.Ingress:
			w.ingresses = append(w.ingresses, o)
		case *networkingv1.NetworkPolicy:
			w.policies = append(w.policies, o)
		}
	}
	return w
}

// addresses returns what a setting says about the listeners of clients, by their ids.
func (r running) addresses(setting string) map[string]string {
	all := map[string]string{}
	for line := range strings.SplitSeq(r.config, "\n") {
		if value, is := strings.CutPrefix(line, setting+"="); is {
			for entry := range strings.SplitSeq(value, ",") {
				if id, address, ok := strings.Cut(entry, "://"); ok && !strings.HasSuffix(id, "-9090") && !strings.HasSuffix(id, "-9091") {
					all[id] = address
				}
			}
		}
	}
	return all
}

// whyUnreachable returns the first address that a pod advertises and that does not lead to it, "" if all do.
func (w ways) whyUnreachable(r running) string {
	binds := r.addresses("listeners")
	for id, address := range r.addresses("advertised.listeners") {
		at := strings.LastIndex(address, ":")
		host, port := address[:at], portOf(address[at+1:])
		bind := portOf(binds[id][strings.LastIndex(binds[id], ":")+1:])
		if !slices.ContainsFunc(r.pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == bind }) {
			continue // its configuration was changed before its pod
		}
		if !w.lets(r.pod, bind) {
			return fmt.Sprintf("%s: no NetworkPolicy lets anybody in to port %d", id, bind)
		}
		if !w.leads(r.pod, host, port, bind) {
			return fmt.Sprintf("%s: nothing leads from %s to port %d", id, address, bind)
		}
	}
	return ""
}

func portOf(text string) (n int32) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

func (w ways) lets(pod *corev1.Pod, port int32) bool {
	return slices.ContainsFunc(w.policies, func(policy *networkingv1.NetworkPolicy) bool {
		return labels.SelectorFromSet(policy.Spec.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)) &&
			slices.ContainsFunc(policy.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
				return len(rule.Ports) == 1 && rule.Ports[0].Port.IntVal == port
			})
	})
}

func (w ways) leads(pod *corev1.Pod, host string, port, bind int32) bool {
	if strings.Contains(host, "-kafka-brokers.") {
		return true // that name is the pod's
	}
	for _, i := range w.ingresses {
		for _, rule := range i.Spec.Rules {
			if rule.Host == host && port == 443 && slices.ContainsFunc(i.Spec.TLS, func(t networkingv1.IngressTLS) bool {
				return slices.Contains(t.Hosts, host)
			}) {
				backend := rule.HTTP.Paths[0].Backend.Service
				host, port = backend.Name+"."+pod.Namespace+".svc", backend.Port.Number
			}
		}
	}
	return slices.ContainsFunc(w.services, func(s *corev1.Service) bool {
		balances := s.Spec.Type == corev1.ServiceTypeLoadBalancer
		return labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) &&
			slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
				switch {
				case host == s.Name+"."+s.Namespace+".svc" && port == p.Port:
				case balances && strings.HasPrefix(host, s.Name+".") && strings.HasSuffix(host, ".example.com") && port == p.Port:
				case net.ParseIP(host) != nil && strings.HasSuffix(s.Name, "-nodeport") && port == p.NodePort:
				case strings.HasPrefix(host, "${") && s.Spec.Type != corev1.ServiceTypeClusterIP && port == p.NodePort:
				default:
					return false
				}
				return target(pod, p.TargetPort) == bind
			})
	})
}

func target(pod *corev1.Pod, port intstr.IntOrString) int32 {
	for _, has := range pod.Spec.Containers[0].Ports {
		if port.Type == intstr.String && has.Name == port.StrVal {
			return has.ContainerPort
		}
	}
	return port.IntVal
}

// ways returns the objects by which clients reach pods.
func (w *world) ways() ways {
	w.t.Helper()
	return waysOf(w.everything())
}

// Clients reach a pod where its own configuration says until it is replaced, and what led there is gone then.
func TestARunningPodStaysReachable(t *testing.T) {
	const first, second, third, fourth = 30_031, 30_032, 30_033, 30_034 // of those that Kubernetes gives to nobody who does not ask for them
	at := func(port int32) *v1.ListenerConfiguration {
		return &v1.ListenerConfiguration{Brokers: []v1.ListenerBroker{{Broker: 0, NodePort: &port}}}
	}
	routed := func(domain string) *v1.ListenerConfiguration {
		return &v1.ListenerConfiguration{HostTemplate: "{nodeId}." + domain, Bootstrap: &v1.ListenerBootstrap{Host: "b." + domain}}
	}
	type edit = func(l *v1.Listener)
	for name, c := range map[string]struct {
		from v1.Listener
		do   []edit // nil removes the listener
	}{
		"port of a load balancer": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer},
			[]edit{func(l *v1.Listener) { l.Port = 9096 }}},
		"port, twice, and back": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer},
			[]edit{func(l *v1.Listener) { l.Port = 9096 }, func(l *v1.Listener) { l.Port = 9097 }, func(l *v1.Listener) { l.Port = 9095 }}},
		"name of a load balancer": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer},
			[]edit{func(l *v1.Listener) { l.Name = "two" }}},
		"load balancer to node port": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer},
			[]edit{func(l *v1.Listener) { l.Type = v1.ListenerNodePort }}},
		"load balancer to cluster IP, and port": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer},
			[]edit{func(l *v1.Listener) { l.Type, l.Port = v1.ListenerClusterIP, 9096 }}},
		"a load balancer goes": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer}, []edit{nil}},
		"port of a cluster IP": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerClusterIP},
			[]edit{func(l *v1.Listener) { l.Port = 9096 }}},
		"name of a cluster IP": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerClusterIP},
			[]edit{func(l *v1.Listener) { l.Name = "two" }}},
		"port of a listener with a node port": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort},
			[]edit{func(l *v1.Listener) { l.Port = 9096 }}},
		"node port": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort, Configuration: at(first)},
			[]edit{func(l *v1.Listener) { l.Configuration = at(second) }}},
		"node port and port": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort, Configuration: at(third)},
			[]edit{func(l *v1.Listener) { l.Configuration, l.Port = at(fourth), 9096 }}},
		"host of an Ingress": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerIngress, TLS: true, Configuration: routed("a.org")},
			[]edit{func(l *v1.Listener) { l.Configuration = routed("b.org") }}},
		"host and port of an Ingress": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerIngress, TLS: true, Configuration: routed("a.org")},
			[]edit{func(l *v1.Listener) { l.Configuration, l.Port = routed("b.org"), 9096 }}},
		"Ingress to load balancer": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerIngress, TLS: true, Configuration: routed("a.org")},
			[]edit{func(l *v1.Listener) { l.Configuration, l.Type = nil, v1.ListenerLoadBalancer }}},
		"port of an internal one": {v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerInternal},
			[]edit{func(l *v1.Listener) { l.Port = 9096 }}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := newKafka()
			k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, c.from)
			w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			settle := func() {
				for range 3 {
					w.reconcile()
					w.balance()
				}
			}
			settle()
			w.start("pool")
			settle()
			started := func() running {
				pod := &corev1.Pod{}
				w.get(pod, "my-cluster-pool-0")
				return running{pod, w.config(pod.Name)}
			}
			r := started()
			w.Expect(r.addresses("listeners")).To(HaveKey("OUT-9095"))
			w.Expect(w.ways().whyUnreachable(r)).To(BeEmpty())
			for _, do := range c.do {
				w.edit(func(k *v1.Kafka) {
					if do == nil {
						k.Spec.Kafka.Listeners = k.Spec.Kafka.Listeners[:2]
					} else {
						do(&k.Spec.Kafka.Listeners[2])
					}
				})
				for range 4 {
					w.reconcile()
					w.Expect(w.ways().whyUnreachable(r)).To(BeEmpty())
					w.balance()
				}
			}
			w.start("pool")
			w.Expect(w.ways().whyUnreachable(started())).To(BeEmpty(), "at once")
			settle()
			w.Expect(w.ways().whyUnreachable(started())).To(BeEmpty())
			fresh := newWorld(t)
			w.get(k, "my-cluster")
			for i := range k.Spec.Kafka.Listeners {
				if k.Spec.Kafka.Listeners[i].Type == v1.ListenerNodePort {
					k.Spec.Kafka.Listeners[i].Configuration = nil // one API server has each node port once
				}
			}
			fresh.create(&v1.Kafka{ObjectMeta: fresh.named("my-cluster"), Spec: k.Spec}, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			fresh.reconcile()
			w.Expect(w.ways().ports()).To(Equal(fresh.ways().ports()), "nothing stays that nobody needs")
		})
	}
}

// ports describes ports, hosts and rules.
func (w ways) ports() (all []string) {
	for _, s := range w.services {
		all = append(all, fmt.Sprintf("Service %s is a %s", s.Name, s.Spec.Type))
		for _, port := range s.Spec.Ports {
			all = append(all, fmt.Sprintf("Service %s: %s %d to %s", s.Name, port.Name, port.Port, port.TargetPort.String()))
		}
	}
	for _, i := range w.ingresses {
		for _, rule := range i.Spec.Rules {
			all = append(all, fmt.Sprintf("Ingress %s: %s %v", i.Name, rule.Host, rule.HTTP.Paths[0].Backend.Service))
		}
	}
	for _, policy := range w.policies {
		for _, rule := range policy.Spec.Ingress {
			all = append(all, fmt.Sprintf("NetworkPolicy %s: %s", policy.Name, rule.Ports[0].Port))
		}
	}
	slices.Sort(all)
	return all
}

// oneIngressPerHost refuses an Ingress with a host that another one has, as the webhook of an ingress controller does.
func (w *world) oneIngressPerHost() {
	k8s, ok := w.k8s.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	w.r.Live = interceptor.NewClient(k8s, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			wanted, others := &networkingv1.Ingress{}, &networkingv1.IngressList{}
			text, err := json.Marshal(o)
			if err != nil || !strings.Contains(string(text), `"kind":"Ingress"`) {
				return errors.Join(err, c.Apply(ctx, o, opts...))
			}
			if err := errors.Join(json.Unmarshal(text, wanted), c.List(ctx, others, client.InNamespace(w.namespace))); err != nil {
				return err
			}
			for _, other := range others.Items {
				for _, rule := range other.Spec.Rules {
					same := func(r networkingv1.IngressRule) bool { return r.Host == rule.Host }
					if other.Name != wanted.Name && slices.ContainsFunc(wanted.Spec.Rules, same) {
						return apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q denied the request: host %q and path %q is already defined in "+
							"ingress %s/%s", "validate.nginx.ingress.kubernetes.io", rule.Host, "/", other.Namespace, other.Name))
					}
				}
			}
			return c.Apply(ctx, o, opts...)
		},
	})
}

// An ingress controller that lets one Ingress have a host gets the new Ingress instead of the former one, not beside it.
func TestAHostGoesFromOneIngressToAnother(t *testing.T) {
	hosts := func(bootstrap, broker string) *v1.ListenerConfiguration {
		return &v1.ListenerConfiguration{Bootstrap: &v1.ListenerBootstrap{Host: bootstrap},
			Brokers: []v1.ListenerBroker{{Broker: 0, Host: broker}}}
	}
	for name, edit := range map[string]func(*v1.Listener){
		"of a renamed listener":        func(l *v1.Listener) { l.Name = "two" },
		"of the bootstrap to a broker": func(l *v1.Listener) { l.Configuration = hosts("new.org", "first.org") },
		"of a broker to the bootstrap": func(l *v1.Listener) { l.Configuration = hosts("second.org", "new.org") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := newKafka()
			k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners,
				v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerIngress, TLS: true, Configuration: hosts("first.org", "second.org")})
			w.createAndStart(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			pod := &corev1.Pod{}
			w.get(pod, "my-cluster-pool-0")
			before := running{pod, w.config(pod.Name)}
			w.oneIngressPerHost()
			w.edit(func(k *v1.Kafka) { edit(&k.Spec.Kafka.Listeners[2]) })
			for range 2 {
				w.reconcile()
				w.Expect(w.ways().whyUnreachable(before)).To(BeEmpty())
			}
			w.start("pool")
			w.reconcile()
			fresh := newWorld(t)
			w.get(k, "my-cluster")
			fresh.create(&v1.Kafka{ObjectMeta: fresh.named("my-cluster"), Spec: k.Spec}, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			fresh.reconcile()
			w.Expect(w.ways().ports()).To(Equal(fresh.ways().ports()))
		})
	}
}

// An Ingress that is refused for another reason costs nobody the way to pods.
func TestAnIngressThatIsRefusedReplacesNone(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerIngress, TLS: true,
		Configuration: &v1.ListenerConfiguration{HostTemplate: "{nodeId}.org", Bootstrap: &v1.ListenerBootstrap{Host: "b.org"}}})
	w.createAndStart(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	before := w.ways().ingresses
	k8s, ok := w.k8s.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	w.r.Live = interceptor.NewClient(k8s, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if text, err := json.Marshal(o); err != nil || strings.Contains(string(text), `"kind":"Ingress"`) {
				return apierrors.NewBadRequest("a policy denied the request")
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[2].Name = "two" })
	w.pass("a policy denied the request")
	w.Expect(w.ways().ingresses).To(ConsistOf(before))
}

// Much is applied in each pass that clients do not reach pods by, and a pass should not copy it.
func TestOnlyWhatLeadsToPodsIsCopied(t *testing.T) {
	copies := func(keys int) float64 {
		config := &corev1.ConfigMap{Data: map[string]string{}}
		for i := range keys {
			config.Data[fmt.Sprint(i)] = ""
		}
		return testing.AllocsPerRun(10, func() { (&pass{}).keepReachable(&site{}, config) })
	}
	NewWithT(t).Expect(copies(1000)).To(Equal(copies(1)))
}

// The bootstrap Service has one port of each number: it leads to the number while pods call it by the name of before.
func TestARenamedInternalListenerIsFoundByBothNames(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	w.start("pool")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[0].Name = "renamed" })
	port := func() intstr.IntOrString {
		w.reconcile()
		s := &corev1.Service{}
		w.get(s, "my-cluster-kafka-bootstrap")
		i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == 9092 })
		w.Expect(i).To(BeNumerically(">=", 0))
		return s.Spec.Ports[i].TargetPort
	}
	for range 2 {
		w.Expect(port()).To(Equal(intstr.FromInt32(9092)))
	}
	w.start("pool")
	w.Expect(port()).To(Equal(intstr.FromString("tcp-renamed")))
}
