// Package windows decides whether a maintenance window is open. Windows are cron expressions as users of Strimzi write them
// (maintenanceTimeWindows): Quartz's.
package windows

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is a maintenance window: a Quartz cron expression in GMT, with seconds first and an optional year. The window is open in each
// second that satisfies it.
type Window struct {
	expression                      string
	seconds, minutes, hours, months set
	years                           set // nil: every year
	days                            []day
	week                            bool // days are of the week, and not of the month
}

// set has the values of a field.
type set map[int]bool

// day is one item of the day of month or the day of week.
type day struct {
	values   set // of the month (1-31), or of the week (1 is Sunday); nil if one of those below
	last     bool
	offset   int  // of the last day: L-3
	weekday  bool // the nearest weekday: 15W, LW
	number   int  // 15W: 15; 6L, 6#3: 6
	instance int  // 6#3: 3
}

type field struct {
	name     string
	min, max int
	names    []string // of min, min+1, ...
}

var (
	secondField = field{name: "seconds", max: 59}
	minuteField = field{name: "minutes", max: 59}
	hourField   = field{name: "hours", max: 23}
	dayField    = field{name: "day of month", min: 1, max: 31}
	monthField  = field{name: "month", min: 1, max: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT",
		"NOV", "DEC"}}
	weekField = field{name: "day of week", min: 1, max: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}}
	yearField = field{name: "year", min: 1970, max: 2199}
)

// Parse reads a Quartz cron expression. Source: org.quartz.CronExpression, which Strimzi uses.
func Parse(expression string) (*Window, error) {
	fields := strings.Fields(strings.ToUpper(expression))
	if len(fields) != 6 && len(fields) != 7 {
		return nil, fmt.Errorf("%q has %d fields: a Quartz cron expression has 6 or 7 (seconds minutes hours day-of-month month day-of-week "+
			"[year])", expression, len(fields))
	}
	w := &Window{expression: expression}
	var err error
	for _, part := range []struct {
		of   field
		text string
		into *set
	}{{secondField, fields[0], &w.seconds}, {minuteField, fields[1], &w.minutes}, {hourField, fields[2], &w.hours},
		{monthField, fields[4], &w.months}} {
		if *part.into, err = part.of.parse(part.text); err != nil {
			return nil, fmt.Errorf("%q: %w", expression, err)
		}
	}
	if len(fields) == 7 && fields[6] != "*" {
		if w.years, err = yearField.parse(fields[6]); err != nil {
			return nil, fmt.Errorf("%q: %w", expression, err)
		}
	}
	switch {
	case fields[3] == "?" && fields[5] == "?":
		return nil, fmt.Errorf("%q: only one of day of month and day of week can be ?", expression)
	case fields[5] == "?":
		w.days, err = parseDays(dayField, fields[3], dayField.parseMonthDay)
	case fields[3] == "?":
		w.week = true
		w.days, err = parseDays(weekField, fields[5], weekField.parseWeekDay)
	default:
		return nil, fmt.Errorf("%q: one of day of month and day of week must be ?", expression)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", expression, err)
	}
	return w, nil
}

// parse reads a list of values, ranges and steps.
func (f field) parse(text string) (set, error) {
	values := set{}
	for item := range strings.SplitSeq(text, ",") {
		if err := f.parseItem(item, values); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// parseItem reads *, 5, 5-10, 22-2, */5, 5/10 or 5-30/10. A step of 0 is none, as in Quartz: */0 is *, and 5/0 is 5.
func (f field) parseItem(item string, into set) error {
	span, step, stepped := strings.Cut(item, "/")
	increment := 1
	if stepped {
		var err error
		if increment, err = strconv.Atoi(step); err != nil || increment < 0 || increment > f.max {
			return fmt.Errorf("%s: %q is not a step from 0 to %d", f.name, step, f.max)
		}
	}
	from, to := f.min, f.max
	if span != "*" && (span != "" || !stepped) {
		var err error
		if from, to, err = f.parseSpan(span, stepped); err != nil {
			return err
		}
		if stepped && increment == 0 {
			to = from
		}
	}
	if to < from { // 22-2 goes over midnight
		if f.name == yearField.name {
			return fmt.Errorf("%s: %q ends before it begins", f.name, item)
		}
		to += f.max - f.min + 1
	}
	for v := from; v <= to; v += max(1, increment) {
		into[f.min+(v-f.min)%(f.max-f.min+1)] = true
	}
	return nil
}

// parseSpan reads 5 or 5-10. A single value is a span of its own, or if it is open, up to the last value.
func (f field) parseSpan(span string, open bool) (from, to int, err error) {
	first, last, ranged := strings.Cut(span, "-")
	if from, err = f.value(first); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		to, err = f.value(last)
	case open:
		to = f.max
	default:
		to = from
	}
	return from, to, err
}

// value reads a number, or a name, of which only the first three letters count, as in Quartz.
func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if rest, is := strings.CutPrefix(text, name); is && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return f.min + i, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < f.min || v > f.max || strings.HasPrefix(text, "+") {
		return 0, fmt.Errorf("%s: %q is not a value from %d to %d", f.name, text, f.min, f.max)
	}
	return v, nil
}

