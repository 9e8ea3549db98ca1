package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// giveUp drops Kubernetes clusters that are no longer listed and that the user gave up by an annotation. For others that are not listed, it
// reports what is missing.
func (p *pass) giveUp(ctx context.Context) {
	if p.Stretching == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(p.record.Clusters)) {
		if p.Stretching.lists(id) {
			if p.givenUp(id) {
				p.warn("ClusterNotGivenUp", fmt.Sprintf("Annotation %s names cluster '%s', but STRIMZI_REMOTE_KUBE_CONFIG still lists it, so it is "+
					"kept. Remove it from one of them", v1.AnnotationGivenUpClusters, id))
			}
			continue
		}
		if remedy := p.remedyFor(ctx, id); remedy != "" {
			p.warn("ClusterNotListed", fmt.Sprintf("Cluster '%s' is not listed in STRIMZI_REMOTE_KUBE_CONFIG any more, and may have nodes or "+
				"volumes of this Kafka: list it again. If it is lost for good, %s", id, remedy))
			continue
		}
		p.log.Info("Giving up a Kubernetes cluster", "cluster", id, "nodes", ids(p.record.Clusters[id].Nodes))
		delete(p.record.Clusters, id)
		delete(p.away, id)
		p.recall()
	}
}

// giveUpDeleted drops Kubernetes clusters that are no longer listed and that the user gave up, in the deletion of a Kafka. None of its
// nodes is needed any more, and what is left there is deleted should the cluster be listed again: see sweep.
func (p *pass) giveUpDeleted() {
	for id := range p.away {
		if !p.Stretching.lists(id) && p.givenUp(id) {
			p.log.Info("Giving up a Kubernetes cluster of a Kafka that is deleted", "cluster", id)
			delete(p.record.Clusters, id)
			delete(p.away, id)
		}
	}
}

// givenUp reports whether the user gives up what is in a Kubernetes cluster.
func (p *pass) givenUp(cluster string) bool {
	return slices.ContainsFunc(strings.Split(p.kafka.Annotations[v1.AnnotationGivenUpClusters], ","),
		func(id string) bool { return strings.TrimSpace(id) == cluster })
}

// remedyFor says what a user has to do before a lost Kubernetes cluster does not count any more; "" if that was done. Controllers are
// needed again, because the voters of the quorum can't change.
func (p *pass) remedyFor(ctx context.Context, cluster string) string {
	nodes := p.record.Clusters[cluster].Nodes
	for _, n := range nodes {
		if n.Roles.Controller {
			return fmt.Sprintf("list a new Kubernetes cluster under its id: node %d is a controller, and the voters of the controller quorum "+
				"can't change while the cluster runs", n.ID)
		}
	}
	var steps []string
	for _, name := range slices.Sorted(maps.Keys(p.pools)) {
		if p.target(p.pools[name]) == cluster {
			steps = append(steps, "delete KafkaNodePool "+name)
		}
	}
	if !p.givenUp(cluster) {
		steps = append(steps, fmt.Sprintf("annotate this Kafka %s: %s", v1.AnnotationGivenUpClusters, cluster))
	}
	if len(steps) > 0 || len(nodes) == 0 {
		return strings.Join(steps, ", and ")
	}
	found, err := p.Kafka.Inspect(ctx, p.connection())
	if err != nil {
		p.askAgain(err)
		return fmt.Sprintf("it is given up once Kafka answers whether its brokers still run: %v", err)
	}
	for _, b := range found.Brokers {
		if !b.Fenced && slices.Contains(ids(nodes), b.ID) {
			return fmt.Sprintf("stop broker %d there, which still runs", b.ID)
		}
	}
	return ""
}
