package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// Entries of an anchor; all but the first are not in the proposal of stretch clusters.
const (
	anchorCluster  = "cluster-id"
	anchorHolder   = "holder"
	anchorKafkaUID = "kafka-uid"
	anchorProvider = "provider"
)

const (
	// reasonFenced is that of a Kafka which another central cluster has taken over.
	reasonFenced = "CentralFenced"
	// reasonRenamed is that of a Kafka whose central cluster got another name.
	reasonRenamed = "CentralClusterRenamed"
	// reasonConflict is that of a Kafka which finds objects of another one.
	reasonConflict = "OwnershipConflict"
	// reasonNotOwned is that of a Kafka which needs an object that is not its own.
	reasonNotOwned = "ObjectNotOwned"
	// reasonTerminating is that of a Kafka one of whose anchors is being deleted.
	reasonTerminating = "AnchorTerminating"
)

// isOthers reports whether a pass ended because what exists is somebody else's, or may be: it writes nothing more.
func isOthers(err error) bool {
	failure, is := errors.AsType[*Failure](err)
	return is && !failure.Elsewhere && slices.Contains([]string{reasonFenced, reasonRenamed, reasonConflict}, failure.Reason)
}

// aboutAnother notes of a conflict that it is about another Kubernetes cluster.
func aboutAnother(err error) error {
	if failure, is := errors.AsType[*Failure](err); is && failure.Reason == reasonConflict {
		failure.Elsewhere = true
	}
	return err
}

// anchor reads the anchor of a Kafka; nil if there is none. A copy of another one is none.
func anchor(ctx context.Context, live client.Reader, kafka client.ObjectKey) (*corev1.ConfigMap, error) {
	c := &corev1.ConfigMap{}
	err := live.Get(ctx, client.ObjectKey{Namespace: kafka.Namespace, Name: model.AnchorName(kafka.Name)}, c)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", model.AnchorName(kafka.Name), err)
	}
	if ownership.Copy(c, "ConfigMap") {
		return nil, nil
	}
	return c, nil
}

// anchorOwner is the one reference that everything in another Kubernetes cluster has. It does not block the anchor's deletion.
func anchorOwner(anchor *corev1.ConfigMap) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: anchor.Name, UID: anchor.UID, Controller: new(false),
		BlockOwnerDeletion: new(false)}
}

// holder identifies the Kafka object that acts for an owner.
func (r *Reconciler) holder(kafka *v1.Kafka) (ownership.Holder, error) {
	home := r.Stretching.home()
	if home == nil || home.Status().Identity == "" {
		return ownership.Holder{}, fmt.Errorf("the uid of namespace %s, which identifies this Kubernetes cluster, was not read yet",
			clusters.IdentityNamespace)
	}
	return ownership.Holder{Central: r.Stretching.Central, Cluster: home.Status().Identity, Object: kafka.UID}, nil
}

// former returns the holder that an anchor names if it was an earlier Kafka object of this name in this Kubernetes cluster, which does not
// exist any more: there is never more than one of a name.
func former(anchor *corev1.ConfigMap, now ownership.Holder) []ownership.Holder {
	h, err := ownership.ParseHolder(anchor.Data[anchorHolder])
	if err != nil || h.Cluster != now.Cluster || h.Object == now.Object {
		return nil
	}
	return []ownership.Holder{h}
}

