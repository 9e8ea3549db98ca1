//go:build linux

package deploy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Kafka is a Kafka that the cluster operator runs.
type Kafka struct {
	// Places are the Kubernetes clusters of its nodes. The first one has the Kafka object.
	Places          []*Place
	Namespace, Name string
}

// Object returns the Kafka object.
func (k *Kafka) Object(ctx context.Context) (*v1.Kafka, error) {
	found := &v1.Kafka{}
	err := k.Places[0].Client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Name}, found)
	return found, err
}

// Pods returns the pods of the Kafka's nodes.
func (k *Kafka) Pods(ctx context.Context) (all []corev1.Pod, err error) {
	for _, p := range k.Places {
		var pods corev1.PodList
		if err := p.Client.List(ctx, &pods, client.InNamespace(k.Namespace), client.MatchingLabels{v1.LabelCluster: k.Name},
			client.HasLabels{core.LabelPoolName}); err != nil {
			return nil, err
		}
		all = append(all, pods.Items...)
	}
	return all, nil
}

// ReadyPods returns the uids of the ready nodes' pods, by name.
func (k *Kafka) ReadyPods(ctx context.Context) (map[string]types.UID, error) {
	pods, err := k.Pods(ctx)
	uids := map[string]types.UID{}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && core.IsReady(&pod) {
			uids[pod.Name] = pod.UID
		}
	}
	return uids, err
}

// Bootstrap returns the addresses of a listener in the status of the Kafka.
func (k *Kafka) Bootstrap(ctx context.Context, listener string) ([]string, error) {
	found, err := k.Object(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range found.Status.Listeners {
		if l.Name == listener {
			return strings.Split(l.BootstrapServers, ","), nil
		}
	}
	return nil, fmt.Errorf("the status has no listener %s", listener)
}

// Authority returns the certificate of the cluster CA, and all certificates that clients have to trust now: a CA may be on its way out.
func (k *Kafka) Authority(ctx context.Context) (current []byte, trusted *x509.CertPool, err error) {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: k.Namespace, Name: k.Name + "-cluster-ca-cert"}
	if err := k.Places[0].Client.Get(ctx, key, &secret); err != nil {
		return nil, nil, err
	}
	trusted = x509.NewCertPool()
	for name, text := range secret.Data {
		if strings.HasSuffix(name, ".crt") && !trusted.AppendCertsFromPEM(text) {
			return nil, nil, fmt.Errorf("%s of Secret %s is not a certificate", name, key)
		}
	}
	return secret.Data["ca.crt"], trusted, nil
}

// InSync returns an error that names the partitions with replicas that are not in sync.
func InSync(ctx context.Context, admin interface {
	ListTopics(context.Context) ([]kafka.Topic, error)
}) error {
	topics, err := admin.ListTopics(ctx)
	errs := []error{err}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if !slices.Equal(slices.Sorted(slices.Values(p.ISR)), slices.Sorted(slices.Values(p.Replicas))) {
				errs = append(errs, fmt.Errorf("of %s-%d, only %v of %v are in sync", t.Name, p.Index, p.ISR, p.Replicas))
			}
		}
	}
	return errors.Join(errs...)
}

// Said returns the state and the logs of the pods of a namespace and of the operators, for the message of a failure.
func (p *Place) Said(ctx context.Context, namespace string) string {
	text := ""
	for _, args := range [][]string{
		{"get", "strimzipodset,pods,pvc,services,configmaps", "-n", namespace, "-o", "wide"},
		{"get", "kafka,kafkanodepool,kafkatopic", "-n", namespace, "-o", "wide"}, // which remote clusters do not know
		{"get", "kafka", "-n", namespace, "-o", "jsonpath={.items[*].status}"},
		{"get", "events", "-n", namespace, "--sort-by=.lastTimestamp"},
		{"logs", "-n", namespace, "-l", v1.LabelCluster, "--all-containers", "--prefix", "--tail=25"},
		{"logs", "-n", Namespace, "-l", "app.kubernetes.io/name=roller", "--prefix", "--tail=40"},
		{"logs", "-n", Namespace, "-l", "app.kubernetes.io/name=cluster-operator", "--prefix", "--tail=40"},
	} {
		out, err := p.Kubectl(ctx, args...)
		text += p.ID + ":\n" + out + "\n"
		if err != nil {
			text += err.Error() + "\n"
		}
	}
	return text
}
