package pki

import "testing"

// BenchmarkPlan measures a pass over 300 nodes that changes nothing.
func BenchmarkPlan(b *testing.B) {
	s := newSim(300)
	s.in.NewKey = nil
	never := func() error { return nil }
	if err := s.pass(10_000, never); err != nil {
		b.Fatal(err)
	}
	if err := s.pass(10_000, never); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, err := Plan(s.read()); err != nil || len(r.Decisions) > 0 {
			b.Fatal(err, r.Decisions)
		}
	}
}

// BenchmarkNewCluster measures the first pass over 300 nodes: two CAs and 302 certificates.
func BenchmarkNewCluster(b *testing.B) {
	s := newSim(300)
	s.in.NewKey = nil
	for b.Loop() {
		if _, err := Plan(s.read()); err != nil {
			b.Fatal(err)
		}
	}
}
