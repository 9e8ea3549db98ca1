package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// authorities plans certificates, and writes the Secrets of the CAs. Those of nodes wait until it is known that their pods can be made.
func (p *pass) authorities(ctx context.Context) (err error) {
	p.plan, err = pki.Plan(p.pkiInput(ctx, p.pkiNodes()))
	if err != nil {
		return p.refusedCertificates(err)
	}
	if unusable := p.plan.ClientsCAError; unusable != nil { // all else is done
		p.refused = append(p.refused, p.refusedCertificates(unusable))
	}
	p.input.Certificates.PodAnnotations = p.podAnnotations(p.plan)
	p.status.ClusterCA, p.status.KeyReplacement = string(p.plan.ClusterCA.TrustPEM), p.plan.ClusterCA.Phase
	p.status.Distrusting = slices.ContainsFunc(p.pods(), func(pod *corev1.Pod) bool {
		distrusted := p.plan.PodAnnotations[pod.Name][pki.AnnotationDistrustedKey]
		return distrusted != "" && pod.Annotations[pki.AnnotationDistrustedKey] != distrusted
	})
	if err := p.serve(p.plan.Listeners); err != nil {
		return err
	}
	return p.writeAuthorities(ctx, p.plan)
}

// podAnnotations returns the annotations of a plan. A node whose Secret could not be read keeps those that its pod has: without them, it
// would be restarted now, and again once it is known.
func (p *pass) podAnnotations(plan pki.Result) map[string]map[string]string {
	annotations := maps.Clone(plan.PodAnnotations)
	for _, l := range p.listed {
		if annotations[l.Pod.Name] == nil {
			annotations[l.Pod.Name] = pki.OfPod(l.Pod.Annotations)
		}
	}
	return annotations
}

// certificates writes the Secrets of nodes and operators.
func (p *pass) certificates(ctx context.Context) error { return p.writeLeaves(ctx, p.plan) }

// writeAuthorities reports what a plan decided, and writes the Secrets of its CAs, in the order that keeps nodes trusting each other.
func (p *pass) writeAuthorities(ctx context.Context, plan pki.Result) error {
	for _, d := range plan.Decisions {
		p.log.Info("Certificates: "+d.Action, "secret", d.Object, "reason", d.Reason)
	}
	for _, problem := range plan.Problems {
		p.warn(problem.Reason, problem.Message)
	}
	if err := p.writeSecrets(ctx, plan.CAs); err != nil {
		return err
	}
	p.tellOfCA("cluster", plan.ClusterCA)
	p.tellOfCA("clients", plan.ClientsCA)
	return p.writeSecrets(ctx, []pki.Desired{plan.TrustBundle})
}

// tellOfCA records why a CA was renewed, and so why nodes are restarted.
func (p *pass) tellOfCA(name string, ca pki.CAState) {
	switch ca.Operation {
	case pki.RenewCert:
		p.Events.Normal(p.kafka, "CARenewed", "Renew", fmt.Sprintf("Made a new certificate of the %s CA, for which nodes are restarted: %s",
			name, ca.Reason))
	case pki.ReplaceKey:
		p.Events.Normal(p.kafka, "CAKeyReplaced", "Renew", fmt.Sprintf("Made a new key of the %s CA, for which nodes are restarted: %s",
			name, ca.Reason))
	}
}

// writeLeaves writes the Secrets of nodes and operators, once those of the CAs are written.
func (p *pass) writeLeaves(ctx context.Context, plan pki.Result) error {
	if err := p.writeSecrets(ctx, plan.Leaves); err != nil {
		return err
	}
	p.keepSecrets(ctx, plan)
	// Before that, they are those of the Secrets that were there: what keeps a pass from coming here must not hide that they expire.
	p.figures.ClusterCA = metrics.Certificate(plan.ClusterCA.Validity)
	p.figures.ClientsCA = metrics.Certificate(plan.ClientsCA.Validity)
	p.figures.Served = nodeCertificates(p.home().facts, p.kafka.Spec)
	if wait := plan.Next.Sub(p.Now()); wait > 0 {
		p.requeueAfter(wait)
	}
	return nil
}

// keepSecrets stores the current Secrets, for their copies in other Kubernetes clusters. CAs that the user supplies are not in the plan,
// nor is a clients CA that can't be used: its copies stay as they are.
func (p *pass) keepSecrets(ctx context.Context, plan pki.Result) {
	p.secrets = map[string]*corev1.Secret{}
	for key, o := range p.home().facts.Objects {
		if s, ok := o.(*corev1.Secret); ok {
			p.secrets[key.Name] = s
		}
	}
	for _, name := range []string{pki.ClusterCACertSecret(p.kafka.Name), pki.ClientsCACertSecret(p.kafka.Name)} {
		// A user's own may lack the Kafka's label, without which it is not in the cache.
		if p.secrets[name] == nil && len(p.sites) > 1 {
			p.secrets[name] = p.secret(ctx, name).Secret
		}
	}
	for _, d := range slices.Concat(plan.CAs, []pki.Desired{plan.TrustBundle}, plan.Leaves) {
		p.secrets[d.Name] = d.Secret
	}
	for name, ca := range map[string]*v1.CertificateAuthority{
		pki.ClusterCACertSecret(p.kafka.Name): p.kafka.Spec.ClusterCa, pki.ClientsCACertSecret(p.kafka.Name): p.kafka.Spec.ClientsCa,
	} {
		if name == pki.ClientsCACertSecret(p.kafka.Name) && plan.ClientsCAError != nil {
			delete(p.secrets, name)
		}
		if s := p.secrets[name]; s != nil && len(p.sites) > 1 {
			p.secrets[name] = pki.Public(s, caConfig(ca).Generate)
		}
	}
}

