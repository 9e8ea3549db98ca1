package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const reasonUnreachable = "KafkaUnreachable"

// brokers updates Kafka's own metadata once all nodes are ready and up to date: it unregisters removed brokers, and updates the metadata
// version to the version of Kafka. A failure is only a warning, because the nodes are up to date. Strays are reported before that, because
// the roller updates no node while one runs.
func (p *pass) brokers(ctx context.Context) error {
	p.status.Kafka, p.status.Now = p.kafka, p.Now()
	if !status.NodesReady(p.status) || len(p.away) > 0 {
		return nil
	}
	converged, to := status.NodesConverged(p.status), p.connection()
	found, err := p.Kafka.Inspect(ctx, to)
	if err != nil {
		if converged {
			p.warnOfSilence(err)
			p.askAgain(err)
		}
		return nil
	}
	strays := slices.DeleteFunc(found.Brokers, func(b kafka.Node) bool { return !p.isStray(b) })
	p.warnOfStrays(strays)
	if !converged {
		return nil
	}
	p.status.MetadataVersion = found.MetadataVersion.String()
	p.unregister(ctx, to, slices.DeleteFunc(strays, func(b kafka.Node) bool { return !b.Fenced }))
	return p.moveMetadataVersion(ctx, to, found.MetadataVersion)
}

// warnOfSilence reports brokers that do not answer. Once is not enough: an operator that has just started may not reach them yet. A warning
// that is there stays as it is until they have answered, or not for the second time.
func (p *pass) warnOfSilence(err error) {
	message := fmt.Sprintf("The brokers did not answer the operator: %v", err)
	if silent, is := errors.AsType[*SilentError](err); is && !silent.Lasting {
		shown := slices.IndexFunc(p.kafka.Status.Conditions, func(c v1.Condition) bool { return c.Reason == reasonUnreachable })
		if shown < 0 {
			return
		}
		message = p.kafka.Status.Conditions[shown].Message
	}
	p.warn(reasonUnreachable, message)
}

// unregister deletes the registrations of brokers that left. One that got a replica while it stopped keeps its own, until the replica was
// moved.
func (p *pass) unregister(ctx context.Context, to Connection, left []kafka.Node) {
	if len(left) == 0 {
		return
	}
	var ids []int32
	for _, b := range left {
		ids = append(ids, b.ID)
	}
	holdings, unknown := p.freshHoldings(ctx, ids)
	var pools v1.KafkaNodePoolList
	// What the caches hold may be old: a broker that was just added is fenced, too.
	if err := p.Live.List(ctx, &pools, client.InNamespace(p.kafka.Namespace),
		client.MatchingLabels{v1.LabelCluster: p.kafka.Name}); err != nil {
		p.warn("UnregistrationFailed", fmt.Sprintf("Removed brokers are still registered: list KafkaNodePools: %v", err))
		return
	}
	for _, b := range left {
		if slices.ContainsFunc(pools.Items, func(pool v1.KafkaNodePool) bool {
			return pool.Invalid != "" || slices.Contains(pool.Status.NodeIDs, b.ID) && slices.Contains(pool.Status.Roles, v1.RoleBroker)
		}) {
			continue
		}
		if why := holdings.WhyKept(b.ID); why != "" && !p.mayLoseData() {
			if unknown != nil {
				why += fmt.Sprintf(" (%v)", unknown)
			}
			p.requeueAfter(time.Minute) // no event reports that it is empty now
			p.warn("UnregistrationWaits", fmt.Sprintf("Removed broker %d is still registered: %s", b.ID, why))
			continue
		}
		p.log.Info("Unregistering a removed broker", "broker", b.ID)
		if err := p.Kafka.Unregister(ctx, to, b.ID); err != nil {
			p.warn("UnregistrationFailed", fmt.Sprintf("Removed broker %d is still registered: %v", b.ID, err))
			continue
		}
		p.Events.Normal(p.kafka, "Unregistered", "Unregister", fmt.Sprintf("Unregistered the removed broker %d", b.ID))
	}
}

// isStray reports whether a registered broker is none of the Kafka's nodes: not wanted, and without a pod. Its node may stay as a
// controller. One that is fenced is gone for good.
func (p *pass) isStray(b kafka.Node) bool {
	wanted := slices.ContainsFunc(p.input.Topology.Brokers(), func(n topology.Node) bool { return n.ID == b.ID })
	return !wanted && !p.hasBroker(b.ID)
}

// hasBroker reports whether there is a pod of a broker with this id, or may be one.
func (p *pass) hasBroker(id int32) bool {
	return slices.ContainsFunc(p.nodePods(), func(pod *corev1.Pod) bool {
		return pod.Labels[core.LabelBrokerRole] != "false" && strings.HasSuffix(pod.Name, fmt.Sprintf("-%d", id))
	})
}

