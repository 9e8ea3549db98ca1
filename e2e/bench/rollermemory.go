package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// The Kafka cluster on which the roller's memory is measured.
const (
	manyBrokers, brokersOfAPool = 1000, 100
	manyTopics, manyPartitions  = 200, 100 // 60 replicas for each broker
	memoryNamespace             = "bench-roller"
	memoryLooks                 = 6
)

// residentAim is the target for the roller's resident memory with that many brokers, in MB.
const residentAim = 150

// rollerMemory measures the roller's Deployment at 1,000 brokers: their pods and pod sets on a real API server, their topics in an embedded
// Kafka. The roller restarts nothing, because no pod is outdated, but reads everything at each look.
func (w *world) rollerMemory(ctx context.Context, r *Report) (err error) {
	cluster, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: manyBrokers})
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := fillMany(ctx, cluster.Bootstrap()[:3]); err != nil {
		return err
	}
	if err := w.makeNodes(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-roller-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := buildProgram(ctx, dir, "roller")
	if err != nil {
		return err
	}
	log := filepath.Join(dir, "log")
	p, address, err := w.serve(program, log, "run", "--namespace="+memoryNamespace, "--cluster=many",
		"--bootstrap-servers="+strings.Join(cluster.Bootstrap()[:3], ","))
	if err != nil {
		return err
	}
	defer p.Kill()
	if err := looked(ctx, address, memoryLooks); err != nil {
		text, _ := os.ReadFile(log) // for the message only
		return fmt.Errorf("%w: %s", err, text)
	}
	used, err := operatorproc.UsageOf(p.PID())
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("roller_resident_%d_brokers", manyBrokers), float64(used.RSS)/1e6, "MB")
	r.logf("  aim: less than %d MB", residentAim)
	r.add(fmt.Sprintf("roller_resident_peak_%d_brokers", manyBrokers), float64(used.PeakRSS)/1e6, "MB")
	return nil
}

// fillMany creates the topics.
func fillMany(ctx context.Context, bootstrap []string) error {
	admin, err := saramakafka.New(kafka.Config{Bootstrap: bootstrap, RequestTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer admin.Close()
	var topics []kafka.NewTopic
	for i := range manyTopics {
		topics = append(topics, kafka.NewTopic{Name: fmt.Sprintf("topic-%d", i), Partitions: manyPartitions, ReplicationFactor: 3})
	}
	results, err := admin.CreateTopics(ctx, topics, false)
	for _, result := range results {
		err = errors.Join(err, result.Err)
	}
	return err
}

// makeNodes creates pod sets, with the pods and ConfigMaps of their nodes. All pods but the last one are ready, so that the roller keeps
// looking.
func (w *world) makeNodes(ctx context.Context) error {
	if err := core.AddToScheme(w.scheme); err != nil {
		return err
	}
	if err := w.createNamespace(ctx, memoryNamespace); err != nil {
		return err
	}
	settings := strings.Repeat("# what a node's configuration file has besides, in Strimzi's and in ours\n", 60)
	for first := int32(0); first < manyBrokers; first += brokersOfAPool {
		pool := podsets.Pool{Namespace: memoryNamespace, Cluster: "many", Name: fmt.Sprintf("pool%d", first/brokersOfAPool), Broker: true,
			Revision: "r"}
		for id := first; id < first+brokersOfAPool; id++ {
			pool.Nodes = append(pool.Nodes, id)
		}
		set, err := pool.PodSet()
		if err != nil {
			return err
		}
		if err := w.client.Create(ctx, set); err != nil {
			return err
		}
		pods, err := set.DesiredPods()
		if err != nil {
			return err
		}
		yes := true
		owner := metav1.OwnerReference{APIVersion: core.GroupVersion.String(), Kind: "StrimziPodSet", Name: set.Name, UID: set.UID,
			Controller: &yes}
		err = each(ctx, len(pods), func(ctx context.Context, i int) error {
			pod := &pods[i]
			pod.OwnerReferences = []metav1.OwnerReference{owner}
			if err := w.client.Create(ctx, pod); err != nil {
				return err
			}
			ready := corev1.ConditionTrue
			if first+int32(i) == manyBrokers-1 {
				ready = corev1.ConditionFalse
			}
			pod.Status = corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}},
				ContainerStatuses: []corev1.ContainerStatus{{
					Name: core.ContainerKafka, Image: "kafka", Ready: ready == corev1.ConditionTrue,
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
				}},
			}
			if err := w.client.Status().Update(ctx, pod); err != nil {
				return err
			}
			return w.client.Create(ctx, pool.ConfigMap(first+int32(i), fmt.Sprintf("node.id=%d\n%s", first+int32(i), settings)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var decided = regexp.MustCompile(`(?m)^strimzi_roller_looks_total\{.*result="decided"\} (\d+)$`)

// looked waits until the roller at this address has made that many looks.
func looked(ctx context.Context, address string, times int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		if n, err := looksOf(ctx, address); err == nil && n >= times {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the roller did not look %d times: %w", times, context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}

func looksOf(ctx context.Context, address string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	found := decided.FindStringSubmatch(string(text))
	if found == nil {
		return 0, nil
	}
	return strconv.Atoi(found[1])
}
