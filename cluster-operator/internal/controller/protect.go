package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// protect takes volumes and Secrets of CAs from Kubernetes' garbage collector that the user wants to outlive the Kafka. It comes first in a
// pass, and in a pause: the user may delete the Kafka next, whatever else is wrong with it.
func (p *pass) protect(ctx context.Context) error {
	if err := p.each(func(s *site) error { return p.protectIn(ctx, s) }); err != nil {
		return err
	}
	return p.protectUnlabelled(ctx)
}

// protectIn does the same for what a Kubernetes cluster has.
func (p *pass) protectIn(ctx context.Context, s *site) error {
	for _, key := range slices.SortedFunc(slices.Values(p.toProtect(s)), facts.Key.Compare) {
		disowned, err := p.disown(ctx, s, key, s.facts.Objects[key])
		if err != nil {
			return err
		}
		s.facts.Objects[key] = disowned
	}
	return nil
}

// toProtect returns the objects in a Kubernetes cluster that would be deleted with the Kafka, and that its user wants to keep.
func (p *pass) toProtect(s *site) (keys []facts.Key) {
	for key, o := range s.facts.Objects {
		keep := false
		switch key.Kind {
		case "PersistentVolumeClaim":
			keep = p.keepsClaim(s.facts.Claim(key.Name)) || o.GetAnnotations()[v1.AnnotationDeleteClaim] == "false"
		case "Secret":
			keep = s.cluster == topology.Home && p.keepsCA(s.facts.Secret(key.Name)) // copies elsewhere go with their anchor
		}
		if keep && apply.OwnedBy(o, s.owner.UID) {
			keys = append(keys, key)
		}
	}
	return keys
}

// protectUnlabelled protects the Secrets of CAs that the cache does not have, because they lack the Kafka's label.
func (p *pass) protectUnlabelled(ctx context.Context) error {
	home := p.home()
	for _, secret := range pki.CASecrets(p.kafka.Name) {
		if home.facts.Secret(secret) != nil || !p.outlives(secret) {
			continue
		}
		fact := p.secret(ctx, secret)
		if fact.State == pki.Unknown {
			return fmt.Errorf("read Secret %s: %w", secret, fact.Err)
		}
		if fact.State == pki.Absent || !p.keepsCA(fact.Secret) || !apply.OwnedBy(fact.Secret, home.owner.UID) {
			continue
		}
		delete(p.unlabelled, secret) // the rest of the pass reads it again
		if _, err := p.disown(ctx, home, facts.Key{Kind: "Secret", Name: secret}, fact.Secret); err != nil {
			return err
		}
	}
	return nil
}

// keepsCA reports whether a Secret is that of a CA which the user wants to outlive the Kafka, as one that the user supplies does: its
// Secrets still belong to the Kafka if an operator made them before. Owners that certainly the user set stay: a key that is kept without
// need does no harm, and one that is lost can't be replaced. A Kafka without a spec says neither.
func (p *pass) keepsCA(secret *corev1.Secret) bool {
	return p.outlives(secret.Name) && (p.configOf(secret.Name).Generate || ownership.Original(secret, "Secret") ||
		slices.ContainsFunc(secret.OwnerReferences, p.operators))
}

// outlives reports whether a name is that of a Secret of a CA that the operator does not make the Kafka's.
func (p *pass) outlives(secret string) bool {
	config := p.configOf(secret)
	return len(p.missing) == 0 && config != nil && (!config.Generate || !config.OwnerReference)
}

// configOf is the configuration of the CA that a Secret is of; nil if it is of none.
func (p *pass) configOf(secret string) *pki.CAConfig {
	switch name := p.kafka.Name; secret {
	case pki.ClusterCAKeySecret(name), pki.ClusterCACertSecret(name):
		return new(caConfig(p.kafka.Spec.ClusterCa))
	case pki.ClientsCAKeySecret(name), pki.ClientsCACertSecret(name):
		return new(caConfig(p.kafka.Spec.ClientsCa))
	}
	return nil
}

// operators reports whether a reference to the Kafka may be one that this operator or Strimzi's wrote: neither makes the Kafka the
// controller, or has it wait for the object. Labels prove nothing, because Helm, Kustomize and Argo CD set them on what they take over.
func (p *pass) operators(ref metav1.OwnerReference) bool {
	set := func(b *bool) bool { return b != nil && *b }
	return ref.UID == p.kafka.UID && !set(ref.Controller) && !set(ref.BlockOwnerDeletion)
}

// disown removes the Kafka from the owners of exactly the object that was read, and returns what it is now.
func (p *pass) disown(ctx context.Context, s *site, key facts.Key, live client.Object) (client.Object, error) {
	changed, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", live)
	}
	changed.SetOwnerReferences(slices.DeleteFunc(changed.GetOwnerReferences(),
		func(ref metav1.OwnerReference) bool { return ref.UID == s.owner.UID }))
	if annotations := changed.GetAnnotations(); annotations[v1.AnnotationDeleteClaim] != "" {
		annotations[v1.AnnotationDeleteClaim] = "false"
	}
	if err := s.patch(ctx, key, live, changed); err != nil {
		return nil, err
	}
	p.wrote(s, key, apply.Changed)
	return changed, nil
}
