package v1

import (
	"testing"
	"time"
)

func TestTransitionTime(t *testing.T) {
	before := []Condition{
		{Type: "Ready", Status: "False", Reason: "Creating", Message: "1 of 3", LastTransitionTime: "earlier"},
		{Type: "Warning", Status: "True", Reason: "A", Message: "a", LastTransitionTime: "a's"},
		{Type: "Warning", Status: "True", Reason: "A", Message: "b", LastTransitionTime: "b's"},
		{Type: "Stalled", Status: "True"},
	}
	for name, c := range map[string]struct {
		condition Condition
		want      string
	}{
		"the same":                   {before[0], "earlier"},
		"another reason and message": {Condition{Type: "Ready", Status: "False", Reason: "Updating", Message: "2 of 3"}, "earlier"},
		"another status":             {Condition{Type: "Ready", Status: "True"}, "2026-11-26T02:03:04.5Z"},
		"a warning":                  {before[2], "b's"},
		"another warning":            {Condition{Type: "Warning", Status: "True", Reason: "A", Message: "c"}, "2026-11-26T02:03:04.5Z"},
		"one without a time":         {before[3], "2026-11-26T02:03:04.5Z"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 26, 3, 3, 4, 5e8, time.FixedZone("", 3600))
			if got := c.condition.TransitionTime(before, now); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
