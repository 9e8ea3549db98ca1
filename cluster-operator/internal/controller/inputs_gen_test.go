package controller

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// generator makes random Kafkas that are valid by construction. It finds independent fields by reflection, so that it sets new ones without
// further code. Separate code sets fields that depend on each other.
type generator struct {
	material
	rand *rand.Rand
	// clusters are the ids of the Kubernetes clusters for pools; nil for a Kafka in one.
	clusters []string
	// kafka and pools are the names to use. If they are empty, the generator chooses names.
	kafka string
	pools []string
	// volumes are the additional volumes of all nodes' pods, entityVolumes those of the topic operator's pod.
	volumes, entityVolumes []string
}

// input is a random Kafka: the objects as their users write them.
type input struct {
	kafka *v1.Kafka
	pools []*v1.KafkaNodePool
	// given are the ConfigMaps and Secrets that the Kafka refers to.
	given []client.Object
}

// objects returns copies of all objects.
func (in input) objects() []client.Object {
	all := []client.Object{in.kafka.DeepCopy()}
	for _, p := range in.pools {
		all = append(all, p.DeepCopy())
	}
	for _, o := range in.given {
		all = append(all, copied(o))
	}
	return all
}

// material is shared by all inputs.
type material struct {
	// crds are the schemas of the generated kinds.
	crds map[string]crdSchema
	// certificate is the data of a Secret with a user's certificate.
	certificate map[string][]byte
}

func newMaterial(t testing.TB) material {
	h := newHistory(t, 1)
	return material{map[string]crdSchema{"Kafka": schemaOf(t, "Kafka"), "KafkaNodePool": schemaOf(t, "KafkaNodePool")},
		h.ownCertificate(h.now.Add(-time.Hour), 30*years)}
}

// The objects that Kafkas refer to.
const (
	givenConfig, givenSecret, givenCertificate = "given-config", "given-secret", "given-certificate"
	// planted is a confidential value in the Secrets of users. It must not appear in other objects, logs or Events.
	planted = "PLANTED-b7e151628aed2a6abf7158809cf4f3c7"
)

// names chooses random names. The longest ones are as long as they may be: names that the operator derives from them have at most 63
// characters.
func (g *generator) names() {
	letters := func(n int) string {
		name := make([]byte, n)
		for i := range name {
			name[i] = "abcdefghijklmnopqrstuvwxyz0123456789-"[g.rand.Intn(37)]
		}
		name[n-1] = "a9"[g.rand.Intn(2)]
		name[0] = "kzq"[g.rand.Intn(3)]
		return string(name)
	}
	length := []int{1, 2, 10, 20, 34}[g.rand.Intn(5)]
	g.kafka = letters(length)
	for i := range 1 + g.rand.Intn(4) {
		longest := 63 - len("--listener789-100") - length
		name := letters(1 + g.rand.Intn(longest-1))
		if g.maybe(3) {
			name = letters(longest)
		}
		if slices.Contains(g.pools, name) {
			name = []string{"a", "b", "c", "d"}[i]
		}
		g.pools = append(g.pools, name)
	}
}

// maybe returns true once in n times on average.
func (g *generator) maybe(n int) bool { return g.rand.Intn(n) == 0 }

func oneOf[T any](g *generator, of ...T) T { return of[g.rand.Intn(len(of))] }

// some returns a random subset of its arguments, in their order, with at least one of them.
func some[T any](g *generator, of ...T) []T {
	var list []T
	for len(list) == 0 {
		for _, o := range of {
			if g.maybe(2) {
				list = append(list, o)
			}
		}
	}
	return list
}

// next returns a random input.
func (g *generator) next() input {
	if g.kafka == "" {
		g.names()
	}
	g.volumes, g.entityVolumes = nil, nil
	if g.maybe(2) {
		g.volumes = some(g, "extra-a", "extra-b", strings.Repeat("v", 63))
	}
	if g.maybe(2) {
		g.entityVolumes = some(g, "extra-c", "extra-d")
	}
	in := input{kafka: &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Name: g.kafka, Labels: g.labels()}}, given: g.given()}
	in.kafka.Annotations = g.annotations()
	if g.clusters != nil {
		in.kafka.Annotations = with(in.kafka.Annotations, v1.AnnotationStretch, "true")
	}
	in.pools = g.nodePools()
	in.kafka.Spec = &v1.KafkaSpec{}
	g.fill(reflect.ValueOf(in.kafka.Spec).Elem(), specOf(g.crds["Kafka"]), fieldPath{"Kafka", "Spec"})
	brokers := 0
	for _, p := range in.pools {
		if slices.Contains(p.Spec.Roles, v1.RoleBroker) {
			brokers += int(p.Spec.Replicas)
		}
	}
	g.podsForMounts(in.kafka.Spec)
	in.kafka.Spec.Kafka.Listeners = g.listeners()
	in.kafka.Spec.Kafka.Config = g.config(brokers)
	return in
}

