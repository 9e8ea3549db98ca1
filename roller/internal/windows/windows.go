// Package windows decides whether a maintenance window is open. Windows are cron expressions as users of Strimzi write them
// (maintenanceTimeWindows): Quartz's, with seconds first and an optional year last, in UTC. A window contains each second that its
// expression matches.
package windows

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Windows are all windows. Without any, maintenance is always allowed.
type Windows struct {
	texts     []string
	schedules []cron.Schedule
}

// days are the names of weekdays. Quartz counts them from 1 for Sunday, and the parser from 0, so that numbers have to be converted.
var days = [...]string{"", "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

// Parse parses expressions; the error names the invalid one.
func Parse(expressions []string) (Windows, error) {
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	var w Windows
	for _, text := range expressions {
		fields := strings.Fields(text)
		if len(fields) == 7 && (fields[6] == "*" || fields[6] == "?") {
			fields = fields[:6]
		}
		if len(fields) != 6 {
			return Windows{}, fmt.Errorf("the maintenance window %q has %d fields, not 6 (second, minute, hour, day of month, month, day of "+
				"week) or 7 with * for the year", text, len(fields))
		}
		fields[5] = weekdays(fields[5])
		schedule, err := parser.Parse(strings.Join(fields, " "))
		if err != nil {
			return Windows{}, fmt.Errorf("parse the maintenance window %q: %w", text, err)
		}
		w.texts = append(w.texts, text)
		w.schedules = append(w.schedules, schedule)
	}
	return w, nil
}

// weekdays replaces numbers of days by names.
func weekdays(field string) string {
	var out strings.Builder
	for i, r := range field {
		step := i > 0 && field[i-1] == '/'
		if r >= '1' && r <= '7' && !step {
			out.WriteString(days[r-'0'])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// Closed says that no window is open, and when the next one opens; empty if one is open.
func (w Windows) Closed(now time.Time) string {
	if len(w.schedules) == 0 {
		return ""
	}
	second := now.UTC().Truncate(time.Second)
	var next time.Time
	for _, s := range w.schedules {
		at := s.Next(second.Add(-time.Second))
		if at.Equal(second) {
			return ""
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		return "none of the maintenance windows will ever open: " + strings.Join(w.texts, ", ")
	}
	return "the next maintenance window opens at " + next.Format("2006-01-02 15:04:05 UTC")
}
