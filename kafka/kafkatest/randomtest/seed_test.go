package randomtest

import (
	"strings"
	"testing"
)

func TestTheSeedIsTheOneThatIsSet(t *testing.T) {
	for _, full := range []bool{false, true} {
		if seed, err := choose("42", full); seed != 42 || err != nil {
			t.Errorf("42 is %d, %v", seed, err)
		}
		for _, rubbish := range []string{"x", "-1", "1.5", " 1", "1 ", "18446744073709551615"} {
			if seed, err := choose(rubbish, full); err == nil || !strings.HasPrefix(err.Error(), "PROVE_SEED: ") {
				t.Errorf("%q is %d, %v", rubbish, seed, err)
			}
		}
	}
}

func TestOnlyAProofHasANewSeed(t *testing.T) {
	if seed, err := choose("", false); seed != 1 || err != nil {
		t.Errorf("a plain run has the seed %d, %v", seed, err)
	}
	first, _ := choose("", true)
	if second, _ := choose("", true); first == second {
		t.Errorf("two proofs have the seed %d", first)
	}
}
