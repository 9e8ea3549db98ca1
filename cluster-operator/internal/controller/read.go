package controller

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// read reads the live objects of the Kafka.
func (p *pass) read(ctx context.Context) error {
	err := p.readSites(ctx)
	p.leaveOthersVolumes()
	if err == nil {
		err = p.checkFirst()
	}
	if err != nil {
		return p.unlessContradicted(err)
	}
	if err := p.checkHome(); err != nil {
		return err
	}
	if err := p.checkNamesakes(); err != nil {
		return err
	}
	if err := p.restoreOwner(ctx); err != nil {
		return err
	}
	p.status.Sets = p.podSets()
	p.warnOfDeletions()
	p.beginInput()
	p.warnOfNodesElsewhere()
	p.status.Version, p.status.MetadataVersion = p.input.Version, p.kafka.Status.KafkaMetadataVersion // until Kafka reports its own
	if err := p.identify(); err != nil {
		return err
	}
	p.warnOfResizes()
	if err := p.noteEarlierTopicOperator(ctx); err != nil {
		p.warn("TopicOperatorNotNoted", fmt.Sprintf("If the Kafka is deleted now, the deletion of its KafkaTopics may hang: %v", err))
		p.requeueAfter(awayDelay)
	}
	p.giveUp(ctx)
	if p.new, err = p.isNew(ctx); err != nil {
		return err
	}
	p.unlisted = p.findUnlisted()
	return nil
}

// beginInput sets what is known by now of the input from which objects are made.
func (p *pass) beginInput() {
	p.input = model.Input{Kafka: p.kafka, Pools: maps.Clone(p.pools), Settings: p.Settings, Version: p.version(),
		ApplyUpdates: p.opensUpdates(), Sets: map[string]*core.StrimziPodSet{}}
	for _, set := range p.podSets() {
		p.input.Sets[set.Name] = set
	}
	p.input.MetadataVersion = cmp.Or(p.kafka.Spec.Kafka.MetadataVersion, model.MetadataVersionOf(p.input.Version))
	if p.stretched() && p.Stretching != nil {
		p.restorePeers()
		p.input.Stretch = &model.Stretch{Central: p.Stretching.Central, Peers: p.record.Peers}
	}
}

// readSites reads what the Kafka has in each Kubernetes cluster.
func (p *pass) readSites(ctx context.Context) (err error) {
	name := client.ObjectKeyFromObject(p.kafka)
	if p.pools, p.noSpec, err = p.readPools(ctx, name); err != nil {
		return err
	}
	home := &site{cluster: topology.Home, cache: p.Cache, live: p.Live, owner: model.Owner(p.kafka)}
	home.nodes = &watchedReader{p.Cache, p.Reconciler,
		"the operator's account is not permitted to list and watch it, apply your overlay of the current " +
			"config/cluster-operator again", &p.nodesUnwatched}
	if err := p.readSite(ctx, home); err != nil {
		return err
	}
	p.figures = figuresOf(home.facts, p.kafka)
	return p.readRemotes(ctx)
}

// readSite reads what the Kafka has in a Kubernetes cluster.
func (p *pass) readSite(ctx context.Context, s *site) (err error) {
	s.kept = map[facts.Key]bool{}
	if s.facts, err = facts.Read(ctx, s.cache, client.ObjectKeyFromObject(p.kafka)); err != nil {
		return err
	}
	s.shown = facts.Cluster{Objects: maps.Clone(s.facts.Objects)}
	for key, o := range s.facts.Objects {
		notOurs := key.Kind == "StrimziPodSet" && !p.ours(s, o, key.Kind) ||
			// What a stretched Kafka made elsewhere is marked. A volume without a mark is one of a Kafka that lives, or lived, there, unless it
			// goes with the anchor.
			key.Kind == "PersistentVolumeClaim" && s.cluster != topology.Home && o.GetAnnotations()[ownership.MarkID] == "" &&
				o.GetAnnotations()[ownership.MarkCentral] == "" && !apply.OwnedBy(o, s.owner.UID)
		if ownership.Copy(o, key.Kind) || notOurs {
			delete(s.facts.Objects, key) // it does not say anything about this Kafka's nodes
		}
	}
	listed, err := s.facts.Listed(s.cluster)
	p.sites, p.listed = append(p.sites, s), append(p.listed, listed...)
	return err
}