// findOwner finds out under which id and epoch the Kafka owns objects in other Kubernetes clusters: from the annotations, else from the
// existing anchors. It returns the clusters that are the Kafka's to change, and fails if another Kafka owns one and this one has no nodes
// yet, or if another central cluster acts for this Kafka.
func (p *pass) findOwner(sites []*site) ([]*site, error) {
	holder, err := p.holder(p.kafka)
	if err != nil {
		return nil, err
	}
	p.owner = ownership.Owner{ID: p.record.Owner, Epoch: p.record.Epoch, Holder: holder}
	epoch, err := strconv.ParseInt(p.kafka.Annotations[v1.AnnotationOwnerEpoch], 10, 64)
	if id := p.kafka.Annotations[ownership.MarkID]; id != "" && err == nil { // id and epoch count only together
		p.owner.ID, p.owner.Epoch = id, epoch
		if p.record.Kafka == p.kafka.UID && p.record.Owner == id { // an earlier manifest was applied again, with an earlier epoch
			p.owner.Epoch = max(epoch, p.record.Epoch)
		}
	}
	for _, s := range sites {
		if s.anchor == nil {
			continue
		}
		live, before := ownership.Read(s.anchor, "ConfigMap"), former(s.anchor, holder)
		switch ownership.Decide(&live, p.owner, ownership.Facts{Gone: before}) {
		case ownership.Restore:
			if live.ID != "" && live.Term != nil {
				p.owner.ID, p.owner.Epoch = live.ID, max(p.owner.Epoch, live.Term.Epoch)
			}
		case ownership.Resume:
			p.owner.ID, p.owner.Epoch = live.ID, max(p.owner.Epoch, live.Term.Epoch+1)
			p.follows(before[0].Object)
		}
	}
	return p.ownSites(sites, holder)
}

// follows records that the Kafka takes over the objects of an earlier Kafka of its name: the anchor that shows that is about to be
// rewritten.
func (p *pass) follows(object types.UID) {
	if !slices.Contains(p.record.Before, object) {
		p.record.Before = append(p.record.Before, object)
	}
}

// ownSites returns the clusters without an anchor, and those whose anchor is the Kafka's.
func (p *pass) ownSites(sites []*site, holder ownership.Holder) (own []*site, err error) {
	for _, s := range sites {
		if s.anchor == nil {
			own = append(own, s)
			continue
		}
		err := p.checkAnchor(s, holder)
		switch {
		case err == nil:
			own = append(own, s)
		case p.stopsThere(err):
			p.lose(s.cluster, s.member.Status(), err) // the nodes elsewhere still need certificates
		default:
			return nil, aboutAnother(err)
		}
	}
	return own, nil
}

// stopsThere reports whether what is wrong with an anchor concerns its Kubernetes cluster alone. A deletion goes on in the others, too.
func (p *pass) stopsThere(err error) bool {
	failure, is := errors.AsType[*Failure](err)
	return is && (failure.Reason == reasonConflict && p.formed() ||
		failure.Reason == reasonTerminating && (p.formed() || p.kafka.DeletionTimestamp != nil))
}

// formed reports whether an earlier pass claimed clusters for this Kafka object, under the same owner's id, and the object is not being
// deleted.
func (p *pass) formed() bool {
	return p.kafka.DeletionTimestamp == nil && p.record.Kafka == p.kafka.UID && p.record.Owner == p.owner.ID && !p.claiming()
}

// checkHome fails if this Kubernetes cluster has nodes of a Kafka of this name with another central cluster: a Kafka created here would be
// a second one, with its own id and keys.
func (p *pass) checkHome() error {
	a := p.home().facts.ConfigMap(model.AnchorName(p.kafka.Name))
	if a == nil || a.Data[anchorHolder] == "" {
		return nil
	}
	return stalled(reasonConflict, "this Kubernetes cluster holds nodes of a Kafka %s/%s whose central cluster is '%s' (ConfigMap %s, "+
		"holder %q): the operator changes nothing. Rename this Kafka. It can't replace the other one yet, even if the central cluster of "+
		"that is lost: delete nothing there, the data is in it", p.kafka.Namespace, p.kafka.Name,
		a.Data[model.AnchorCentral], a.Name, a.Data[anchorHolder])
}

// checkNamesakes fails if a Kubernetes cluster in which the Kafka is to begin holds a Kafka of its own of this name, whosever operator made
// it. An anchor there would keep that operator from it, and what is made there would have the names of what it made.
func (p *pass) checkNamesakes() error {
	for _, s := range p.sites {
		if !p.begins(s) {
			continue
		}
		if err := p.checkOthersVolumes(s); err != nil {
			return err
		}
		if s.cluster == topology.Home {
			continue
		}
		for _, key := range slices.SortedFunc(maps.Keys(s.facts.Objects), facts.Key.Compare) {
			if !slices.ContainsFunc(s.facts.Objects[key].GetOwnerReferences(), p.namesake) {
				continue
			}
			return aboutAnother(stalled(reasonConflict, "cluster '%s' holds a Kafka %s/%s of its own (%s %s belongs to it): nothing is changed "+
				"anywhere. Rename this Kafka, or have no KafkaNodePool of it in that cluster", s.cluster, p.kafka.Namespace, p.kafka.Name, key.Kind,
				key.Name))
		}
	}
	return nil
}

