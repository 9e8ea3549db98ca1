package ownership_test

import (
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/api/ownership"
)

var (
	here  = ownership.Holder{Central: "central", Cluster: "cluster-1", Object: "kafka-1"}
	there = ownership.Holder{Central: "central", Cluster: "cluster-2", Object: "kafka-2"}
	older = ownership.Holder{Central: "central", Cluster: "cluster-1", Object: "kafka-0"}
)

const id, otherID = "5d9f2a3e-0000-4000-8000-000000000001", "5d9f2a3e-0000-4000-8000-000000000002"

func owner(id string, h ownership.Holder, epoch int64) ownership.Owner {
	return ownership.Owner{ID: id, Holder: h, Epoch: epoch}
}

// marked returns an object with marks, as it is read.
func marked(o ownership.Owner, change ...func(*ownership.Live)) *ownership.Live {
	term := o.Term()
	live := &ownership.Live{ID: o.ID, Term: &term, Applied: map[string]int64{o.ID: o.Epoch}}
	for _, c := range change {
		c(live)
	}
	return live
}

func terminating(l *ownership.Live) { l.Terminating = true }
func copied(l *ownership.Live)      { l.Copied = true }
func withoutTerm(l *ownership.Live) { l.Term = nil }
func stripped(l *ownership.Live)    { l.ID, l.Term = "", nil }
func forgotten(l *ownership.Live)   { l.Applied = nil }

func TestDecide(t *testing.T) {
	us := owner(id, here, 2)
	for _, c := range []struct {
		name  string
		live  *ownership.Live
		as    ownership.Owner
		facts ownership.Facts
		want  ownership.Decision
	}{
		{"there is none", nil, us, ownership.Facts{}, ownership.Create},
		{"ours", marked(us), us, ownership.Facts{}, ownership.Proceed},
		{"ours, from an earlier epoch", marked(owner(id, here, 1)), us, ownership.Facts{}, ownership.Refresh},
		{"ours, from a later epoch: an older state of the holder was restored", marked(owner(id, here, 3)), us, ownership.Facts{},
			ownership.Fenced},
		{"ours, going away", marked(us, terminating), us, ownership.Facts{}, ownership.Wait},

		{"of a holder before, in an earlier epoch", marked(owner(id, there, 1)), us, ownership.Facts{}, ownership.TakeOver},
		{"of another holder, in the same epoch", marked(owner(id, there, 2)), us, ownership.Facts{}, ownership.Fenced},
		{"of another holder, in a later epoch", marked(owner(id, there, 3)), us, ownership.Facts{}, ownership.Fenced},
		{"of another holder, going away", marked(owner(id, there, 3), terminating), us, ownership.Facts{}, ownership.Fenced},

		{"of the object before of the same name", marked(owner(id, older, 2)), owner("", here, 1),
			ownership.Facts{Gone: []ownership.Holder{older}}, ownership.Resume},
		{"the same, with the id", marked(owner(id, older, 2)), us, ownership.Facts{Gone: []ownership.Holder{older}}, ownership.Resume},
		{"the same, going away", marked(owner(id, older, 2), terminating), owner("", here, 1), ownership.Facts{Gone: []ownership.Holder{older}},
			ownership.Wait},
		{"of an object of the same name that still exists", marked(owner(id, older, 2)), owner("", here, 1), ownership.Facts{},
			ownership.Foreign},
		{"ours, and the id was forgotten", marked(us), owner("", here, 1), ownership.Facts{}, ownership.Restore},

		{"another owner's", marked(owner(otherID, here, 2)), us, ownership.Facts{}, ownership.Foreign},
		{"another owner's, proofs or not", marked(owner(otherID, there, 1)), us, ownership.Facts{Proven: true, AdoptUnowned: true},
			ownership.Foreign},
		{"another owner's, without a term", marked(owner(otherID, there, 1), withoutTerm), us, ownership.Facts{Proven: true, AdoptUnowned: true},
			ownership.Foreign},
		{"another owner's, seen by one without an id", marked(owner(id, there, 1)), owner("", here, 1), ownership.Facts{AdoptUnowned: true},
			ownership.Foreign},
		{"the marks of another object", marked(us, copied), us, ownership.Facts{Proven: true, AdoptUnowned: true}, ownership.Copied},

		{"without marks, and we applied it", marked(us, stripped), us, ownership.Facts{}, ownership.Restore},
		{"without marks, and we applied it in an earlier epoch", marked(owner(id, there, 1), stripped), us, ownership.Facts{}, ownership.Restore},
		{"without marks, and it was applied in a later epoch", marked(owner(id, there, 3), stripped), us, ownership.Facts{Proven: true},
			ownership.Fenced},
		{"without marks, and the inventory has its uid", marked(us, stripped, forgotten), us, ownership.Facts{Proven: true}, ownership.Restore},
		{"without a term, and we applied it", marked(us, withoutTerm), us, ownership.Facts{}, ownership.Restore},
		{"without a term, and nothing proves it", marked(us, withoutTerm, forgotten), us, ownership.Facts{AdoptUnowned: true}, ownership.Unowned},
		{"nobody's", marked(us, stripped, forgotten), us, ownership.Facts{}, ownership.Unowned},
		{"nobody's, and we may take it", marked(us, stripped, forgotten), us, ownership.Facts{AdoptUnowned: true}, ownership.Adopt},
		{"nobody's, and we may take it, but it is going away", marked(us, stripped, forgotten, terminating), us,
			ownership.Facts{AdoptUnowned: true}, ownership.Wait},
		{"nobody's, seen by one without an id", marked(us, stripped), owner("", here, 1), ownership.Facts{Proven: true}, ownership.Unowned},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ownership.Decide(c.live, c.as, c.facts); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestOnlyWhatIsCertainlyOursIsDeleted(t *testing.T) {
	for _, c := range []struct {
		d               ownership.Decision
		writes, deletes bool
	}{
		{ownership.Create, true, false},
		{ownership.Proceed, true, true},
		{ownership.Refresh, true, true},
		{ownership.TakeOver, true, false},
		{ownership.Resume, true, false},
		{ownership.Restore, true, false},
		{ownership.Adopt, true, false},
		{ownership.Wait, false, false},
		{ownership.Fenced, false, false},
		{ownership.Foreign, false, false},
		{ownership.Copied, false, false},
		{ownership.Unowned, false, false},
		{"", false, false},
	} {
		if c.d.Writes() != c.writes || c.d.Deletes() != c.deletes {
			t.Errorf("%q: writes %t, deletes %t; want %t, %t", c.d, c.d.Writes(), c.d.Deletes(), c.writes, c.deletes)
		}
	}
}

func TestMarksAreReadAsTheyWereWritten(t *testing.T) {
	us := owner(id, here, 7)
	o := &metav1.ObjectMeta{
		Namespace: "ns", Name: "n", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: us.FieldManager(), Operation: metav1.ManagedFieldsOperationApply},
			{Manager: owner(id, there, 3).FieldManager(), Operation: metav1.ManagedFieldsOperationApply},
			{Manager: owner(id, there, 9).FieldManager(), Operation: metav1.ManagedFieldsOperationUpdate}, // somebody's patch under that name
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply},
		},
	}
	ownership.Mark(o, "ConfigMap", us)
	if o.Labels["a"] != "b" || o.Annotations["c"] != "d" || o.Labels[ownership.MarkID] != id {
		t.Errorf("labels %v, annotations %v", o.Labels, o.Annotations)
	}
	live := ownership.Read(o, "ConfigMap")
	if live.ID != id || *live.Term != us.Term() || live.Copied || live.Applied[id] != 7 || len(live.Applied) != 1 {
		t.Errorf("got %+v", live)
	}
	o.Name = "copy"
	if !ownership.Read(o, "ConfigMap").Copied {
		t.Error("a copy with another name passes for the object")
	}
	if len(us.FieldManager()) > 128 || len(owner(id, here, 1<<62).FieldManager()) > 128 {
		t.Error("the name of the field manager is longer than the API server takes")
	}
}

