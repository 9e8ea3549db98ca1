package windows_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/internal/windows"
)

func TestWindows(t *testing.T) {
	at := func(text string) time.Time {
		now, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	for _, c := range []struct {
		name, window, now, closed string
	}{
		{"Strimzi's example, open", "* * 0-1 ? * SUN,MON,TUE,WED,THU *", "2026-11-22 01:59:59", ""}, // a Sunday
		{"Strimzi's example, an hour later", "* * 0-1 ? * SUN,MON,TUE,WED,THU *", "2026-11-22 02:00:00",
			"the next maintenance window opens at 2026-11-23 00:00:00 UTC"},
		{"Strimzi's example, on a Friday", "* * 0-1 ? * SUN,MON,TUE,WED,THU *", "2026-11-20 00:30:00",
			"the next maintenance window opens at 2026-11-22 00:00:00 UTC"},
		{"numbers of days are Quartz's", "* * * ? * 1", "2026-11-22 12:00:00", ""},
		{"a range of numbers", "* * * ? * 2-6", "2026-11-22 12:00:00", "the next maintenance window opens at 2026-11-23 00:00:00 UTC"},
		{"a step is no day", "* * */2 * * *", "2026-11-22 13:00:00", "the next maintenance window opens at 2026-11-22 14:00:00 UTC"},
		{"a fraction of a second", "* * 12 * * *", "2026-11-22 12:59:59", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			w, err := windows.Parse([]string{c.window})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(w.Closed(at(c.now).Add(500 * time.Millisecond))).To(Equal(c.closed))
		})
	}
}

func TestSeveralWindowsAndNone(t *testing.T) {
	g := NewWithT(t)
	w, err := windows.Parse([]string{"* * 1 * * *", "* * 2 * * *"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Closed(time.Date(2026, 11, 22, 2, 30, 0, 0, time.UTC))).To(BeEmpty())
	g.Expect(windows.Windows{}.Closed(time.Now())).To(BeEmpty())
	w, err = windows.Parse([]string{"* * * 30 2 *"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Closed(time.Date(2026, 11, 22, 2, 30, 0, 0, time.UTC))).To(ContainSubstring("will ever open"))
}

func TestAWindowThatCannotBeUnderstood(t *testing.T) {
	g := NewWithT(t)
	for _, bad := range []string{"", "* * * * *", "* * 25 * * *", "* * * ? * FOO *", "* * * * * * 2026"} {
		_, err := windows.Parse([]string{bad})
		g.Expect(err).To(MatchError(ContainSubstring("%q", bad)))
	}
}
