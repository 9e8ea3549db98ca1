package ownership_test

import (
	"fmt"
	"testing"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// These tests compare decisions about the same object when one fact around it changes. They check which changes may alter the decision, and
// that a protecting change only ever prevents something.

// The facts around an object; the values of each are listed below.
const (
	aroundPaused = iota
	aroundOwn
	aroundOthers
	aroundViolation
	aroundObservation
	aroundOldest
	aroundBlock
	aroundAll
)

// Indexes of the values that the comparisons name.
const (
	ownUnknown, ownA, ownAButB, ownUnknownButB = 0, 1, 2, 3

	nobody, elder, junior, stranger, wrongdoer, former, both = 0, 1, 2, 3, 4, 5, 6

	notAsked, unanswered, takenName = 0, 1, 4
)

var (
	aroundOwns   = append(allOwn[:len(allOwn):len(allOwn)], ownership.Cluster{Answering: clusterB})
	aroundCrowds = [][]ownership.Claimant{
		nobody: nil, elder: {claimant("z", -time.Hour)}, junior: {claimant("a", time.Hour, hadClaim, hadTopic)},
		stranger:  {claimant("a", -time.Hour, ofB, hadTopic)},
		wrongdoer: {claimant("a", -time.Hour, violator)}, former: {claimant("a", -time.Hour, violator, hadTopic)},
		both: {claimant("z", -time.Hour), claimant("a", time.Hour, hadClaim, hadTopic)},
	}
	aroundSizes = [aroundAll]int{2, len(aroundOwns), len(aroundCrowds), len(allViolations), len(allObservations), 2, 2}
)

// around is one combination: an index for each fact.
type around [aroundAll]int

func (a around) put(f *ownership.Facts) {
	f.Object.Paused = a[aroundPaused] == 1
	f.Own, f.Others = aroundOwns[a[aroundOwn]], aroundCrowds[a[aroundOthers]]
	f.Violation, f.Observed = allViolations[a[aroundViolation]], allObservations[a[aroundObservation]]
	f.Rules = ownership.Rules{OldestWins: a[aroundOldest] == 1, BlockUnknown: a[aroundBlock] == 1}
}

// surroundings returns all combinations, and for each fact the distance in the list between combinations that differ by one in its index.
func surroundings() (all []around, strides around) {
	n := 1
	for i := aroundAll - 1; i >= 0; i-- {
		strides[i] = n
		n *= aroundSizes[i]
	}
	for i := range n {
		var a around
		for thing := range aroundAll {
			a[thing] = i / strides[thing] % aroundSizes[thing]
		}
		all = append(all, a)
	}
	return all, strides
}

// essence is a decision without its messages.
type essence struct {
	action ownership.Action
	reason string // of the refusal, or of the note
	id     kafka.TopicID
	claim  bool
}

func essenceOf(d ownership.Decision) essence {
	return essence{action: d.Action, reason: d.Refusal.Reason + d.Note.Reason, id: d.ID, claim: d.Claim}
}

func (e essence) changesKafka() bool {
	return e.action == ownership.Create || e.action == ownership.Align || e.action == ownership.Delete
}

func (e essence) refuses(reason string) bool {
	return e.action == ownership.Refuse && e.reason == reason
}
func (e essence) releases(reason string) bool {
	return e.action == ownership.Release && e.reason == reason
}

// yields reports whether the topic is left to other claimants.
func (e essence) yields() bool {
	return e.releases(ownership.EventLeftToOthers) || e.refuses(v1.ReasonResourceConflict)
}

// sameBut reports whether the decisions differ at most in the claim.
func (e essence) sameBut(claimed essence) bool {
	e.claim = claimed.claim
	return e == claimed
}

// comparison describes how a decision may differ from another one when one fact changes from one index to another. If mayDiffer is nil, the
// decisions must be equal.
type comparison struct {
	rule      string
	thing     int
	from      int
	to        []int
	mayDiffer func(f *ownership.Facts, was, is essence) bool
}

func goes(f *ownership.Facts) bool { return f.Object.Deleting || f.Object.Vanished }

// stricter are the comparisons.
var stricter = []comparison{
	{"the setting that blocks deletions does so while the cluster is unknown, and does nothing else", aroundBlock, 0, []int{1},
		func(f *ownership.Facts, _, is essence) bool {
			return is.refuses(v1.ReasonClusterIDUnknown) && goes(f) && f.Own.ID == ""
		}},
	{"that the oldest wins bears on conflicts of living objects only", aroundOldest, 0, []int{1},
		func(f *ownership.Facts, was, _ essence) bool {
			return was.refuses(v1.ReasonResourceConflict) && !goes(f)
		}},
	{"a claimant leads to nothing but a conflict, or a release", aroundOthers, nobody, []int{elder, junior, stranger, wrongdoer, former, both},
		func(_ *ownership.Facts, _, is essence) bool {
			return is.yields()
		}},
	{"a second claimant does not help", aroundOthers, junior, []int{both},
		func(_ *ownership.Facts, _, is essence) bool { return is.yields() }},
	{"a violator that never had the topic is nobody", aroundOthers, nobody, []int{wrongdoer}, nil},
	{"a claimant of another cluster than the object's is nobody, if that can be known", aroundOthers, nobody, []int{stranger},
		func(f *ownership.Facts, _, _ essence) bool {
			return f.Object.ClusterID == clusterB || f.Object.ClusterID == "" && f.Own.ID == ""
		}},
	{"a violation leads to nothing but its refusal, or a release", aroundViolation, 0, []int{1}, func(_ *ownership.Facts, _, is essence) bool {
		return is.refuses(v1.ReasonPolicyViolation) || is.releases(v1.ReasonPolicyViolation)
	}},
	{"a pause stops whatever a living object leads to, and no deletion", aroundPaused, 0, []int{1},
		func(f *ownership.Facts, _, is essence) bool {
			return is.action == ownership.MarkPaused && !goes(f)
		}},
	{"another cluster that answers leads to nothing but a mismatch", aroundOwn, ownA, []int{ownAButB},
		func(_ *ownership.Facts, _, is essence) bool {
			return is.refuses(v1.ReasonClusterMismatch)
		}},
	{"also where the own one was not known", aroundOwn, ownUnknown, []int{ownUnknownButB},
		func(_ *ownership.Facts, _, is essence) bool { return is.refuses(v1.ReasonClusterMismatch) }},
	// Two decisions may change once the cluster is known: those that the setting blocked, and those that a claimant blocked that belongs to
	// another cluster.
	{"to know the cluster makes nothing possible that the want of it did not block", aroundOwn, ownUnknown, []int{ownA},
		func(_ *ownership.Facts, was, is essence) bool {
			return !is.changesKafka() || is.sameBut(was) || was.refuses(v1.ReasonClusterIDUnknown) || was.yields()
		}},
	{"to know the cluster stops nothing without a reason, but for one question more about a status without a cluster", aroundOwn, ownUnknown,
		[]int{ownA}, func(f *ownership.Facts, was, is essence) bool {
			return !was.changesKafka() || is.sameBut(was) || is.action == ownership.Refuse ||
				is.action == ownership.Confirm && f.Object.TopicID != "" && f.Object.ClusterID == ""
		}},
	{"what is seen matters only where it was asked for", aroundObservation, notAsked, []int{1, 2, 3, 4, 5, 6, 7},
		func(_ *ownership.Facts, was, _ essence) bool { return was.action == ownership.Look }},
	{"no answer leads to waiting", aroundObservation, notAsked, []int{unanswered},
		func(_ *ownership.Facts, _, is essence) bool { return is.action == ownership.Wait }},
	{"two answers that contradict each other are none", aroundObservation, unanswered, []int{takenName}, nil},
}

// comparedObjects returns all objects that the operator decides on: live, being deleted, and vanished.
func comparedObjects() (all []ownership.Object) {
	for _, lives := range []ownership.Object{{}, {Deleting: true, Held: true}, {Vanished: true}} {
		for _, asks := range allAsks {
			for _, name := range allNames {
				for _, topicID := range allTopicIDs {
					for _, clusterID := range allClusterIDs {
						for _, made := range allMade {
							o := lives
							o.Key, o.Created, o.Selected, o.Managed = key("ns", "orders"), born, true, true
							o.Asks, o.Name, o.TopicID, o.ClusterID, o.Made = asks, name, topicID, clusterID, made
							all = append(all, o)
						}
					}
				}
			}
		}
	}
	return all
}

func TestWhatProtectsOnlyEverStopsSomething(t *testing.T) {
	all, strides := surroundings()
	differences := make([]int, len(stricter))
	essences := make([]essence, len(all))
	objects := comparedObjects()
	for _, o := range objects {
		f := ownership.Facts{Object: o}
		for i := range all {
			all[i].put(&f)
			essences[i] = essenceOf(ownership.Decide(f))
		}
		for i := range all {
			for n := range stricter {
				c := &stricter[n]
				if all[i][c.thing] != c.from {
					continue
				}
				for _, to := range c.to {
					was, is := essences[i], essences[i+(to-c.from)*strides[c.thing]]
					if was == is {
						continue
					}
					differences[n]++
					all[i].put(&f)
					if c.mayDiffer == nil || !c.mayDiffer(&f, was, is) {
						t.Fatalf("%s: from %+v to %+v, of %+v", c.rule, was, is, f)
					}
				}
			}
		}
	}
	for n, c := range stricter {
		if c.mayDiffer != nil && differences[n] == 0 {
			t.Errorf("never makes a difference: %s", c.rule)
		}
	}
	t.Logf("compared %d decisions", len(objects)*len(all))
}

// truths are the states that Kafka can have under the name (no id: no topic), and what the broker that is asked reports.
var truths = []struct {
	name       string
	has, shows kafka.TopicID
	// knownOld: the operator knows that the reported topic is deleted.
	knownOld bool
}{
	{name: "nothing"}, {name: "X", has: idX, shows: idX}, {name: "Y", has: idY, shows: idY}, {name: "Z", has: idZ, shows: idZ},
	{name: "X, unheard of", has: idX}, {name: "Y, unheard of", has: idY}, {name: "Z, unheard of", has: idZ},
	{name: "nothing, X still shown", shows: idX}, {name: "nothing, Z still shown", shows: idZ},
	{name: "nothing, X still shown, known to be old", shows: idX, knownOld: true},
	{name: "Z, X still shown", has: idZ, shows: idX}, {name: "Z, X still shown, known to be old", has: idZ, shows: idX, knownOld: true},
	{name: "Y, X still shown", has: idY, shows: idX}, {name: "Y, X still shown, known to be old", has: idY, shows: idX, knownOld: true},
}

// A pass asks three times at most, tries to delete a topic once for each id that it has, and reaches the decision that fits the truth. The
// controller rejects the deletion of an id that does not exist, which counts as one more observation.
func TestAPassEndsAsTheTruthDemands(t *testing.T) {
	all, _ := surroundings()
	played, ends := 0, map[ownership.Action]int{}
	for _, o := range comparedObjects() {
		f := ownership.Facts{Object: o}
		for i := range all {
			if all[i][aroundObservation] != notAsked {
				continue
			}
			all[i].put(&f)
			if ownership.Decide(f).Action != ownership.Look {
				continue
			}
			for n := range truths {
				d, fault := playToTheEnd(f, n)
				played++
				ends[d.Action]++
				if fault != "" {
					t.Fatalf("Kafka has %s: %s: %s, of %+v", truths[n].name, d, fault, f)
				}
			}
		}
	}
	for _, end := range []ownership.Action{ownership.Release, ownership.Refuse, ownership.Wait, ownership.Create, ownership.Align,
		ownership.Delete} {
		if ends[end] == 0 {
			t.Errorf("no pass ends with %s", end)
		}
	}
	t.Logf("played %d passes: %v", played, ends)
}

// playToTheEnd returns the last decision of a pass, and what is wrong with it.
func playToTheEnd(f ownership.Facts, n int) (ownership.Decision, string) {
	truth, questions, attempts := truths[n], 0, 0
	for {
		d := ownership.Decide(f)
		switch {
		case d.Action == ownership.Look && truth.shows.IsZero():
			f.Observed = ownership.Observation{View: ownership.Absent}
			questions++
		case d.Action == ownership.Look:
			f.Observed = ownership.Observation{View: ownership.Present, ID: truth.shows, Outdated: truth.knownOld}
			questions++
		case d.Action == ownership.Confirm && truth.has.IsZero():
			f.Observed = ownership.Observation{View: ownership.Free}
			questions++
		case d.Action == ownership.Confirm:
			f.Observed = ownership.Observation{View: ownership.Taken}
			questions++
		case d.Action == ownership.Delete && d.ID != truth.has:
			f.Observed = ownership.Observation{View: ownership.Present, ID: d.ID, Outdated: true}
			attempts++
		default:
			return d, wrongEnd(f.Object, d, truth.has, truth.has != truth.shows || truth.knownOld)
		}
		if questions > 3 || attempts > 2 {
			return d, fmt.Sprintf("%d questions, %d deletions of what is not there", questions, attempts)
		}
	}
}

// wrongEnd describes what is wrong if a pass ends with this decision while Kafka has this topic. lags: the broker reported something else.
func wrongEnd(o ownership.Object, d ownership.Decision, has kafka.TopicID, lags bool) string {
	own := has.String() == o.TopicID || o.Made != nil && o.Made.ID == has
	knowsNone := o.TopicID == "" && o.Made == nil
	switch {
	case d.Action == ownership.Wait && !lags:
		return "it waits, though all is known"
	case d.Action == ownership.Release && d.Note.Reason == "" && !has.IsZero():
		return "it is released as if its topic were gone"
	case d.Action == ownership.Delete && !own && !knowsNone:
		return "it deletes what is somebody else's"
	case d.Action == ownership.Create && !has.IsZero() && !lags:
		return "it makes what is there"
	case d.Action == ownership.Refuse && d.Refusal.Reason == v1.ReasonTopicIDMismatch && own && !lags:
		return "it refuses its own topic"
	}
	return ""
}
