//go:build linux

package rollernodes

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// topic has a partition for each node to lead, with replicas on all nodes; minISR of them have to be in sync.
const (
	topic      = "records"
	partitions = 3
	minISR     = "2"
)

// kafkaCluster is a Kafka whose pods are created from StrimziPodSets, one for each pool in each Kubernetes cluster.
type kafkaCluster struct {
	namespace, name string
	// port is the first of its node ports: the port of node n for clients is port+n, for controllers port+50+n.
	port int
	// places are the Kubernetes clusters, nodes the ids of the nodes in each.
	places []*realnodes.Cluster
	nodes  map[*realnodes.Cluster][]int32
	// onlyBrokers are the nodes that are no controllers, in a pool of their own. The others are combined nodes.
	onlyBrokers []int32
	// sidecar, if set, is the command of a second container of the pods of the next revision.
	sidecar []string

	admin *saramakafka.Admin
	// views are clients of one node each: a node that is cut off from the others believes for long that all replicas are in sync.
	views   []*saramakafka.Admin
	history *history
}

// startKafka starts a Kafka cluster with the topic, and waits until it is ready. It is deleted with the specs around it.
func startKafka(k *kafkaCluster) {
	GinkgoHelper()
	k.history = &history{}
	for _, c := range k.places {
		k8s := clientOf(c)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.namespace}}
		Expect(k8s.Create(ctx, namespace)).To(Succeed())
		DeferCleanup(func() { Expect(k8s.Delete(ctx, namespace)).To(Succeed()) }) // its content is deleted in the background
		k.history.follow(c, k.namespace, k.name)
		stop, err := podsets.Follow(ctx, c.RESTConfig(), k.namespace, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(stop()).To(Succeed()) })
		for _, id := range k.nodes[c] {
			k.makeNode(k8s, c, id)
		}
		for _, p := range k.pools(c, "r1") {
			set, err := p.PodSet()
			Expect(err).NotTo(HaveOccurred())
			set.Annotations = map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
			Expect(k8s.Create(ctx, set)).To(Succeed())
		}
	}
	addresses := k.addresses(k.clientPort)
	k.admin = connect(addresses...)
	for _, address := range addresses {
		k.views = append(k.views, connect(address))
	}
	two := minISR
	Eventually(func(g Gomega) {
		results, err := k.admin.CreateTopics(ctx, []kafka.NewTopic{{
			Name: topic, Partitions: partitions, ReplicationFactor: 3, Configs: map[string]*string{"min.insync.replicas": &two},
		}}, false)
		g.Expect(err).NotTo(HaveOccurred())
		// A request that timed out for the client may have been executed by the broker.
		g.Expect(results[topic].Err == nil || kafka.IsExists(results[topic].Err)).To(BeTrue(), "%v", results[topic].Err)
	}).Should(Succeed(), k.logs)
	k.allReady("r1")
}

// connect returns a client that connects only to these addresses.
func connect(addresses ...string) *saramakafka.Admin {
	GinkgoHelper()
	admin, err := saramakafka.New(kafka.Config{
		Bootstrap: addresses, ClientID: "e2e", RequestTimeout: 5 * time.Second, DialTimeout: 2 * time.Second,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if !slices.Contains(addresses, address) {
				return nil, fmt.Errorf("%s is not to be asked", address)
			}
			return lab.DialContext(ctx, network, address)
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(admin.Close)
	return admin
}

// pools returns the pools of nodes in one Kubernetes cluster.
func (k *kafkaCluster) pools(c *realnodes.Cluster, revision string) []podsets.Pool {
	combined := k.pool(c.Name(), revision)
	combined.Controller = true
	brokers := k.pool("brokers", revision)
	for _, id := range k.nodes[c] {
		p := &combined
		if slices.Contains(k.onlyBrokers, id) {
			p = &brokers
		}
		p.Nodes = append(p.Nodes, id)
	}
	return slices.DeleteFunc([]podsets.Pool{combined, brokers}, func(p podsets.Pool) bool { return len(p.Nodes) == 0 })
}

// pool returns a pool of brokers without nodes.
func (k *kafkaCluster) pool(name, revision string) podsets.Pool {
	return podsets.Pool{
		Namespace: k.namespace, Cluster: k.name, Name: name, Broker: true, Revision: revision,
		Edit: func(_ int32, pod *corev1.Pod) {
			manifest, err := os.ReadFile(filepath.Join("testdata", "pod.yaml"))
			Expect(err).NotTo(HaveOccurred())
			text := strings.NewReplacer("$IMAGE", realnodes.KafkaImage, "$NAME", pod.Name, "$CLUSTER", k.name).Replace(string(manifest))
			Expect(yaml.UnmarshalStrict([]byte(text), &pod.Spec)).To(Succeed())
			if k.sidecar != nil {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "sidecar", Image: realnodes.KafkaImage, Command: k.sidecar})
			}
		},
	}
}

// makeNode creates the objects for a node's pod: its configuration, its volume, and a fixed address.
func (k *kafkaCluster) makeNode(k8s client.Client, c *realnodes.Cluster, id int32) {
	GinkgoHelper()
	p := k.poolOf(c, id)
	properties, err := os.ReadFile(filepath.Join("testdata", "server.config"))
	Expect(err).NotTo(HaveOccurred())
	var voters []string
	for _, c := range k.places {
		for _, id := range k.nodes[c] {
			if k.poolOf(c, id).Controller {
				voters = append(voters, fmt.Sprintf("%d@%s", id, netip.AddrPortFrom(c.Nodes()[0].Address(), k.controllerPort(id))))
			}
		}
	}
	roles, listener := "broker", ""
	if p.Controller {
		roles, listener = "broker,controller", ",CONTROLPLANE-9090://:9090"
	}
	config := p.ConfigMap(id, strings.NewReplacer(
		"$ID", strconv.Itoa(int(id)), "$NAMESPACE", k.namespace, "$NAME", p.PodName(id), "$CLUSTER", k.name, "$VOTERS", strings.Join(voters, ","),
		"$RACK", c.Name(), "$ROLES", roles, "$CONTROLLER_LISTENER", listener,
		"$ADDRESS", netip.AddrPortFrom(c.Nodes()[0].Address(), k.clientPort(id)).String(),
	).Replace(string(properties)))
	logging, err := os.ReadFile(filepath.Join("testdata", "log4j2.properties"))
	Expect(err).NotTo(HaveOccurred())
	config.Data["log4j2.properties"] = string(logging)
	Expect(k8s.Create(ctx, config)).To(Succeed())
	manifest, err := os.ReadFile(filepath.Join("testdata", "node.yaml"))
	Expect(err).NotTo(HaveOccurred())
	_, err = c.KubectlInput(ctx, strings.NewReplacer(
		"$NAME", p.PodName(id), "$CLUSTER", k.name,
		"$CLIENT_PORT", strconv.Itoa(int(k.clientPort(id))), "$CONTROLLER_PORT", strconv.Itoa(int(k.controllerPort(id))),
	).Replace(string(manifest)), "apply", "--server-side", "-n", k.namespace, "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

func (k *kafkaCluster) clientPort(id int32) uint16     { return uint16(k.port) + uint16(id) }
func (k *kafkaCluster) controllerPort(id int32) uint16 { return uint16(k.port) + 50 + uint16(id) }

// addresses returns the addresses of all nodes, which can be reached from everywhere.
func (k *kafkaCluster) addresses(port func(int32) uint16) []string {
	var all []string
	for _, c := range k.places {
		for _, id := range k.nodes[c] {
			all = append(all, netip.AddrPortFrom(c.Nodes()[0].Address(), port(id)).String())
		}
	}
	return all
}

// poolOf returns the pool of a node, without a revision.
func (k *kafkaCluster) poolOf(c *realnodes.Cluster, id int32) podsets.Pool {
	for _, p := range k.pools(c, "") {
		if slices.Contains(p.Nodes, id) {
			return p
		}
	}
	return podsets.Pool{}
}

// podName returns the name of a node's pod.
func (k *kafkaCluster) podName(id int32) string {
	for _, c := range k.places {
		if slices.Contains(k.nodes[c], id) {
			return k.poolOf(c, id).PodName(id)
		}
	}
	return ""
}

// outdate gives all pod sets another revision.
func (k *kafkaCluster) outdate(revision string) {
	GinkgoHelper()
	for _, c := range k.places {
		for _, p := range k.pools(c, revision) {
			outdate(c, p)
		}
	}
}

// outdate gives the pod set of a pool the revision of the pool.
func outdate(c *realnodes.Cluster, p podsets.Pool) {
	GinkgoHelper()
	k8s := clientOf(c)
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error { return p.Update(ctx, k8s) })).To(Succeed())
}

// allReady waits until all pods have the revision and are ready, and all replicas are in sync.
func (k *kafkaCluster) allReady(revision string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, c := range k.places {
			var pods corev1.PodList
			g.Expect(clientOf(c).List(ctx, &pods, client.InNamespace(k.namespace), client.MatchingLabels{v1.LabelCluster: k.name})).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(len(k.nodes[c])))
			for i := range pods.Items {
				pod := &pods.Items[i]
				g.Expect(pod.Annotations).To(HaveKeyWithValue(core.AnnotationRevision, revision), pod.Name)
				g.Expect(podReady(pod)).To(BeTrue(), pod.Name)
			}
		}
		for _, view := range k.views {
			g.Expect(lowestISR(ctx, view)).To(Equal(3))
		}
	}).Should(Succeed(), k.logs)
}

// lowestISR returns the smallest number of in-sync replicas of any partition, as a node reports it.
func lowestISR(ctx context.Context, view *saramakafka.Admin) (int, error) {
	topics, err := view.DescribeTopics(ctx, []string{topic})
	if err == nil {
		err = topics[topic].Err
	}
	lowest := 3
	for _, p := range topics[topic].Topic.Partitions {
		lowest = min(lowest, len(p.ISR))
	}
	return lowest, err
}

// logs returns the last log lines of the nodes, for the message of a failure.
func (k *kafkaCluster) logs() string {
	logsCtx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var said []string
	for _, c := range k.places {
		for _, args := range [][]string{
			{"get", "pods,pvc", "-n", k.namespace, "-o", "wide"},
			{"logs", "-n", k.namespace, "-l", v1.LabelCluster + "=" + k.name, "-c=kafka", "--prefix", "--tail=10"},
			{"logs", "-n", k.namespace, "-l", "app.kubernetes.io/name=roller", "--prefix", "--tail=15"},
		} {
			out, err := c.Kubectl(logsCtx, args...)
			said = append(said, c.Name()+" "+strings.Join(args, " "), out)
			if err != nil {
				said = append(said, err.Error())
			}
		}
	}
	return strings.Join(said, "\n")
}

func podReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && core.IsReady(pod)
}
