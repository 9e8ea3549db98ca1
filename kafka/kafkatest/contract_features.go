package kafkatest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// movable is a feature that Kafka can downgrade and upgrade again. movableLevel is its level in a new cluster.
const (
	movable      = "transaction.version"
	movableLevel = 2
)

var featureCases = map[string]func(*suite){
	"the levels of the cluster are among those that its brokers support": func(s *suite) {
		f := s.features()
		for name, level := range f.Finalized {
			if r, ok := f.Supported[name]; !ok || level < 1 || level < r.Min || level > r.Max {
				s.Errorf("%s is at %d, and %+v is supported", name, level, r)
			}
		}
		if r := f.Supported[kafka.FeatureMetadataVersion]; r.Min != int16(kafka.OldestMetadataVersion) ||
			f.Finalized[kafka.FeatureMetadataVersion] != r.Max || f.Epoch < 0 {
			s.Errorf("got %+v", f)
		}
		if r := f.Supported[movable]; r != (kafka.FeatureRange{Min: 0, Max: movableLevel}) || s.count("ApiVersions") != 1 {
			s.Errorf("got %+v after %d requests", f, s.count("ApiVersions"))
		}
	},
	"a feature goes down, is turned off, and goes up again": func(s *suite) {
		before := s.features()
		s.restoreFeatures()
		for _, level := range []int16{1, 0} {
			s.must(s.admin.UpdateFeatures(s.Context(), map[string]kafka.FeatureUpdate{movable: {Level: level, Downgrade: true}}, false))
			after := s.becomesLevel(level)
			if _, on := after.Finalized[movable]; on != (level > 0) || after.Epoch <= before.Epoch {
				s.Errorf("from %+v to %+v", before, after)
			}
			before = after
		}
		s.must(s.admin.UpdateFeatures(s.Context(), map[string]kafka.FeatureUpdate{movable: {Level: movableLevel}}, false))
		s.becomesLevel(movableLevel)
	},
	"the present level is always accepted": func(s *suite) {
		present := s.features().Finalized
		for _, downgrade := range []bool{false, true} {
			updates := map[string]kafka.FeatureUpdate{}
			for name, level := range present {
				updates[name] = kafka.FeatureUpdate{Level: level, Downgrade: downgrade}
			}
			s.must(s.admin.UpdateFeatures(s.Context(), updates, true))
			s.must(s.admin.UpdateFeatures(s.Context(), updates, false))
		}
		s.sameFeatures(present)
	},
	"validateOnly changes nothing": func(s *suite) {
		before := s.features().Finalized
		s.must(s.admin.UpdateFeatures(s.Context(), map[string]kafka.FeatureUpdate{movable: {Level: 1, Downgrade: true}}, true))
		s.sameFeatures(before)
	},
	"what the controller refuses, it refuses as a whole": func(s *suite) {
		before := s.features()
		newest := before.Supported[kafka.FeatureMetadataVersion].Max
		for what, updates := range map[string]map[string]kafka.FeatureUpdate{
			"a level that is not supported":    {movable: {Level: 3}},
			"a negative level":                 {movable: {Level: -1, Downgrade: true}},
			"a lower level without Downgrade":  {movable: {Level: 1}},
			"a feature that nobody knows":      {"no.such.feature": {Level: 1}},
			"turning off what nobody knows":    {"no.such.feature": {Level: 0, Downgrade: true}},
			"what would lose metadata":         {kafka.FeatureMetadataVersion: {Level: newest - 1, Downgrade: true}},
			"a metadata.version of the future": {kafka.FeatureMetadataVersion: {Level: newest + 1}},
			"one of two":                       {movable: {Level: 1, Downgrade: true}, "no.such.feature": {Level: 1}},
		} {
			for _, validateOnly := range []bool{true, false} {
				s.refused(what, s.admin.UpdateFeatures(s.Context(), updates, validateOnly), kafka.ClassInvalid, "InvalidUpdateVersionException")
			}
		}
		s.sameFeatures(before.Finalized)
	},
	"a higher level with Downgrade is refused": func(s *suite) {
		s.restoreFeatures()
		s.must(s.admin.UpdateFeatures(s.Context(), map[string]kafka.FeatureUpdate{movable: {Level: 1, Downgrade: true}}, false))
		s.becomesLevel(1)
		err := s.admin.UpdateFeatures(s.Context(), map[string]kafka.FeatureUpdate{movable: {Level: 2, Downgrade: true}}, false)
		s.refused("upwards", err, kafka.ClassInvalid, "InvalidUpdateVersionException")
	},
	"no update asks nobody": func(s *suite) {
		stranger := s.target.Admin(s, func(request string, _ time.Duration, _ error) { s.Errorf("%s was sent", request) })
		s.must(stranger.Pin(elsewhere))
		s.must(stranger.UpdateFeatures(s.Context(), nil, false))
	},
}

// features reads the cluster's features.
func (s *suite) features() kafka.Features {
	s.Helper()
	f, err := s.admin.DescribeFeatures(s.Context())
	s.must(err)
	return f
}

// becomesLevel waits until the movable feature is at a level.
func (s *suite) becomesLevel(level int16) kafka.Features {
	s.Helper()
	var f kafka.Features
	s.eventually(func() error {
		if f = s.features(); f.Finalized[movable] != level {
			return fmt.Errorf("%s is at %d, not at %d", movable, f.Finalized[movable], level)
		}
		return nil
	})
	return f
}

// sameFeatures checks that no level changed. It creates a topic first: a broker that reports the topic has seen all earlier changes of the
// metadata.
func (s *suite) sameFeatures(want map[string]int16) {
	s.Helper()
	s.create(1, s.topic("seen"))
	if f := s.features(); !maps.Equal(f.Finalized, want) {
		s.Errorf("got %v, want %v", f.Finalized, want)
	}
}

// restoreFeatures resets the movable feature at the end of the case.
func (s *suite) restoreFeatures() {
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), patience)
		defer cancel()
		if err := s.admin.UpdateFeatures(ctx, map[string]kafka.FeatureUpdate{movable: {Level: movableLevel}}, false); err != nil {
			s.Errorf("restoring %s: %v", movable, err)
		}
	})
}
