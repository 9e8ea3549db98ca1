package app

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// TestTheOperatorWaitsForItsKinds starts the operator before its CustomResourceDefinitions are there.
func TestTheOperatorWaitsForItsKinds(t *testing.T) {
	env, err := testserver.Start(false)
	testserver.Need(t, err)
	t.Cleanup(func() { testserver.Stop(env) })
	config := env.Config
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := port.Addr().String()
	g.Expect(port.Close()).To(Succeed())
	o, _, err := options.Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"STRIMZI_HTTP_ADDRESS": address, "STRIMZI_NAMESPACE": "default", "STRIMZI_OPERATOR_NAMESPACE": "default"}[name]
		return v, ok
	}})
	g.Expect(err).NotTo(HaveOccurred())
	ended := make(chan error, 1)
	go func() { ended <- Run(t.Context(), config, o, logr.Discard()) }()

	ready := func() string {
		select {
		case err := <-ended:
			ended <- err
			return fmt.Sprintf("the operator ended: %v", err)
		default:
		}
		answer, err := http.Get("http://" + address + "/ready")
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return fmt.Sprint(answer.StatusCode, " ", string(body))
	}
	g.Eventually(ready).Should(And(HavePrefix("500"), ContainSubstring("apply the CustomResourceDefinitions")))
	_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "..", "..", "config", "crd", "bases")}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(ready).Should(HavePrefix("200"))

	// It works: the first thing that it makes of a Kafka is there.
	k8s, err := client.New(config, client.Options{Scheme: Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	kafka := &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "my-cluster"}, Spec: &v1.KafkaSpec{Kafka: v1.KafkaClusterSpec{
		Listeners: []v1.Listener{{Name: "plain", Port: 9092, Type: v1.ListenerInternal}}}}}
	pool := &v1.KafkaNodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pool",
		Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
		Spec: &v1.KafkaNodePoolSpec{Replicas: 1, Roles: []v1.ProcessRole{v1.RoleBroker, v1.RoleController},
			Storage: v1.Storage{Type: v1.StorageEphemeral}}}
	g.Expect(k8s.Create(t.Context(), kafka)).To(Succeed())
	g.Expect(k8s.Create(t.Context(), pool)).To(Succeed())
	g.Eventually(func() error {
		return k8s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "my-cluster-kafka-bootstrap"}, &corev1.Service{})
	}).Should(Succeed())
	g.Expect(ended).NotTo(Receive())
}
