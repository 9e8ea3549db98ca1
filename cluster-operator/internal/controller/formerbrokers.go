package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// formerBrokersDelay is after how long former brokers are asked again what they hold.
const formerBrokersDelay = 30 * time.Second

// holdFormerBrokers keeps the roller off the pods of former brokers while these hold replicas, or may hold some. They were empty when their
// StrimziPodSet was written, and may get replicas until the roller restarts them, which takes days if there is a maintenance window.
func (p *pass) holdFormerBrokers(ctx context.Context) error {
	kept := p.reasonsToHold(ctx)
	return p.each(func(s *site) error {
		for _, l := range p.listed {
			pod := s.facts.Pods[l.Pod.Name]
			if l.Node.Cluster != s.cluster || pod == nil || pod.DeletionTimestamp != nil {
				continue
			}
			why := kept[l.Node.ID]
			if why == "" && pod.Annotations[core.AnnotationHold] != model.HoldFormerBroker || !s.controls(pod) {
				continue
			}
			if why != "" {
				p.add(status.Problem{Pool: l.Node.Pool, Reason: v1.ReasonScaleDownPrevented, Blocks: true, Message: fmt.Sprintf(
					"Node %d is a broker until it is restarted, and pod %s is not restarted yet: %s", l.Node.ID, pod.Name, why)})
			}
			if err := s.holdFormerBroker(ctx, pod, why != ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// holdFormerBroker sets the hold of a former broker, unless its user did, or removes it.
func (s *site) holdFormerBroker(ctx context.Context, pod *corev1.Pod, hold bool) error {
	if _, held := core.HoldReason(pod.Annotations); hold && held {
		return nil
	}
	changed := pod.DeepCopy()
	if delete(changed.Annotations, core.AnnotationHold); hold {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, core.AnnotationHold, model.HoldFormerBroker)
	}
	key := facts.Key{Kind: "Pod", Name: pod.Name}
	if err := s.patch(ctx, key, pod, changed); err != nil {
		return client.IgnoreNotFound(err) // it was restarted meanwhile
	}
	s.facts.Pods[pod.Name] = changed
	return nil
}

// reasonsToHold returns why former brokers must not be restarted, by id.
func (p *pass) reasonsToHold(ctx context.Context) map[int32]string {
	former := map[int32]bool{}
	for _, l := range p.listed {
		if isFormerBroker(p.pod(l.Node), l.Node) {
			former[l.Node.ID] = true
		}
	}
	if len(former) == 0 || p.mayLoseData() {
		return nil
	}
	p.requeueAfter(formerBrokersDelay) // no event reports a new topic or that a broker is empty now
	var stay []int32
	for _, n := range p.existing() {
		if n.Roles.Broker {
			stay = append(stay, n.ID)
		}
	}
	leave := slices.Sorted(maps.Keys(former))
	holdings, err := p.askHoldings(ctx, p.connection(), leave, stay)
	kept := map[int32]string{}
	for _, id := range leave {
		switch why := holdings.WhyKept(id); {
		case err != nil:
			kept[id] = fmt.Sprintf("%s (%s): see that brokers run and that the operator reaches them, or annotate the Kafka with %s: \"true\" if "+
				"their data may be lost", why, withoutLocalAddress(err.Error()), v1.AnnotationSkipScaleDownCheck)
		case why != "":
			kept[id] = why
		}
	}
	return kept
}

// isFormerBroker reports whether a node runs as a broker, and is to be none when it is restarted.
func isFormerBroker(running *corev1.Pod, listed topology.Node) bool {
	return running != nil && running.DeletionTimestamp == nil && running.Labels[core.LabelBrokerRole] != "false" && !listed.Roles.Broker
}
