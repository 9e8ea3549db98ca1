package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
)

func TestMetricsTellWhichRemoteOperatorsLive(t *testing.T) {
	now := time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		version string
		renewed time.Time
		never   bool
		lost    bool
		want    map[string]metrics.RemoteOperator
	}{
		"of the same version": {version: "1", renewed: now,
			want: map[string]metrics.RemoteOperator{"east": {Running: true, SameVersion: new(true)}}},
		"of another version": {version: "2", renewed: now.Add(-time.Minute),
			want: map[string]metrics.RemoteOperator{"east": {Running: true, SameVersion: new(false)}}},
		"of an unknown version": {renewed: now, want: map[string]metrics.RemoteOperator{"east": {Running: true}}},
		"silent for too long, of a version that may be another now": {version: "1", renewed: now.Add(-time.Minute - 1),
			want: map[string]metrics.RemoteOperator{"east": {}}},
		"never seen":                      {never: true, want: map[string]metrics.RemoteOperator{"east": {}}},
		"in a cluster that can't be read": {version: "1", renewed: now, lost: true, want: map[string]metrics.RemoteOperator{}},
	} {
		t.Run(name, func(t *testing.T) {
			east := &member{id: "east", lost: c.lost, Client: fake.NewClientBuilder().Build()}
			if !c.never {
				lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: heartbeat.LeaseName},
					Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: c.renewed}}}
				if c.version != "" {
					lease.Annotations = map[string]string{"kafka-operators.io/operator-version": c.version}
				}
				NewWithT(t).Expect(east.Create(t.Context(), lease)).To(Succeed())
			}
			r := &Reconciler{OperatorVersion: "1", Now: func() time.Time { return now }, Stretching: &Stretching{Namespace: "operators",
				Members: func() []Member { return []Member{connected{&member{id: "central", home: true}}, connected{east}} }}}
			NewWithT(t).Expect(r.remoteOperators(t.Context())).To(Equal(c.want))
		})
	}
}

func TestMetricsOfARemoteOperatorWithAnotherClock(t *testing.T) {
	g := NewWithT(t)
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		now := time.Unix(1e9, 0)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: heartbeat.LeaseName,
			Annotations: map[string]string{"kafka-operators.io/operator-version": "1"}}}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: now.Add(off)}
		east := &member{id: "east", Client: fake.NewClientBuilder().WithObjects(lease).Build()}
		r := &Reconciler{OperatorVersion: "1", Now: func() time.Time { return now }, Stretching: &Stretching{Namespace: "operators",
			Members: func() []Member { return []Member{connected{east}} }}}
		running := map[string]metrics.RemoteOperator{"east": {Running: true, SameVersion: new(true)}}
		g.Expect(r.remoteOperators(t.Context())).To(Equal(map[string]metrics.RemoteOperator{"east": {}}), "nothing proves yet that it runs")
		for range 10 {
			now = now.Add(remoteOperatorsInterval)
			g.Expect(east.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)).To(Succeed())
			lease.Spec.RenewTime = &metav1.MicroTime{Time: now.Add(off)}
			g.Expect(east.Update(t.Context(), lease)).To(Succeed())
			g.Expect(r.remoteOperators(t.Context())).To(Equal(running))
		}
		now = now.Add(time.Minute + 1)
		g.Expect(r.remoteOperators(t.Context())).To(Equal(map[string]metrics.RemoteOperator{"east": {}}), "it ended")
	}
}
