package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
)

// validate checks the user's objects against all rules. If one is violated, the pass creates and changes nothing, and running nodes keep
// running.
func (p *pass) validate(ctx context.Context) error {
	in := validate.Input{
		Kafka: p.kafka, Pools: slices.Collect(maps.Values(p.input.Pools)), Versions: slices.Sorted(maps.Keys(p.Settings.KafkaImages)),
		Version:  p.input.Version,
		Clusters: p.clusters(), Placed: p.placed(), Running: p.running(ctx), ConfigMaps: map[string]map[string]string{},
		Secrets: map[string]map[string][]byte{}, Held: p.held(), Now: p.Now(), Exporter: p.Settings.ExporterImage != "",
	}
	for _, n := range p.input.Topology.Brokers() {
		in.Brokers = append(in.Brokers, n.ID)
	}
	unread, err := p.readReferences(ctx, &in)
	if err != nil {
		return err
	}
	if err := p.reportUnknownFields(ctx); err != nil {
		return err
	}
	result := validate.Validate(in)
	for _, w := range result.Warnings {
		p.warnOf(w.Pool, w.Reason, w.Message)
	}
	if failure, failed := validate.Joined(result.Errors); failed {
		return refusedBy(failure)
	}
	if err := p.listeners(in.Secrets, unread); err != nil {
		return err
	}
	if refused, are := validate.Joined(result.Refused); are {
		p.refused = append(p.refused, refusedBy(refused))
	}
	p.input.Logging = referred(in.ConfigMaps, loggingReference(p.kafka))
	p.input.Metrics = referred(in.ConfigMaps, metricsReference(p.kafka))
	return nil
}

// unlessContradicted returns the error of a pass that waits for a Kubernetes cluster, unless annotations and settings contradict each
// other: then the pass would wait in vain.
func (p *pass) unlessContradicted(err error) error {
	failure, is := errors.AsType[*Failure](err)
	if !is || failure.Stalled {
		return err
	}
	in := validate.Input{Kafka: p.kafka, Pools: slices.Collect(maps.Values(p.pools)), Clusters: p.clusters()}
	if wrong, are := validate.Joined(validate.Stretched(in)); are {
		return refusedBy(wrong)
	}
	return err
}

// clusters returns the ids that pools may name; nil if the operator is not configured for several Kubernetes clusters.
func (p *pass) clusters() *validate.Clusters {
	all := p.Stretching.clusters()
	if all != nil {
		all.Former = slices.Sorted(maps.Keys(p.away)) // among them those that the record lists, and the configuration does not any more
	}
	return all
}

// placed returns where the nodes of pools are, else their volumes: the ids of Kubernetes clusters by the names of pools.
func (p *pass) placed() map[string]string {
	at := map[string]string{}
	if p.Stretching == nil {
		return at
	}
	for _, s := range p.sites {
		for _, v := range s.facts.Volumes(p.kafka.Name) {
			at[v.Pool] = p.clusterID(s.cluster)
		}
	}
	for id := range p.away {
		for _, v := range p.record.Clusters[id].Volumes {
			at[v.Pool] = id
		}
	}
	for _, n := range p.known() {
		at[n.Pool] = p.clusterID(n.Cluster)
	}
	return at
}

