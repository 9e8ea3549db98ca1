package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// releaseToRoller ends what keeps the roller off the nodes though nothing is wrong with them.
func (p *pass) releaseToRoller(ctx context.Context) error {
	if err := p.endPause(ctx); err != nil {
		return err
	}
	if err := p.wake(ctx); err != nil {
		return err
	}
	return p.nameAgent(ctx)
}

// nameAgent has the StrimziPodSets that name the namespace of an earlier installation of the operator name the present one: the roller
// restarts no pod while it finds no operator there. In another Kubernetes cluster it does so once the anchor is the Kafka's.
func (p *pass) nameAgent(ctx context.Context) error {
	namespace := p.Settings.OperatorNamespace
	return p.each(func(s *site) error {
		if s.cluster != topology.Home && (!p.claimed(s) || !p.ownerWritten()) {
			return nil
		}
		elsewhere := func(set *core.StrimziPodSet) bool {
			named := set.Annotations[core.AnnotationAgentNamespace]
			return named != "" && namespace != "" && named != namespace && p.ours(s, set, "StrimziPodSet")
		}
		for _, set := range s.facts.PodSets() {
			if !elsewhere(set) {
				continue
			}
			err := s.annotate(ctx, set, elsewhere, func(live *core.StrimziPodSet) {
				live.Annotations[core.AnnotationAgentNamespace] = namespace
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// withoutAnnotation removes an annotation from a StrimziPodSet if the API server's version of it still matches.
func (s *site) withoutAnnotation(ctx context.Context, set *core.StrimziPodSet, annotation string,
	matches func(*core.StrimziPodSet) bool) error {
	return s.annotate(ctx, set, matches, func(live *core.StrimziPodSet) { delete(live.Annotations, annotation) })
}

// annotate changes the annotations of a StrimziPodSet if the API server's version of it still matches: the pass may have changed it.
func (s *site) annotate(ctx context.Context, set *core.StrimziPodSet, matches func(*core.StrimziPodSet) bool,
	change func(*core.StrimziPodSet)) error {
	live := &core.StrimziPodSet{}
	if err := s.live.Get(ctx, client.ObjectKeyFromObject(set), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !matches(live) {
		return nil
	}
	before := live.DeepCopy()
	change(live)
	return s.patch(ctx, keyOfSet(set), before, live)
}

// elseHold runs step. If step fails, the pass won't reach hold, so it is run here.
func (p *pass) elseHold(step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := step(ctx)
		if err == nil {
			return nil
		}
		if failed := p.hold(ctx); failed != nil {
			return failed
		}
		return err
	}
}

// hold keeps the roller off nodes whose restart would lose data.
func (p *pass) hold(ctx context.Context) error {
	if err := p.holdVolumes(ctx); err != nil {
		return err
	}
	return p.holdFormerBrokers(ctx)
}

// holdVolumes keeps the roller off the nodes of a StrimziPodSet while a volume of one of them is being deleted: Kubernetes keeps the volume
// only as long as the pod runs, and a restart would start the node empty. An empty volume that is to go needs no hold, which would also
// keep the roller from having the broker cordon it.
func (p *pass) holdVolumes(ctx context.Context) error {
	return p.each(func(s *site) error {
		going := map[string]bool{}
		for _, l := range p.listed {
			for _, claim := range s.deletedClaims(l) {
				if p.empty[claim.Name] {
					continue
				}
				going[l.Set.Name] = true
				p.warnOf(l.Node.Pool, "VolumeBeingDeleted", fmt.Sprintf("PersistentVolumeClaim %s is being deleted while node %d uses it. "+
					"The node loses its data when pod %s stops, so no pod of StrimziPodSet %s is restarted until then. If other nodes have all its "+
					"data, delete the pod: it starts with an empty volume, a controller only once enough others have all metadata. A deletion can't be "+
					"cancelled. If .spec.persistentVolumeReclaimPolicy of PersistentVolume %s is Retain, or you set it first, the data stays there. "+
					"To give it back to the node, pause the Kafka, delete the pod, remove .spec.claimRef.uid of the PersistentVolume when the claim is "+
					"gone, and end the pause", claim.Name, l.Node.ID, l.Pod.Name, l.Set.Name, claim.Spec.VolumeName))
			}
		}
		for _, set := range s.facts.PodSets() {
			var err error
			if why, held := core.HoldReason(set.Annotations); going[set.Name] && (!held || why == model.HoldPaused) {
				err = s.setHold(ctx, set, model.HoldVolume)
			} else if !going[set.Name] && why == model.HoldVolume {
				err = s.setHold(ctx, set, "")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// deletedClaims returns the claims that are being deleted, and that a pod uses now and is to use. A pod that is not scheduled uses none.
func (s *site) deletedClaims(l facts.ListedPod) (claims []*corev1.PersistentVolumeClaim) {
	running := s.facts.Pods[l.Pod.Name]
	if l.Node.Cluster != s.cluster || running == nil || running.DeletionTimestamp != nil || running.Spec.NodeName == "" {
		return nil
	}
	for _, v := range running.Spec.Volumes {
		if v.PersistentVolumeClaim == nil || !mounts(l.Pod, v.PersistentVolumeClaim.ClaimName) {
			continue
		}
		if claim := s.facts.Claim(v.PersistentVolumeClaim.ClaimName); claim != nil && claim.DeletionTimestamp != nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// setHold sets the reason why the roller keeps off the nodes of a StrimziPodSet, "" if it need not.
func (s *site) setHold(ctx context.Context, set *core.StrimziPodSet, why string) error {
	changed := set.DeepCopy()
	if why == "" {
		delete(changed.Annotations, core.AnnotationHold)
	} else {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, core.AnnotationHold, why)
	}
	if err := s.patch(ctx, keyOfSet(set), set, changed); err != nil {
		return err
	}
	set.Annotations, set.ResourceVersion = changed.Annotations, changed.ResourceVersion
	return nil
}

func keyOfSet(set *core.StrimziPodSet) facts.Key {
	return facts.Key{Kind: "StrimziPodSet", Name: set.Name}
}
