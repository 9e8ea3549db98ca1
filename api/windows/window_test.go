package windows

import (
	"strings"
	"testing"
	"time"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestWindow(t *testing.T) {
	for _, tc := range []struct{ window, at, next string }{
		// 2026-11-22 is a Sunday.
		{"* * 0-1 ? * SUN,MON,TUE,WED,THU *", "2026-11-22 00:30:00", "2026-11-22 00:30:00"},
		{"* * 0-1 ? * SUN,MON,TUE,WED,THU *", "2026-11-22 02:00:00", "2026-11-23 00:00:00"},
		{"* * 0-1 ? * SUN,MON,TUE,WED,THU", "2026-11-26 02:00:00", "2026-11-29 00:00:00"},
		{"* * 0-1 ? * sun-thu", "2026-11-27 00:00:00", "2026-11-29 00:00:00"},
		{"* * 22-2 ? * *", "2026-11-22 01:59:59", "2026-11-22 01:59:59"},
		{"* * 22-2 ? * *", "2026-11-22 03:00:00", "2026-11-22 22:00:00"},
		{"* * 12 * * ?", "2026-11-22 12:59:59", "2026-11-22 12:59:59"},
		{"* * * ? * 2-6", "2026-11-22 12:00:00", "2026-11-23 00:00:00"},
		{"* * * ? * 7-1", "2026-11-27 12:00:00", "2026-11-28 00:00:00"},
		{"* * */2 * * ?", "2026-11-22 13:00:00", "2026-11-22 14:00:00"},
		{"* * * ? * FRI-MON", "2026-11-24 12:00:00", "2026-11-27 00:00:00"},
		{"0 0/15 * * * ?", "2026-11-22 12:01:00", "2026-11-22 12:15:00"},
		{"0 5-30/10 * * * ?", "2026-11-22 12:26:00", "2026-11-22 13:05:00"},
		{"*/20 * * * * ?", "2026-11-22 12:00:41", "2026-11-22 12:01:00"},
		{"0 0 12 L * ?", "2026-02-01 00:00:00", "2026-02-28 12:00:00"},
		{"0 0 12 L * ?", "2028-02-01 00:00:00", "2028-02-29 12:00:00"},
		{"0 0 12 L-3 * ?", "2026-11-01 00:00:00", "2026-11-27 12:00:00"},
		{"0 0 12 LW * ?", "2026-10-01 00:00:00", "2026-10-30 12:00:00"},  // the 31st is a Saturday
		{"0 0 12 1W * ?", "2026-08-01 00:00:00", "2026-08-03 12:00:00"},  // the 1st is a Saturday
		{"0 0 12 15W * ?", "2026-11-01 00:00:00", "2026-11-16 12:00:00"}, // the 15th is a Sunday
		{"0 0 12 31W * ?", "2027-01-01 00:00:00", "2027-01-29 12:00:00"}, // the 31st is a Sunday
		{"0 0 12 31W * ?", "2026-11-01 00:00:00", "2026-12-31 12:00:00"}, // November has none
		{"0 0 12 1,15 * ?", "2026-11-02 00:00:00", "2026-11-15 12:00:00"},
		{"0 0 12 ? * L", "2026-11-22 00:00:00", "2026-11-28 12:00:00"},
		{"0 0 12 ? * 6L", "2026-11-01 00:00:00", "2026-11-27 12:00:00"},
		{"0 0 12 ? * 6#3", "2026-11-01 00:00:00", "2026-11-20 12:00:00"},
		{"0 0 12 ? * FRI#5", "2026-11-01 00:00:00", "2027-01-29 12:00:00"},
		{"0 0 12 ? * 1", "2026-11-22 00:00:00", "2026-11-22 12:00:00"}, // 1 is Sunday
		{"0 0 0 1 JAN ? 2030", "2026-11-22 00:00:00", "2030-01-01 00:00:00"},
		{"0 0 0 1 1 ? 2027-2028", "2027-01-01 00:00:01", "2028-01-01 00:00:00"},
		{"0 0 0 29 2 ? 2027", "2026-11-22 00:00:00", ""},
		{"0 0 0 1 1 ? 2020", "2026-11-22 00:00:00", ""},
		// As Quartz reads them: of names, the first three letters count, and a step of 0 is none.
		{"* * 0-3 ? * SATURDAY,SUNDAY *", "2026-11-23 00:00:00", "2026-11-28 00:00:00"},
		{"* * 0-3 ? * Monday-Friday", "2026-11-22 00:00:00", "2026-11-23 00:00:00"}, // Quartz reads MON; whoever writes it means more
		{"* * 0-3 ? JANUARY SUN", "2026-11-22 00:00:00", "2027-01-03 00:00:00"},
		{"0 0 12 ? * FRIDAYL", "2026-11-01 00:00:00", "2026-11-27 12:00:00"},
		{"* * 0-3 ? * SUN 2024-2199", "2026-11-23 00:00:00", "2026-11-29 00:00:00"},
		{"* */0 3 ? * *", "2026-11-22 03:30:00", "2026-11-22 03:30:00"},
		{"0 5/0 3 ? * *", "2026-11-22 03:05:01", "2026-11-23 03:05:00"},
		{"0 5-9/0 3 ? * *", "2026-11-22 03:05:01", "2026-11-23 03:05:00"},
	} {
		w, err := Parse(tc.window)
		if err != nil {
			t.Errorf("Parse(%q): %v", tc.window, err)
			continue
		}
		next, ok := w.Next(at(tc.at))
		got := ""
		if ok {
			got = next.Format("2006-01-02 15:04:05")
		}
		if got != tc.next {
			t.Errorf("%q opens after %s at %q, want %q", tc.window, tc.at, got, tc.next)
		}
		if open := w.Open(at(tc.at)); open != (tc.at == tc.next) {
			t.Errorf("%q is open at %s: %t", tc.window, tc.at, open)
		}
	}
}

func TestInvalidWindows(t *testing.T) {
	for _, window := range []string{
		"", "* * * * *", "* * * * * * * *", "* * * * * *", "* * * ? * ?", "60 * * * * ?", "* 60 * * * ?", "* * 24 * * ?", "* * * 0 * ?",
		"* * * 32 * ?", "* * * * 13 ?",
		"* * * ? * 8", "* * * ? * 0", "* * * ? * FRX", "* * * ? * 6#6", "* * * ? * 6#0", "* * * L-31 * ?", "* * * L-x * ?", "* * * 32W * ?",
		"*/60 * * * * ?",
		"a * * * * ?", "1- * * * * ?", "-1 * * * * ?", "+1 * * * * ?", "1,,2 * * * * ?", "* * * * * ? 2030-2020", "* * * * * ? 1969",
		"? * * * * ?",
	} {
		if w, err := Parse(window); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", window, w)
		}
	}
}

