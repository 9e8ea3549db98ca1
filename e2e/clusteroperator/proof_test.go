//go:build linux

package clusteroperator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// full reports whether all life cycles are tested (make prove), on several machines, and with the operator killed repeatedly.
var full = os.Getenv("PROVE") == "full"

// machines is the number of machines of the Kubernetes cluster.
var machines = map[bool]int{false: 1, true: 3}[full]

// seed is the seed of dice. The test sets both before any spec. acknowledged counts the records that were acknowledged during changes.
var (
	seed         uint64
	dice         *rand.Rand
	acknowledged atomic.Int64
)

// prove prints the result of the proof, as e2e/prove does.
func prove(t *testing.T, passed bool) {
	violations := 0
	if !passed {
		violations = 1
	}
	line, err := json.Marshal(map[string]any{"name": "life cycles of Kafkas on real nodes", "count": acknowledged.Load(),
		"violations": violations, "seed": seed})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("PROOF " + string(line))
}

// restless kills replicas of the cluster-operator at random times, without a graceful shutdown, until the returned function is called.
func restless() (stop func()) {
	GinkgoHelper()
	// A new leader takes over after 15 s. The operator should act before the next kill.
	from, to := 2*time.Second, 15*time.Second
	moments := rand.New(rand.NewPCG(seed, dice.Uint64())) // no secrets here
	kills, quit, gone := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			timer := time.NewTimer(from + time.Duration(moments.Int64N(int64(to-from))))
			select {
			case <-quit:
				timer.Stop()
				return
			case <-timer.C:
			}
			// While the API server is unreachable, no replica is killed.
			var pods corev1.PodList
			if k8s.List(ctx, &pods, client.InNamespace(operatorNamespace),
				client.MatchingLabels{"app.kubernetes.io/name": "cluster-operator"}) != nil || len(pods.Items) == 0 {
				continue
			}
			victim := &pods.Items[moments.IntN(len(pods.Items))]
			if k8s.Delete(ctx, victim, client.GracePeriodSeconds(0)) == nil {
				kills++
			}
			if !full {
				return // once
			}
			from, to = 20*time.Second, 60*time.Second
		}
	}()
	return func() {
		GinkgoHelper()
		close(quit)
		<-gone
		AddReportEntry("replicas of the operator that were killed", ReportEntryVisibilityAlways, kills)
		operatorsReady()
	}
}

// whileKilled carries out something while the operator is killed.
func whileKilled(do func()) {
	GinkgoHelper()
	stop := restless()
	defer stop()
	do()
}

// through carries out a change of a Kafka while records are written to it and the operator is killed, and waits until the Kafka is as it
// should be.
func (k *cluster) through(what string, change func()) {
	GinkgoHelper()
	topic := "during-" + strconv.FormatUint(uint64(dice.Uint32()), 16)
	k.createTopic(topic)
	began := time.Now()
	k.write(topic, 300, func() {
		whileKilled(func() {
			change()
			k.ready()
		})
	})
	report(what, time.Since(began))
	admin := k.admin()
	k.inSync(admin)
	admin.Close()
}
