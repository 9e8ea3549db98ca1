package controller

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/validate"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// pass is one reconciliation of one Kafka. Its steps hand values to each other.
type pass struct {
	*Reconciler
	kafka *v1.Kafka
	log   logr.Logger

	// missing is what a Kafka lacks that can't be read without it: a spec that can be decoded.
	missing []validate.Problem

	// pools are the KafkaNodePools of the Kafka, by name, and noSpec those without a spec, or that can't be decoded.
	pools  map[string]*v1.KafkaNodePool
	noSpec []*v1.KafkaNodePool
	// sites are the Kubernetes clusters that can be read, home first.
	sites  []*site
	listed []facts.ListedPod
	// new reports that no node has run yet: whatever was written for nodes can still change.
	new bool
	// unlisted are the nodes that exist although no StrimziPodSet lists them.
	unlisted []topology.Node
	input    model.Input
	// empty are the PersistentVolumeClaims of volumes that are to go and have neither replicas nor a metadata log, by name.
	empty map[string]bool
	// taken are those that this pass takes from their nodes, by Kubernetes cluster and name.
	taken map[[2]string]bool
	// seenEmpty are those that a broker reported as cordoned and without replicas, in the same way.
	seenEmpty map[[2]string]bool
	// logDirsTold is what brokers said of their log directories in this pass, by which brokers were asked.
	logDirsTold map[string]map[int32][]kafka.LogDir

	// The next fields are for stretched Kafkas. forgotten reports that the Kafka has nodes elsewhere although its object does not mention
	// them.
	forgotten bool
	// away are the clusters that can't be read or written now, by id, and remembered are the nodes that they had when last read.
	away       map[string]away
	remembered []topology.Node
	record     record
	owner      ownership.Owner
	// others are claims that are, or may be, of a Kafka of this name with another central cluster, by Kubernetes cluster.
	others map[string][]*corev1.PersistentVolumeClaim
	// planned reports that the network provider planned all objects that nodes are reached by, so that the others can go, and served are the
	// API versions of clusters with nodes that it planned them by.
	planned bool
	served  map[string][]string
	// delayed are nodes that can't be started yet, because nodes in other Kubernetes clusters would not reach them or be reached.
	delayed map[int32]string
	// replacing reports that nodes are kept as they are until it is known where they are reached on a listener that replaces one of theirs.
	replacing bool
	// custom are the listeners with certificates from users, and refused are the reasons why nodes don't get some of these, and why the
	// clients CA can't be used: they keep what they have.
	custom  []pki.Listener
	refused []error
	// plan is what is to become of certificates, and secrets holds the Secrets of the PKI in the home cluster, by name.
	plan    pki.Result
	secrets map[string]*corev1.Secret
	// unlabelled are Secrets that the cache lacks, as the API server has them, by name.
	unlabelled map[string]pki.Fact
	// rendered is what nodes are made from, by Kubernetes cluster.
	rendered map[*site]model.Result

	// metElsewhere reports that a conflict in another Kubernetes cluster ended the pass.
	metElsewhere bool
	// failedElsewhere is the error because of which the pass left out a Kubernetes cluster that is connected: no event tells that it is over.
	failedElsewhere error

	// mu guards the fields below: steps run in several Kubernetes clusters concurrently.
	mu sync.Mutex
	// status is filled in as facts become known, and next is after how long to requeue, 0 for the next interval.
	status status.Input
	next   time.Duration
	// figures are for the metrics.
	figures metrics.Kafka
}

// run carries out the pass. Whatever its result, it then lifts what keeps the roller from the Kafka's own nodes: a restart may be what they
// need.
func (p *pass) run(ctx context.Context) error {
	err := p.carryOutSteps(ctx)
	if isStale(err) || isOthers(err) || len(p.sites) == 0 {
		return err
	}
	failed := p.releaseToRoller(ctx)
	if err == nil || isStale(failed) {
		return failed
	}
	if failed != nil {
		p.log.Error(failed, "Failed to release StrimziPodSets to the roller")
	}
	return err
}

