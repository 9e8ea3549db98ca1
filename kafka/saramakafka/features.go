package saramakafka

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// DescribeFeatures implements kafka.FeatureReader. Brokers return their features in the response to ApiVersions.
func (a *Admin) DescribeFeatures(ctx context.Context) (kafka.Features, error) {
	const all = 4 // the first version that also holds features whose lowest level is 0 (KIP-1022)
	var answer *sarama.ApiVersionsResponse
	err := a.ask(ctx, &request{name: "ApiVersions", broker: anyBroker, run: func(ctx context.Context, c *conn) error {
		return c.typed(ctx, func(b *sarama.Broker) (err error) {
			answer, err = b.ApiVersions(&sarama.ApiVersionsRequest{Version: all, ClientSoftwareName: "sarama", ClientSoftwareVersion: "1"})
			if err == nil {
				c.mute(time.Duration(answer.ThrottleTimeMs) * time.Millisecond)
			}
			return err
		})
	}})
	if err != nil {
		return kafka.Features{}, err
	}
	if err := codeError(answer.ErrorCode, ""); err != nil {
		return kafka.Features{}, err
	}
	out := kafka.Features{Finalized: map[string]int16{}, Epoch: answer.FinalizedFeaturesEpoch, Supported: map[string]kafka.FeatureRange{}}
	if out.Epoch < 0 {
		answer.FinalizedFeatures = nil
	}
	for _, f := range answer.FinalizedFeatures {
		out.Finalized[f.Name] = f.MaxVersionLevel
	}
	for _, f := range answer.SupportedFeatures {
		out.Supported[f.Name] = kafka.FeatureRange{Min: f.MinVersion, Max: f.MaxVersion}
	}
	return out, nil
}

// UpdateFeatures implements kafka.FeatureWriter. An update whose answer was lost is sent again, and then requests the present level.
func (a *Admin) UpdateFeatures(ctx context.Context, updates map[string]kafka.FeatureUpdate, validateOnly bool) error {
	if len(updates) == 0 {
		return nil
	}
	var answer *kmsg.UpdateFeaturesResponse
	err := a.ask(ctx, &request{name: "UpdateFeatures", broker: anyBroker, leader: true, changes: !validateOnly,
		run: func(ctx context.Context, c *conn) error {
			const safe = 1 // the first version with validateOnly, and with a safe downgrade
			resp, err := c.raw(ctx, updateFeatures(ctx, updates, validateOnly), safe)
			if err != nil {
				return err
			}
			answer = resp.(*kmsg.UpdateFeaturesResponse)
			if answer.ErrorCode == kafka.CodeNotController {
				return errNotController
			}
			return nil
		}})
	if err != nil {
		return err
	}
	// Up to version 1 each feature has its own result.
	slices.SortFunc(answer.Results, func(a, b kmsg.UpdateFeaturesResponseResult) int { return cmp.Compare(a.Feature, b.Feature) })
	for _, r := range answer.Results {
		if err := codeError(r.ErrorCode, text(r.ErrorMessage)); err != nil {
			return err
		}
	}
	return codeError(answer.ErrorCode, text(answer.ErrorMessage))
}

func updateFeatures(ctx context.Context, updates map[string]kafka.FeatureUpdate, validateOnly bool) *kmsg.UpdateFeaturesRequest {
	const upgrade, safeDowngrade = 1, 2
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.TimeoutMillis = int32(brokerTimeout(ctx).Milliseconds())
	req.ValidateOnly = validateOnly
	for _, name := range slices.Sorted(maps.Keys(updates)) {
		update := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		update.Feature, update.MaxVersionLevel, update.UpgradeType = name, updates[name].Level, upgrade
		if updates[name].Downgrade {
			update.UpgradeType = safeDowngrade
		}
		req.FeatureUpdates = append(req.FeatureUpdates, update)
	}
	return req
}

// UnregisterBroker implements kafka.BrokerUnregisterer.
func (a *Admin) UnregisterBroker(ctx context.Context, id int32) error {
	var answer *kmsg.UnregisterBrokerResponse
	err := a.ask(ctx, &request{name: "UnregisterBroker", broker: anyBroker, leader: true, changes: true,
		run: func(ctx context.Context, c *conn) error {
			req := kmsg.NewPtrUnregisterBrokerRequest()
			req.BrokerID = id
			resp, err := c.raw(ctx, req, 0)
			if err != nil {
				return err
			}
			answer = resp.(*kmsg.UnregisterBrokerResponse)
			if answer.ErrorCode == kafka.CodeNotController {
				return errNotController
			}
			return nil
		}})
	if err != nil {
		return err
	}
	return codeError(answer.ErrorCode, text(answer.ErrorMessage))
}