// podsForMounts sets the templates of pods if there are volumes that containers may mount.
func (g *generator) podsForMounts(s *v1.KafkaSpec) {
	if t := &s.Kafka.Template; len(g.volumes) > 0 {
		*t = cmp.Or(*t, &v1.KafkaClusterTemplate{})
		(*t).Pod = &v1.PodTemplate{}
		g.pod((*t).Pod, nil)
	}
	if len(g.entityVolumes) > 0 && s.EntityOperator != nil && s.EntityOperator.Template != nil {
		t := s.EntityOperator.Template
		t.Pod = &v1.PodTemplate{}
		g.pod(t.Pod, fieldPath{"EntityOperator"})
	}
}

func specOf(s crdSchema) crdSchema {
	properties, _ := s["properties"].(map[string]any)
	spec, _ := properties["spec"].(map[string]any)
	return spec
}

// onlyRefused are fields that only rejected types of listeners, authentication, authorization and CAs have. With another type they have no
// effect, which the status says.
var onlyRefused = []string{"OAuthAuthentication", "ServerAuthorization", "ParentRefs", "CertManager"}

// fill sets a value, with the enums of its schema. It sets each optional field of a struct with a probability of one half.
func (g *generator) fill(v reflect.Value, s crdSchema, at fieldPath) {
	if set := g.special(v, at); set {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		g.fill(v.Elem(), s, at)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		items, _ := s["items"].(map[string]any)
		g.fill(v.Index(0), items, at)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			required := !strings.Contains(f.Tag.Get("json"), "omit")
			if slices.Contains(onlyRefused, f.Name) || !required && g.maybe(2) {
				continue
			}
			g.fill(v.Field(i), s.of(f), append(slices.Clone(at), f.Name))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"some-key": "some-value"}).Convert(v.Type()))
	case reflect.String:
		text := oneOf(g, "some", "text")
		if values, ok := s["enum"].([]any); ok {
			text, _ = values[g.rand.Intn(len(values))].(string)
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(g.maybe(2))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(1 + g.rand.Intn(30)))
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic(fmt.Sprintf("%s: nothing is generated for kind %s", at, v.Kind()))
	}
}

// special sets values for which not any value of their type is valid, and reports whether v is one.
func (g *generator) special(v reflect.Value, at fieldPath) bool {
	name := at[len(at)-1]
	if text, is := plainTexts[name]; is && v.Kind() == reflect.String {
		v.SetString(oneOf(g, text...))
		return true
	}
	if v.Kind() == reflect.Pointer {
		return g.specialPointer(v, at)
	}
	switch o := v.Addr().Interface().(type) {
	case *[]v1.Listener, *map[string]v1.ConfigValue, *v1.Storage:
		// next sets them together with the fields that depend on them.
	case *v1.MetadataTemplate:
		o.Labels, o.Annotations = g.labels(), g.annotations()
	case *runtime.RawExtension:
		o.Raw = []byte(`{"any":{"thing":1}}`)
	case *v1.PodTemplate:
		g.pod(o, at)
	case *v1.ContainerTemplate:
		g.container(o, at)
	case *v1.JvmOptions:
		*o = v1.JvmOptions{XX: map[string]string{"MaxGCPauseMillis": "30", "UseG1GC": oneOf(g, "true", "false")},
			GcLoggingEnabled: new(g.maybe(2)), Xms: oneOf(g, "", "128m"), Xmx: oneOf(g, "", "1g"),
			JavaSystemProperties: []v1.SystemProperty{{Name: "some.property", Value: oneOf(g, "1", "a b", "")}}}
	case *corev1.ResourceRequirements:
		*o = g.resources()
	case *v1.CertificateAuthority:
		*o = v1.CertificateAuthority{Type: oneOf(g, "", "strimzi"), GenerateSecretOwnerReference: new(g.maybe(2)),
			GenerateCertificateAuthority: oneOf(g, nil, new(true)),
			ValidityDays:                 new(int32(100 + g.rand.Intn(1000))), RenewalDays: new(int32(1 + g.rand.Intn(99))),
			CertificateExpirationPolicy: oneOf(g, "", v1.RenewCertificate, v1.ReplaceKey)}
	case *v1.Authorization:
		*o = oneOf(g, v1.Authorization{Type: v1.AuthorizationSimple}, v1.Authorization{Type: v1.AuthorizationCustom,
			AuthorizerClass: "com.example.Authorizer", SupportsAdminAPI: new(true)})
		o.SuperUsers = oneOf(g, nil, []string{"CN=admin", "CN=other,O=some"})
	case *v1.MetricsConfig:
		*o = oneOf(g, v1.MetricsConfig{Type: v1.MetricsJMXPrometheusExporter, ValueFrom: reference("metrics.yaml")},
			v1.MetricsConfig{Type: v1.MetricsStrimziReporter, Values: &v1.MetricsReporterValues{AllowList: []string{"kafka_.*"}}})
	case *v1.Logging:
		*o = oneOf(g, v1.Logging{Type: v1.LoggingInline, Loggers: map[string]string{"rootLogger.level": "WARN"}},
			v1.Logging{Type: v1.LoggingExternal, ValueFrom: reference("log4j2.properties")})
	default:
		return false
	}
	return true
}

