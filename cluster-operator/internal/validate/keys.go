package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// setByOperator is why something of a user's has no effect.
const setByOperator = "the operator sets it"

// keys names keys of maps, and entries of lists, that have no effect, and refuses keys of Kafka's configuration that are none. Options of
// Java (-XX) and of plugins are for them to judge.
func (f *findings) keys() {
	own := or(f.cluster().Template, v1.KafkaClusterTemplate{})
	f.javaOptions(nil, "spec.kafka.jvmOptions", f.cluster().JvmOptions)
	f.heaps()
	var ownVariables []string
	for _, p := range f.Pools {
		f.javaOptions(p, "spec.jvmOptions", p.Spec.JvmOptions)
		set := model.OwnVariables(f.Kafka, p, f.Exporter)
		if t := or(p.Spec.Template, v1.KafkaNodePoolTemplate{}).KafkaContainer; t != nil {
			f.variables(p, "spec.template.kafkaContainer", t, set)
		} else {
			ownVariables = append(ownVariables, set...)
		}
	}
	f.variables(nil, "spec.kafka.template.kafkaContainer", own.KafkaContainer, ownVariables)
	entity := or(or(f.Kafka.Spec.EntityOperator, v1.EntityOperatorSpec{}).Template, v1.EntityOperatorTemplate{})
	f.variables(nil, "spec.entityOperator.template.topicOperatorContainer", entity.TopicOperatorContainer,
		model.OwnTopicOperatorVariables(f.Kafka))
	f.loggers()
	for i, l := range f.cluster().Listeners {
		path := fmt.Sprintf("spec.kafka.listeners[%d]", i)
		f.listenerConfig(path+".authentication", l)
		f.listenerLabels(path+".configuration", l)
	}
}

// javaOptions names options that others override.
func (f *findings) javaOptions(p *v1.KafkaNodePool, path string, o *v1.JvmOptions) {
	if o == nil {
		return
	}
	for _, key := range []string{"InitialRAMPercentage", "MaxRAMPercentage"} {
		_, set := o.XX[key]
		f.ignoredIn(p, unsupportedField{path + ".-XX." + key, set && o.Xmx != "", "-Xmx sizes the heap"})
	}
	_, initial := o.XX["InitialRAMPercentage"]
	f.ignoredIn(p, unsupportedField{path + ".-XX.InitialRAMPercentage", initial && o.Xms != "" && o.Xmx == "",
		"-Xms sizes the heap to begin with"})
	for i, property := range o.JavaSystemProperties {
		field := unsupportedField{path: fmt.Sprintf("%s.javaSystemProperties[%d] (%s)", path, i, property.Name)}
		switch {
		case slices.Contains(model.OwnProperties, property.Name):
			field.set, field.instead = true, setByOperator
		case slices.ContainsFunc(o.JavaSystemProperties[i+1:], func(later v1.SystemProperty) bool { return later.Name == property.Name }):
			field.set, field.instead = true, "a later entry sets it"
		}
		f.ignoredIn(p, field)
	}
}

// switches names annotations of the Kafka that are neither on nor off: one that is not paused, although it seems to be, is changed.
func (f *findings) switches() {
	for _, key := range []string{v1.AnnotationPauseReconciliation, v1.AnnotationSkipScaleDownCheck, v1.AnnotationApplyUpdates} {
		if value := f.Kafka.Annotations[key]; value != "" && !slices.Contains([]string{"true", "false"}, strings.ToLower(value)) {
			f.warn("Switch", "InvalidAnnotation", "The annotation %s: %q of Kafka(%s) has no effect: it must be \"true\" or \"false\"", key, value,
				f.key())
		}
	}
}

// heaps refuses heaps with which Java does not start. The Kafka's options are for pools that have none.
func (f *findings) heaps() {
	shared := false
	for _, p := range f.Pools {
		if p.Spec.JvmOptions != nil {
			f.heap("spec.jvmOptions of KafkaNodePool "+p.Name, *p.Spec.JvmOptions)
		} else {
			shared = true
		}
	}
	if shared {
		f.heap("spec.kafka.jvmOptions", or(f.cluster().JvmOptions, v1.JvmOptions{}))
	}
}