// carryOutSteps carries out the steps of the pass. Each needs those before it; the first that fails ends the pass, and what exists stays.
func (p *pass) carryOutSteps(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
		// renew reports that certificates are renewed though the step fails: it is known what exists, and that it is the Kafka's.
		renew bool
	}{
		{"read what exists", p.read, false},
		{"restore what the spec said", p.supposeSpec, false},
		{"protect volumes and CAs", p.elseHold(p.protect), true},
		{"hibernate", p.elseHold(p.hibernate), true},
		{"check the spec", p.elseHold(p.checkSpec), true},
		{"accept storage", p.storage, true},
		{"assign nodes", p.assign, true},
		{"validate", p.validate, true},
		{"check sizes of StrimziPodSets", p.checkSizes, true},
		{"write pool statuses", p.writePools, false},
		{"check the network provider", p.checkProvider, true},
		{"check what would be created", p.foresee, false},
		{"write anchors", p.writeAnchors, false},
		{"create Services", p.services, true},
		{"plan certificates, write CAs", p.authorities, true},
		{"render nodes", p.render, true},
		{"write certificates", p.certificates, false},
		{"update Services of nodes", p.changeServices, true},
		{"note empty volumes", p.noteEmpty, true},
		{"apply nodes", p.nodes, true},
		{"mark removed volumes", p.markRemoved, false},
		{"check the placement of pods", p.warnOfWaiting, false},
		{"drain Kubernetes nodes", p.drain, false},
		{"deploy the topic operator", p.entityOperator, false},
		{"remove what is not wanted", p.prune, false},
		{"release KafkaTopics", p.releaseTopics, false},
		{"remove unused anchors", p.removeUnusedAnchors, false},
		{"update Kafka's metadata", p.brokers, false},
		{"report unusable certificates", p.reportRefused, false},
	} {
		if err := step.do(ctx); err != nil {
			err = fmt.Errorf("%s: %w", step.name, err)
			if step.renew {
				err = p.renewDespite(ctx, err)
			}
			return err
		}
	}
	return nil
}

func (p *pass) warn(reason, message string) { p.warnOf("", reason, message) }

// warnOf is warn for what is about one KafkaNodePool, which shows it as well.
func (p *pass) warnOf(pool, reason, message string) {
	p.add(status.Problem{Reason: reason, Message: message, Pool: pool})
}

func (p *pass) add(warning status.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Warnings = append(p.status.Warnings, warning)
}

// retract takes back warnings of what this pass has put right.
func (p *pass) retract(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Warnings = slices.DeleteFunc(p.status.Warnings, func(w status.Problem) bool { return w.Reason == reason })
}

// waits notes what a node of a pool waits for.
func (p *pass) waits(pool, format string, args ...any) {
	p.status.Waiting = append(p.status.Waiting, status.Wait{Pool: pool, Message: fmt.Sprintf(format, args...)})
}

// requeueAfter has the next pass follow after a while at the latest.
func (p *pass) requeueAfter(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == 0 || d < p.next {
		p.next = d
	}
}

// at returns the input for the objects of one Kubernetes cluster.
func (p *pass) at(s *site) model.Input {
	in := p.input
	in.At, in.Owner = s.cluster, s.owner
	return in
}

// apply applies a desired object in a Kubernetes cluster, and protects it from pruning.
func (p *pass) apply(ctx context.Context, s *site, wanted client.Object) error {
	_, err := p.applyOver(ctx, s, wanted, s.facts.Objects[facts.KeyOf(wanted)])
	return err
}

