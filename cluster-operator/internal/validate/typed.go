package validate

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// typedField is a field of an object with a type that only some types have. Strimzi has a class for each type, and knows no other fields.
type typedField struct {
	name string
	set  bool
	// types are the types that have it.
	types []string
}

// typed names fields of objects whose type does not have them, so that they have no effect.
func (f *findings) typed() {
	for _, p := range f.Pools {
		s := p.Spec.Storage
		f.ofOtherTypes(p, "spec.storage", string(s.Type), append(volumeFields(single(s)),
			typedField{"volumes", len(s.Volumes) > 0, []string{string(v1.StorageJBOD)}}))
		if s.Type == v1.StorageJBOD {
			for i, v := range s.Volumes {
				f.ofOtherTypes(p, fmt.Sprintf("spec.storage.volumes[%d]", i), string(v.Type), volumeFields(v))
			}
		}
	}
	c := f.cluster()
	a, l := or(c.Authorization, v1.Authorization{}), or(c.Logging, v1.Logging{})
	m, r := or(c.MetricsConfig, v1.MetricsConfig{}), or(c.Rack, v1.Rack{})
	f.ofOtherTypes(nil, "spec.kafka.authorization", a.Type, append(
		fieldsOf(a.ServerAuthorization, v1.AuthorizationOPA, v1.AuthorizationKeycloak),
		typedField{"authorizerClass", a.AuthorizerClass != "", []string{v1.AuthorizationCustom}}))
	for i, l := range c.Listeners {
		if l.Authentication != nil {
			f.ofOtherTypes(nil, fmt.Sprintf("spec.kafka.listeners[%d].authentication", i), l.Authentication.Type,
				fieldsOf(l.Authentication.OAuthAuthentication, v1.AuthenticationOAuth))
		}
	}
	f.ofOtherTypes(nil, "spec.kafka.logging", l.Type, []typedField{
		{"loggers", len(l.Loggers) > 0, []string{v1.LoggingInline}}, {"valueFrom", l.ValueFrom != nil, []string{v1.LoggingExternal}}})
	f.ofOtherTypes(nil, "spec.kafka.metricsConfig", m.Type, []typedField{
		{"valueFrom", m.ValueFrom != nil, []string{v1.MetricsJMXPrometheusExporter}},
		{"values", m.Values != nil, []string{v1.MetricsStrimziReporter}}})
	f.ofOtherTypes(nil, "spec.kafka.rack", cmp.Or(r.Type, v1.RackTopologyLabel), []typedField{
		{"envVarName", r.EnvVarName != "", []string{v1.RackEnvironmentVariable}},
		{"topologyKey", r.TopologyKey != "", []string{v1.RackTopologyLabel}}})
}

// fieldsOf are the fields of a struct, which only these types have. Some are about security: no user may think that they count.
func fieldsOf(s any, types ...string) (fields []typedField) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields = append(fields, typedField{name, !v.Field(i).IsZero(), types})
	}
	return fields
}

// volumeFields are the fields of a volume.
func volumeFields(v v1.StorageVolume) []typedField {
	claim, ephemeral := []string{string(v1.StoragePersistentClaim)}, []string{string(v1.StorageEphemeral)}
	each := slices.Concat(claim, ephemeral)
	return []typedField{
		{"class", v.Class != nil, claim}, {"deleteClaim", v.DeleteClaim != nil, claim}, {"id", v.ID != nil, each},
		{"kraftMetadata", v.KraftMetadata != "", each}, {"selector", len(v.Selector) > 0, claim}, {"size", v.Size != "", claim},
		{"sizeLimit", v.SizeLimit != "", ephemeral}, {"volumeAttributesClass", v.VolumeAttributesClass != "", claim},
	}
}

// ofOtherTypes warns of the fields of an object that its type does not have, in Strimzi's words.
func (f *findings) ofOtherTypes(p *v1.KafkaNodePool, path, of string, fields []typedField) {
	var names []string
	for _, field := range fields {
		if field.set && !slices.Contains(field.types, of) {
			names = append(names, field.name)
		}
	}
	if len(names) == 0 {
		return
	}
	if p == nil {
		f.warn("UnknownFields", v1.ReasonUnknownFields, "%s", unknownFields("Kafka", f.Kafka.Namespace, f.Kafka.Name, path, names))
		return
	}
	f.warnOf(p, "UnknownFields", v1.ReasonUnknownFields, "%s", unknownFields("KafkaNodePool", p.Namespace, p.Name, path, names))
}

// unknownFields is the message about fields of an object that it does not have.
func unknownFields(kind, namespace, name, path string, fields []string) string {
	word := "an unknown property"
	if len(fields) > 1 {
		word = "unknown properties"
	}
	return fmt.Sprintf("Resource %s(%s/%s) contains object at path %s with %s: %s", kind, namespace, name, path, word,
		strings.Join(fields, ", "))
}
