package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// reasonHibernated is that of a Kafka whose nodes do not run because its user wants that: docs/decisions/hibernation.md.
const reasonHibernated = "Hibernated"

// hibernate stops the nodes of a Kafka whose user wants that, and ends the pass, so that all other changes wait: most need answers of
// brokers. Certificates are renewed all the same. Nodes with the role of a controller stop last: the others need them to stop cleanly.
func (p *pass) hibernate(ctx context.Context) error {
	p.warnOfHibernation()
	if !p.hibernates() {
		return nil
	}
	sets := p.podSets()
	if why := p.whyAwake(sets); why != "" && !slices.ContainsFunc(sets, (*core.StrimziPodSet).IsHibernated) {
		p.warn("NotHibernated", "The Kafka is not hibernated: "+why)
		p.requeueAfter(formerBrokersDelay)
		return nil // what it waits for needs the other steps, and the roller
	}
	p.figures.Hibernated, p.figures.TopicOperator = true, false
	if err := p.stopTopicOperator(ctx); err != nil {
		return err
	}
	var brokers, controllers []*core.StrimziPodSet
	for _, set := range sets {
		if slices.ContainsFunc(p.listed, func(l facts.ListedPod) bool { return l.Set.UID == set.UID && l.Node.Roles.Controller }) {
			controllers = append(controllers, set)
		} else {
			brokers = append(brokers, set)
		}
	}
	if err := p.putToSleep(ctx, brokers); err != nil {
		return err
	}
	running := p.existingNodes()
	if !slices.ContainsFunc(running, isNoController) {
		if err := p.putToSleep(ctx, controllers); err != nil {
			return err
		}
	}
	state := "no node runs"
	if len(running) > 0 {
		state = "nodes stop: " + strings.Join(namesOf(running), ", ")
	}
	if why := p.whyAwake(sets); why != "" {
		state += "; not all can stop, because " + why
	}
	return &Failure{Watched: true, Problem: problemf(reasonHibernated, "%s. All other changes wait until the annotation %s of the Kafka is "+
		"removed; do not delete volumes meanwhile, as nothing keeps them then", state, v1.AnnotationHibernate)}
}

// hibernates reports whether the nodes are to be stopped, or stay so if the annotation does not say.
func (p *pass) hibernates() bool {
	switch value := strings.ToLower(p.kafka.Annotations[v1.AnnotationHibernate]); {
	case p.stretched(), value == "", value == "false":
		return false
	case value == "true":
		return true
	}
	return slices.ContainsFunc(p.podSets(), (*core.StrimziPodSet).IsHibernated)
}

// warnOfHibernation reports an annotation without effect.
func (p *pass) warnOfHibernation() {
	switch value := p.kafka.Annotations[v1.AnnotationHibernate]; {
	case value == "", strings.EqualFold(value, "false"):
	case p.stretched():
		p.warn("HibernationIgnored", fmt.Sprintf("The annotation %s has no effect: a Kafka that is stretched over several Kubernetes clusters "+
			"can't be hibernated", v1.AnnotationHibernate))
	case !strings.EqualFold(value, "true"):
		p.warn("HibernationIgnored", fmt.Sprintf("The annotation %s: %q has no effect: it must be \"true\" or \"false\"",
			v1.AnnotationHibernate, value))
	}
}

// whyAwake returns why nodes of StrimziPodSets that run must not stop, because data would be lost or missed; "" if they may.
func (p *pass) whyAwake(sets []*core.StrimziPodSet) string {
	for _, l := range p.listed {
		awake := func(set *core.StrimziPodSet) bool { return set.UID == l.Set.UID && !set.IsHibernated() }
		switch {
		case !slices.ContainsFunc(sets, awake):
		case model.IsEphemeral(l.Pod):
			return fmt.Sprintf("pod %s has ephemeral storage, which ends with it", l.Pod.Name)
		case len(p.home().deletedClaims(l)) > 0:
			return fmt.Sprintf("a PersistentVolumeClaim of pod %s is being deleted, and its data ends with the pod", l.Pod.Name)
		case isFormerBroker(p.pod(l.Node), l.Node):
			return fmt.Sprintf("pod %s is a broker until the roller restarts it, and may have replicas", l.Pod.Name)
		}
	}
	return ""
}

// putToSleep has the controller of StrimziPodSets end their pods, and make none, unless data would be lost with them.
func (p *pass) putToSleep(ctx context.Context, sets []*core.StrimziPodSet) error {
	awake := func(set *core.StrimziPodSet) bool { return !set.IsHibernated() }
	for _, set := range sets {
		if !awake(set) || p.whyAwake([]*core.StrimziPodSet{set}) != "" {
			continue
		}
		err := p.home().annotate(ctx, set, awake, func(live *core.StrimziPodSet) {
			metav1.SetMetaDataAnnotation(&live.ObjectMeta, core.AnnotationHibernate, "true")
		})
		if err != nil {
			return err
		}
		p.Events.Normal(p.kafka, "Hibernating", "Hibernate", "Stopping the nodes of StrimziPodSet "+set.Name)
	}
	return nil
}

// wake has the nodes of a Kafka run again that is not hibernated any more. It comes after the steps of the pass, which renewed the
// certificates that nodes start with.
func (p *pass) wake(ctx context.Context) error {
	if p.hibernates() {
		return nil
	}
	return p.each(func(s *site) error {
		for _, set := range s.facts.PodSets() {
			if !set.IsHibernated() {
				continue
			}
			if err := s.withoutAnnotation(ctx, set, core.AnnotationHibernate, (*core.StrimziPodSet).IsHibernated); err != nil {
				return err
			}
			p.Events.Normal(p.kafka, "Waking", "Wake", "Starting the nodes of StrimziPodSet "+set.Name)
		}
		return nil
	})
}

func namesOf(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// isNoController reports whether a pod is a node that has not the role of a controller.
func isNoController(pod *corev1.Pod) bool { return pod.Labels[core.LabelControllerRole] != "true" }

// stopTopicOperator stops the topic operator, which has nothing to do without brokers. Its step starts it again.
func (p *pass) stopTopicOperator(ctx context.Context) error {
	name := model.TopicOperatorName(p.kafka.Name)
	deployment := p.home().facts.Deployment(name)
	if deployment == nil || !apply.OwnedBy(deployment, p.kafka.UID) || stopped(deployment) {
		return nil
	}
	changed := deployment.DeepCopy()
	changed.Spec.Replicas = new(int32(0))
	return p.home().patch(ctx, facts.Key{Kind: "Deployment", Name: name}, deployment, changed)
}

// stopped reports whether a Deployment is to have no pods.
func stopped(d *appsv1.Deployment) bool { return d.Spec.Replicas != nil && *d.Spec.Replicas == 0 }
