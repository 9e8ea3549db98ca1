package brokerconfig_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

func change(key, from, to string) brokerconfig.Change {
	c := brokerconfig.Change{Key: key, From: &from, To: &to}
	if to == "" {
		c.To = nil
	}
	return c
}

func changes(c ...brokerconfig.Change) []brokerconfig.Change { return c }

func TestFingerprintsTellWishesApart(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]int{}
	for i, d := range []brokerconfig.Diff{
		{},
		{Node: changes(change("a", "0", "1"))},
		{Global: changes(change("a", "0", "1"))},
		{Restart: changes(change("a", "0", "1"))},
		{Restart: changes(change("a", "0", "2"))},
		{Restart: changes(change("a", "0", ""))},
		{Restart: changes(change("ab", "0", "1"))},
		{Restart: changes(change("a", "0", "b1"))},
		{Restart: changes(change("a", "0", "1"), change("b", "0", "1"))},
		{Restart: changes(change("a", "0", "11:b1:1"))},
		{Node: changes(change("a", "0", "1")), Restart: changes(change("b", "0", "1"))},
	} {
		g.Expect(seen).NotTo(HaveKey(d.Fingerprint()), "%d", i)
		seen[d.Fingerprint()] = i
	}
	g.Expect(seen).To(HaveKey(""), "nothing to do has none")
}

func TestAFingerprintIsThatOfTheWishAlone(t *testing.T) {
	g := NewWithT(t)
	d := brokerconfig.Diff{Restart: changes(change("a", "0", "1"))}
	g.Expect(brokerconfig.Diff{Restart: changes(change("a", "7", "1"))}.Fingerprint()).To(Equal(d.Fingerprint()))
	g.Expect(brokerconfig.Diff{Restart: changes(change("a", "7", "1"))}.Before()).NotTo(Equal(d.Before()),
		"what was before is told apart by itself")
	g.Expect(brokerconfig.Diff{Restart: changes(change("a", "0", "2"))}.Before()).To(Equal(d.Before()))
	g.Expect(brokerconfig.Diff{}.Before()).To(BeEmpty())
	g.Expect(d.Fingerprint()).To(Equal("e33bfe93f6751365"), "it is stored, and read by the next version of this program")
}