func (f *findings) heap(path string, o v1.JvmOptions) {
	if o.Xmx != "" && model.HeapSize(o.Xms) > model.HeapSize(o.Xmx) {
		f.invalid("HeapTooSmall", "-Xms %s is more than -Xmx %s in %s, and Java does not start with that: make -Xmx larger or -Xms smaller",
			o.Xms, o.Xmx, path)
	}
}

// variables names environment variables of a template that the operator sets.
func (f *findings) variables(p *v1.KafkaNodePool, path string, t *v1.ContainerTemplate, own []string) {
	for i, e := range or(t, v1.ContainerTemplate{}).Env {
		f.ignoredIn(p, unsupportedField{fmt.Sprintf("%s.env[%d] (%s)", path, i, e.Name), slices.Contains(own, e.Name), setByOperator})
	}
}

// loggers names keys that log4j2 does not read, such as those of log4j 1, and what only Strimzi's images have.
func (f *findings) loggers() {
	l := or(f.cluster().Logging, v1.Logging{})
	if l.Type == v1.LoggingExternal {
		return
	}
	read := model.Loggers(&l)
	for _, key := range slices.Sorted(maps.Keys(l.Loggers)) {
		_, is := read[key]
		f.ignored(unsupportedField{"spec.kafka.logging.loggers." + key, !is,
			"Kafka uses log4j2, with keys such as rootLogger.level, logger.kafka.name and logger.kafka.level"})
		f.layouts("spec.kafka.logging.loggers."+key, key+"="+l.Loggers[key])
	}
}

// listenerConfig checks what is said of a listener in Kafka's own words.
func (f *findings) listenerConfig(path string, l v1.Listener) {
	a := or(l.Authentication, v1.ListenerAuthentication{})
	if a.Type != v1.AuthenticationCustom {
		const instead = "it is for authentication of type custom"
		f.ignored(unsupportedField{path + ".listenerConfig", len(a.ListenerConfig) > 0, instead})
		f.ignored(unsupportedField{path + ".sasl", a.SASL != nil, instead})
		return
	}
	for _, key := range slices.Sorted(maps.Keys(a.ListenerConfig)) {
		text, err := a.ListenerConfig[key].Text()
		f.onlyStrimzi(path+".listenerConfig."+key, text, f.listener)
		switch {
		case !configKey.MatchString(key):
			f.listener("ListenerConfigKey", "%q in the listenerConfig of listener %s is not a key of Kafka's configuration", key, l.Name)
		case err != nil:
			f.listener("ListenerConfigType", "%s in the listenerConfig of listener %s has the value %s: %v", key, l.Name,
				a.ListenerConfig[key], err)
		case model.ForbiddenOfListener(key):
			f.warn("ForbiddenConfig", v1.ReasonForbiddenConfig,
				"Configuration option %q in the listenerConfig of listener %s is forbidden and will be ignored", key, l.Name)
		}
	}
}

// listenerLabels names labels that the Services and Ingresses of a listener can't have.
func (f *findings) listenerLabels(path string, l v1.Listener) {
	c := or(l.Configuration, v1.ListenerConfiguration{})
	all := map[string]map[string]string{
		path + ".bootstrap.labels": or(c.Bootstrap, v1.ListenerBootstrap{}).Labels, path + ".perBrokerLabelsTemplate": c.PerBrokerLabelsTemplate,
	}
	for i, b := range c.Brokers {
		all[fmt.Sprintf("%s.brokers[%d].labels", path, i)] = b.Labels
	}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		for _, key := range slices.Sorted(maps.Keys(all[at])) {
			f.ignored(unsupportedField{at + "." + key, model.OwnListenerLabel(key), setByOperator})
		}
	}
}
