//go:build linux

package bench

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
)

const (
	// slowness is the delay of each call to a slow API server.
	slowness = 2 * time.Second
	// edits is the number of measured changes of a Kafka; the median counts.
	edits = 5
)

// besideSlow measures the time until a change of the Kafka arrives in the Kubernetes clusters that respond at once, while another one takes
// 2 s for each call, and compares it with the time while none is slow.
func (s *stretched) besideSlow(ctx context.Context, r *Report) (err error) {
	without, err := s.edit(ctx)
	if err != nil {
		return err
	}
	slow := s.machines[2]
	front, err := s.slowDown(slow)
	if err != nil {
		return err
	}
	defer front.close()
	restore, err := s.lead(ctx, slow, front.server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore(ctx)) }()
	err = until(ctx, "the slow API server is asked", func() (bool, error) { return front.calls.Load() > 3, nil })
	if err != nil {
		return err
	}
	with, err := s.edit(ctx)
	if err != nil {
		return err
	}
	r.addBeside("stretched_kafka_change_beside_a_slow_cluster", with.Seconds(), without.Seconds(), "s")
	return nil
}

// edit changes the Kafka several times, and returns the median time until the nodes in all but the last Kubernetes cluster have the change.
func (s *stretched) edit(ctx context.Context) (time.Duration, error) {
	var took []time.Duration
	for range edits {
		k, err := s.machines[0].kafka(ctx, s.namespace)
		if err != nil {
			return 0, err
		}
		before := k.DeepCopy()
		value := strconv.FormatInt(1_000_000_000+k.Generation, 10)
		k.Spec.Kafka.Config["log.retention.ms"] = v1.ConfigValue{Raw: []byte(strconv.Quote(value))}
		began := time.Now()
		if err := s.machines[0].Client.Patch(ctx, k, client.MergeFrom(before)); err != nil {
			return 0, err
		}
		for _, m := range s.machines[:len(s.machines)-1] {
			if err := m.has(ctx, s.namespace, "log.retention.ms="+value); err != nil {
				return 0, err
			}
		}
		took = append(took, time.Since(began))
		if err := s.machines[len(s.machines)-1].has(ctx, s.namespace, "log.retention.ms="+value); err != nil {
			return 0, err
		}
		if err := s.until(ctx, "the change is made everywhere", func(k *v1.Kafka) bool {
			return k.Status.ObservedGeneration == k.Generation && state(k, v1.ConditionReady) == metav1.ConditionTrue
		}); err != nil {
			return 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// has waits until the configuration of a node in a Kubernetes cluster contains a line.
func (m machine) has(ctx context.Context, namespace, line string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		var configs corev1.ConfigMapList
		if err := m.Client.List(ctx, &configs, client.InNamespace(namespace), client.MatchingLabels{v1.LabelCluster: "my-cluster"}); err != nil {
			return err
		}
		if slices.ContainsFunc(configs.Items, func(c corev1.ConfigMap) bool { return strings.Contains(c.Data["server.config"], line) }) {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("a node in %s gets %s: %w", m.ID, line, err)
		}
	}
}

// slowServer is a proxy of an API server that delays each call.
type slowServer struct {
	server *httptest.Server
	calls  atomic.Int64
	over   chan struct{}
}

func (f *slowServer) close() {
	close(f.over)
	f.server.CloseClientConnections()
	f.server.Close()
}

// slowDown starts a slowServer for the API server of a Kubernetes cluster.
func (s *stretched) slowDown(m machine) (*slowServer, error) {
	config := rest.AnonymousClientConfig(m.RESTConfig())
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	listener, err := s.lab.Listen()
	if err != nil {
		return nil, err
	}
	f := &slowServer{over: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(slowness):
		case <-r.Context().Done():
			return
		case <-f.over:
			return
		}
		f.calls.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	if err := f.server.Listener.Close(); err != nil {
		return nil, err
	}
	f.server.Listener, f.server.EnableHTTP2 = listener, true
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that end with the server
	f.server.StartTLS()
	return f, nil
}

// lead makes the cluster operators reach a Kubernetes cluster through a server, until restore is called.
func (s *stretched) lead(ctx context.Context, m machine, through *httptest.Server) (restore func(context.Context) error, err error) {
	central := s.machines[0]
	name := "kubeconfig-" + m.ID
	secret := &corev1.Secret{}
	if err := central.Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: name}, secret); err != nil {
		return nil, err
	}
	kubeconfig, err := clientcmd.Load(secret.Data["kubeconfig"])
	if err != nil {
		return nil, err
	}
	address := "https://" + through.Listener.Addr().String()
	for _, c := range kubeconfig.Clusters {
		c.Server = address
		c.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: through.Certificate().Raw})
		c.TLSServerName = "example.com" // the name in httptest's certificate
	}
	text, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return nil, err
	}
	slow := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: deploy.Namespace, Name: name + "-slow"},
		Data: map[string][]byte{"kubeconfig": text}}
	if err := central.Client.Create(ctx, slow); err != nil {
		return nil, err
	}
	if err := central.reach(ctx, m.RESTConfig().Host, address, name, slow.Name); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return errors.Join(central.reach(ctx, address, m.RESTConfig().Host, slow.Name, name), central.Client.Delete(ctx, slow))
	}, nil
}

// reach replaces texts in the setting with the addresses of other Kubernetes clusters, and waits until the cluster operators have
// restarted.
func (m machine) reach(ctx context.Context, replace ...string) error {
	var operator appsv1.Deployment
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: "cluster-operator"}, &operator); err != nil {
		return err
	}
	before := operator.DeepCopy()
	env := operator.Spec.Template.Spec.Containers[0].Env
	for i := range env {
		if env[i].Name == "STRIMZI_REMOTE_KUBE_CONFIG" {
			env[i].Value = strings.NewReplacer(replace...).Replace(env[i].Value)
		}
	}
	if err := m.Client.Patch(ctx, &operator, client.MergeFrom(before)); err != nil {
		return err
	}
	return m.Ready(ctx)
}
