package ownership

import "slices"

// Decision is what an owner may do with an object.
type Decision string

// The decisions. Only those for which Writes is true permit a write.
const (
	// Create: there is no such object. It is applied without force: the first writer wins.
	Create Decision = "Create"
	// Proceed: the object is the owner's.
	Proceed Decision = "Proceed"
	// Refresh: it is the owner's from an earlier epoch of the same holder.
	Refresh Decision = "Refresh"
	// TakeOver: it is the owner's from an earlier epoch of another holder, which this one followed.
	TakeOver Decision = "TakeOver"
	// Resume: it is that of a holder before, an object of the same name that does not exist any more. The owner continues with its id, in the
	// next epoch.
	Resume Decision = "Resume"
	// Restore: it lost its marks, and something else proves that it is the owner's.
	Restore Decision = "Restore"
	// Adopt: it has no owner, and the owner's settings allow it to adopt such objects.
	Adopt Decision = "Adopt"
	// Wait: it is going away. What follows is made when it is gone.
	Wait Decision = "Wait"
	// Fenced: somebody else speaks for the owner now, or an older state of this holder was restored. Nothing of the owner may be written
	// anywhere.
	Fenced Decision = "Fenced"
	// Foreign: it is another owner's.
	Foreign Decision = "Foreign"
	// Copied: its marks are those of another object, so they prove nothing.
	Copied Decision = "Copied"
	// Unowned: it carries no marks, and nothing proves whose it is.
	Unowned Decision = "Unowned"
)

// Writes reports whether the decision permits to write the object.
func (d Decision) Writes() bool {
	switch d {
	case Create, Proceed, Refresh, TakeOver, Resume, Restore, Adopt:
		return true
	default:
		return false
	}
}

// Deletes reports whether the decision permits to delete the object. Less does than to write it: a mistake can't be taken back.
func (d Decision) Deletes() bool { return d == Proceed || d == Refresh }

// Facts are what is known beside the object.
type Facts struct {
	// Proven reports that the object is the owner's though it carries no marks: its uid is in the owner's inventory, or its owner reference
	// names the owner's anchor by uid.
	Proven bool
	// Gone are holders that spoke before and do not exist any more: objects of the same cluster, namespace and name as the holder, with other
	// uids.
	Gone []Holder
	// AdoptUnowned allows objects without an owner to be adopted.
	AdoptUnowned bool
}

// Decide returns what an owner may do with an object. live is nil if there is no such object, which must be known: a read that failed is no
// answer.
func Decide(live *Live, o Owner, facts Facts) Decision {
	if live == nil {
		return Create
	}
	d := decide(live, o, facts)
	if live.Terminating && d.Writes() {
		return Wait
	}
	return d
}

func decide(live *Live, o Owner, facts Facts) Decision {
	switch {
	case live.Copied:
		return Copied
	case live.ID == "" || live.ID == o.ID && live.Term == nil:
		return unmarked(live, o, facts)
	case live.Term == nil:
		return Foreign
	default:
		return marked(live, o, facts)
	}
}

// marked decides about an object with an id and a term.
func marked(live *Live, o Owner, facts Facts) Decision {
	mine := live.Term.Holder == o.Holder.hash()
	followed := slices.ContainsFunc(facts.Gone, func(h Holder) bool { return live.Term.Holder == h.hash() })
	switch {
	case o.ID == "" && mine:
		return Restore // the holder forgot its id
	case o.ID == "" && followed:
		return Resume
	case live.ID != o.ID:
		return Foreign
	case mine && live.Term.Epoch == o.Epoch:
		return Proceed
	case mine && live.Term.Epoch < o.Epoch:
		return Refresh
	case !mine && live.Term.Epoch < o.Epoch:
		return TakeOver
	case !mine && followed:
		return Resume
	default:
		return Fenced
	}
}

// unmarked decides about an object that lost marks, or never had any.
func unmarked(live *Live, o Owner, facts Facts) Decision {
	epoch, applied := live.Applied[o.ID]
	switch {
	case applied && epoch > o.Epoch:
		return Fenced
	case o.ID != "" && (applied || facts.Proven):
		return Restore
	case facts.AdoptUnowned && live.ID == "":
		return Adopt
	default:
		return Unowned
	}
}
