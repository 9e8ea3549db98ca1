package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// SupportedFeatures returns the features of Kafka 4.3, with the levels that its nodes support.
func SupportedFeatures() map[string]kafka.FeatureRange {
	return map[string]kafka.FeatureRange{
		"eligible.leader.replicas.version": {Min: 0, Max: 1},
		"group.version":                    {Min: 0, Max: 1},
		"kraft.version":                    {Min: 0, Max: 1},
		kafka.FeatureMetadataVersion:       {Min: 7, Max: 30},
		"share.version":                    {Min: 0, Max: 1},
		"streams.version":                  {Min: 0, Max: 1},
		"transaction.version":              {Min: 0, Max: 2},
	}
}

// Features returns the levels of a new cluster of Kafka 4.3 with a static quorum: the highest ones, and no kraft.version.
func Features() map[string]int16 {
	out := map[string]int16{}
	for name, supported := range SupportedFeatures() {
		out[name] = supported.Max
	}
	delete(out, "kraft.version")
	return out
}

// metadataChanges are the levels of metadata.version that changed the metadata (didMetadataChange in Kafka's MetadataVersion). A cluster
// can't be downgraded across one of them.
var metadataChanges = []int16{8, 11, 13, 14, 15, 17, 23, 30}

// FeaturesAfter returns the levels after updates, as the controller's FeatureControlManager computes them. It ignores that a level may
// require a level of another feature.
func FeaturesAfter(present map[string]int16, updates map[string]kafka.FeatureUpdate, controller int32) (map[string]int16, error) {
	after := maps.Clone(present)
	for _, name := range slices.Sorted(maps.Keys(updates)) {
		update := updates[name]
		if why := refuseFeature(name, present[name], update, controller); why != "" {
			return nil, kafka.NewError(kafka.CodeInvalidUpdateVersion,
				"The update failed for all features since the following feature had an error: "+why)
		}
		after[name] = update.Level
		if update.Level == 0 {
			delete(after, name)
		}
	}
	return after, nil
}

// refuseFeature explains why the controller rejects an update; empty if the controller accepts it.
func refuseFeature(name string, present int16, update kafka.FeatureUpdate, controller int32) string {
	supported, known := SupportedFeatures()[name]
	lost := slices.ContainsFunc(metadataChanges, func(changed int16) bool { return update.Level < changed && changed <= present })
	invalid := fmt.Sprintf("Invalid update version %d for feature %s. ", update.Level, name)
	switch {
	case update.Level < 0:
		return invalid + "A feature version cannot be less than 0."
	case !known && update.Level == 0:
		return invalid + fmt.Sprintf("Feature %s not found.", name)
	case !known:
		return invalid + fmt.Sprintf("Local controller %d does not support this feature.", controller)
	case update.Level < supported.Min || update.Level > supported.Max:
		return invalid + fmt.Sprintf("Local controller %d only supports versions %d-%d", controller, supported.Min, supported.Max)
	case update.Level < present && !update.Downgrade:
		return invalid + "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
	case update.Level > present && update.Downgrade:
		return invalid + "Can't downgrade to a newer version."
	case name == kafka.FeatureMetadataVersion && lost:
		return strings.Join([]string{
			fmt.Sprintf("Unsupported metadata.version downgrade from %d to %d.", present, update.Level),
			"Refusing to perform the requested downgrade because it might delete metadata information.",
		}, " ")
	}
	return ""
}

// UnregisteredBroker returns the controller's error for a broker that is not registered.
func UnregisteredBroker(id int32) error {
	return kafka.NewError(kafka.CodeBrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", id))
}