// running returns which versions run, or ran before nodes lost their StrimziPodSet. Kafka is asked for its metadata version only if the
// version of Kafka changes.
func (p *pass) running(ctx context.Context) *validate.Running {
	if len(p.listed) == 0 && len(p.unlisted) == 0 {
		return nil
	}
	r := &validate.Running{MetadataVersion: p.kafka.Status.KafkaMetadataVersion}
	for _, l := range p.listed {
		r.Versions = append(r.Versions, l.Pod.Annotations[v1.AnnotationKafkaVersion])
	}
	r.Unannotated = slices.Contains(r.Versions, "")
	for _, n := range p.unlisted { // they start again with the metadata that they have
		if v := p.lastVersion(n); v != "" {
			r.Versions = append(r.Versions, v)
		}
	}
	if slices.ContainsFunc(r.Versions, func(v string) bool { return v != p.input.Version }) {
		// The status may be outdated: versions change only with what the brokers report now.
		r.MetadataVersion = ""
		found, err := p.Kafka.Inspect(ctx, p.connection())
		p.askAgain(err)
		switch {
		case err == nil:
			r.MetadataVersion, r.Features = found.MetadataVersion.String(), found.Features
		case p.kafka.Status.KafkaVersion == p.input.Version && !p.nodeMayServe():
			// An upgrade that never started is taken back. Until all nodes run the new version, and the status says so, nothing raises the
			// metadata version but a user; then Kafka refuses to start, as it does now.
			r.MetadataVersion = p.kafka.Status.KafkaMetadataVersion
		}
	}
	return r
}

// lastVersion returns the version of Kafka of a node that no StrimziPodSet lists, "" if nothing tells. Before the Kafka was ready for the
// first time, only the metadata version that its storage was formatted with may be left.
func (p *pass) lastVersion(n topology.Node) string {
	if pod := p.pod(n); pod != nil && pod.Annotations[v1.AnnotationKafkaVersion] != "" {
		return pod.Annotations[v1.AnnotationKafkaVersion]
	}
	formatted := ""
	if config := p.config(n); config != nil {
		formatted, _, _ = strings.Cut(config.Data["metadata.version"], "-IV")
	}
	return cmp.Or(p.kafka.Status.KafkaVersion, formatted)
}

// nodeMayServe reports whether a node may serve clients, though it does not answer the operator.
func (p *pass) nodeMayServe() bool {
	return len(p.away) > 0 || slices.ContainsFunc(p.nodePods(), core.IsReady)
}

// refusedBy is not stalled if the user may create what is missing next: WatchReferences sees it.
func refusedBy(problem validate.Problem) *Failure {
	return &Failure{Watched: problem.Missing,
		Problem: status.Problem{Reason: problem.Reason, Message: problem.Message, Stalled: !problem.Missing}}
}

// readReferences reads what the Kafka object refers to. What does not exist is nil. A ConfigMap that can't be read ends the pass; Secrets
// that can't are returned, by name.
func (p *pass) readReferences(ctx context.Context, in *validate.Input) (unread map[string]error, err error) {
	configMaps, secrets := validate.References(p.kafka)
	unread = map[string]error{}
	for _, name := range configMaps {
		config := &corev1.ConfigMap{}
		err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.kafka.Namespace, Name: name}, config)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
		}
		in.ConfigMaps[name] = nil
		if err == nil {
			in.ConfigMaps[name] = map[string]string{}
			maps.Copy(in.ConfigMaps[name], config.Data)
		}
	}
	for _, name := range secrets {
		secret := &corev1.Secret{}
		err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.kafka.Namespace, Name: name}, secret)
		switch {
		case apierrors.IsNotFound(err):
			in.Secrets[name] = nil
		case err != nil:
			unread[name] = fmt.Errorf("get Secret %s: %w", name, err)
		default:
			in.Secrets[name] = map[string][]byte{}
			maps.Copy(in.Secrets[name], secret.Data)
		}
	}
	return unread, nil
}

func loggingReference(kafka *v1.Kafka) *v1.ExternalConfigurationReference {
	if l := kafka.Spec.Kafka.Logging; l != nil {
		return l.ValueFrom
	}
	return nil
}

func metricsReference(kafka *v1.Kafka) *v1.ExternalConfigurationReference {
	if m := kafka.Spec.Kafka.MetricsConfig; m != nil {
		return m.ValueFrom
	}
	return nil
}

// referred returns the text that a reference points to.
func referred(configMaps map[string]map[string]string, r *v1.ExternalConfigurationReference) string {
	if r == nil || r.ConfigMapKeyRef == nil {
		return ""
	}
	return configMaps[r.ConfigMapKeyRef.Name][r.ConfigMapKeyRef.Key]
}