func TestSeveralWindows(t *testing.T) {
	for _, tc := range []struct {
		windows    []string
		at, closed string
	}{
		{nil, "2026-11-22 12:00:00", ""},
		{[]string{"* * 1 * * ?", "* * 2 * * ?"}, "2026-11-22 02:30:00", ""},
		{[]string{"* * 2 * * ?", "* * 1 * * ?"}, "2026-11-22 03:00:00", "the next maintenance window opens at 2026-11-23 01:00:00 UTC"},
		{[]string{"0 0 2 ? * SAT-SUN"}, "2026-11-23 00:00:00", "the next maintenance window opens at 2026-11-28 02:00:00 UTC"},
		{[]string{"0 0 0 29 2 ? 2027", "0 0 0 1 1 ? 2020"}, "2026-11-22 00:00:00",
			"no maintenance window opens in the next ten years: 0 0 0 29 2 ? 2027; 0 0 0 1 1 ? 2020"},
	} {
		w, err := ParseAll(tc.windows)
		if err != nil {
			t.Fatal(err)
		}
		if closed := w.Closed(at(tc.at)); closed != tc.closed {
			t.Errorf("%v at %s: %q, want %q", tc.windows, tc.at, closed, tc.closed)
		}
	}
	if w, err := ParseAll([]string{"* * 1 * * ?", "soon"}); err == nil || !strings.Contains(err.Error(), `"soon"`) {
		t.Errorf("%v, %v", w, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * 0-1 ? * SUN,MON *", "0 0/15 * L-3W * ? 2030", "0 0 12 ? * 6#3", "0 0 12 1W,LW,15 * ?",
		"*/20 22-2 * ? JAN-MAR 6L"} {
		f.Add(seed, int64(1795348800))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		w, err := Parse(text)
		if err != nil {
			return
		}
		now := time.Unix(unix%(4e9), 0)
		next, ok := w.Next(now)
		if ok && (next.Before(now) || !w.Open(next)) {
			t.Errorf("%q: Next(%v) = %v, which is open: %t", text, now, next, w.Open(next))
		}
		if w.Open(now) && !next.Equal(now) {
			t.Errorf("%q is open at %v, and Next says %v", text, now, next)
		}
	})
}