// namesake reports whether an owner is a Kafka object of the same name, of Strimzi's operator or of this one. In another Kubernetes
// cluster that is never this Kafka.
func (p *pass) namesake(owner metav1.OwnerReference) bool {
	return owner.Kind == "Kafka" && owner.Name == p.kafka.Name && strings.HasPrefix(owner.APIVersion, v1.GroupVersion.Group+"/")
}

// checkAnchor fails if the anchor in a Kubernetes cluster is not the Kafka's.
func (p *pass) checkAnchor(s *site, holder ownership.Holder) (err error) {
	defer func() { p.noteConflict(s, "ConfigMap", err) }()
	if h, err := ownership.ParseHolder(s.anchor.Data[anchorHolder]); err == nil && h.Cluster == holder.Cluster && h.Central != holder.Central {
		return p.renamed(h.Central, fmt.Sprintf("ConfigMap %s in cluster '%s'", s.anchor.Name, s.cluster))
	}
	nothing := "nothing"
	if p.formed() {
		nothing = "nothing there"
	}
	live := ownership.Read(s.anchor, "ConfigMap")
	decision := ownership.Decide(&live, p.owner, ownership.Facts{Gone: former(s.anchor, holder)})
	switch {
	case decision == ownership.Wait:
		return &Failure{Problem: problemf(reasonTerminating, "ConfigMap %s/%s in cluster '%s' is being deleted: the objects that it owned "+
			"must be gone first",
			s.anchor.Namespace, s.anchor.Name, s.cluster), Err: fmt.Errorf("anchor in cluster %s is being deleted", s.cluster)}
	case decision == ownership.Fenced && s.anchor.Data[anchorHolder] == holder.String():
		return stalled(reasonFenced, "annotation %s of Kafka %s/%s is %q, which is older than ConfigMap %s in cluster '%s': an earlier manifest "+
			"was applied, or a backup was restored. The operator changes nothing. If nobody else manages this Kafka, set the annotation to \"%d\"",
			v1.AnnotationOwnerEpoch, p.kafka.Namespace, p.kafka.Name, p.kafka.Annotations[v1.AnnotationOwnerEpoch], s.anchor.Name, s.cluster,
			epochOf(live))
	case decision == ownership.Fenced:
		return stalled(reasonFenced,
			"Kafka %s/%s is now managed by another central cluster (holder %s in ConfigMap %s of cluster '%s'): the operator changes nothing",
			p.kafka.Namespace, p.kafka.Name, s.anchor.Data[anchorHolder], s.anchor.Name, s.cluster)
	case !decision.Writes() || fromAnother(s.anchor, decision, holder):
		return p.notOwn(s, holder, live.ID, nothing)
	}
	return nil
}

// notOwn returns why an anchor does not count as the Kafka's. stays names what the operator leaves unchanged because of that.
func (p *pass) notOwn(s *site, holder ownership.Holder, id, stays string) error {
	switch named := s.anchor.Data[anchorHolder]; {
	case len(former(s.anchor, holder)) > 0:
		return stalled(reasonConflict,
			"cluster '%s' has objects of an earlier Kafka %s/%s (ConfigMap %s, holder %q): the operator changes %s. "+
				"If nobody needs its data any more, delete that ConfigMap: the objects that it owns are deleted too, and volumes with "+
				"deleteClaim: true",
			s.cluster, p.kafka.Namespace, p.kafka.Name, s.anchor.Name, named, stays)
	case named == holder.String() && id != "":
		return stalled(reasonConflict,
			"ConfigMap %s in cluster '%s' is of this Kafka %s/%s, but annotations of both that prove it are lost: the operator changes %s. "+
				"Annotate the Kafka with %s: %s and %s: \"1\"",
			s.anchor.Name, s.cluster, p.kafka.Namespace, p.kafka.Name, stays, ownership.MarkID, id, v1.AnnotationOwnerEpoch)
	default:
		return stalled(reasonConflict,
			"cluster '%s' has another Kafka %s/%s (ConfigMap %s, holder %q): the operator changes %s. "+
				"Rename this Kafka. It can't replace the other one yet, even if the central cluster of that is lost: "+
				"delete nothing there, the data is in it", s.cluster, p.kafka.Namespace, p.kafka.Name, s.anchor.Name, named, stays)
	}
}

