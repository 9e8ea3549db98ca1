package options

import (
	"regexp"
	"slices"
)

// knownGates are the feature gates of the operator. None exists today.
var knownGates []string

var gatePattern = regexp.MustCompile(`^([+-])([A-Za-z0-9]+)$`)

func parseGates(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	for _, entry := range splitList(text) {
		match := gatePattern.FindStringSubmatch(entry)
		if match == nil {
			return nil, invalid(entry+" is not a valid feature gate configuration", "give +Name or -Name, with commas between")
		}
		name := match[2]
		if !slices.Contains(knownGates, name) {
			return nil, invalid("Unknown feature gate "+name+" found in the configuration", "remove it: this version has no feature gates")
		}
		if _, twice := gates[name]; twice {
			return nil, invalid("duplicate key: "+name, "give each feature gate once")
		}
		gates[name] = match[1] == "+"
	}
	return gates, nil
}
