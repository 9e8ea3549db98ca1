package roller

import (
	"fmt"
	"strings"
	"time"
)

// amount formats a number of things.
func amount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "ch") {
		thing += "e"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// list formats nodes: "node 3", "nodes 3, 4 and 5".
func list(ids []NodeID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint(id)
	}
	switch len(words) {
	case 0:
		return "no node"
	case 1:
		return "node " + words[0]
	}
	return "nodes " + strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// rounded formats a duration for users.
func rounded(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	return d.Round(time.Second).String()
}

// clock formats a time of day for users, in UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }
