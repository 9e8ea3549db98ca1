package validate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/kafka/configdef"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// configKey matches keys of Kafka's configuration. Other characters could have a meaning in a properties file.
var configKey = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ownAliases are the providers of configuration that the operator sets up.
var ownAliases = []string{"strimzienv", "strimzifile", "strimzidir", "strimzisecrets"}

// factors are the numbers of replicas that no cluster with fewer brokers can make.
var factors = []string{"default.replication.factor", "offsets.topic.replication.factor", "transaction.state.log.replication.factor",
	"transaction.state.log.min.isr"}

// config checks what is wanted of Kafka against what its version takes, and against the number of brokers.
func (f *findings) config() {
	f.ciphers()
	table, _ := configdef.For(f.version())
	brokers := f.count(v1.RoleBroker)
	for _, key := range slices.Sorted(maps.Keys(f.cluster().Config)) {
		if model.Forbidden(key, f.cluster().Listeners) {
			f.warn("ForbiddenConfig", v1.ReasonForbiddenConfig, "Configuration option %q is forbidden and will be ignored", key)
			continue
		}
		value, err := f.cluster().Config[key].Text()
		f.onlyStrimzi("spec.kafka.config."+key, value, f.configured)
		switch {
		case !configKey.MatchString(key):
			f.configured("ConfigKey", "%q is not a key of Kafka's configuration", key)
		case err != nil:
			f.configured("ConfigType", "%s has the value %s: %v", key, f.cluster().Config[key], err)
		case key == "config.providers":
			f.providers(value)
		case slices.Contains(factors, key) && !configdef.Refers(value):
			f.factor(key, value, brokers)
		default:
			f.values(table, key, value)
		}
	}
}

// configured is invalid with Strimzi's text for all errors of the configuration.
func (f *findings) configured(code Code, format string, args ...any) {
	f.invalid(code, "Kafka %s has invalid spec.kafka.config: %s", f.key(), fmt.Sprintf(format, args...))
}

func (f *findings) values(table *configdef.Table, key, value string) {
	defined, known := table.Key(key)
	if !known {
		f.misspelled(table, key)
		return
	}
	for _, wrong := range defined.Check(value) {
		f.configured("ConfigValue", "%s %s", key, wrong)
	}
}

// misspelled warns of a key that almost is one of Kafka's, or is one of its topics. Kafka takes each key that it does not know for one of a
// plugin, and ignores it.
func (f *findings) misspelled(table *configdef.Table, key string) {
	meant := settings.Nearest(key, slices.Values(table.Names()), 2)
	if _, ofTopics := table.Key("log." + key); ofTopics {
		meant = "log." + key
	}
	if meant != "" {
		f.warn("ConfigMisspelled", v1.ReasonInvalidConfiguration,
			"Configuration option %q is not one of Kafka's brokers, which ignore it: did you mean %s?", key, meant)
	}
}

func (f *findings) providers(value string) {
	for _, alias := range settings.List(value) {
		if slices.Contains(ownAliases, alias) {
			f.fail("ConfigProvider", v1.ReasonInvalidConfiguration,
				"config.provider %s not permitted as it reserved for Strimzi. Not permitted aliases: [%s]",
				alias, strings.Join(ownAliases, ", "))
		}
	}
}

func (f *findings) factor(key, value string, brokers int) {
	n, err := strconv.Atoi(strings.TrimSpace(value))
	switch {
	case err != nil:
		f.invalid("ReplicationNoNumber", "Property %s should be an integer", key)
	case brokers == 1 && n > 1:
		f.invalid("ReplicationTooHigh", "Kafka configuration option '%s' should be set to 1 because this cluster has only 1 Kafka broker(s).",
			key)
	case brokers > 0 && n > brokers:
		f.invalid("ReplicationTooHigh",
			"Kafka configuration option '%s' should be set to %d or less because this cluster has only %d Kafka broker(s).", key, brokers, brokers)
	}
}

// quotas checks limits that exclude each other, or that are set in two places.
func (f *findings) quotas() {
	q := f.cluster().Quotas
	if q == nil {
		return
	}
	if q.MinAvailableBytesPerVolume != nil && q.MinAvailableRatioPerVolume != nil {
		f.invalid("QuotasExclusive",
			"You cannot configure both `minAvailableBytesPerVolume` and `minAvailableRatioPerVolume`, they are mutually exclusive.")
	}
	if _, set := f.cluster().Config["client.quota.callback.class"]; set {
		f.warn("QuotasTwice", v1.ReasonQuotasPlugin,
			"Quotas plugin class cannot be configured in .spec.kafka.config, when .spec.kafka.quotas contains configuration of `%s` plugin. "+
				"The plugin from .spec.kafka.config is used: .spec.kafka.quotas has no effect", q.Type)
	}
}
