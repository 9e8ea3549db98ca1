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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// readyRounds is how often a Kafka is created, by the operator and by hand.
const readyRounds = 3

// machine is a real Kubernetes cluster of one machine, with the operators deployed.
type machine struct{ *deploy.Place }

// ready measures the time from applying a Kafka of three nodes until it is ready, on a real Kubernetes cluster. The floor is the same pods
// with the same probes on new volumes, created at once when everything else exists, without an operator.
func ready(ctx context.Context, r *Report) error {
	return onMachine(ctx, r, func(m machine, _ *realnodes.Lab, root string) error { return m.ready(ctx, r, root) })
}

// onMachine runs measure on a real Kubernetes cluster of one machine with the operators deployed. root is the repository's folder.
func onMachine(ctx context.Context, r *Report, measure func(m machine, lab *realnodes.Lab, root string) error) (err error) {
	dir, err := os.MkdirTemp("", "bench-machine-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return err
	}
	archives, err := deploy.Images(ctx, dir, "clusteroperator.test", "cluster-operator", "roller")
	if err != nil {
		return err
	}
	lab, err := realnodes.Start(ctx, realnodes.Options{Images: archives, Log: r.progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	place, err := deploy.Connect(lab.Clusters()[0], "")
	if err != nil {
		return err
	}
	m := machine{place}
	if err := errors.Join(m.Apply(ctx, filepath.Join(root, "e2e", "clusteroperator", "testdata", "operators")), m.Scale(ctx, 2)); err != nil {
		return err
	}
	return measure(m, lab, root)
}

func (m machine) ready(ctx context.Context, r *Report, root string) error {
	var operator, hand []time.Duration
	for i := range readyRounds {
		namespace := fmt.Sprintf("ready-%d", i)
		took, err := m.applied(ctx, namespace, filepath.Join(root, "e2e", "bench", "kafka.yaml"))
		if err != nil {
			return err
		}
		beside, err := byHand(ctx, namespace, m)
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

// applied applies a Kafka in a new namespace, and returns the time until it was ready.
func (m machine) applied(ctx context.Context, namespace, manifest string) (time.Duration, error) {
	if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return 0, err
	}
	return m.timed(ctx, namespace, manifest)
}

// timed applies a Kafka, and returns the time until it was ready.
func (m machine) timed(ctx context.Context, namespace, manifest string) (time.Duration, error) {
	began := time.Now()
	if _, err := m.Kubectl(ctx, "apply", "--server-side", "-n", namespace, "-f", manifest); err != nil {
		return 0, err
	}
	err := until(ctx, "the Kafka is ready", func() (bool, error) {
		var list v1.KafkaList
		if err := m.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
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

// byHand creates the pods of the namespace's Kafka again on new volumes, in all Kubernetes clusters, and returns the time until they were
// ready.
func byHand(ctx context.Context, namespace string, machines ...machine) (took time.Duration, err error) {
	for _, m := range machines {
		if err := m.Scale(ctx, 0); err != nil {
			return 0, err
		}
	}
	defer func() {
		for _, m := range machines {
			err = errors.Join(err, m.Scale(ctx, 2))
		}
	}()
	wanted := make([][]client.Object, len(machines))
	for i, m := range machines {
		if wanted[i], err = m.wanted(ctx, namespace); err != nil {
			return 0, err
		}
		for _, o := range wanted[i] {
			if err := client.IgnoreNotFound(m.Client.Delete(ctx, o, client.GracePeriodSeconds(1))); err != nil {
				return 0, err
			}
		}
	}
	for _, m := range machines {
		err := until(ctx, "pods and volumes are gone", func() (bool, error) {
			pods, claims, err := m.nodes(ctx, namespace)
			return len(pods)+claims == 0, err
		})
		if err != nil {
			return 0, err
		}
	}
	began := time.Now()
	for i, m := range machines {
		for _, o := range wanted[i] {
			o.SetUID("")
			o.SetResourceVersion("")
			if err := m.Client.Create(ctx, o); err != nil {
				return 0, err
			}
		}
	}
	for _, m := range machines {
		err := until(ctx, "the pods are ready", func() (bool, error) {
			pods, _, err := m.nodes(ctx, namespace)
			return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !core.IsReady(&pod) }), err
		})
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// nodes returns the pods of the namespace's Kafka, and the number of its volumes.
func (m machine) nodes(ctx context.Context, namespace string) (pods []corev1.Pod, claims int, err error) {
	var podList corev1.PodList
	var claimList corev1.PersistentVolumeClaimList
	of := []client.ListOption{client.InNamespace(namespace), client.HasLabels{core.LabelPoolName}}
	err = errors.Join(m.Client.List(ctx, &podList, of...), m.Client.List(ctx, &claimList, of...))
	return podList.Items, len(claimList.Items), err
}

// wanted returns the volumes and pods of the namespace's Kafka, to be created again. No operator provides the placement of a pod then; on
// one machine it does not change.
func (m machine) wanted(ctx context.Context, namespace string) ([]client.Object, error) {
	var list []client.Object
	var claims corev1.PersistentVolumeClaimList
	var sets core.StrimziPodSetList
	if err := errors.Join(m.Client.List(ctx, &claims, client.InNamespace(namespace)),
		m.Client.List(ctx, &sets, client.InNamespace(namespace))); err != nil {
		return nil, err
	}
	for _, c := range claims.Items {
		c.Spec.VolumeName = ""
		list = append(list, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.Name, Labels: c.Labels},
			Spec: c.Spec})
	}
	for _, set := range sets.Items {
		for _, raw := range set.Spec.Pods {
			pod, running := &corev1.Pod{}, &corev1.Pod{}
			if err := json.Unmarshal(raw.Raw, pod); err != nil {
				return nil, err
			}
			pod.Namespace = namespace
			if err := m.Client.Get(ctx, client.ObjectKeyFromObject(pod), running); err != nil {
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