// specialPointer is special for pointers.
func (g *generator) specialPointer(v reflect.Value, at fieldPath) bool {
	switch o := v.Addr().Interface().(type) {
	case **v1.Rack:
		*o = &v1.Rack{Type: oneOf(g, "", v1.RackTopologyLabel), TopologyKey: "topology.kubernetes.io/zone"}
		if g.maybe(3) {
			*o = &v1.Rack{Type: v1.RackEnvironmentVariable, EnvVarName: "RACK"}
		}
	case **v1.Quotas:
		*o = &v1.Quotas{Type: oneOf(g, v1.QuotasKafka, v1.QuotasStrimzi), ProducerByteRate: new(int64(g.rand.Intn(100))),
			ConsumerByteRate: new(int64(7)), RequestPercentage: new(int32(5)), ControllerMutationRate: new(float64(2)),
			ExcludedPrincipals: []string{"User:me"}}
		if g.maybe(2) {
			(*o).MinAvailableBytesPerVolume = new(int64(1000))
		} else {
			(*o).MinAvailableRatioPerVolume = new(0.1)
		}
	case **v1.JmxOptions:
		*o = &v1.JmxOptions{Authentication: &v1.JmxAuthentication{Type: "password"}}
	case **v1.Probe:
		*o = &v1.Probe{InitialDelaySeconds: new(int32(g.rand.Intn(30))), TimeoutSeconds: new(int32(1 + g.rand.Intn(9))),
			PeriodSeconds: new(int32(1 + g.rand.Intn(9))), SuccessThreshold: new(int32(1)), FailureThreshold: new(int32(1 + g.rand.Intn(9)))}
		if at[len(at)-1] == "ReadinessProbe" {
			(*o).SuccessThreshold = new(int32(1 + g.rand.Intn(3)))
		}
	default:
		return false
	}
	return true
}

// plainTexts are valid values of string fields, by the names of the fields.
var plainTexts = map[string][]string{
	"Version": {"", "4.2.0", "4.3.1"}, "MetadataVersion": {"", "4.2-IV1", "3.9-IV0", "4.2"},
	"Image":                  {"registry.example.com/kafka:1", "registry.example.com/kafka@sha256:" + strings.Repeat("0a", 32)},
	"MaintenanceTimeWindows": {"* * 0-1 ? * SUN,MON *", "0 0 4 * * ?"}, "WatchedNamespace": {historyNamespace, "other"},
	"IPFamilies": {"IPv4"}, "IPFamilyPolicy": {"SingleStack", "PreferDualStack"}, "SecretPrefix": {"some-"},
}

func reference(key string) *v1.ExternalConfigurationReference {
	return &v1.ExternalConfigurationReference{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: givenConfig}, Key: key}}
}

func (g *generator) labels() map[string]string {
	return oneOf(g, nil, map[string]string{"team": oneOf(g, "a", "b", "")},
		map[string]string{strings.Repeat("p", 60) + ".example.com/" + strings.Repeat("k", 63): strings.Repeat("v", 63), "one": "two"})
}

