package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// customListeners returns the listeners with certificates of their users', and where those are.
func customListeners(kafka *v1.Kafka) (listeners []pki.Listener, own []v1.CertAndKeySecret) {
	if kafka.Spec == nil {
		return nil, nil
	}
	for _, l := range kafka.Spec.Kafka.Listeners {
		if l.Configuration == nil || l.Configuration.BrokerCertChainAndKey == nil {
			continue
		}
		at := *l.Configuration.BrokerCertChainAndKey
		certificate, key := model.ListenerFiles(l)
		listeners = append(listeners, pki.Listener{Name: l.Name, Secret: at.SecretName, CertEntry: certificate, KeyEntry: key})
		own = append(own, at)
	}
	return listeners, own
}

// held returns for which listeners nodes hold a certificate of their user's.
func (p *pass) held() map[string]bool {
	held := map[string]bool{}
	listeners, _ := customListeners(p.kafka)
	for _, l := range listeners {
		for _, n := range p.input.Topology.Brokers() {
			if _, holds := l.Held(p.home().facts.Secret(p.podName(n))); holds {
				held[l.Name] = true
			}
		}
	}
	return held
}

// listeners finds out what users want to be served on listeners. A Secret that can't be read ends the pass if nodes would have nothing to
// serve; else it is reported at the end of the pass.
func (p *pass) listeners(secrets map[string]map[string][]byte, unread map[string]error) error {
	held := p.held()
	custom, own := customListeners(p.kafka)
	for i, l := range custom {
		at := own[i]
		if err := unread[at.SecretName]; err != nil {
			if !held[l.Name] {
				return err
			}
			p.refused = append(p.refused, err)
			continue
		}
		data := secrets[at.SecretName]
		if pair := (pki.Pair{Certificate: data[at.Certificate], Key: data[at.Key]}); pair.Check(p.Now()) == nil {
			custom[i].Wanted = &pair
		}
	}
	p.custom = custom
	return nil
}

// serve takes over what nodes serve on listeners.
func (p *pass) serve(pairs map[string]pki.Pair) error {
	p.status.Certificates = map[string]string{}
	for _, l := range p.custom {
		pair, found := pairs[l.Name]
		if !found { // the Secrets of nodes held one when the pass began
			return fmt.Errorf("listener %s: no node has a custom certificate any more, and Secret %s has no valid one", l.Name,
				l.Secret)
		}
		if p.input.Certificates.ListenerHash == nil {
			p.input.Certificates.ListenerHash = map[string]string{}
		}
		p.input.Certificates.ListenerHash[l.Name] = pair.Hash()
		p.status.Certificates[l.Name] = string(pki.Certificates(pair.Certificate))
	}
	return nil
}

// reportRefused ends a pass that did everything but give nodes certificates of listeners that can't be served, or use the clients CA.
func (p *pass) reportRefused(context.Context) error { return errors.Join(p.refused...) }

// listenerCertificates returns the validity of the users' certificates that nodes hold for listeners, by listener.
func listenerCertificates(f facts.Cluster, kafka *v1.Kafka) map[string]metrics.Certificate {
	listeners, _ := customListeners(kafka)
	nodes := secretsIn(f)
	certificates := map[string]metrics.Certificate{}
	for _, l := range listeners {
		certificates[l.Name] = metrics.Certificate(l.Validity(nodes))
	}
	return certificates
}

// nodeCertificates returns when the first certificate of a node expires.
func nodeCertificates(f facts.Cluster, spec *v1.KafkaSpec) metrics.Certificate {
	return metrics.Certificate(pki.NodesValidity(secretsIn(f), caConfig(spec.ClusterCa)))
}

// secretsIn returns the Secrets among facts.
func secretsIn(f facts.Cluster) (secrets []*corev1.Secret) {
	for key := range f.Objects {
		if key.Kind == "Secret" {
			secrets = append(secrets, f.Secret(key.Name))
		}
	}
	return secrets
}
