package controller

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

// TestRandomHistoriesOfKafkas plays a few histories; PROVE=full plays many. In half of them, the operator sees several edits at once.
func TestRandomHistoriesOfKafkas(t *testing.T) {
	proveHistories(t, "random histories of Kafkas", 6, 20_000, 50,
		func(t *testing.T, seed int64, steps int) {
			h := newHistory(t, seed)
			h.several = seed%2 == 0
			h.play(steps)
		})
}

// TestRandomHistoriesOfStretchedKafkas plays a few histories; PROVE=full plays many. In half of them, the operator sees several edits at
// once.
func TestRandomHistoriesOfStretchedKafkas(t *testing.T) {
	proveHistories(t, "random histories of stretched Kafkas", 10, 2500, 40,
		func(t *testing.T, seed int64, steps int) {
			newStretchedAs(t, seed).play(steps)
		})
}

// newStretchedAs returns the history of a seed.
func newStretchedAs(t *testing.T, seed int64) *stretched {
	h := newStretched(newHistory(t, seed))
	h.several, h.jbod = seed%2 == 0, seed%3 > 0
	return h
}

// proveHistories plays histories with consecutive seeds: few, or many with PROVE=full. PROVE_SEED sets the first seed, PROVE_COUNT the
// number of histories.
func proveHistories(t *testing.T, name string, few, many, steps int, play func(t *testing.T, seed int64, steps int)) {
	count, first := few, int64(randomtest.Seed(t)) // it fits
	if os.Getenv("PROVE") == "full" {
		count = many
	}
	if text := os.Getenv("PROVE_COUNT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		count = n
	}
	began := time.Now()
	t.Run("histories", func(t *testing.T) {
		workers := runtime.GOMAXPROCS(0)
		for w := range workers {
			t.Run(strconv.Itoa(w), func(t *testing.T) {
				t.Parallel()
				for i := w; i < count; i += workers {
					play(t, first+int64(i), steps)
				}
			})
		}
	})
	t.Logf("%d steps in %s", count*steps, time.Since(began))
	if !t.Failed() {
		fmt.Printf("PROOF {\"name\":%q,\"count\":%d,\"violations\":0,\"seed\":%d}\n", name, count*steps, first)
	}
}

// TestStretchedHistoriesFindPlantedFaults checks that the rules find planted faults.
func TestStretchedHistoriesFindPlantedFaults(t *testing.T) {
	const histories, steps = 100, 40
	// By fault, the seed to begin with: one that finds it soon, until what histories do changes.
	faults := map[string]int64{faultNoPreconditions: 1, faultNoTraces: 2, faultNoIdentity: 4, faultOneCentral: 57, faultOldIDs: 39100475}
	t.Cleanup(func() { // once all have ended
		if !t.Failed() {
			fmt.Printf("PROOF {\"name\":\"planted faults found in stretched histories\",\"count\":%d,\"violations\":0,\"seed\":0}\n", len(faults))
		}
	})
	for fault, first := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for i := range histories {
				if step, found := playWith(t, fault, first+int64(i), steps); found != "" {
					t.Logf("found after %d steps: %s", i*steps+step, found)
					return
				}
			}
			t.Errorf("not found in %d steps", histories*steps)
		})
	}
}

type broken string

// playWith plays a history with a fault, and returns the promise that was broken, and in which step.
func playWith(t *testing.T, fault string, seed int64, steps int) (step int, found string) {
	h := newStretchedAs(t, seed)
	h.fault = fault
	for _, s := range h.servers {
		s.lax = fault == faultNoPreconditions
	}
	found = h.violation(func() { h.play(steps) })
	return h.step, found
}

// violation returns the first promise that is broken while a history is played, "" if none is.
func (h *history) violation(play func()) (found string) {
	h.caught = func(text string) { panic(broken(text)) }
	defer func() {
		if text, is := recover().(broken); is {
			found = string(text)
		}
	}()
	play()
	return ""
}

