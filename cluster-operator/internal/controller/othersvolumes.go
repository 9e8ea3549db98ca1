package controller

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// whoseVolume says what a claim, which outlives its Kafka, shows of whose it is.
type whoseVolume int

const (
	// notShown: an earlier version of the operator made it for a stretched Kafka, perhaps one with another central cluster.
	notShown whoseVolume = iota
	// itsVolume: it is this Kafka's, or that of an earlier one of its name with this central cluster.
	itsVolume
	// othersVolume: the Kafka that it was made for has another central cluster.
	othersVolume
)

// whose finds out what a claim shows by itself.
func (p *pass) whose(s *site, claim *corev1.PersistentVolumeClaim) whoseVolume {
	of := types.UID(claim.Annotations[ownership.MarkCentral])
	switch home := s.cluster == topology.Home; {
	case of != "" && of == p.central(s):
		return itsVolume
	case of != "":
		return othersVolume
	case home && claim.Annotations[ownership.MarkID] == "" || !home && p.ours(s, claim, "PersistentVolumeClaim"):
		return itsVolume
	}
	return notShown
}

// central returns the central cluster that claims of this Kafka name in a Kubernetes cluster.
func (p *pass) central(s *site) types.UID {
	if s.cluster == topology.Home {
		return ""
	}
	return p.owner.Holder.Cluster
}

// leaveOthersVolumes leaves claims out of what was read that are, or may be, of a Kafka of this name with another central cluster: they say
// nothing about this one, not even its id. A claim that does not show whose it is has to have the id of this Kafka's cluster, which is
// known from elsewhere.
func (p *pass) leaveOthersVolumes() {
	ids := map[string]bool{}
	if id := p.knownID(); id != "" {
		ids[id] = true
	}
	eachClaim := func(do func(*site, *corev1.PersistentVolumeClaim, string)) {
		for _, s := range p.sites {
			for _, o := range s.facts.Objects {
				if claim, is := o.(*corev1.PersistentVolumeClaim); is {
					do(s, claim, claim.Annotations[model.AnnotationClusterID])
				}
			}
		}
	}
	eachClaim(func(s *site, claim *corev1.PersistentVolumeClaim, id string) {
		if id != "" && p.whose(s, claim) == itsVolume {
			ids[id] = true
		}
	})
	p.others = map[string][]*corev1.PersistentVolumeClaim{}
	eachClaim(func(s *site, claim *corev1.PersistentVolumeClaim, id string) {
		if whose := p.whose(s, claim); whose == othersVolume || whose == notShown && !ids[id] {
			delete(s.facts.Objects, facts.Key{Kind: "PersistentVolumeClaim", Name: claim.Name})
			p.others[s.cluster] = append(p.others[s.cluster], claim)
		}
	})
}

// begins reports whether the Kafka is to have nodes in a Kubernetes cluster, and has nothing yet that shows that it had some.
func (p *pass) begins(s *site) bool {
	wanted := func(pool *v1.KafkaNodePool) bool { return p.target(pool) == s.cluster }
	if s.anchor != nil || !slices.ContainsFunc(slices.Collect(maps.Values(p.pools)), wanted) {
		return false
	}
	return s.cluster != topology.Home || len(p.listed) == 0 && p.kafka.Status.ClusterID == ""
}

// checkOthersVolumes fails if a Kubernetes cluster in which the Kafka is to begin has volumes of a Kafka of this name with another central
// cluster, which may run: what is made there would have the names of what that one has.
func (p *pass) checkOthersVolumes(s *site) error {
	if _, recorded := p.record.Clusters[s.cluster]; len(p.others[s.cluster]) == 0 || recorded && p.formed() {
		return nil
	}
	var names []string
	centrals := map[string]bool{}
	for _, claim := range p.others[s.cluster] {
		names = append(names, claim.Name)
		if central := claim.Annotations[ownership.MarkCentral]; central != "" {
			centrals[central] = true
		}
	}
	whose := "an earlier version of the operator made them, and did not note for which central cluster"
	if len(centrals) > 0 {
		whose = "the uid of its namespace kube-system is " + listOf(slices.Collect(maps.Keys(centrals)), 3)
	}
	where, nothing, elsewhere := "this Kubernetes cluster", "nothing is created", ""
	if s.cluster != topology.Home {
		where, nothing, elsewhere = fmt.Sprintf("cluster '%s'", s.cluster), "nothing is changed anywhere",
			", or have no KafkaNodePool of it in that cluster"
	}
	conflict := stalled(reasonConflict, "%s has volumes of a Kafka %s/%s that may be that of another central cluster (%s; %s): %s. Rename "+
		"this Kafka%s. If they have the data of this Kafka, %s. If nobody needs their data, delete the claims", where, p.kafka.Namespace,
		p.kafka.Name, claimsIn(names), whose, nothing, elsewhere, apply.HowToTake(p.central(s)))
	if s.cluster == topology.Home {
		return conflict
	}
	return aboutAnother(conflict)
}
