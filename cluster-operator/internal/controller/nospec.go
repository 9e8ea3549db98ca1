package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
)

// standIn gives a Kafka that has no spec an empty one for this pass, which checkSpec ends.
func (p *pass) standIn() {
	p.missing = validate.Validate(validate.Input{Kafka: p.kafka}).Errors
	p.kafka = p.kafka.DeepCopy()
	p.kafka.Spec = &v1.KafkaSpec{}
}

// checkSpec ends the pass over a Kafka without a spec, as over an invalid one. Its Secrets tell what the spec said of the CAs.
func (p *pass) checkSpec(context.Context) error {
	failure, failed := validate.Joined(p.missing)
	if !failed {
		return nil
	}
	ca := func(name string) *v1.CertificateAuthority {
		secret := p.home().facts.Secret(name)
		return &v1.CertificateAuthority{GenerateCertificateAuthority: new(generated(secret)),
			GenerateSecretOwnerReference: new(secret != nil && ownedBy(secret, p.kafka.UID))}
	}
	p.kafka.Spec.ClusterCa = ca(pki.ClusterCACertSecret(p.kafka.Name))
	p.kafka.Spec.ClientsCa = ca(pki.ClientsCACertSecret(p.kafka.Name))
	return refusedBy(failure)
}

// generated reports whether an operator surely made the certificate of a CA. All others count as their user's, and are only read.
func generated(secret *corev1.Secret) bool {
	return secret != nil && secret.Labels[podset.LabelManagedBy] == apply.FieldManager && pki.Generated(secret)
}