// epochOf returns the newest epoch that an anchor shows.
func epochOf(anchor ownership.Live) int64 {
	epoch := anchor.Applied[anchor.ID]
	if anchor.Term != nil {
		epoch = max(epoch, anchor.Term.Epoch)
	}
	return epoch
}

// fromAnother reports whether a decision would take an anchor from another central cluster, which is not built yet: id and epoch on the
// Kafka object, which its author chooses, are not enough for that.
func fromAnother(anchor *corev1.ConfigMap, decision ownership.Decision, now ownership.Holder) bool {
	h, err := ownership.ParseHolder(anchor.Data[anchorHolder])
	switch decision {
	case ownership.TakeOver:
		return err != nil || h.Cluster != now.Cluster
	case ownership.Restore:
		return err == nil && h.Cluster != now.Cluster
	}
	return false
}

// checkName fails if the Kafka got its objects in other Kubernetes clusters while the central one had another name. The anchors, which have
// that name too, may be away.
func (p *pass) checkName() error {
	if from := p.record.Central; from != "" && from != p.Stretching.Central && len(p.record.Clusters) > 0 {
		return p.renamed(from, "ConfigMap "+model.RecordName(p.kafka.Name))
	}
	return nil
}

// renamed is the failure of a pass of a Kafka whose central cluster had another name when it got its objects in other clusters.
func (p *pass) renamed(from, evidence string) *Failure {
	return stalled(reasonRenamed, "the objects of Kafka %s/%s in other clusters name '%s' as their central cluster (%s), and this one is "+
		"called '%s' now: the operator changes nothing. Set STRIMZI_CENTRAL_CLUSTER_ID back to '%s'", p.kafka.Namespace, p.kafka.Name, from,
		evidence, p.Stretching.Central, from)
}

// confirm reads the anchor of a Kubernetes cluster from its API server before the first write of a pass there, and fails if it is not the
// one that the cache holds, or not the Kafka's any more.
func (p *pass) confirm(ctx context.Context, s *site) error {
	if s.confirmed {
		return nil
	}
	live, err := anchor(ctx, s.live, client.ObjectKeyFromObject(p.kafka))
	if err != nil {
		return err
	}
	if live == nil || live.UID != s.anchor.UID {
		return fmt.Errorf("ConfigMap %s/%s in cluster '%s' was deleted or recreated, but its watch has not reported that yet: "+
			"the operator writes nothing there until it does",
			s.anchor.Namespace, s.anchor.Name, s.cluster)
	}
	s.anchor = live
	if err := s.checkPlace(); err != nil {
		return err
	}
	if err := p.checkAnchor(s, p.owner.Holder); err != nil {
		return err
	}
	s.confirmed = true
	return nil
}

// checkPlace fails if the anchor, which is the Kafka's, is that of another Kubernetes cluster: the credentials of two were exchanged.
func (s *site) checkPlace() error {
	if s.anchor == nil || s.anchor.Data[anchorCluster] == "" || s.anchor.Data[anchorCluster] == s.cluster {
		return nil
	}
	return fmt.Errorf("its credentials point to cluster '%s' according to ConfigMap %s there: correct its kubeconfig",
		s.anchor.Data[anchorCluster],
		s.anchor.Name)
}