// ours reports whether an object of a kind, such as a StrimziPodSet, is the Kafka's. One that is marked stays so though its anchor was
// deleted by hand: its nodes run. That of an earlier object of this Kafka has them, too, though it may not be changed before it has an
// anchor. Otherwise the anchor alone proves what another holder made: anybody can write an owner's id and a later epoch into a Kafka
// object.
func (p *pass) ours(s *site, o client.Object, kind string) bool {
	proven := apply.OwnedBy(o, s.owner.UID)
	if s.cluster == topology.Home {
		return proven || apply.Orphaned(o, kind, p.kafka.Name)
	}
	live := ownership.Read(o, kind)
	live.Terminating = false // a set that is being deleted still lists the nodes that exist
	d := ownership.Decide(&live, p.owner, ownership.Facts{Proven: proven})
	return d.Writes() && (d != ownership.TakeOver || proven || slices.ContainsFunc(p.record.Before, func(object types.UID) bool {
		before := p.owner
		before.Holder.Object = object
		return live.Term.Holder == before.Term().Holder
	}))
}

// version returns the desired version of Kafka. Without one in the spec, the current version stays: the default of a newer operator must
// not restart nodes. The set of a removed pool may have an older version, since nothing changes there.
func (p *pass) version() string {
	if v := p.kafka.Spec.Kafka.Version; v != "" {
		return v
	}
	removed := ""
	for _, set := range p.podSets() {
		switch v := set.Annotations[v1.AnnotationKafkaVersion]; {
		case v == "":
		case p.pools[strings.TrimPrefix(set.Name, p.kafka.Name+"-")] != nil:
			return v
		default:
			removed = v
		}
	}
	return cmp.Or(p.kafka.Status.KafkaVersion, removed, p.DefaultVersion)
}

// knownID returns the id of the Kafka cluster from the status of the Kafka or of a KafkaNodePool, or "" if none has it.
func (p *pass) knownID() string {
	id := p.kafka.Status.ClusterID
	for _, pool := range p.pools {
		if id == "" && p.ofThisKafka(pool) {
			id = pool.Status.ClusterID
		}
	}
	return id
}

// identify finds the id of the Kafka cluster: what a status or a volume holds, else a random one, which is in the status before anything is
// made.
func (p *pass) identify() error {
	id := p.knownID()
	volumes := map[string]string{}
	for _, s := range p.sites {
		for key, o := range s.facts.Objects {
			if of := o.GetAnnotations()[model.AnnotationClusterID]; key.Kind == "PersistentVolumeClaim" && of != "" {
				volumes[of] = min(key.Name, cmp.Or(volumes[of], key.Name)) // the same in each pass
			}
		}
	}
	if id == "" && len(volumes) > 1 {
		return stalled("ConflictingVolumes", "the PersistentVolumeClaims of Kafka %s/%s belong to different Kafka clusters (%v): "+
			"delete those that are not needed, or name the right cluster in the annotation %s of all of them", p.kafka.Namespace, p.kafka.Name,
			volumes, model.AnnotationClusterID)
	}
	for of := range volumes {
		if id == "" {
			id = of
		}
	}
	id = cmp.Or(id, p.idOfOrphans())
	if id == "" && len(p.away) > 0 {
		return p.firstAway() // a volume there may have the id
	}
	if id == "" {
		if err := p.checkDecoded(); err != nil {
			return err // a status may have the id
		}
		random := make([]byte, 16)
		if _, err := rand.Read(random); err != nil {
			return err
		}
		id = strings.TrimLeft(base64.RawURLEncoding.EncodeToString(random), "-")
		id += strings.Repeat("0", 22-len(id))
	}
	p.input.ClusterID, p.status.ClusterID = id, id
	for _, s := range p.sites {
		s.applier = &apply.Applier{Client: s.live, Kafka: p.kafka.Name, UID: s.owner.UID, ClusterID: id, Central: p.central(s)}
		s.claims = s.findClaims()
		s.needed = s.findNeeded()
	}
	return nil
}