func (g *generator) annotations() map[string]string {
	return oneOf(g, nil, map[string]string{"example.com/note": oneOf(g, "", "some text: \"quoted\", {braces}\nand lines", "ünicode")})
}

func (g *generator) resources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse(oneOf(g, "1Gi", "1500M"))},
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi")},
	}
}

// pod sets the template of the pods of nodes, or of the topic operator's pod.
func (g *generator) pod(t *v1.PodTemplate, at fieldPath) {
	zone := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	*t = v1.PodTemplate{
		Metadata:                      &v1.MetadataTemplate{Labels: g.labels(), Annotations: g.annotations()},
		ImagePullSecrets:              oneOf(g, nil, []corev1.LocalObjectReference{{Name: givenSecret}}),
		SecurityContext:               oneOf(g, nil, &corev1.PodSecurityContext{RunAsUser: new(int64(1000)), FSGroup: new(int64(0))}),
		TerminationGracePeriodSeconds: oneOf(g, nil, new(int64(g.rand.Intn(90)))),
		Affinity: oneOf(g, nil, &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname", LabelSelector: zone}}}},
			&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: "Exists"}}}}}}}),
		Tolerations: oneOf(g, nil, []corev1.Toleration{{Key: "dedicated", Operator: "Exists", Effect: "NoSchedule"}}),
		TopologySpreadConstraints: oneOf(g, nil, []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone",
			WhenUnsatisfiable: "ScheduleAnyway", LabelSelector: zone}}),
		PriorityClassName: oneOf(g, "", "system-cluster-critical"), SchedulerName: oneOf(g, "", "other-scheduler"),
		HostAliases:        oneOf(g, nil, []corev1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"seven.example.com"}}}),
		DNSPolicy:          oneOf(g, "", corev1.DNSClusterFirst, corev1.DNSDefault),
		DNSConfig:          oneOf(g, nil, &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.53"}}),
		EnableServiceLinks: oneOf(g, nil, new(false), new(true)), TmpDirSizeLimit: oneOf(g, "", "10Mi", "1G"),
		HostUsers: oneOf(g, nil, new(true), new(false)),
	}
	if slices.Contains(at, "EntityOperator") {
		for _, name := range g.entityVolumes {
			t.Volumes = append(t.Volumes, g.volume(name))
		}
		t.TemplatedVolumes = oneOf(g, nil, []v1.TemplatedVolume{g.templated("ignored")}) // the operator reports it as unsupported
		return
	}
	for i, name := range g.volumes {
		if i > 0 && g.maybe(2) {
			t.TemplatedVolumes = append(t.TemplatedVolumes, g.templated(name))
			continue
		}
		t.Volumes = append(t.Volumes, g.volume(name))
	}
}

// templated returns a volume with a source that differs between nodes.
func (g *generator) templated(name string) v1.TemplatedVolume {
	return oneOf(g,
		v1.TemplatedVolume{Name: name,
			Secret: &corev1.SecretVolumeSource{SecretName: oneOf(g, "own-{nodeId}", "own-{nodePodName}"), Optional: new(true)}},
		v1.TemplatedVolume{Name: name, ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "own-{nodeId}"}, Optional: new(true)}},
		v1.TemplatedVolume{Name: name, PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "given-{nodeId}"}})
}

func (g *generator) volume(name string) v1.AdditionalVolume {
	return oneOf(g,
		v1.AdditionalVolume{Name: name, Secret: &corev1.SecretVolumeSource{SecretName: givenSecret, Items: []corev1.KeyToPath{{Key: "password",
			Path: "p"}}}},
		v1.AdditionalVolume{Name: name, ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: givenConfig}}},
		v1.AdditionalVolume{Name: name, EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}},
		v1.AdditionalVolume{Name: name, PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "given-claim"}},
		v1.AdditionalVolume{Name: name, CSI: &corev1.CSIVolumeSource{Driver: "csi.example.com", ReadOnly: new(true)}},
		v1.AdditionalVolume{Name: name, Image: &corev1.ImageVolumeSource{Reference: "registry.example.com/plugins:1"}},
		v1.AdditionalVolume{Name: name, Projected: &v1.ProjectedVolume{Sources: []v1.ProjectedSource{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault", ExpirationSeconds: new(int64(600)), Path: "token"}}}}})
}

// container sets the template of a container.
func (g *generator) container(t *v1.ContainerTemplate, at fieldPath) {
	t.Env = some(g, v1.ContainerEnvVar{Name: "PLAIN", Value: oneOf(g, "1", "a b", "")},
		v1.ContainerEnvVar{Name: "FROM_SECRET", ValueFrom: &v1.ContainerEnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: givenSecret}, Key: "password"}}},
		v1.ContainerEnvVar{Name: "FROM_CONFIG", ValueFrom: &v1.ContainerEnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: givenConfig}, Key: "metrics.yaml"}}},
		v1.ContainerEnvVar{Name: "KAFKA_HEAP_OPTS", Value: "-Xmx7g"}, v1.ContainerEnvVar{Name: "RACK", Value: "here"})
	t.SecurityContext = oneOf(g, nil, &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}})
	names := g.volumes
	if slices.Contains(at, "EntityOperator") {
		names = g.entityVolumes
	}
	for i, name := range names {
		if g.maybe(2) {
			t.VolumeMounts = append(t.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: fmt.Sprintf("/mnt/%d", i), ReadOnly: g.maybe(2)})
		}
	}
}