// warnOfStrays reports brokers that run and are none of the Kafka's nodes, such as those of a Kubernetes cluster that was given up and
// returned. The roller restarts nothing beside a broker that it does not see.
func (p *pass) warnOfStrays(strays []kafka.Node) {
	for _, b := range strays {
		if b.Fenced {
			continue
		}
		where := "Unless it has just stopped, look for what runs there, such as a pod without the label " + v1.LabelCluster
		if p.stretched() {
			where = "It may be in a Kubernetes cluster that was given up"
		}
		p.warn("StrayBroker", fmt.Sprintf("Broker %d at %s runs and is no node of this Kafka: it may get replicas of new topics, and the roller "+
			"restarts nothing meanwhile. %s: move its replicas to other brokers, and stop it",
			b.ID, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), where))
		p.requeueAfter(time.Minute) // no event reports that it has stopped
	}
}

func (p *pass) moveMetadataVersion(ctx context.Context, to Connection, current kafka.MetadataVersion) error {
	wanted, err := kafka.ParseMetadataVersion(p.input.MetadataVersion)
	if p.input.MetadataVersion == "" {
		if _, unknown := kafka.ParseMetadataVersion(current.String()); unknown != nil {
			return nil // it was formatted with this version of Kafka, or a later one
		}
		p.warn("MetadataVersionUnknown", fmt.Sprintf("The metadata version stays %s: this operator does not know that of Kafka %s. Set "+
			".spec.kafka.metadataVersion, or use an operator that knows this version", current, p.input.Version))
		return nil
	}
	if err != nil || wanted == current {
		return nil // validation reports a version that does not exist
	}
	if pod := p.olderThan(wanted); pod != nil && wanted > current {
		p.warn("MetadataUpdateWaits", fmt.Sprintf("The metadata version stays %s: pod %s runs Kafka %q, which can't read %s. "+
			"If its KafkaNodePool was deleted, recreate it so that the pod is upgraded, or move its replicas to other brokers so that it can "+
			"be removed",
			current, pod.Name, pod.Annotations[v1.AnnotationKafkaVersion], wanted))
		return nil
	}
	move := p.Kafka.RaiseMetadataVersion
	if wanted < current {
		move = p.Kafka.LowerMetadataVersion
	}
	if still, err := p.stillAsked(ctx); err != nil {
		p.warn(v1.ReasonMetadataUpdateFailed, fmt.Sprintf("Failed to update metadata version to %s: read the Kafka: %v", wanted, err))
		p.requeueAfter(awayDelay)
		return nil
	} else if !still {
		return fmt.Errorf("read Kafka %s/%s: %w", p.kafka.Namespace, p.kafka.Name, errBehind)
	}
	if wanted > current {
		if err := p.noteVersion(ctx); err != nil {
			return err
		}
	}
	p.log.Info("Updating the metadata version", "from", current.String(), "to", wanted.String())
	if err := move(ctx, to, int16(wanted)); err != nil {
		p.warn(v1.ReasonMetadataUpdateFailed, fmt.Sprintf("Failed to update metadata version to %s: %v", wanted, err))
		return nil
	}
	p.Events.Normal(p.kafka, "MetadataVersionMoved", "Update", fmt.Sprintf("Updated the metadata version from %s to %s", current, wanted))
	p.status.MetadataVersion = wanted.String()
	if p.kafka.Spec.Kafka.MetadataVersion == "" { // so that it is the one of this version of Kafka by now
		p.retract(v1.ReasonMetadataVersion)
	}
	return nil
}

// noteVersion has the status say that all nodes run this version of Kafka, before the metadata version is raised: the version that it says
// can read the metadata, whatever ends this pass.
func (p *pass) noteVersion(ctx context.Context) error {
	if p.kafka.Status.KafkaVersion == p.input.Version {
		return nil
	}
	noted := p.kafka.Status.DeepCopy()
	noted.KafkaVersion = p.input.Version
	return p.writeStatus(ctx, p.kafka, *noted)
}

// stillAsked reports whether the Kafka is still as the pass knows it: Kafka can't undo every change of its metadata version, and the user
// may have paused the Kafka, or set another version, while the pass waited for brokers.
func (p *pass) stillAsked(ctx context.Context) (bool, error) {
	live := &v1.Kafka{}
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.kafka), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.UID == p.kafka.UID && live.Generation == p.kafka.Generation && live.DeletionTimestamp == nil &&
		!v1.IsTrue(live.Annotations, v1.AnnotationPauseReconciliation) && (p.Selects == nil || p.Selects(live.Labels)), nil
}

// olderThan returns a node's pod whose Kafka can't read a metadata version, or whose Kafka version is unknown; nil if there is none. Nodes
// of a removed KafkaNodePool stay unchanged when the others are upgraded.
func (p *pass) olderThan(metadata kafka.MetadataVersion) *corev1.Pod {
	pods := p.nodePods()
	i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool {
		own, err := kafka.ParseMetadataVersion(pod.Annotations[v1.AnnotationKafkaVersion])
		return err != nil || own < metadata
	})
	if i < 0 {
		return nil
	}
	return pods[i]
}
