package controller

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// published returns what the API server publishes about the applied CustomResourceDefinition: an index, or the schema. It is the same
// document again when the operator's own definition is applied again.
func (w *model) published(_ context.Context, path string) ([]byte, error) {
	fields := `"spec":{"properties":{"managed":{}}},"status":{"properties":{"clusterId":{}}}`
	if w.server.prunes {
		fields = `"spec":{},"status":{}`
	}
	switch {
	case w.config.unpublished:
		return nil, errors.New("forbidden")
	case path == "/openapi/v3":
		return fmt.Appendf(nil, `{"paths":{"apis/%s":{"serverRelativeURL":"/schema?hash=%t"}}}`, v1.GroupVersion, w.server.prunes), nil
	}
	return fmt.Appendf(nil, `{"components":{"schemas":{"KafkaTopic":{"properties":{%s},"x-kubernetes-group-version-kind":[{"group":%q,
		"version":%q,"kind":"KafkaTopic"}]}}}}`, fields, v1.GroupVersion.Group, v1.GroupVersion.Version), nil
}

// modelProbe is the client with which a process asks, in a dry run, whether the API server keeps the clusterId.
type modelProbe struct {
	client.Client
	p *modelProcess
}

func (c *modelProbe) Status() client.SubResourceWriter { return &modelProbeStatus{p: c.p} }

func (c *modelProbe) List(_ context.Context, out client.ObjectList, _ ...client.ListOption) error {
	for _, kt := range c.p.all() {
		out.(*v1.KafkaTopicList).Items = append(out.(*v1.KafkaTopicList).Items, *kt)
	}
	return nil
}

type modelProbeStatus struct {
	client.SubResourceWriter
	p *modelProcess
}

func (c *modelProbeStatus) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	switch {
	case c.p.op.denied, c.p.w.config.plant == plantedUnasked:
		return errModelTimeout
	case !c.p.w.server.prunes:
		o.(*v1.KafkaTopic).Status.ClusterID = "kept"
	}
	return nil
}