func (g *generator) nodePools() []*v1.KafkaNodePool {
	var pools []*v1.KafkaNodePool
	for i, name := range g.pools {
		p := &v1.KafkaNodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with(g.labels(), v1.LabelCluster, g.kafka),
			Annotations: g.annotations()}, Spec: &v1.KafkaNodePoolSpec{}}
		if g.maybe(3) {
			p.Annotations = with(p.Annotations, v1.AnnotationNextNodeIDs, fmt.Sprintf("[%d-%d]", 5*i, 5*i+4))
		}
		if g.maybe(3) {
			p.Annotations = with(p.Annotations, v1.AnnotationRemoveNodeIDs, fmt.Sprintf("[%d-%d]", 5*i, 5*i+4))
		}
		if g.clusters != nil {
			p.Annotations = with(p.Annotations, v1.AnnotationTargetCluster, g.clusters[i%len(g.clusters)])
		}
		g.fill(reflect.ValueOf(p.Spec).Elem(), specOf(g.crds["KafkaNodePool"]), fieldPath{"KafkaNodePool", "Spec"})
		p.Spec.Roles = oneOf(g, []v1.ProcessRole{v1.RoleBroker}, []v1.ProcessRole{v1.RoleController},
			[]v1.ProcessRole{v1.RoleController, v1.RoleBroker})
		p.Spec.Replicas = int32(g.rand.Intn(4))
		p.Spec.Storage = g.storage()
		pools = append(pools, p)
	}
	// At least one node has each role.
	pools[0].Spec.Replicas = max(1, pools[0].Spec.Replicas)
	last := pools[len(pools)-1]
	last.Spec.Replicas = max(1, last.Spec.Replicas)
	switch {
	case len(pools) == 1:
		last.Spec.Roles = []v1.ProcessRole{v1.RoleBroker, v1.RoleController}
	case !slices.Contains(pools[0].Spec.Roles, v1.RoleBroker):
		last.Spec.Roles = []v1.ProcessRole{v1.RoleBroker}
	case !slices.Contains(pools[0].Spec.Roles, v1.RoleController):
		last.Spec.Roles = []v1.ProcessRole{v1.RoleController}
	}
	return pools
}

func (g *generator) storage() v1.Storage {
	disk := func(id int32) v1.StorageVolume {
		v := v1.StorageVolume{Type: v1.StorageEphemeral, ID: &id, SizeLimit: oneOf(g, "", "1Gi")}
		if g.maybe(3) {
			return v
		}
		v = v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: oneOf(g, "1Gi", "1500M", "2Ti"),
			Class: oneOf(g, nil, new("fast"), new("")), DeleteClaim: oneOf(g, nil, new(true), new(false)),
			VolumeAttributesClass: oneOf(g, "", "gold"),
			Selector:              oneOf(g, nil, map[string]string{"disk": "ssd"})}
		if g.maybe(4) {
			v.Overrides = []v1.StorageOverride{{Broker: new(int32(0)), Class: new("special")}}
		}
		return v
	}
	var volumes []v1.StorageVolume
	for _, id := range some(g, int32(0), 1, 2) {
		volumes = append(volumes, disk(id))
	}
	if g.maybe(2) {
		volumes[g.rand.Intn(len(volumes))].KraftMetadata = v1.KraftMetadataShared
	}
	if g.maybe(2) {
		return v1.Storage{Type: v1.StorageJBOD, Volumes: volumes}
	}
	v := volumes[0]
	return v1.Storage{Type: v.Type, ID: oneOf(g, nil, v.ID), Size: v.Size, Class: v.Class, SizeLimit: v.SizeLimit, Selector: v.Selector,
		DeleteClaim: v.DeleteClaim, VolumeAttributesClass: v.VolumeAttributesClass, Overrides: v.Overrides, KraftMetadata: v.KraftMetadata}
}

// config returns a random Kafka configuration, with keys of all types, keys of plugins, and keys that the operator ignores.
func (g *generator) config(brokers int) map[string]v1.ConfigValue {
	config := map[string]v1.ConfigValue{}
	factor := v1.ConfigValue{Raw: []byte(fmt.Sprint(min(3, brokers)))}
	all := map[string]v1.ConfigValue{
		"default.replication.factor": factor, "offsets.topic.replication.factor": factor, "transaction.state.log.replication.factor": factor,
		"transaction.state.log.min.isr": {Raw: []byte("1")}, "min.insync.replicas": {Raw: []byte("1")},
		"log.retention.ms": {Raw: []byte("6e5")}, "auto.create.topics.enable": {Raw: []byte("false")},
		"log.cleanup.policy": {Raw: []byte(`["compact","delete"]`)}, "compression.type": {Raw: []byte(`"lz4"`)},
		"com.example.plugin": {Raw: []byte(`"  leading \\ and\ttab: ü"`)}, "log.dirs": {Raw: []byte(`"/ignored"`)},
		"ssl.cipher.suites": {Raw: []byte(`"TLS_AES_256_GCM_SHA384"`)}, "metric.reporters": {Raw: []byte(`"com.example.Reporter"`)},
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if g.maybe(2) {
			config[key] = all[key]
		}
	}
	return config
}

// listeners returns a few listeners of random types.
func (g *generator) listeners() []v1.Listener {
	names := []string{"plain", "tls", "external", "a", "b2", "0", "listener789"}
	ports := map[string]int32{"plain": 9092, "tls": 9093, "external": 9094}
	types := []v1.ListenerType{v1.ListenerInternal, v1.ListenerNodePort, v1.ListenerLoadBalancer, v1.ListenerIngress}
	if g.clusters == nil {
		types = append(types, v1.ListenerClusterIP)
	}
	var list []v1.Listener
	for i, name := range some(g, names...) {
		l := v1.Listener{Name: name, Type: oneOf(g, types...), Port: ports[name], TLS: g.maybe(2)}
		if l.Port == 0 || g.maybe(3) {
			l.Port = []int32{9095, 9403, 9405, 10000, 30000, 65534, 65535}[i]
		}
		l.TLS = l.TLS || l.Type == v1.ListenerIngress
		l.Authentication = oneOf(g, nil, &v1.ListenerAuthentication{Type: v1.AuthenticationScramSHA512},
			&v1.ListenerAuthentication{Type: v1.AuthenticationCustom, SASL: new(g.maybe(2)), ListenerConfig: map[string]v1.ConfigValue{
				"sasl.enabled.mechanisms": {Raw: []byte(`"OAUTHBEARER"`)}, "connections.max.reauth.ms": {Raw: []byte("3600000")}}})
		if l.TLS && g.maybe(2) {
			l.Authentication = &v1.ListenerAuthentication{Type: v1.AuthenticationTLS}
		}
		if l.Authentication != nil && g.maybe(4) {
			l.Authentication.Secrets = []v1.SecretKey{{SecretName: givenSecret, Key: "password"}} // the operator reports it as unsupported
		}
		l.NetworkPolicyPeers = oneOf(g, nil, []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}},
			{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "client"}}}})
		if l.Type == v1.ListenerIngress || g.maybe(2) {
			l.Configuration = g.listenerConfiguration(l, i)
		}
		list = append(list, l)
	}
	return list
}

