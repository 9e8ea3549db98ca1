package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

// writeStatus writes the status of a Kafka if it differs from what is there.
func (r *Reconciler) writeStatus(ctx context.Context, kafka *v1.Kafka, wanted v1.KafkaStatus) error {
	if equality.Semantic.DeepEqual(kafka.Status, wanted) {
		return nil
	}
	changed := kafka.DeepCopy()
	changed.Status = wanted
	if err := r.Live.Status().Patch(ctx, changed, client.MergeFromWithOptions(kafka, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("status of Kafka %s/%s: %w", kafka.Namespace, kafka.Name, err))
	}
	r.kafkas.Note(kafka, changed)
	kafka.Status, kafka.ResourceVersion = changed.Status, changed.ResourceVersion
	return nil
}

// conclude fills in the input of the status, and returns after how long to requeue, or an error to retry with back-off.
func (p *pass) conclude(err error) (next time.Duration, retry error) {
	p.status.Kafka, p.status.Now = p.kafka, p.Now()
	p.status.OperatorVersion = p.OperatorVersion
	p.describeClusters()
	for _, s := range p.sites {
		for _, pod := range s.facts.Pods {
			why := cmp.Or(status.WaitsFor(pod), s.notProvisioned(pod, p.Now()))
			if why != "" && pod.Labels[core.LabelKind] == core.KindKafka {
				p.waits(pod.Labels[core.LabelPoolName], "pod %s (%s)", pod.Name, why)
			}
		}
	}
	for _, set := range p.status.Sets {
		if why := status.SetWaitsFor(set); why != "" {
			p.waits(set.Labels[core.LabelPoolName], "StrimziPodSet %s (%s)", set.Name, why)
		}
	}
	slices.SortFunc(p.status.Waiting, func(a, b status.Wait) int { return cmp.Compare(a.Message, b.Message) })
	next = p.Interval
	if p.next > 0 && p.next < next {
		next = p.next
	}
	retry = p.failedElsewhere
	var failure *Failure
	switch {
	case err == nil:
	case errors.As(err, &failure) && (failure.Stalled || failure.Watched):
		p.status.Failure = &failure.Problem
	case errors.As(err, &failure):
		p.status.Failure, retry = &failure.Problem, err
	default:
		p.status.Failure, retry = &status.Problem{Reason: "ReconciliationFailed", Message: err.Error()}, err
	}
	p.omitLocalAddresses()
	return next, retry
}

// provisioned is how long a volume may take to be made before its pod is said to wait for it.
const provisioned = time.Minute

// notProvisioned returns which volume a pod waits for, "" if there is none. The scheduler says nothing of a pod while a volume is made for
// it, and ten minutes later if it is not.
func (s *site) notProvisioned(pod *corev1.Pod, now time.Time) string {
	if pod.Spec.NodeName != "" || now.Sub(pod.CreationTimestamp.Time) < provisioned {
		return ""
	}
	for _, name := range claimsOf(pod) {
		if claim := s.facts.Claim(name); claim != nil && !isBound(claim) {
			return fmt.Sprintf("PersistentVolumeClaim %s has no volume yet", name)
		}
	}
	return ""
}

// omitLocalAddresses takes out of messages what differs in each pass though the problem is the same: the status would be written each time.
func (p *pass) omitLocalAddresses() {
	for i := range p.status.Warnings {
		p.status.Warnings[i].Message = withoutLocalAddress(p.status.Warnings[i].Message)
	}
	if p.status.Failure != nil {
		failure := *p.status.Failure
		failure.Message = withoutLocalAddress(failure.Message)
		p.status.Failure = &failure
	}
}
