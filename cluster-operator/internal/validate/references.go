package validate

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// References names the ConfigMaps and Secrets that a Kafka object refers to, for them to be read.
func References(kafka *v1.Kafka) (configMaps, secrets []string) {
	if kafka.Spec == nil {
		return nil, nil
	}
	c := kafka.Spec.Kafka
	if c.MetricsConfig != nil && c.MetricsConfig.Type == v1.MetricsJMXPrometheusExporter {
		configMaps = append(configMaps, reference(c.MetricsConfig.ValueFrom).Name)
	}
	if c.Logging != nil && c.Logging.Type == v1.LoggingExternal {
		configMaps = append(configMaps, reference(c.Logging.ValueFrom).Name)
	}
	for _, l := range c.Listeners {
		if l.Configuration != nil && l.Configuration.BrokerCertChainAndKey != nil {
			secrets = append(secrets, l.Configuration.BrokerCertChainAndKey.SecretName)
		}
	}
	return named(configMaps), named(secrets)
}

func named(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

func reference(r *v1.ExternalConfigurationReference) corev1.ConfigMapKeySelector {
	if r == nil || r.ConfigMapKeyRef == nil {
		return corev1.ConfigMapKeySelector{}
	}
	return *r.ConfigMapKeyRef
}

// metrics checks how metrics are exposed.
func (f *findings) metrics() {
	m := f.cluster().MetricsConfig
	switch {
	case m == nil:
	case m.Type == v1.MetricsJMXPrometheusExporter:
		f.exporter(m)
	case m.Values != nil && m.Values.AllowList != nil:
		f.allowList(m.Values.AllowList)
	}
}

func (f *findings) exporter(m *v1.MetricsConfig) {
	ref := reference(m.ValueFrom)
	if m.ValueFrom == nil || m.ValueFrom.ConfigMapKeyRef == nil {
		f.invalid("MetricsReference", "Metrics configuration is invalid: [ConfigMap reference is missing]")
		return
	}
	if ref.Name == "" || ref.Key == "" {
		f.invalid("MetricsReference", "Metrics configuration is invalid: [Name of the ConfigMap with metrics configuration is missing]")
		return
	}
	data, read := f.ConfigMaps[ref.Name]
	if !read {
		return
	}
	text, found := data[ref.Key]
	switch {
	case data == nil:
		f.missing("MetricsConfigMap", v1.ReasonInvalidConfiguration, "ConfigMap %s does not exist", ref.Name)
	case !found:
		f.fail("MetricsConfigMap", v1.ReasonInvalidConfiguration, "ConfigMap %s does not contain specified key %s", ref.Name, ref.Key)
	default:
		if err := checkExporter(text); err != nil {
			f.fail("MetricsYAML", v1.ReasonInvalidConfiguration, "Failed to parse metrics configuration (ConfigMap %s, key %s: %v)", ref.Name,
				ref.Key, err)
		}
	}
}

func (f *findings) allowList(list []string) {
	if len(list) == 0 {
		f.invalid("MetricsAllowList", "Metrics configuration is invalid: [Allowlist should contain at least one element]")
	}
	for _, pattern := range list {
		if why := wrongPattern(pattern); why != "" {
			f.invalid("MetricsAllowList", "Metrics configuration is invalid: [Invalid regex: %s, %s]", pattern, why)
		}
	}
}

// wrongPattern returns why Java refuses a regular expression; "" if no reason is known. Java knows more than Go does: lookarounds, back
// references, possessive repetitions.
func wrongPattern(pattern string) string {
	_, err := regexp.Compile(pattern)
	var wrong *syntax.Error
	if errors.As(err, &wrong) && !slices.Contains([]syntax.ErrorCode{syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape,
		syntax.ErrInvalidRepeatOp, syntax.ErrInvalidNamedCapture, syntax.ErrInvalidCharRange, syntax.ErrInvalidRepeatSize}, wrong.Code) {
		return string(wrong.Code)
	}
	return ""
}

// logging checks what is logged, by the nodes and by the topic operator.
func (f *findings) logging() {
	l := f.cluster().Logging
	if l == nil || l.Type != v1.LoggingExternal {
		f.log4j("", model.Loggers(l))
		return
	}
	if l.ValueFrom == nil || l.ValueFrom.ConfigMapKeyRef == nil {
		f.invalid("LoggingReference", "Logging configuration is invalid: [Config Map reference is missing]")
		return
	}
	ref := reference(l.ValueFrom)
	if ref.Name == "" || ref.Key == "" {
		f.invalid("LoggingReference", "Logging configuration is invalid: [Name of the Config Map with logging configuration is missing]")
		return
	}
	f.layouts("spec.kafka.logging.valueFrom (ConfigMap "+ref.Name+")", f.ConfigMaps[ref.Name][ref.Key])
	if data, read := f.ConfigMaps[ref.Name]; read && strings.TrimSpace(data[ref.Key]) == "" {
		fail := f.fail
		if data == nil {
			fail = f.missing
		}
		fail("LoggingConfigMap", v1.ReasonInvalidResource,
			"ConfigMap %s with external logging configuration does not exist or doesn't contain the configuration under the %s key.", ref.Name,
			ref.Key)
		return
	}
	f.log4j(" (ConfigMap "+ref.Name+")", model.PropertiesOf(f.ConfigMaps[ref.Name][ref.Key]))
}

// log4j refuses a configuration with which nodes would not start: running ones keep their former one, until one is restarted.
func (f *findings) log4j(where string, properties map[string]string) {
	if flaw := model.Log4jFlaw(properties); flaw != "" {
		f.invalid("LoggingKey", "Logging configuration is invalid%s, and nodes would not start with it: %s", where, flaw)
	}
}
