package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// elsewhere are the fields whose change has an effect only together with something else, which is the value.
var elsewhere = map[string]string{
	"Kafka.Spec.ClusterCa.CertificateExpirationPolicy": "a CA that expires",
	"Kafka.Spec.ClientsCa.CertificateExpirationPolicy": "a CA that expires",
}

// TestNoFieldIsIgnoredSilently changes each field of a running Kafka and of its KafkaNodePools, one at a time. Either an object that the
// operator makes changes, or the status says why none does.
func TestNoFieldIsIgnoredSilently(t *testing.T) {
	h := newHistory(t, 1)
	objects := fullKafka()
	// Whatever is set in an object without a type would show, because the object itself does.
	spec := &objects[0].(*v1.Kafka).Spec.Kafka
	spec.Authorization = &v1.Authorization{Type: v1.AuthorizationSimple}
	for i := range spec.Listeners {
		spec.Listeners[i].Authentication = &v1.ListenerAuthentication{Type: v1.AuthenticationScramSHA512}
	}
	h.runs(objects...)
	running := maps.Clone(h.k8s.server.objects)
	before := h.visible()
	objectsBefore := objectsOf(before)
	for _, keys := range [][]facts.Key{{kafkaKey}, {{Kind: "KafkaNodePool", Name: "brokers"}, {Kind: "KafkaNodePool", Name: "controllers"}}} {
		var paths []fieldPath
		crd := schemaOf(t, keys[0].Kind)
		leaves(reflect.TypeOf(h.object(keys[0])).Elem(), fieldPath{keys[0].Kind}, func(p fieldPath) { paths = append(paths, p) })
		for _, p := range paths {
			t.Run(p.String(), func(t *testing.T) {
				h.t = t
				shows := slices.ContainsFunc(keys, func(key facts.Key) bool {
					return slices.ContainsFunc([]int{0, 1, 2, 3, 4, 5, 6}, func(variant int) bool {
						h.k8s.server.objects = maps.Clone(running)
						h.r.kafkas, h.r.nodePools = apply.Replaced{}, apply.Replaced{} // the test undid its writes
						o := copied(h.object(key))
						if !set(reflect.ValueOf(o).Elem(), crd, p[1:], variant) {
							return false
						}
						h.must(h.k8s.Update(t.Context(), o))
						h.passOver(kafkaKey.Name)
						if !reflect.DeepEqual(objectsOf(h.visible()), objectsBefore) {
							return true // the status does not matter then
						}
						h.comeUp()
						return !reflect.DeepEqual(h.visible(), before)
					})
				})
				if why := elsewhere[p.String()]; shows != (why == "") {
					t.Errorf("a change shows: %v. Why it need not: %q", shows, why)
				}
			})
		}
	}
}

func TestLoggingOfAConfigMap(t *testing.T) {
	h := newHistory(t, 1)
	objects := fullKafka()
	reference := &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "logging"}, Key: "log4j2.properties"}
	objects[0].(*v1.Kafka).Spec.Kafka.Logging = &v1.Logging{Type: v1.LoggingExternal,
		ValueFrom: &v1.ExternalConfigurationReference{ConfigMapKeyRef: reference}}
	const text = "monitorInterval=5\nrootLogger.level = WARN\n"
	h.runs(append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "logging"}, Data: map[string]string{reference.Key: text}})...)
	for _, node := range []string{"my-cluster-brokers-0", "my-cluster-controllers-1"} {
		config := h.object(facts.Key{Kind: "ConfigMap", Name: node}).(*corev1.ConfigMap)
		NewWithT(t).Expect(config.Data).To(HaveKeyWithValue("log4j2.properties", text), node)
	}
}

// runs creates objects, reconciles until nothing changes, and checks that the Kafka is ready.
func (h *history) runs(objects ...client.Object) {
	h.t.Helper()
	for _, o := range objects {
		o.SetNamespace(historyNamespace)
		h.must(h.k8s.Create(h.t.Context(), o))
	}
	h.comeUp()
	if ready := readyOf(h.object(kafkaKey).(*v1.Kafka)); ready == nil || ready.Status != v1.ConditionTrue {
		h.failf("the Kafka does not become ready: %+v", ready)
	}
}

// fullKafka returns a Kafka with a listener of each type, and its KafkaNodePools.
func fullKafka() []client.Object {
	kafka := newKafka()
	kafka.Spec.Kafka.Version = "4.3.1"
	kafka.Spec.Kafka.Listeners = append(kafka.Spec.Kafka.Listeners,
		v1.Listener{Name: "inside", Port: 9094, Type: v1.ListenerClusterIP, TLS: true, Authentication: &v1.ListenerAuthentication{Type: "tls"}},
		v1.Listener{Name: "nodes", Port: 9095, Type: v1.ListenerNodePort, TLS: true},
		v1.Listener{Name: "balanced", Port: 9096, Type: v1.ListenerLoadBalancer, TLS: true},
		v1.Listener{Name: "web", Port: 9097, Type: v1.ListenerIngress, TLS: true, Configuration: &v1.ListenerConfiguration{
			Class: "nginx", HostTemplate: "broker-{nodeId}.example.com", Bootstrap: &v1.ListenerBootstrap{Host: "kafka.example.com"}}})
	kafka.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	brokers := nodePool("brokers", 1, v1.RoleBroker)
	brokers.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{
		{Type: v1.StoragePersistentClaim, ID: new(int32(0)), Size: "1Gi"}, {Type: v1.StoragePersistentClaim, ID: new(int32(1)), Size: "1Gi"}}}
	return []client.Object{kafka, nodePool("controllers", 1, v1.RoleController), brokers}
}

// comeUp reconciles and plays the controllers around the operator until nothing changes.
func (h *history) comeUp() { h.t.Helper(); h.comeUpAs(kafkaKey.Name) }

// comeUpAs is comeUp for a Kafka of another name.
func (h *history) comeUpAs(kafka string) {
	h.t.Helper()
	h.emptyAll()
	for last, round := int64(-1), 0; last != h.k8s.server.version; round++ {
		if last = h.k8s.server.version; round == 50 {
			h.failf("in the end, each pass writes something")
		}
		h.passOver(kafka)
		h.runPods(h.k8s.server, 100)
		for _, key := range sortedKeys(h.k8s.server.objects) {
			if h.foreign[h.k8s.server][key] != nil {
				continue
			}
			switch o := copied(h.object(key)).(type) {
			case *corev1.Service:
				if o.Spec.Type == corev1.ServiceTypeLoadBalancer && len(o.Status.LoadBalancer.Ingress) == 0 {
					o.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
					h.must(h.k8s.Status().Update(h.t.Context(), o))
				}
			case *appsv1.Deployment:
				if o.Status.ObservedGeneration != o.Generation {
					o.Status = appsv1.DeploymentStatus{ObservedGeneration: o.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1}
					h.must(h.k8s.Status().Update(h.t.Context(), o))
				}
			}
		}
	}
}

// withoutTimes returns a status after it removed the times from its conditions.
func withoutTimes(status any, conditions []v1.Condition) any {
	for i := range conditions {
		conditions[i].LastTransitionTime = ""
	}
	return status
}

func (h *history) object(key facts.Key) client.Object { return h.k8s.server.objects[key].object() }

// visible returns what a user sees of the operator's objects and statuses, without the operator's own notes and times.
func (h *history) visible() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for key, o := range h.k8s.server.objects {
		var content any
		switch o := copied(o.Object).(type) {
		case *v1.Kafka:
			o.Status.ObservedGeneration = 0
			content = withoutTimes(o.Status, o.Status.Conditions)
		case *v1.KafkaNodePool:
			o.Status.ObservedGeneration = 0
			content = withoutTimes(o.Status, o.Status.Conditions)
		case *core.StrimziPodSet:
			for _, pod := range h.podsOf(o) {
				delete(pod.Annotations, model.AnnotationInputs)
				all[key.Name+"/"+pod.Name] = jsonText(pod)
			}
			maps.DeleteFunc(o.Annotations, func(key, _ string) bool {
				return strings.HasPrefix(key, "strimzi.io/") || strings.HasPrefix(key, "kafka-operators.io/")
			})
			content = []any{o.Labels, o.Annotations}
		case *appsv1.Deployment:
			content = []any{o.Labels, o.Annotations, o.Spec}
		case *corev1.Pod:
			continue // made from the StrimziPodSet
		default:
			o.SetResourceVersion("")
			o.SetGeneration(0)
			o.SetManagedFields(nil)
			annotations := maps.Clone(o.GetAnnotations())
			delete(annotations, model.AnnotationInputs)
			delete(annotations, apply.AnnotationApplied) // a hash of the inputs, too
			o.SetAnnotations(annotations)
			content = o
		}
		all[key.Kind+"/"+key.Name] = jsonText(content)
	}
	return all
}

// objectsOf returns what is visible except for the statuses of Kafkas and KafkaNodePools.
func objectsOf(visible map[string]string) map[string]string {
	objects := maps.Clone(visible)
	maps.DeleteFunc(objects, func(key, _ string) bool {
		return strings.HasPrefix(key, "Kafka/") || strings.HasPrefix(key, "KafkaNodePool/")
	})
	return objects
}

func jsonText(o any) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// fieldPath names a field by the names of the Go fields that lead to it.
type fieldPath []string

func (p fieldPath) String() string { return strings.Join(p, ".") }

// leaves calls found for each field of the specification that is not made of fields of this API itself.
func leaves(t reflect.Type, at fieldPath, found func(fieldPath)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	own := t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeOf(v1.Kafka{}).PkgPath() && t != reflect.TypeOf(v1.ConfigValue{})
	if !own {
		found(at)
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if len(at) == 1 && f.Name != "Spec" || slices.Contains(at, f.Name) && f.Type.Kind() == reflect.Pointer && f.Type.Elem() == t {
			continue
		}
		leaves(f.Type, append(slices.Clone(at), f.Name), found)
	}
}

// crdSchema is a part of a CustomResourceDefinition's schema.
type crdSchema map[string]any

func schemaOf(t testing.TB, kind string) crdSchema {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(fmt.Sprintf("../../../config/crd/bases/kafka.strimzi.io_%ss.yaml", strings.ToLower(kind)))
	g.Expect(err).NotTo(HaveOccurred())
	crd := &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal(text, &crd.Object)).To(Succeed())
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if version := v.(map[string]any); version["name"] == v1.GroupVersion.Version {
			found, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			return found
		}
	}
	t.Fatalf("%s has no version %s", kind, v1.GroupVersion.Version)
	return nil
}

func (s crdSchema) of(field reflect.StructField) crdSchema {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	found, _, _ := unstructured.NestedMap(s, "properties", name)
	return found
}

// set changes a field to another value, in all elements of the lists on its path. It reports whether there is such a value.
func set(v reflect.Value, s crdSchema, p fieldPath, variant int) bool {
	if len(p) == 0 {
		was := jsonText(v.Interface())
		if values, ok := s["enum"].([]any); ok && v.Kind() == reflect.String {
			v.SetString(values[variant%len(values)].(string))
		} else {
			fillField(v, variant, 4)
		}
		return jsonText(v.Interface()) != was
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return set(v.Elem(), s, p, variant)
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		items, _, _ := unstructured.NestedMap(s, "items")
		done := false
		for i := range v.Len() {
			done = set(v.Index(i), items, p, variant) || done
		}
		return done
	}
	field, _ := v.Type().FieldByName(p[0])
	return set(v.FieldByName(p[0]), s.of(field), p[1:], variant)
}

// fillField sets a value, and the values in it, to something.
func fillField(v reflect.Value, variant, depth int) {
	switch o := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*o = resource.MustParse("2Gi")
		return
	case *intstr.IntOrString:
		*o = intstr.FromInt32(7)
		return
	case *metav1.Time:
		*o = metav1.NewTime(time.Unix(1_700_000_000, 0))
		return
	case *runtime.RawExtension:
		o.Raw = []byte(`{}`)
		return
	case *v1.ConfigValue:
		*o = v1.ConfigValue{Raw: []byte(`"7"`)}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"x", "2Gi", "7"}[variant%3])
	case reflect.Bool:
		v.SetBool(variant%2 == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{7, 70, 7000}[variant%3])
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillField(v.Elem(), variant, depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillField(v.Index(0), variant, depth-1)
		}
	case reflect.Map:
		if depth > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillField(key, variant, depth-1)
			fillField(value, variant, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillField(v.Field(i), variant, depth-1)
			}
		}
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Uint8:
		v.SetUint(7)
	default:
		panic(fmt.Sprintf("no value of kind %s", v.Kind()))
	}
}
