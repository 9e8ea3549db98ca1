package options

import (
	"regexp"
	"slices"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// knownGates are the feature gates of the operator. None exists today.
var knownGates []string

var gatePattern = regexp.MustCompile(`^([+-])([A-Za-z0-9]+)$`)

// parseGates reads feature gates, known or not.
func parseGates(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	for _, entry := range settings.List(text) {
		match := gatePattern.FindStringSubmatch(entry)
		if match == nil {
			return nil, settings.Invalid(entry+" is not a valid feature gate configuration", "use +Name or -Name, separated by commas")
		}
		name := match[2]
		if _, twice := gates[name]; twice {
			return nil, settings.Invalid("duplicate key: "+name, "list each feature gate once")
		}
		gates[name] = match[1] == "+"
	}
	return gates, nil
}

// completeGates drops unknown gates with a warning: Strimzi's cluster operator passes its own gates to every operator.
func (d *draft) completeGates(r *settings.Reading) {
	for _, name := range sortedKeys(d.FeatureGates) {
		if !slices.Contains(knownGates, name) {
			r.Warn("STRIMZI_FEATURE_GATES: Unknown feature gate %s found in the configuration; it has no effect", name)
			delete(d.FeatureGates, name)
		}
	}
}