// applyOver is apply for an object of which more is known than what was read.
func (p *pass) applyOver(ctx context.Context, s *site, wanted, live client.Object) (apply.Outcome, error) {
	key := facts.KeyOf(wanted)
	s.kept[key] = true
	if s.owner.UID == "" {
		return "", fmt.Errorf("%s %s can't be created in cluster %s: ConfigMap %s, which would own it, does not exist there yet", key.Kind,
			key.Name, s.cluster, model.AnchorName(p.kafka.Name))
	}
	restores := s.applier.Restores(live)
	outcome, err := s.applier.Apply(ctx, wanted, live)
	if foreign := (*apply.ForeignError)(nil); errors.As(err, &foreign) {
		p.noteConflict(s, key.Kind, err)
		return "", &Failure{Problem: status.Problem{Reason: reasonNotOwned, Message: foreign.Error()}, Err: err}
	}
	if claim, ok := wanted.(*corev1.PersistentVolumeClaim); ok && rejected(err) {
		if has, ok := live.(*corev1.PersistentVolumeClaim); ok {
			p.add(status.Problem{Pool: claim.Labels[core.LabelPoolName], Reason: v1.ReasonPVCResizing, Blocks: true, Stalled: !exceedsQuota(err),
				Message: fmt.Sprintf("PVC %s cannot %s: %v", claim.Name, changeOf(has, claim), err)})
			asIs := claim.DeepCopy()
			asIs.Spec.Resources, asIs.Spec.VolumeAttributesClassName = has.Spec.Resources, has.Spec.VolumeAttributesClassName
			if outcome, err = s.applier.Apply(ctx, asIs, live); rejected(err) {
				return apply.Unchanged, nil
			}
		}
	}
	if err == nil && outcome != apply.Unchanged {
		p.wrote(s, key, outcome)
		if restores {
			p.noteRestored(s, key)
		}
		if key.Kind == "StrimziPodSet" {
			p.updating(key.Name)
		}
	}
	return outcome, err
}

// changeOf names what is to change about a claim.
func changeOf(has, wanted *corev1.PersistentVolumeClaim) string {
	class, reclassed := "", false
	if wants, is := wanted.Spec.VolumeAttributesClassName, has.Spec.VolumeAttributesClassName; wants != nil {
		class, reclassed = *wants, is == nil || *is != *wants
	}
	grows := wanted.Spec.Resources.Requests.Storage().Cmp(*has.Spec.Resources.Requests.Storage()) > 0
	switch {
	case reclassed && grows:
		return "be resized, or get the volumeAttributesClass " + class
	case reclassed:
		return "get the volumeAttributesClass " + class
	case grows:
		return "be resized"
	}
	return "be changed"
}

// ofQuota matches the error of an API server about a ResourceQuota. The name of the object, which precedes that, may have the word too.
var ofQuota = regexp.MustCompile(`is forbidden: (exceeded|failed|insufficient|status unknown for) quota\b`)

// exceedsQuota reports whether the API server rejects an object because of a ResourceQuota, which may have room later.
func exceedsQuota(err error) bool {
	return apierrors.IsForbidden(err) && ofQuota.MatchString(err.Error())
}

// rejected reports whether the API server, or an admission webhook, rejects an object as it is.
func rejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// updating notes that the nodes of a StrimziPodSet are not as they should be, whatever its status says.
func (p *pass) updating(set string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status.Changed == nil {
		p.status.Changed = map[string]bool{}
	}
	p.status.Changed[set] = true
}

// wrote logs, counts and records what was done to an object.
func (p *pass) wrote(s *site, key facts.Key, outcome apply.Outcome) {
	note := fmt.Sprintf("%s %s %s", outcome, key.Kind, key.Name)
	log := p.log.WithValues("object", key.Name)
	if s.cluster != topology.Home {
		note += " in Kubernetes cluster " + s.cluster
		log = log.WithValues("cluster", s.cluster)
	}
	log.Info(string(outcome) + " " + key.Kind)
	p.Metrics.Wrote(key.Kind, string(outcome))
	p.Events.Normal(p.kafka, string(outcome), "Apply", note)
}
