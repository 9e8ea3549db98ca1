// Package journal stores a roller's progress in a ConfigMap, so that another roller can continue where the last one stopped.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller"
)

const progressKey = "progress"

// ErrNotOurs is the error for a ConfigMap with the journal's name that no roller created.
var ErrNotOurs = errors.New("it was not made by a roller")

// Journal is the journal of one Kafka cluster.
type Journal struct {
	client    client.Client
	reader    client.Reader
	namespace string
	cluster   string

	seen *corev1.ConfigMap // as last read or written
	// owned means that the journal, as last read, has an owner, with which Kubernetes deletes it.
	owned bool
}

// New returns the journal of a Kafka cluster. The reader must not be a cache.
func New(c client.Client, reader client.Reader, namespace, cluster string) *Journal {
	return &Journal{client: c, reader: reader, namespace: namespace, cluster: cluster}
}

// Name returns the name of the ConfigMap.
func (j *Journal) Name() string { return core.RollerStatusName(j.cluster) }

// Load reads the journal: the progress, and the name of a client that paused the roller, if one did. A missing journal is an empty one.
func (j *Journal) Load(ctx context.Context) (p roller.Progress, paused string, err error) {
	stored := &corev1.ConfigMap{}
	err = j.reader.Get(ctx, client.ObjectKey{Namespace: j.namespace, Name: j.Name()}, stored)
	if apierrors.IsNotFound(err) {
		j.seen = nil
		return roller.Progress{}, "", nil
	}
	if err != nil {
		return roller.Progress{}, "", fmt.Errorf("read the journal: %w", err)
	}
	if stored.Labels[core.LabelManagedBy] != core.ManagedByRoller {
		return roller.Progress{}, "", j.notOurs()
	}
	if text := stored.Data[progressKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return roller.Progress{}, "",
				fmt.Errorf("decode the journal in ConfigMap %s/%s (to start over, delete it while no node is being restarted): %w",
					j.namespace, j.Name(), err)
		}
	}
	j.seen, j.owned = stored, len(stored.OwnerReferences) > 0
	if v1.IsTrue(stored.Annotations, v1.AnnotationPauseReconciliation) {
		paused = fmt.Sprintf("ConfigMap %s/%s is annotated with %s", j.namespace, j.Name(), v1.AnnotationPauseReconciliation)
	}
	return p, paused, nil
}

// Status returns the status that was stored when the journal was last loaded; empty if none was.
func (j *Journal) Status() string {
	if j.seen == nil {
		return ""
	}
	return j.seen.Data[core.RollerStatusKey]
}

func (j *Journal) notOurs() error {
	return fmt.Errorf("ConfigMap %s/%s has the name of the journal, and is left alone: %w", j.namespace, j.Name(), ErrNotOurs)
}

// Save writes the progress and its status, if anything changed. It fails if another client wrote in between: then another roller is active,
// and this one must not act on its own state.
func (j *Journal) Save(ctx context.Context, p roller.Progress, status any) error {
	data := map[string]string{}
	for key, value := range map[string]any{progressKey: p, core.RollerStatusKey: status} {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		data[key] = string(text)
	}
	if j.seen != nil && reflect.DeepEqual(j.seen.Data, data) {
		return nil
	}
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: j.namespace, Name: j.Name(),
		Labels: map[string]string{core.LabelManagedBy: core.ManagedByRoller, v1.LabelCluster: j.cluster},
	}}
	if j.seen != nil {
		next = j.seen.DeepCopy()
	}
	next.Data = data
	var err error
	if j.seen == nil {
		next.OwnerReferences, err = j.Owners(ctx)
		if err == nil && len(next.OwnerReferences) == 0 && j.owned && len(p.Restarts) == 0 {
			return nil // the Kafka was deleted, and its last nodes end: nothing would delete a new journal
		}
		if err == nil {
			err = j.client.Create(ctx, next)
		}
	} else {
		err = j.client.Update(ctx, next)
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	j.seen = next
	return nil
}

// Owners returns the Kafka object that the StrimziPodSets belong to, if there is one: Kubernetes deletes the journal together with it.
func (j *Journal) Owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	sets := &core.StrimziPodSetList{}
	if err := j.reader.List(ctx, sets, client.InNamespace(j.namespace), client.MatchingLabels{v1.LabelCluster: j.cluster}); err != nil {
		return nil, err
	}
	var owners []metav1.OwnerReference
	for _, set := range sets.Items {
		for _, o := range set.OwnerReferences {
			o.Controller, o.BlockOwnerDeletion = nil, nil
			if o.Kind == core.KindKafka && o.Name == j.cluster && !slices.Contains(owners, o) {
				owners = append(owners, o)
			}
		}
	}
	return owners, nil
}
