//go:build linux

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
)

// readyRounds is how often a Kafka is made, by the operator and by hand.
const readyRounds = 3

// operatorsNamespace is where config/default installs the operators.
const operatorsNamespace = "kafka-operators"

// machine is a real Kubernetes cluster of one machine, with the operators deployed.
type machine struct {
	*realnodes.Cluster
	client client.Client
}

// ready measures how long a Kafka of three nodes takes from being applied until it is ready, on a real Kubernetes cluster. The floor are the same pods with
// the same probes on new volumes, created at once with all that they need being there already, and nobody at work beside Kubernetes.
func ready(ctx context.Context, r *Report) (err error) {
	dir, err := os.MkdirTemp("", "bench-ready-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return err
	}
	archives, err := operatorImages(ctx, root, dir)
	if err != nil {
		return err
	}
	lab, err := realnodes.Start(ctx, realnodes.Options{Images: archives, Log: r.progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	m := &machine{Cluster: lab.Clusters()[0]}
	if err := m.deploy(ctx, root); err != nil {
		return err
	}
	var operator, hand []time.Duration
	for i := range readyRounds {
		namespace := fmt.Sprintf("ready-%d", i)
		took, err := m.applied(ctx, namespace, filepath.Join(root, "e2e", "bench", "kafka.yaml"))
		if err != nil {
			return err
		}
		beside, err := m.byHand(ctx, namespace)
		if err != nil {
			return err
		}
		r.logf("  applied: %s, by hand: %s", took.Round(time.Millisecond), beside.Round(time.Millisecond))
		operator, hand = append(operator, took), append(hand, beside)
		if _, err := m.Kubectl(ctx, "delete", "namespace", namespace, "--timeout=2m"); err != nil {
			return err
		}
	}
	slices.Sort(operator)
	slices.Sort(hand)
	r.addBeside("kafka_of_3_nodes_on_a_machine_ready", operator[readyRounds/2].Seconds(), hand[readyRounds/2].Seconds(), "s")
	return nil
}

// operatorImages makes the images that e2e/clusteroperator/testdata/operators names, as the Dockerfile does.
func operatorImages(ctx context.Context, root, dir string) ([]string, error) {
	var archives []string
	for _, name := range []string{"cluster-operator", "roller"} {
		archive, err := image.BuildOperator(ctx, dir, name, "clusteroperator.test/"+name+":e2e", root, "./"+name+"/cmd")
		if err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// deploy deploys the operators.
func (m *machine) deploy(ctx context.Context, root string) (err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme), podset.AddToScheme(scheme)); err != nil {
		return err
	}
	if m.client, err = client.New(m.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if _, err := m.Kubectl(ctx, "apply", "--server-side", "-k", filepath.Join(root, "e2e", "clusteroperator", "testdata", "operators")); err != nil {
		return err
	}
	if err := controlplane.WaitEstablished(ctx, m.Kubectl); err != nil {
		return err
	}
	return m.scale(ctx, 2)
}

// scale gives the operators so many replicas, and waits until they have them.
func (m *machine) scale(ctx context.Context, replicas int32) error {
	for _, name := range []string{"cluster-operator", "roller"} {
		if _, err := m.Kubectl(ctx, "scale", "deployment/"+name, "-n", operatorsNamespace, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
			return err
		}
	}
	return until(ctx, "the operators are there", func() (bool, error) {
		var pods corev1.PodList
		var all appsv1.DeploymentList
		if err := errors.Join(m.client.List(ctx, &pods, client.InNamespace(operatorsNamespace)), m.client.List(ctx, &all, client.InNamespace(operatorsNamespace))); err != nil {
			return false, err
		}
		there := len(pods.Items) == int(replicas)*len(all.Items)
		for i := range all.Items {
			there = there && all.Items[i].Status.ReadyReplicas == replicas
		}
		return there, nil
	})
}

// applied applies a Kafka in a namespace of its own, and returns how long it took until it was ready.
func (m *machine) applied(ctx context.Context, namespace, manifest string) (time.Duration, error) {
	if err := m.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := m.Kubectl(ctx, "apply", "--server-side", "-n", namespace, "-f", manifest); err != nil {
		return 0, err
	}
	err := until(ctx, "the Kafka is ready", func() (bool, error) {
		var list v1.KafkaList
		if err := m.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			for _, c := range list.Items[i].Status.Conditions {
				if c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue {
					return true, nil
				}
			}
		}
		return false, nil
	})
	return time.Since(began), err
}

// byHand makes the pods of the namespace's Kafka again on new volumes, and returns how long it took until they were ready.
func (m *machine) byHand(ctx context.Context, namespace string) (took time.Duration, err error) {
	if err := m.scale(ctx, 0); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.scale(ctx, 2)) }()
	wanted, err := m.wanted(ctx, namespace)
	if err != nil {
		return 0, err
	}
	nodes := []client.ListOption{client.InNamespace(namespace), client.HasLabels{podset.LabelPoolName}}
	for _, o := range wanted {
		if err := client.IgnoreNotFound(m.client.Delete(ctx, o, client.GracePeriodSeconds(1))); err != nil {
			return 0, err
		}
	}
	var claims corev1.PersistentVolumeClaimList
	var pods corev1.PodList
	err = until(ctx, "pods and volumes are gone", func() (bool, error) {
		err := errors.Join(m.client.List(ctx, &pods, nodes...), m.client.List(ctx, &claims, nodes...))
		return len(pods.Items)+len(claims.Items) == 0, err
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for _, o := range wanted {
		o.SetUID("")
		o.SetResourceVersion("")
		if err := m.client.Create(ctx, o); err != nil {
			return 0, err
		}
	}
	err = until(ctx, "the pods are ready", func() (bool, error) {
		if err := m.client.List(ctx, &pods, nodes...); err != nil {
			return false, err
		}
		for i := range pods.Items {
			if !slices.ContainsFunc(pods.Items[i].Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				return false, nil
			}
		}
		return true, nil
	})
	return time.Since(began), err
}

// wanted are the volumes and pods of the namespace's Kafka, to be made again. Nobody is there to say where a pod runs; on one machine that does not change.
func (m *machine) wanted(ctx context.Context, namespace string) ([]client.Object, error) {
	var list []client.Object
	var claims corev1.PersistentVolumeClaimList
	var sets podset.StrimziPodSetList
	if err := errors.Join(m.client.List(ctx, &claims, client.InNamespace(namespace)), m.client.List(ctx, &sets, client.InNamespace(namespace))); err != nil {
		return nil, err
	}
	for _, c := range claims.Items {
		c.Spec.VolumeName = ""
		list = append(list, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.Name, Labels: c.Labels}, Spec: c.Spec})
	}
	for _, set := range sets.Items {
		for _, raw := range set.Spec.Pods {
			pod, running := &corev1.Pod{}, &corev1.Pod{}
			if err := json.Unmarshal(raw.Raw, pod); err != nil {
				return nil, err
			}
			pod.Namespace = namespace
			if err := m.client.Get(ctx, client.ObjectKeyFromObject(pod), running); err != nil {
				return nil, err
			}
			for key, value := range running.Annotations {
				pod.Annotations[key] = value
			}
			list = append(list, pod)
		}
	}
	return list, nil
}

// until asks again and again, for five minutes at most.
func until(ctx context.Context, what string, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		if there, err := ask(); err != nil || there {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}
