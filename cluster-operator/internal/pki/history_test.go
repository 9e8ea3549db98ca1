package pki

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"testing"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

const historySteps = 250

// TestHistory plays random histories of renewals, replacements, crashes between any two writes, and failed reads. Each node always trusts
// the certificates of all others, no key of a CA is lost, and at the end nothing of earlier CAs remains. PROVE=full plays many histories,
// PROVE_SEED sets the number of the first.
func TestHistory(t *testing.T) {
	histories, first := 5, randomtest.Seed(t)
	if os.Getenv("PROVE") == "full" {
		histories = 400
	}
	violations := 0
	for i := range uint64(histories) {
		if err := play(newSim(3), first+i, historySteps); err != nil {
			t.Errorf("PROVE_SEED=%d: %v", first+i, err)
			violations++
		}
	}
	fmt.Printf("PROOF {\"name\":\"random histories of certificates\",\"count\":%d,\"violations\":%d,\"seed\":%d}\n", histories*historySteps,
		violations, first)
}

func play(s *sim, seed uint64, steps int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	if seed%2 == 1 {
		if err := s.adopt(); err != nil {
			return err
		}
	}
	if err := s.converge(s.check); err != nil {
		return err
	}
	for range steps {
		if err := s.step(r); err != nil {
			return err
		}
	}
	if err := s.converge(s.check); err != nil {
		return err
	}
	return s.checkClean()
}

// checkClean checks the promises that hold once nothing changes any more.
func (s *sim) checkClean() error {
	if s.last.ClusterCA.Phase != Settled {
		return fmt.Errorf("the replacement of the key never ends: it is %s", s.last.ClusterCA.Phase)
	}
	for _, name := range []string{ClusterCAKeySecret("c"), ClusterCACertSecret("c"), ClientsCAKeySecret("c")} {
		for entry := range s.secrets[name].Data {
			if isRetained(entry) {
				return fmt.Errorf("Secret %s still holds %s", name, entry)
			}
		}
	}
	if certs, err := parseCerts(s.secrets[TrustBundleSecret("c")].Data[bundleCluster]); err != nil || len(certs) != 1 {
		return errors.Join(err, fmt.Errorf("nodes are made to trust %d CAs", len(certs)))
	}
	return nil
}

// TestHistoryFindsFaults checks that the same histories find each planted fault.
func TestHistoryFindsFaults(t *testing.T) {
	for name, fault := range map[string]func(Input) (Result, error){
		"takes unknown pods for none": func(in Input) (Result, error) {
			in.PodsKnown = true
			return Plan(in)
		},
		"takes all nodes for restarted": func(in Input) (Result, error) {
			state, err := Plan(in)
			if err != nil {
				return state, err
			}
			for i := range in.Pods {
				in.Pods[i].Annotations = maps.Clone(state.PodAnnotations[in.Pods[i].Name])
			}
			return Plan(in)
		},
		"looks only at what is declared": func(in Input) (Result, error) {
			in.Pods = in.Pods[len(in.Pods)/2:]
			return Plan(in)
		},
		"trusts the current CA only": func(in Input) (Result, error) {
			r, err := Plan(in)
			if err == nil {
				certs, _ := parseCerts(r.ClusterCA.TrustPEM)
				r.TrustBundle.Data[bundleCluster] = encodeCerts(certs[0])
			}
			return r, err
		},
		"publishes the certificate before its key": func(in Input) (Result, error) {
			r, err := Plan(in)
			if err == nil && len(r.CAs) > 1 {
				r.CAs[0], r.CAs[1] = r.CAs[1], r.CAs[0]
			}
			return r, err
		},
		"forgets the old key": func(in Input) (Result, error) {
			r, err := Plan(in)
			for _, ca := range r.CAs {
				for name := range ca.Data {
					if isRetained(name) && ca.Name == ClusterCAKeySecret("c") {
						delete(ca.Data, name)
					}
				}
			}
			return r, err
		},
		"never restarts for trust": func(in Input) (Result, error) {
			r, err := Plan(in)
			for _, annotations := range r.PodAnnotations {
				annotations[core.AnnotationClusterCAKeyGeneration] = "0"
			}
			return r, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range 30 {
				s := newSim(3)
				s.plan = fault
				if err := play(s, uint64(seed), historySteps); err != nil {
					t.Logf("found in history %d: %v", seed, err)
					return
				}
			}
			t.Error("not found")
		})
	}
}
