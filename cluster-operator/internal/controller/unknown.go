package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
)

// unknownFields caches the warnings about unknown fields of each Kafka and its pools, so that the raw objects are read once per generation:
// the Go types in the cache have lost such fields.
type unknownFields struct {
	mu       sync.Mutex
	reported map[types.NamespacedName]map[version][]validate.Problem
}

// version is an object as its user last changed it.
type version struct {
	uid        types.UID
	generation int64
}

// of returns what is remembered of a Kafka.
func (u *unknownFields) of(kafka types.NamespacedName) map[version][]validate.Problem {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.reported[kafka]
}

// remember replaces what is remembered of a Kafka; nil forgets it.
func (u *unknownFields) remember(kafka types.NamespacedName, reported map[version][]validate.Problem) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if reported == nil {
		delete(u.reported, kafka)
		return
	}
	if u.reported == nil {
		u.reported = map[types.NamespacedName]map[version][]validate.Problem{}
	}
	u.reported[kafka] = reported
}

// reportUnknownFields warns of fields that the installed CustomResourceDefinitions keep and this operator does not know: those of a newer
// operator, or of Strimzi.
func (p *pass) reportUnknownFields(ctx context.Context) error {
	name := client.ObjectKeyFromObject(p.kafka)
	before, now := p.unknown.of(name), map[version][]validate.Problem{}
	check := func(kind string, o client.Object, find func(string, []byte) ([]validate.Problem, error)) error {
		at := version{o.GetUID(), o.GetGeneration()}
		problems, read := before[at]
		if !read {
			var err error
			if problems, err = p.unknownFieldsOf(ctx, kind, o, find); err != nil {
				return err
			}
		}
		now[at] = problems
		for _, w := range problems {
			p.warnOf(w.Pool, w.Reason, w.Message)
		}
		return nil
	}
	if err := check("Kafka", p.kafka, validate.UnknownFields[v1.KafkaSpec]); err != nil {
		return err
	}
	for _, t := range p.input.Topology.Pools { // in the order of their names
		if pool := p.pools[t.Name]; pool != nil {
			if err := check("KafkaNodePool", pool, validate.UnknownFields[v1.KafkaNodePoolSpec]); err != nil {
				return err
			}
		}
	}
	p.unknown.remember(name, now)
	return nil
}

// unknownFieldsOf reads an object as the API server has it.
func (p *pass) unknownFieldsOf(ctx context.Context, kind string, o client.Object,
	find func(string, []byte) ([]validate.Problem, error)) ([]validate.Problem, error) {
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(v1.GroupVersion.WithKind(kind))
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(o), raw); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("get %s %s: %w", kind, o.GetName(), err))
	}
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"namespace": o.GetNamespace(), "name": o.GetName()}, "spec": raw.Object["spec"],
	})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
	}
	return find(kind, text)
}