func TestTermsAndHolders(t *testing.T) {
	if got, err := ownership.ParseHolder(here.String()); err != nil || got != here {
		t.Errorf("got %v, %v", got, err)
	}
	term := owner(id, here, 3).Term()
	if got, err := ownership.ParseTerm(term.String()); err != nil || got != term {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "a:b", "a::c", "a:b:c:d"} {
		if _, err := ownership.ParseHolder(text); err == nil {
			t.Errorf("%q passes for a holder", text)
		}
	}
	for _, text := range []string{"", "1", "0.0123456789abcdef", "x.0123456789abcdef", "1.0123"} {
		if _, err := ownership.ParseTerm(text); err == nil {
			t.Errorf("%q passes for a term", text)
		}
	}
}

// TestAFormerHolderNeverWritesAgain plays two holders of one owner, the second of which takes over, with somebody who strips marks at
// random. Whatever the first has read, it writes nothing that the second has claimed.
func TestAFormerHolderNeverWritesAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1)) // a history, not a secret
	writes := map[ownership.Holder]int{}
	for range 20_000 {
		var live *ownership.Live
		claimed := false
		first, second := owner(id, here, 1+random.Int64N(3)), owner(id, there, 0)
		second.Epoch = first.Epoch + 1
		for range 12 {
			who := first
			if random.IntN(2) == 0 {
				who = second
			}
			switch action := random.IntN(8); {
			case action == 0 && live != nil:
				stripped(live)
			case action == 1 && live != nil:
				withoutTerm(live)
			default:
				d := ownership.Decide(live, who, ownership.Facts{Proven: random.IntN(2) == 0})
				if !d.Writes() {
					continue
				}
				if who == first && claimed {
					t.Fatalf("%s by the first holder after the second claimed: %+v", d, live)
				}
				writes[who.Holder]++
				claimed = claimed || who == second
				if live == nil {
					live = &ownership.Live{Applied: map[string]int64{}}
				}
				term := who.Term()
				live.ID, live.Term = who.ID, &term
				live.Applied[who.ID] = max(live.Applied[who.ID], who.Epoch)
			}
		}
	}
	if writes[here] < 1000 || writes[there] < 1000 {
		t.Errorf("the history is too tame: %v", writes)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("central:a:b", "3.0123456789abcdef")
	f.Fuzz(func(t *testing.T, holder, term string) {
		if h, err := ownership.ParseHolder(holder); err == nil && h.String() != holder {
			t.Errorf("%q is read as %q", holder, h)
		}
		if p, err := ownership.ParseTerm(term); err == nil {
			if again, err := ownership.ParseTerm(p.String()); err != nil || again != p {
				t.Errorf("%q is read as %q", term, p)
			}
		}
	})
}