// listenerConfiguration returns a random configuration that is valid for the type of the listener.
func (g *generator) listenerConfiguration(l v1.Listener, i int) *v1.ListenerConfiguration {
	c := &v1.ListenerConfiguration{
		MaxConnections: oneOf(g, nil, new(int32(100))), MaxConnectionCreationRate: oneOf(g, nil, new(int32(10))),
		AdvertisedHostTemplate: oneOf(g, "", "{nodePodName}.example.com", "kafka-{nodeId}.example.com"),
		AdvertisedPortTemplate: oneOf(g, "", "9000 + {nodeId}", "(1+2)*3000+{nodeId}"),
	}
	b := v1.ListenerBootstrap{AlternativeNames: oneOf(g, nil, []string{"kafka.example.com", "192.0.2.99"})}
	broker := v1.ListenerBroker{Broker: int32(g.rand.Intn(3)), AdvertisedHost: oneOf(g, "", "broker.example.com"),
		AdvertisedPort: oneOf(g, nil, new(int32(12345)))}
	if l.TLS && g.maybe(3) {
		c.BrokerCertChainAndKey = &v1.CertAndKeySecret{SecretName: givenCertificate, Certificate: "tls.crt", Key: "tls.key"}
	}
	if l.Type == v1.ListenerInternal || l.Type == v1.ListenerClusterIP {
		c.UseServiceDNSDomain = oneOf(g, nil, new(true), new(false))
	}
	if l.Type != v1.ListenerInternal {
		c.IPFamilyPolicy = oneOf(g, "", corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack)
		c.IPFamilies = oneOf(g, nil, []corev1.IPFamily{corev1.IPv4Protocol})
		c.PublishNotReadyAddresses = oneOf(g, nil, new(true), new(false))
		c.PerBrokerLabelsTemplate = oneOf(g, nil, map[string]string{"example.com/broker": "n{nodeId}", "pod": "{nodePodName}"})
		c.PerBrokerAnnotationsTemplate = oneOf(g, nil, map[string]string{"example.com/host": "{nodePodName}.example.com"})
		b.Labels, b.Annotations, broker.Labels, broker.Annotations = g.labels(), g.annotations(), g.labels(), g.annotations()
	}
	switch l.Type {
	case v1.ListenerNodePort, v1.ListenerLoadBalancer:
		c.ExternalTrafficPolicy = oneOf(g, "", corev1.ServiceExternalTrafficPolicyLocal, corev1.ServiceExternalTrafficPolicyCluster)
		if g.maybe(2) {
			b.NodePort, broker.NodePort = new(int32(32000+10*i)), new(int32(32001+10*i))
		}
	}
	switch l.Type {
	case v1.ListenerNodePort:
		c.PreferredNodePortAddressType = oneOf(g, "", corev1.NodeInternalIP, corev1.NodeExternalDNS)
		b.ExternalIPs, broker.ExternalIPs = oneOf(g, nil, []string{"192.0.2.50"}), oneOf(g, nil, []string{"192.0.2.51"})
	case v1.ListenerLoadBalancer:
		c.Class, c.LoadBalancerSourceRanges = oneOf(g, "", "example.com/lb"), oneOf(g, nil, []string{"192.0.2.0/24", "10.0.0.0/8"})
		c.Finalizers = oneOf(g, nil, []string{"example.com/lb"})
		c.AllocateLoadBalancerNodePorts = oneOf(g, nil, new(true), new(b.NodePort != nil))
		c.CreateBootstrapService = oneOf(g, nil, new(true), new(false))
		b.LoadBalancerIP, broker.LoadBalancerIP = oneOf(g, "", "192.0.2.52"), oneOf(g, "", "192.0.2.53")
	case v1.ListenerIngress:
		c.Class, b.Host, c.HostTemplate = oneOf(g, "", "nginx"), "bootstrap."+l.Name+".example.com", "n{nodeId}."+l.Name+".example.com"
		broker.Host = oneOf(g, "", "own."+l.Name+".example.com")
	}
	if !reflect.DeepEqual(b, v1.ListenerBootstrap{}) {
		c.Bootstrap = &b
	}
	if g.maybe(2) {
		c.Brokers = []v1.ListenerBroker{broker}
	}
	return c
}

// given returns the objects that Kafkas refer to.
func (g *generator) given() []client.Object {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: givenConfig}, Data: map[string]string{
		"metrics.yaml": oneOf(g, "{}", "rules:\n- pattern: kafka.*\n"), "log4j2.properties": "rootLogger.level = " + oneOf(g, "INFO", "WARN")}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: givenSecret}, Data: map[string][]byte{"password": []byte(planted)}}
	certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: givenCertificate}, Data: map[string][]byte{"other": []byte(planted)}}
	for key, value := range g.certificate {
		certificate.Data[key] = value
	}
	return []client.Object{config, secret, certificate}
}
