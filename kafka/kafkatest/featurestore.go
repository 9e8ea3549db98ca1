package kafkatest

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// describeFeatures replaces kfake's features, which belong to another version of Kafka.
func (s *session) describeFeatures(versions *kmsg.ApiVersionsResponse) {
	levels, epoch := s.cluster.featureLevels()
	versions.FinalizedFeaturesEpoch, versions.FinalizedFeatures, versions.SupportedFeatures = epoch, nil, nil
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		versions.FinalizedFeatures = append(versions.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{
			Name: name, MinVersionLevel: levels[name], MaxVersionLevel: levels[name],
		})
	}
	const withZero = 4 // lower versions omit features whose lowest level is 0
	for name, supported := range rules.SupportedFeatures() {
		if versions.Version >= withZero || supported.Min > 0 {
			versions.SupportedFeatures = append(versions.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{
				Name: name, MinVersion: supported.Min, MaxVersion: supported.Max,
			})
		}
	}
}

// updateFeatures updates the features. kfake decides whether the user may do so.
func (s *session) updateFeatures(c *call, req *kmsg.UpdateFeaturesRequest) (kmsg.Response, error) {
	if refused, err := s.alters(c); err != nil || refused != 0 {
		return failure(req, refused, "", 0), err
	}
	const upgrade = 1
	updates := map[string]kafka.FeatureUpdate{}
	for _, u := range req.FeatureUpdates {
		updates[u.Feature] = kafka.FeatureUpdate{Level: u.MaxVersionLevel, Downgrade: u.UpgradeType > upgrade}
	}
	if err := s.cluster.updateFeatures(updates, req.ValidateOnly); err != nil {
		code, message := codeOf(err)
		return failure(req, code, *message, 0), nil
	}
	return req.ResponseKind(), nil
}

// unregisterBroker unregisters a broker. kfake decides whether the user may do so.
func (s *session) unregisterBroker(c *call, req *kmsg.UnregisterBrokerRequest) (kmsg.Response, error) {
	if refused, err := s.alters(c); err != nil || refused != 0 {
		return failure(req, refused, "", 0), err
	}
	if !s.cluster.unregister(req.BrokerID) {
		code, message := codeOf(rules.UnregisteredBroker(req.BrokerID))
		return failure(req, code, *message, 0), nil
	}
	return req.ResponseKind(), nil
}

// alters returns the error code for a client that may not change the cluster, or for a broker that does not forward to the controller.
func (s *session) alters(c *call) (int16, error) {
	if s.cluster.options.NoForwarding && s.node.id != s.cluster.Controller() {
		return kafka.CodeNotController, nil
	}
	nothing := kmsg.NewPtrUpdateFeaturesRequest()
	nothing.Version, nothing.ValidateOnly = nothing.MaxVersion(), true
	answer, err := s.ask(c, nothing)
	if err != nil {
		return 0, err
	}
	return answer.(*kmsg.UpdateFeaturesResponse).ErrorCode, nil
}

func (e *Embedded) featureLevels() (map[string]int16, int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.features, e.epoch
}

func (e *Embedded) updateFeatures(updates map[string]kafka.FeatureUpdate, validateOnly bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	after, err := rules.FeaturesAfter(e.features, updates, e.Controller())
	if err == nil && !validateOnly {
		e.features = after
		e.epoch++
	}
	return err
}

// unregister reports whether the broker was registered.
func (e *Embedded) unregister(id int32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.node(id)
	if err != nil || n.unregistered {
		return false
	}
	n.unregistered = true
	return true
}

func (e *Embedded) isUnregistered(id int32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.node(id)
	return err == nil && n.unregistered
}
