package validate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// exports reports whether nodes run the JMX exporter.
func (f *findings) exports() bool {
	m := f.cluster().MetricsConfig
	return m != nil && m.Type == v1.MetricsJMXPrometheusExporter && f.Exporter
}

// withoutExporter is the advice for users who request metrics that nodes do not serve.
func (f *findings) withoutExporter() string {
	switch used := or(f.cluster().MetricsConfig, v1.MetricsConfig{}).Type == v1.MetricsJMXPrometheusExporter; {
	case used:
		return noExporter
	case !f.Exporter:
		return "use type jmxPrometheusExporter; for now, " + noExporter
	}
	return "use type jmxPrometheusExporter"
}

// noExporter is why nodes have no exporter though they should.
const noExporter = "the operator has no image with the JMX exporter, see STRIMZI_JMX_EXPORTER_IMAGE"

// exporterConfig has those fields of the JMX exporter's configuration for which it rejects wrong values. Source:
// io.prometheus.jmx.JmxCollector.
type exporterConfig struct {
	StartDelaySeconds               *int           `json:"startDelaySeconds"`
	HostPort                        any            `json:"hostPort"`
	JmxURL                          any            `json:"jmxUrl"`
	LowercaseOutputName             *bool          `json:"lowercaseOutputName"`
	LowercaseOutputLabelNames       *bool          `json:"lowercaseOutputLabelNames"`
	AutoExcludeObjectNameAttributes *bool          `json:"autoExcludeObjectNameAttributes"`
	WhitelistObjectNames            []string       `json:"whitelistObjectNames"`
	IncludeObjectNames              []string       `json:"includeObjectNames"`
	BlacklistObjectNames            []string       `json:"blacklistObjectNames"`
	ExcludeObjectNames              []string       `json:"excludeObjectNames"`
	Rules                           []exporterRule `json:"rules"`
}

type exporterRule struct {
	Pattern any               `json:"pattern"`
	Name    any               `json:"name"`
	Help    any               `json:"help"`
	Cache   *bool             `json:"cache"`
	Labels  map[string]string `json:"labels"`
}

// checkExporter returns why the JMX exporter would not start with a configuration; nil if no reason is known.
func checkExporter(text string) error {
	object, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	var c *exporterConfig
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(object, &c); {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s can't be: %s", cmp.Or(wrong.Field, "the whole"), wrong.Value)
	case err != nil:
		return err
	case c == nil:
		return errors.New("it is empty: {} exposes all metrics")
	case c.HostPort != nil || c.JmxURL != nil:
		return errors.New("hostPort and jmxUrl do not apply to an exporter inside Kafka: remove them")
	}
	for i, r := range c.Rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r exporterRule) check() error {
	switch {
	case r.Name != nil && r.Pattern == nil:
		return errors.New("a name needs a pattern")
	case r.Name == nil && (r.Help != nil || r.Labels != nil):
		return errors.New("help and labels need a name")
	}
	if pattern, is := r.Pattern.(string); is {
		if why := wrongPattern(pattern); why != "" {
			return fmt.Errorf("invalid regex %s, %s", pattern, why)
		}
	}
	return nil
}