// TestHistoriesFindPlantedFaults checks that the rules for volumes, versions and keys find planted faults. The operator reads wrong data;
// the rules compare with the true state.
func TestHistoriesFindPlantedFaults(t *testing.T) {
	const histories, steps = 400, 50
	for fault, c := range map[string]struct {
		// first is the first seed. It finds the fault soon, as long as the edits of histories stay the same.
		first int64
		plant func(*history)
	}{
		"log directories seem to be cordoned":        {126, func(h *history) { h.r.Kafka = lying{h.brokers, "cordoned"} }},
		"Kafka seems to list all topics":             {29, func(h *history) { h.r.Kafka = lying{h.brokers, "hidden"} }},
		"log directories seem to be empty":           {261, func(h *history) { h.r.Kafka = lying{h.brokers, "empty"} }},
		"the metadata version seems to be old":       {6, func(h *history) { h.r.Kafka = lying{h.brokers, "metadata"} }},
		"copies seem to be originals":                {3, func(h *history) { h.r.Cache = withoutMarks{h.r.Cache} }},
		"it is not seen what pods were made from":    {16, func(h *history) { h.r.Cache = forgetful{h.r.Cache, h} }},
		"nodes seem to run with their configuration": {89, func(h *history) { h.r.Cache = credulous{h.r.Cache, h} }},
		"nodes leave no objects with set and pool":   {84, func(h *history) { h.r.Cache = withoutLost{h.r.Cache, h} }},
		"pods are not seen":                          {3, func(h *history) { h.r.Cache = withoutPods{h.r.Cache} }},
		"former brokers are not put on hold":         {33, func(h *history) { h.r.Live = withoutHolds(h) }},
		"a new key of the clients CA seems wanted":   {1, func(h *history) { h.r.Cache = insistent{h.r.Cache} }},
		"the first volume seems to say what goes":    {6, func(h *history) { h.r.Cache = wrongPools{h.r.Cache, firstDecides} }},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for i := range histories {
				h := newHistory(t, c.first+int64(i))
				c.plant(h)
				if found := h.violation(func() { h.play(steps) }); found != "" {
					t.Logf("found after %d histories: %s", i+1, found)
					return
				}
			}
			t.Errorf("%d histories did not find it", histories)
		})
	}
}

// lying are brokers that report wrong data about one subject.
type lying struct {
	*brokers
	about string
}

func (l lying) LogDirs(ctx context.Context, to Connection, ids []int32) (map[int32][]kafka.LogDir, error) {
	found, err := l.brokers.LogDirs(ctx, to, ids)
	for id, dirs := range found {
		found[id] = slices.Clone(dirs)
		for i := range dirs {
			found[id][i].Cordoned = dirs[i].Cordoned || l.about == "cordoned"
			if l.about == "empty" {
				found[id][i].Replicas = 0
			}
		}
	}
	return found, err
}

func (l lying) Holdings(ctx context.Context, to Connection, leave, stay []int32) (*topology.Holdings, error) {
	found, err := l.brokers.Holdings(ctx, to, leave, stay)
	if err == nil && l.about == "hidden" {
		found.Stored, found.Silent, found.Hidden = map[int32]int{}, map[int32]string{}, nil
		for _, id := range leave {
			found.Stored[id] = found.Replicas[id]
		}
	}
	return found, err
}

func (l lying) Inspect(ctx context.Context, to Connection) (Found, error) {
	found, err := l.brokers.Inspect(ctx, to)
	if l.about == "metadata" {
		found.MetadataVersion = metadataOf["4.2.0"]
	}
	return found, err
}

// insistent is a cache in which a user requests a new key of the clients CA.
type insistent struct{ client.Reader }

func (i insistent) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := i.Reader.List(ctx, list, opts...)
	if secrets, is := list.(*corev1.SecretList); is {
		for n, s := range secrets.Items {
			if s.Name == kafkaKey.Name+"-clients-ca" {
				secrets.Items[n] = *s.DeepCopy()
				secrets.Items[n].Annotations = with(s.Annotations, v1.AnnotationForceReplace, "true")
			}
		}
	}
	return err
}

// withoutPods is a cache that holds no pods.
type withoutPods struct{ client.Reader }

func (w withoutPods) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		return nil
	}
	return w.Reader.List(ctx, list, opts...)
}
