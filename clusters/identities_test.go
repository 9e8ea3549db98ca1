package clusters

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhichIDMayStandForACluster(t *testing.T) {
	type uids = map[string]types.UID
	for name, c := range map[string]struct {
		claims          claims
		found, expected types.UID
		reason          Reason
	}{
		"a new one":                           {claims{}, "1", "", ""},
		"its own again":                       {claims{held: uids{"east": "1"}}, "1", "", ""},
		"its own, and a newcomer has seen it": {claims{held: uids{"east": "1"}, sighted: uids{"west": "1"}}, "1", "", ""},
		"another than before":                 {claims{held: uids{"east": "1"}}, "2", "", ReasonIdentityChanged},
		"the expected one":                    {claims{}, "1", "1", ""},
		"not the expected one":                {claims{}, "2", "1", ReasonIdentityChanged},
		"that of another":                     {claims{held: uids{"west": "1"}}, "1", "", ReasonSameCluster},
		"that of another, expected":           {claims{held: uids{"west": "1"}}, "1", "1", ReasonSameCluster},
		"home":                                {claims{held: uids{"home": "1"}}, "1", "", ReasonSameCluster},
		"one that another wants too":          {claims{sighted: uids{"east": "1", "west": "1"}}, "1", "", ReasonSameCluster},
		"one beside others":                   {claims{held: uids{"west": "2"}, sighted: uids{"east": "1", "south": "3"}}, "1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.claims.judge("east", c.found, c.expected)
			g := NewWithT(t)
			if c.reason == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			reason, refused := classify(err)
			g.Expect(refused).To(BeTrue())
			g.Expect(reason).To(Equal(c.reason))
			g.Expect(hopeless(err)).To(BeFalse(), "it may be put right elsewhere")
		})
	}
}

func TestOfTwoThatStartTogetherNoneGetsTheOthersCluster(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry()
	r.observe("east", "1")
	r.observe("west", "1")
	g.Expect(r.claim("east", "1", "")).NotTo(Succeed())
	g.Expect(r.claim("west", "1", "")).NotTo(Succeed())
	r.observe("west", "2")
	g.Expect(r.claim("east", "1", "")).To(Succeed())
	g.Expect(r.claim("west", "1", "")).NotTo(Succeed())
	g.Expect(r.claim("west", "2", "")).To(Succeed())
	r.forget("east")
	r.observe("south", "1")
	g.Expect(r.claim("south", "1", "")).To(Succeed())
}

func TestThoseWhoStartTogetherWaitForEachOtherButNotForLong(t *testing.T) {
	g := NewWithT(t)
	a := assemble([]string{"east", "west"})
	a.arrive("east")
	a.arrive("east")
	g.Expect(a.done).NotTo(BeClosed())
	a.wait(t.Context(), time.Millisecond)
	g.Expect(a.done).To(BeClosed(), "the timeout has ended, for all")
	a.arrive("west")
	a.wait(t.Context(), time.Hour)

	a = assemble([]string{"east", "west"})
	a.arrive("east")
	a.arrive("west")
	a.wait(t.Context(), time.Hour)
	assemble(nil).wait(t.Context(), time.Hour)
}
