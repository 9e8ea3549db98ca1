//go:build linux

package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// stretched is a Kafka with a node in each of three real Kubernetes clusters, the first of which is the central one.
type stretched struct {
	lab       *realnodes.Lab
	machines  []machine
	namespace string
}

// stretch measures a Kafka over three real Kubernetes clusters: the time until it is ready, compared with the same pods created by hand;
// the operators' requests to a remote API server when nothing changes; the time until the loss of a Kubernetes cluster shows, and how long
// a producer pauses then, compared with the same Kafka without operators.
func stretch(ctx context.Context, r *Report) (err error) {
	dir, err := os.MkdirTemp("", "bench-stretch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return err
	}
	archives, err := deploy.Images(ctx, dir, "stretch.test", "cluster-operator", "roller")
	if err != nil {
		return err
	}
	lab, err := realnodes.Start(ctx, realnodes.Options{Clusters: 3, Nodes: 1, Images: archives, Log: r.progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	testdata := filepath.Join(root, "e2e", "stretch", "testdata")
	places, err := deploy.Stretch(ctx, lab, testdata)
	if err != nil {
		return err
	}
	s := &stretched{lab: lab, namespace: "stretched"}
	for _, p := range places {
		s.machines = append(s.machines, machine{p})
		if err := p.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}); err != nil {
			return err
		}
	}
	took, err := s.machines[0].timed(ctx, s.namespace, filepath.Join(testdata, "kafka.yaml"))
	if err != nil {
		return err
	}
	if err := s.idle(ctx, r); err != nil {
		return err
	}
	if err := s.besideSlow(ctx, r); err != nil {
		return err
	}
	with, err := s.loss(ctx, r, "with-operators")
	if err != nil {
		return err
	}
	for _, m := range s.machines {
		if err := m.Scale(ctx, 0); err != nil {
			return err
		}
	}
	without, err := s.loss(ctx, nil, "without-operators")
	if err != nil {
		return err
	}
	r.addBeside("stretched_kafka_longest_produce_at_the_loss_of_a_cluster", with.Seconds(), without.Seconds(), "s")
	beside, err := byHand(ctx, s.namespace, s.machines...)
	if err != nil {
		return err
	}
	r.addBeside("stretched_kafka_of_3_nodes_ready", took.Seconds(), beside.Seconds(), "s")
	return nil
}

// idle counts the requests of the central operators to remote API servers while nothing changes.
func (s *stretched) idle(ctx context.Context, r *Report) error {
	before, err := s.requests(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, quiet); err != nil {
		return err
	}
	after, err := s.requests(ctx)
	if err != nil {
		return err
	}
	remotes := float64(len(s.machines) - 1)
	r.add("stretched_kafka_requests_for_each_remote_cluster", float64(after.all-before.all)/remotes/quiet.Minutes(), "1/min")
	r.add("stretched_kafka_writes_to_remote_clusters", float64(after.writes-before.writes), "1")
	return nil
}

// requests reads the metrics of client-go in all pods of the central operators: of requests to remote API servers.
func (s *stretched) requests(ctx context.Context) (requests, error) {
	central, sum := s.machines[0], requests{}
	var pods corev1.PodList
	if err := central.Client.List(ctx, &pods, client.InNamespace(deploy.Namespace)); err != nil {
		return sum, err
	}
	home := strings.TrimPrefix(central.RESTConfig().Host, "https://")
	for i := range pods.Items {
		metrics, err := central.metrics(ctx, pods.Items[i].Name)
		if err != nil {
			return sum, err
		}
		for series, n := range metrics {
			// Operators reach their own API server at the address of its Service.
			if !strings.HasPrefix(series, "rest_client_requests_total{") || strings.Contains(series, home) || !strings.Contains(series, `:6443"`) {
				continue
			}
			sum.all += int(n)
			if !strings.Contains(series, `method="GET"`) {
				sum.writes += int(n)
			}
		}
	}
	return sum, nil
}

// metrics reads the metrics of an operator's pod.
func (m machine) metrics(ctx context.Context, pod string) (operatorproc.Metrics, error) {
	text, err := m.Kubectl(ctx, "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:8080/proxy/metrics", deploy.Namespace, pod))
	if err != nil {
		return nil, err
	}
	return operatorproc.ParseMetrics(text)
}

// loss cuts a Kubernetes cluster off and reconnects it while records are written, and returns the longest time that a record took. With a
// report, it also measures when the loss and the return show in the status.
func (s *stretched) loss(ctx context.Context, r *Report, topic string) (longest time.Duration, err error) {
	flow, err := s.records(ctx, topic)
	if err != nil {
		return 0, err
	}
	over, end := context.WithCancel(ctx)
	end()
	defer flow.Stop(over)
	lost := s.machines[2]
	began := time.Now()
	if err := s.lab.Isolate(lost.Cluster); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.lab.HealAll()) }()
	if r != nil {
		if err := s.until(ctx, "the loss shows", func(k *v1.Kafka) bool { return state(k, "Degraded") == metav1.ConditionTrue }); err != nil {
			return 0, err
		}
		r.add("stretched_kafka_loss_of_a_cluster_shows", time.Since(began).Seconds(), "s")
	}
	if err := pause(ctx, time.Until(began.Add(quiet))); err != nil {
		return 0, err
	}
	began = time.Now()
	if err := s.lab.HealAll(); err != nil {
		return 0, err
	}
	if r != nil {
		if err := s.until(ctx, "it is ready again", func(k *v1.Kafka) bool {
			return state(k,
				v1.ConditionReady) == metav1.ConditionTrue
		}); err != nil {
			return 0, err
		}
		r.add("stretched_kafka_ready_after_the_return_of_a_cluster", time.Since(began).Seconds(), "s")
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	report := flow.Stop(limited)
	return report.Longest, report.Err()
}

func state(k *v1.Kafka, kind string) metav1.ConditionStatus {
	i := slices.IndexFunc(k.Status.Conditions, func(c v1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return metav1.ConditionUnknown
	}
	return metav1.ConditionStatus(k.Status.Conditions[i].Status)
}

func (s *stretched) until(ctx context.Context, what string, holds func(*v1.Kafka) bool) error {
	return until(ctx, what, func() (bool, error) {
		k, err := s.machines[0].kafka(ctx, s.namespace)
		return err == nil && holds(k), err
	})
}

func (m machine) kafka(ctx context.Context, namespace string) (*v1.Kafka, error) {
	k := &v1.Kafka{}
	return k, m.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "my-cluster"}, k)
}

// records starts to write to a new topic from outside, with acks=all.
func (s *stretched) records(ctx context.Context, topic string) (*traffic.Traffic, error) {
	admin, options, err := s.machines[0].connect(ctx, s.lab, s.namespace)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	return flowing(ctx, admin, topic, options)
}

// connect returns a client of the namespace's Kafka outside of the Kubernetes cluster, and the options of others.
func (m machine) connect(ctx context.Context, lab *realnodes.Lab, namespace string) (*saramakafka.Admin, traffic.Options, error) {
	k, err := m.kafka(ctx, namespace)
	if err != nil {
		return nil, traffic.Options{}, err
	}
	var secret corev1.Secret
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: k.Name + "-cluster-ca-cert"}, &secret); err != nil {
		return nil, traffic.Options{}, err
	}
	authority := secret.Data["ca.crt"]
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	var addresses []string
	for _, l := range k.Status.Listeners {
		if l.Name == "external" {
			addresses = strings.Split(l.BootstrapServers, ",")
		}
	}
	admin, err := saramakafka.New(kafka.Config{
		Bootstrap: addresses, ClientID: "bench", RequestTimeout: 10 * time.Second, Dial: lab.DialContext,
		TLS: &kafka.TLS{TrustedCertificates: authority},
	})
	return admin, traffic.Options{
		Bootstrap: addresses, Dial: lab.DialContext, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool},
	}, err
}