// writeOwner writes the finalizer and the owner's id and epoch to the Kafka object: before the first object in another Kubernetes cluster.
func (p *pass) writeOwner(ctx context.Context) error {
	if p.owner.ID == "" {
		p.owner.ID, p.owner.Epoch = string(uuid.NewUUID()), 1
	}
	p.owner.Epoch = max(p.owner.Epoch, 1)
	if p.ownerWritten() {
		return nil
	}
	id, was := p.kafka.Annotations[ownership.MarkID], p.kafka.Annotations[v1.AnnotationOwnerEpoch]
	lost := p.record.Kafka == p.kafka.UID && p.record.Owner == p.owner.ID &&
		(id == "" || was == "" || id == p.owner.ID && was != strconv.FormatInt(p.owner.Epoch, 10))
	err := p.patchKafka(ctx, p.kafka, func(k *v1.Kafka) {
		controllerutil.AddFinalizer(k, v1.FinalizerStretch)
		if k.Annotations == nil {
			k.Annotations = map[string]string{}
		}
		k.Annotations[ownership.MarkID], k.Annotations[v1.AnnotationOwnerEpoch] = p.owner.ID, strconv.FormatInt(p.owner.Epoch, 10)
	})
	if err == nil && lost && id != "" && was != "" {
		p.Events.Warning(p.kafka, reasonRestored, "Restore", fmt.Sprintf("Annotation %s of the Kafka was %q, and is restored to \"%d\": an "+
			"earlier manifest was applied", v1.AnnotationOwnerEpoch, was, p.owner.Epoch))
	} else if err == nil && lost {
		p.Events.Warning(p.kafka, reasonRestored, "Restore", "The Kafka had lost the annotations that name the owner of its objects in other "+
			"Kubernetes clusters, and got them back")
	}
	return err
}

// ownerWritten reports whether the Kafka object has its finalizer, and names the owner's id and epoch.
func (p *pass) ownerWritten() bool {
	have := p.kafka.Annotations
	return controllerutil.ContainsFinalizer(p.kafka, v1.FinalizerStretch) && p.owner.ID != "" && have[ownership.MarkID] == p.owner.ID &&
		have[v1.AnnotationOwnerEpoch] == strconv.FormatInt(p.owner.Epoch, 10)
}

// applyAnchor makes the anchor of a Kubernetes cluster, and takes its uid for everything else there.
func (p *pass) applyAnchor(ctx context.Context, s *site) error {
	wanted := model.Anchor(p.at(s), map[string]string{
		anchorHolder: p.owner.Holder.String(), anchorKafkaUID: string(p.kafka.UID), model.AnchorCentral: p.Stretching.Central,
		anchorProvider: p.Stretching.ProviderName,
	})
	key := facts.KeyOf(wanted)
	s.kept[key] = true
	live := client.Object(nil)
	if s.anchor != nil {
		live = s.anchor
	}
	earlier, restores := s.anchor != nil && len(former(s.anchor, p.owner.Holder)) > 0, s.applier.Restores(live)
	outcome, err := s.applier.Apply(ctx, wanted, live)
	if err != nil {
		p.noteConflict(s, key.Kind, err)
		return err
	}
	if outcome != apply.Unchanged {
		p.wrote(s, key, outcome)
		switch {
		case restores:
			p.noteRestored(s, key)
		case earlier && p.kafka.DeletionTimestamp == nil:
			p.noteResumed(s)
		}
		if s.anchor, err = anchor(ctx, s.live, client.ObjectKeyFromObject(p.kafka)); err != nil || s.anchor == nil {
			return fmt.Errorf("the anchor in cluster %s is gone again: %w", s.cluster, err)
		}
		if err := p.checkAnchor(s, p.owner.Holder); err != nil {
			return err
		}
	}
	s.owner = anchorOwner(s.anchor)
	s.applier.UID = s.owner.UID
	return nil
}

// deleteAnchor deletes the anchor of a Kubernetes cluster, and reports whether it is gone. Kubernetes' garbage collector deletes all that
// it owns. One that an earlier Kafka object left is marked as this one's first: only what the owner has marked is deleted.
func (p *pass) deleteAnchor(ctx context.Context, s *site) (gone bool, err error) {
	if err := p.applyAnchor(ctx, s); err != nil {
		return false, err
	}
	outcome, err := s.applier.Delete(ctx, s.anchor)
	if err != nil {
		return false, err
	}
	if outcome == apply.Deleted {
		p.wrote(s, facts.Key{Kind: "ConfigMap", Name: s.anchor.Name}, outcome)
	}
	return outcome == apply.Deleted, nil
}
