package validate

import (
	"regexp"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// strimziSecrets begins a reference to a Secret by a provider that only Strimzi's images have.
const strimziSecrets = "${strimzisecrets:"

// secretsAdvice is what users of that provider do here.
const secretsAdvice = "%s refers to a Secret by " + strimziSecrets + "...}, for which nodes have neither the provider nor the rights: " +
	"give them the key as an environment variable (template.kafkaContainer.env with valueFrom.secretKeyRef) and refer to it by " +
	"${strimzienv:<name>}"

// onlyStrimzi checks a value of Kafka's configuration, which is the field at path, for what only Strimzi's images have. Refuse is how the
// caller refuses.
func (f *findings) onlyStrimzi(path, value string, refuse func(code Code, format string, args ...any)) {
	if strings.Contains(value, strimziSecrets) {
		refuse("StrimziSecrets", secretsAdvice, path)
	}
	f.classes(path, value)
}

// ownClasses reports whether the user takes care of an image or of more classes.
func (f *findings) ownClasses() bool { return f.cluster().Image != "" || f.addsClasses() }

// packages begin the names of classes that only Strimzi's images have.
var packages = []string{"io.strimzi.", "com.linkedin.kafka.cruisecontrol.metricsreporter."}

// classes warns of Strimzi's classes.
func (f *findings) classes(path, value string) {
	if f.ownClasses() {
		return
	}
	for _, class := range settings.List(value) {
		if slices.ContainsFunc(packages, func(prefix string) bool { return strings.HasPrefix(class, prefix) }) {
			f.warn("ClassOfStrimzi", v1.ReasonUnsupportedField, "Resource Kafka(%s) names the class %s in the field %s: Strimzi's images have it, "+
				"and Apache Kafka's do not, with which nodes would not start. Use an image that has it (.spec.kafka.image), or mount its jars and "+
				"add them to CLASSPATH in template.kafkaContainer.env", f.key(), class, path)
		}
	}
}

// jsonLayout finds the layout that only Strimzi's images have in a configuration of log4j2. It ignores case.
var jsonLayout = regexp.MustCompile(`(?mi)^[ \t\f]*([^#!\s]\S*\.layout\.type)[ \t\f]*[=: \t\f][ \t\f]*JsonTemplateLayout[ \t\f]*\r?$`)

// layouts warns of that layout in a text, which the field at path has. Log4j then makes no appender.
func (f *findings) layouts(path, text string) {
	if f.ownClasses() || !jsonLayout.MatchString(text) {
		return
	}
	f.warn("LayoutOfStrimzi", v1.ReasonUnsupportedField, "Resource Kafka(%s) names the layout JsonTemplateLayout in the field %s: Strimzi's "+
		"images have it, and Apache Kafka's do not, with which nodes log nothing. Use JsonLayout or PatternLayout, or an image that has it "+
		"(.spec.kafka.image), or mount the jar of log4j-layout-template-json and add it to CLASSPATH in template.kafkaContainer.env",
		f.key(), path)
}

// addsClasses reports whether a template adds to the classes of nodes.
func (f *findings) addsClasses() bool {
	templates := []*v1.ContainerTemplate{or(f.cluster().Template, v1.KafkaClusterTemplate{}).KafkaContainer}
	for _, p := range f.Pools {
		templates = append(templates, or(p.Spec.Template, v1.KafkaNodePoolTemplate{}).KafkaContainer)
	}
	return slices.ContainsFunc(templates, func(t *v1.ContainerTemplate) bool {
		return slices.ContainsFunc(or(t, v1.ContainerTemplate{}).Env, func(e v1.ContainerEnvVar) bool { return e.Name == "CLASSPATH" })
	})
}
