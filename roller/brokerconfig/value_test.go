package brokerconfig_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

func TestValuesThatMeanTheSame(t *testing.T) {
	for _, c := range []struct {
		typ  brokerconfig.Type
		a, b string
		same bool
	}{
		{brokerconfig.Boolean, "true", "TRUE", true},
		{brokerconfig.Boolean, " false", "False ", true},
		{brokerconfig.Boolean, "true", "false", false},
		{brokerconfig.Boolean, "yes", "true", false},
		{brokerconfig.Integer, "100", " 100", true},
		{brokerconfig.Integer, "+100", "0100", true},
		{brokerconfig.Integer, "-1", "1", false},
		{brokerconfig.Integer, "9223372036854775807", "9223372036854775806", false},
		{brokerconfig.Integer, "1.0", "1", false}, // Kafka does not parse 1.0 as an integer
		{brokerconfig.Integer, "1_000", "1000", false},
		{brokerconfig.Double, "1.7976931348623157E308", "1.7976931348623157e+308", true},
		{brokerconfig.Double, "1", "1.0d", true},
		{brokerconfig.Double, ".5", "0.50", true},
		{brokerconfig.Double, "-0", "0", true},
		{brokerconfig.Double, "1e999", "2e999", false},
		{brokerconfig.Double, "0.1", "0.2", false},
		{brokerconfig.Double, "inf", "Infinity", false}, // Java parses only the second one
		{brokerconfig.Double, "0x10", "16", false},
		{brokerconfig.List, "a,b", " a , b ", true},
		{brokerconfig.List, "a,b", "b,a", false},
		{brokerconfig.List, "", " ", true},
		{brokerconfig.List, "a", "a,", false},
		{brokerconfig.Map, "a:1,b:2", "b:2, a:1", true},
		{brokerconfig.Map, "a:1", "a:2", false},
		{brokerconfig.String, "a", "a ", true},
		{brokerconfig.String, "a", "A", false},
		{brokerconfig.String, "1.0", "1", false},
	} {
		g := NewWithT(t)
		g.Expect(c.typ.Same(c.a, c.b)).To(Equal(c.same), "%q and %q", c.a, c.b)
		g.Expect(c.typ.Same(c.b, c.a)).To(Equal(c.same), "%q and %q", c.b, c.a)
	}
}

// The comparison is an equivalence for all texts, and never too coarse: equal values have the same characters, apart from blanks, signs,
// case, the order of pairs, and the spelling of numbers.
func FuzzValues(f *testing.F) {
	f.Add(uint8(brokerconfig.Double), "0.5", ".5e0", "5e-1")
	f.Add(uint8(brokerconfig.Map), "a:1,b:2", "b:2,a:1", " b:2 , a:1")
	f.Add(uint8(brokerconfig.Boolean), "TRUE", "true", "True")
	f.Add(uint8(brokerconfig.Integer), "007", "+7", "7")
	f.Fuzz(func(t *testing.T, kind uint8, a, b, c string) {
		typ := brokerconfig.Type(kind % uint8(brokerconfig.Map+1))
		if !typ.Same(a, a) {
			t.Fatalf("%q is not the same as itself", a)
		}
		if typ.Same(a, b) != typ.Same(b, a) {
			t.Fatalf("%q and %q are the same in one direction only", a, b)
		}
		if typ.Same(a, b) && typ.Same(b, c) && !typ.Same(a, c) {
			t.Fatalf("%q is the same as %q, that as %q, and the first not as the last", a, b, c)
		}
		if typ.Same(a, b) && digest(a) != digest(b) && typ != brokerconfig.Integer && typ != brokerconfig.Double {
			t.Fatalf("%q and %q are not the same", a, b)
		}
	})
}

// digest sums up the letters of a text, without blanks and case, so that it does not depend on their order.
func digest(s string) (sum int) {
	for _, r := range strings.ToLower(strings.Join(strings.Fields(s), "")) {
		sum += int(r)
	}
	return sum
}