func parseDays(f field, text string, special func(string) (day, bool, error)) ([]day, error) {
	plain := day{values: set{}}
	days := []day{plain}
	for item := range strings.SplitSeq(text, ",") {
		d, is, err := special(item)
		switch {
		case err != nil:
			return nil, err
		case is:
			days = append(days, d)
		default:
			if err := f.parseItem(item, plain.values); err != nil {
				return nil, err
			}
		}
	}
	return days, nil
}

// parseMonthDay reads L, L-3, LW and 15W.
func (f field) parseMonthDay(item string) (day, bool, error) {
	switch {
	case item == "L":
		return day{last: true}, true, nil
	case item == "LW":
		return day{last: true, weekday: true}, true, nil
	case strings.HasPrefix(item, "L-"):
		offset, weekday := strings.CutSuffix(item[2:], "W")
		n, err := strconv.Atoi(offset)
		if err != nil || n < 0 || n > 30 {
			return day{}, false, fmt.Errorf("%s: %q is not L-0 to L-30", f.name, item)
		}
		return day{last: true, offset: n, weekday: weekday}, true, nil
	case strings.HasSuffix(item, "W"):
		n, err := f.value(strings.TrimSuffix(item, "W"))
		return day{number: n, weekday: true}, true, err
	}
	return day{}, false, nil
}

// parseWeekDay reads L (Saturday), 6L and 6#3.
func (f field) parseWeekDay(item string) (day, bool, error) {
	if item == "L" {
		return day{values: set{7: true}}, true, nil
	}
	if name, instance, numbered := strings.Cut(item, "#"); numbered {
		n, err := f.value(name)
		if err != nil {
			return day{}, false, err
		}
		i, err := strconv.Atoi(instance)
		if err != nil || i < 1 || i > 5 {
			return day{}, false, fmt.Errorf("%s: %q is not #1 to #5", f.name, item)
		}
		return day{number: n, instance: i}, true, nil
	}
	if name, last := strings.CutSuffix(item, "L"); last {
		n, err := f.value(name)
		return day{number: n, last: true}, true, err
	}
	return day{}, false, nil
}

// Open reports whether the window is open at t.
func (w *Window) Open(t time.Time) bool {
	t = t.UTC()
	return w.openOn(t) && w.hours[t.Hour()] && w.minutes[t.Minute()] && w.seconds[t.Second()]
}

func (w *Window) openOn(t time.Time) bool {
	if w.years != nil && !w.years[t.Year()] || !w.months[int(t.Month())] {
		return false
	}
	return slices.ContainsFunc(w.days, func(d day) bool {
		if w.week {
			return d.isWeekDay(t)
		}
		return d.isMonthDay(t)
	})
}

func (d day) isMonthDay(t time.Time) bool {
	if d.values != nil {
		return d.values[t.Day()]
	}
	end := lastDay(t)
	target := d.number
	if d.last {
		target = end - d.offset
	}
	if target > end || target < 1 {
		return false
	}
	if !d.weekday {
		return t.Day() == target
	}
	switch date(t, target).Weekday() { // the nearest weekday in the same month
	case time.Saturday:
		if target--; target < 1 {
			target = 3
		}
	case time.Sunday:
		if target++; target > end {
			target = end - 2
		}
	}
	return t.Day() == target
}

func (d day) isWeekDay(t time.Time) bool {
	today := int(t.Weekday()) + 1
	switch {
	case d.values != nil:
		return d.values[today]
	case d.last:
		return today == d.number && t.Day()+7 > lastDay(t)
	}
	return today == d.number && (t.Day()-1)/7+1 == d.instance
}

func date(t time.Time, day int) time.Time {
	return time.Date(t.Year(), t.Month(), day, 0, 0, 0, 0, time.UTC)
}

func lastDay(t time.Time) int { return date(t, 1).AddDate(0, 1, -1).Day() }

// Next is the first second from t on in which the window is open; false if there is none in the next ten years.
func (w *Window) Next(t time.Time) (time.Time, bool) {
	t = t.UTC()
	if t.Nanosecond() > 0 {
		t = t.Truncate(time.Second).Add(time.Second)
	}
	for end := t.AddDate(10, 0, 0); t.Before(end); {
		switch {
		case !w.openOn(t):
			t = date(t, t.Day()+1)
		case !w.hours[t.Hour()]:
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !w.minutes[t.Minute()]:
			t = t.Truncate(time.Minute).Add(time.Minute)
		case !w.seconds[t.Second()]:
			t = t.Add(time.Second)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}
