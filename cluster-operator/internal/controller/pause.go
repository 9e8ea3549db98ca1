package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

// pausedRetry is when a Kubernetes cluster is asked again in which a paused Kafka's nodes could not be held.
const pausedRetry = 30 * time.Second

// pause keeps the roller off the nodes, protects what is to outlive the Kafka, notes a topic operator, and changes nothing else.
func (r *Reconciler) pause(ctx context.Context, kafka *v1.Kafka) (reconcile.Result, error) {
	p := r.passOver(ctx, kafka)
	unread := p.readSites(ctx)
	if errors.Is(unread, errBehind) {
		return r.requeueStale(client.ObjectKeyFromObject(kafka), unread)
	}
	if len(p.sites) == 0 {
		return reconcile.Result{}, unread
	}
	if err := p.each(func(s *site) error { return s.holdPaused(ctx) }); err != nil {
		return reconcile.Result{}, err
	}
	unprotected := p.protect(ctx)
	if isStale(unprotected) {
		return r.requeueStale(client.ObjectKeyFromObject(kafka), unprotected)
	}
	if unprotected != nil {
		p.log.Error(unprotected, "Failed to protect volumes and CAs of a paused Kafka")
		r.Events.Warning(kafka, "NotProtected", "Reconcile",
			fmt.Sprintf("What is to outlive the Kafka would still be deleted with it: %s", unprotected))
	}
	noted := p.noteEarlierTopicOperator(ctx)
	if noted != nil {
		p.log.Info("Failed to record that the Kafka has a topic operator", "error", noted.Error())
	}
	r.conflicts.noneMet(client.ObjectKeyFromObject(kafka), r.Now())
	p.figures.Paused = true
	r.Metrics.Observe(client.ObjectKeyFromObject(kafka), p.figures)
	paused := func(pool *v1.KafkaNodePool) v1.KafkaNodePoolStatus { return status.PausedPool(pool, r.Now()) }
	if err := errors.Join(r.writeStatus(ctx, kafka, status.Paused(kafka, r.Now())), p.eachPool(ctx, paused)); err != nil {
		return reconcile.Result{}, err
	}
	if unread != nil {
		p.log.Info("Failed to hold the nodes in a Kubernetes cluster that can't be read", "error", unread.Error())
	}
	if unread != nil || unprotected != nil || noted != nil || len(p.away) > 0 {
		return reconcile.Result{RequeueAfter: pausedRetry}, nil
	}
	return reconcile.Result{}, nil
}

// holdPaused keeps the roller off the nodes of a paused Kafka, until endPause.
func (s *site) holdPaused(ctx context.Context) error {
	for _, set := range s.facts.PodSets() {
		if _, held := core.HoldReason(set.Annotations); held {
			continue
		}
		if err := s.setHold(ctx, set, model.HoldPaused); err != nil {
			return err
		}
	}
	return nil
}

// endPause ends the hold of a pause that is over.
func (p *pass) endPause(ctx context.Context) error {
	paused := func(set *core.StrimziPodSet) bool {
		return set.Annotations[core.AnnotationHold] == model.HoldPaused
	}
	return p.each(func(s *site) error {
		for _, set := range s.facts.PodSets() {
			if !paused(set) {
				continue
			}
			if err := s.withoutAnnotation(ctx, set, core.AnnotationHold, paused); err != nil {
				return err
			}
		}
		return nil
	})
}
