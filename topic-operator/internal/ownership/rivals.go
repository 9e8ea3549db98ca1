package ownership

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// rivals returns the other claimants that keep the object from its topic, sorted by their keys. A KafkaTopic of another cluster does not
// claim this one's topic, and the namespace policy refuses only the object that violates it (docs/decisions/namespace-policy.md).
func (f Facts) rivals() []Claimant {
	return f.others(func(c Claimant) bool { return !c.Violates })
}

// deletionRivals returns the claimants that keep the topic from being deleted (docs/decisions/claims.md). They include one that the policy
// refuses now if it had the topic before: a change of the policy must not cost it its data.
func (f Facts) deletionRivals() []Claimant {
	return f.others(func(c Claimant) bool { return !c.Violates || c.TopicID != "" || c.ClusterID != "" })
}

func (f Facts) others(count func(Claimant) bool) []Claimant {
	var rivals []Claimant
	mine := cmp.Or(f.Object.ClusterID, f.Own.ID)
	for _, c := range f.Others {
		foreign := mine != "" && c.ClusterID != "" && c.ClusterID != mine
		if c.Key != f.Object.Key && !foreign && count(c) {
			rivals = append(rivals, c)
		}
	}
	slices.SortFunc(rivals, func(a, b Claimant) int { return compareKeys(a.Key, b.Key) })
	return rivals
}

// wins reports whether the object may proceed despite rivals: it is the oldest, and the oldest wins.
func (f Facts) wins(rivals []Claimant) bool {
	if !f.Rules.OldestWins {
		return false
	}
	return !slices.ContainsFunc(rivals, func(c Claimant) bool {
		return older(c.Created, c.Key, f.Object.Created, f.Object.Key)
	})
}

func older(a time.Time, aKey types.NamespacedName, b time.Time, bKey types.NamespacedName) bool {
	return cmp.Or(a.Compare(b), compareKeys(aKey, bKey)) < 0
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
