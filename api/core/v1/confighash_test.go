package v1_test

import (
	"testing"

	v1 "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// The values are those of sha256sum: programs of different versions compare them.
func TestConfigHash(t *testing.T) {
	for text, want := range map[string]string{"": "e3b0c442", "node.id=0\n": "bd12b4af"} {
		if got := v1.ConfigHash(text); got != want {
			t.Errorf("ConfigHash(%q) = %s, want %s", text, got, want)
		}
	}
}
