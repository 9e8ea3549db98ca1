package topic

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestValuesThatAreTheSameToKafka(t *testing.T) {
	for _, c := range []struct {
		want, have string
		same       bool
	}{
		{"5", "5", true},
		{"5", "6", false},
		{"0.50", "0.5", true},
		{"1", "1.0", true},
		{"1e3", "1000", true},
		{"9223372036854775807", "9223372036854775806", false},
		{"-1", "-1.0", true},
		{"TRUE", "true", true},
		{"True", "false", false},
		{"compact, delete", "compact,delete", true},
		{"compact,delete", "delete,compact", false},
		{"compact", "compact,delete", false},
		{"", "0", false},
		{"LZ4", "lz4", false},
		{"CreateTime", "createtime", false},
		{"1e99999999999", "1e99999999999", true},
		{"1e99999999999", "1e99999999998", false},
		{"1e999999", "1e999999.0", false},
	} {
		t.Run(c.want+" and "+c.have, func(t *testing.T) {
			NewWithT(t).Expect(sameValue(c.want, c.have)).To(Equal(c.same))
		})
	}
}

func FuzzSameValueIsNeverFooledByLengthAndIsReflexive(f *testing.F) {
	f.Add("0.50", "0.5")
	f.Add("1e9", "a,b")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !sameValue(a, a) {
			t.Fatalf("%q differs from itself", a)
		}
		_ = sameValue(a, b)
	})
}