// writeSecrets writes Secrets that hold keys. They are created or updated as a whole, bound to what was read, and never forced.
func (p *pass) writeSecrets(ctx context.Context, secrets []pki.Desired) error {
	for _, d := range secrets {
		key := facts.Key{Kind: "Secret", Name: d.Name}
		p.home().kept[key] = true
		written, outcome, err := d.DeepCopy(), apply.Unchanged, error(nil)
		switch d.Change {
		case pki.Create:
			outcome, err = apply.Created, p.Live.Create(ctx, written, client.FieldOwner(apply.FieldManager))
		case pki.Update:
			outcome, err = apply.Changed, p.Live.Update(ctx, written, client.FieldOwner(apply.FieldManager))
		}
		if err != nil {
			return fmt.Errorf("secret %s: %w", d.Name, err)
		}
		if outcome != apply.Unchanged {
			p.home().facts.Objects[key] = written // for a renewal later in this pass
			p.wrote(p.home(), key, outcome)
		}
	}
	return nil
}

// pkiNodes are the nodes as certificates are made for them. Those of a removed pool, and those that are to be kept, are only renewed.
func (p *pass) pkiNodes() []pki.Node {
	var nodes []pki.Node
	for _, pool := range p.input.Topology.Pools {
		for _, n := range pool.Nodes {
			nodes = append(nodes, pki.Node{PodName: p.podName(n), SANs: model.SANs(p.input, n), Listeners: n.Roles.Broker,
				RenewOnly: pool.Removed || p.input.Endpoints.Keep[n.ID]})
		}
	}
	return nodes
}

// pkiInput returns the input of the decision about the certificates of these nodes.
func (p *pass) pkiInput(ctx context.Context, nodes []pki.Node) pki.Input {
	s := p.kafka.Spec
	in := pki.Input{
		Namespace: p.kafka.Namespace, Cluster: p.kafka.Name, Owner: new(model.Owner(p.kafka)), Labels: model.SecretLabels(p.input),
		CopiedLabels: model.CopiedLabels(p.input),
		ClusterCA:    caConfig(s.ClusterCa), ClientsCA: caConfig(s.ClientsCa), Windows: s.MaintenanceTimeWindows, PKCS12: p.PKCS12,
		TopicOperator: model.WantsTopicOperator(p.kafka), Secrets: map[string]pki.Fact{}, PodsKnown: len(p.away) == 0, Now: p.Now(),
		Rand: p.Rand, NewKey: p.NewKey, Listeners: p.custom, Nodes: nodes,
	}
	in.ClusterCACert.Labels, in.ClusterCACert.Annotations = model.ClusterCACertMetadata(p.kafka)
	for _, pod := range p.nodePods() {
		in.Pods = append(in.Pods, pki.Pod{Name: pod.Name, Annotations: pod.Annotations})
	}
	names := append(pki.CASecrets(in.Cluster), pki.TrustBundleSecret(in.Cluster), pki.OperatorSecret(in.Cluster),
		pki.TopicOperatorSecret(in.Cluster))
	for _, n := range in.Nodes {
		names = append(names, n.PodName)
	}
	for _, name := range names {
		in.Secrets[name] = p.secret(ctx, name)
	}
	return in
}

// secret returns the observed state of a Secret. If the cache does not have it, it may lack the Kafka's label, so secret reads it from the
// API server, once in a pass.
func (p *pass) secret(ctx context.Context, name string) pki.Fact {
	if s := p.home().facts.Secret(name); s != nil {
		return pki.Found(s)
	}
	if fact, ok := p.unlabelled[name]; ok {
		return fact
	}
	s := &corev1.Secret{}
	var fact pki.Fact
	switch err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.kafka.Namespace, Name: name}, s); {
	case err == nil:
		fact = pki.Found(s)
	case apierrors.IsNotFound(err):
		fact = pki.Missing()
	default:
		return pki.Unread(err)
	}
	if p.unlabelled == nil {
		p.unlabelled = map[string]pki.Fact{}
	}
	p.unlabelled[name] = fact
	return fact
}

func caConfig(ca *v1.CertificateAuthority) pki.CAConfig {
	c := pki.CAConfig{Generate: true, OwnerReference: true}
	if ca == nil {
		return c
	}
	if ca.GenerateCertificateAuthority != nil {
		c.Generate = *ca.GenerateCertificateAuthority
	}
	if ca.GenerateSecretOwnerReference != nil {
		c.OwnerReference = *ca.GenerateSecretOwnerReference
	}
	if ca.ValidityDays != nil {
		c.ValidityDays = int(*ca.ValidityDays)
	}
	if ca.RenewalDays != nil {
		c.RenewalDays = int(*ca.RenewalDays)
	}
	c.ReplaceKey = ca.CertificateExpirationPolicy == v1.ReplaceKey
	return c
}
