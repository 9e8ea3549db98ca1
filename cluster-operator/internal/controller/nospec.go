package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
)

// standIn gives a Kafka that has no spec, or can't be decoded, an empty one for this pass, which checkSpec ends.
func (p *pass) standIn() {
	p.missing = validate.Validate(validate.Input{Kafka: p.kafka}).Errors
	p.kafka = p.kafka.DeepCopy()
	p.kafka.Spec = &v1.KafkaSpec{}
}

// checkSpec ends the pass over a Kafka without a spec, as over an invalid one.
func (p *pass) checkSpec(context.Context) error {
	if failure, failed := validate.Joined(p.missing); failed {
		return refusedBy(failure)
	}
	return nil
}

// supposeSpec fills in the empty spec of a Kafka that has none. Its Secrets tell what the spec said of the CAs and the topic operator. What
// it said of maintenance windows is unknown, so none is open.
func (p *pass) supposeSpec(context.Context) error {
	if len(p.missing) == 0 {
		return nil
	}
	ca := func(name string) *v1.CertificateAuthority {
		secret := p.home().facts.Secret(name)
		return &v1.CertificateAuthority{GenerateCertificateAuthority: new(generated(secret)),
			GenerateSecretOwnerReference: new(secret != nil && apply.OwnedBy(secret, p.kafka.UID))}
	}
	p.kafka.Spec.ClusterCa = ca(pki.ClusterCACertSecret(p.kafka.Name))
	p.kafka.Spec.ClientsCa = ca(pki.ClientsCACertSecret(p.kafka.Name))
	p.kafka.Spec.MaintenanceTimeWindows = []string{"unknown"}
	if p.home().facts.Secret(pki.TopicOperatorSecret(p.kafka.Name)) != nil {
		p.kafka.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	}
	return nil
}

// generated reports whether an operator certainly made the certificate of a CA. All others count as their user's, and are only read.
func generated(secret *corev1.Secret) bool {
	return secret != nil && secret.Labels[core.LabelManagedBy] == apply.FieldManager && pki.Generated(secret)
}

// unknownPool is the error of a KafkaNodePool that has no spec, or can't be decoded.
func unknownPool(pool *v1.KafkaNodePool) error {
	if pool.Invalid != "" {
		return stalled(v1.ReasonInvalidResource, "KafkaNodePool %s/%s can't be read, so it is unknown which nodes it should have: %s",
			pool.Namespace, pool.Name, pool.Invalid)
	}
	return stalled(v1.ReasonInvalidResource, "KafkaNodePool %s/%s has no .spec, so it is unknown which nodes it should have: "+
		"apply it with a .spec, or delete it", pool.Namespace, pool.Name)
}

// checkDecoded is an error if the status of the Kafka, or of a KafkaNodePool, may be another one than was decoded.
func (p *pass) checkDecoded() error {
	if failure, failed := validate.Joined(p.missing); failed && p.kafka.Invalid != "" {
		return refusedBy(failure)
	}
	for _, pool := range p.noSpec {
		if pool.Invalid != "" {
			return unknownPool(pool)
		}
	}
	return nil
}
