package validate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

var volumeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// takenVolumes are the names of the volumes that the operator puts into pods of nodes, and of those that Strimzi does.
var takenVolumes = []string{
	"strimzi-tmp", "kafka-metrics-and-logging", "certificates", "placement", "data", "ready-files", "rack-volume", "kube-api-access",
	"strimzi-jmx-exporter",
}

// taken reports whether a node has a volume of that name.
func taken(name string) bool {
	return slices.Contains(takenVolumes, name) || dataVolume.MatchString(name)
}

// dataVolume is the name of a volume of jbod.
var dataVolume = regexp.MustCompile(`^data-[0-9]+$`)

// templates checks what the user adds to generated objects. A pool's template counts instead of the Kafka object's, key by key.
func (f *findings) templates() {
	of := "Kafka " + f.Kafka.Name
	f.metadata(templatePart{of: of, path: "spec.kafka.template"}, reflect.ValueOf(f.cluster().Template))
	f.metadata(templatePart{of: of, path: "spec.entityOperator.template"},
		reflect.ValueOf(or(f.Kafka.Spec.EntityOperator, v1.EntityOperatorSpec{}).Template))
	f.entityVolumes()
	own := or(f.cluster().Template, v1.KafkaClusterTemplate{})
	for _, p := range f.Pools {
		f.metadata(templatePart{"KafkaNodePool " + p.Name, "spec.template", p}, reflect.ValueOf(p.Spec.Template))
		t := or(p.Spec.Template, v1.KafkaNodePoolTemplate{})
		of := "KafkaNodePool " + p.Name
		names := f.podVolumes(of, taken, *cmp.Or(t.Pod, own.Pod, &v1.PodTemplate{}))
		replaced := replacedVolumes(t.Pod, own.Pod)
		f.mounts(of, "Kafka", names, replaced, cmp.Or(t.KafkaContainer, own.KafkaContainer, &v1.ContainerTemplate{}).VolumeMounts)
		if f.exports() {
			f.mounts(of, "init", names, replaced, cmp.Or(t.InitContainer, own.InitContainer, &v1.ContainerTemplate{}).VolumeMounts)
		}
	}
}

// entityVolumes checks the additional volumes of the topic operator's pod, which has no others.
func (f *findings) entityVolumes() {
	if !model.WantsTopicOperator(f.Kafka) {
		return
	}
	t := or(f.Kafka.Spec.EntityOperator.Template, v1.EntityOperatorTemplate{})
	pod := or(t.Pod, v1.PodTemplate{})
	pod.TemplatedVolumes = nil // unsupported there
	const of = "the entity operator"
	names := f.podVolumes(of, func(string) bool { return false }, pod)
	f.mounts(of, "topic operator", names, nil, or(t.TopicOperatorContainer, v1.ContainerTemplate{}).VolumeMounts)
}

// templatePart is a part of a template: of which object it is, and where it is there. pool is nil for the Kafka's.
type templatePart struct {
	of, path string
	pool     *v1.KafkaNodePool
}

// metadata finds labels and annotations that users must not set, in all parts of a template.
func (f *findings) metadata(at templatePart, t reflect.Value) {
	if t.Kind() != reflect.Pointer || t.IsNil() {
		return
	}
	if m, is := t.Interface().(*v1.MetadataTemplate); is {
		f.metadataKeys(at, m)
		return
	}
	if t = t.Elem(); t.Kind() != reflect.Struct || !strings.HasSuffix(t.Type().PkgPath(), "/api/kafka/v1") {
		return
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Type().Field(i).Tag.Get("json"), ",")
		f.metadata(templatePart{at.of, at.path + "." + name, at.pool}, t.Field(i))
	}
}

// overwritten are the annotations that the operator writes over those of a template, by the part of the template.
var overwritten = map[string][]string{
	"spec.kafka.template.pod.metadata":    {core.AnnotationConfigHash, model.AnnotationInputs},
	"spec.template.pod.metadata":          {core.AnnotationConfigHash, model.AnnotationInputs},
	"spec.kafka.template.podSet.metadata": {core.AnnotationRolledBy, model.AnnotationContents},
	"spec.template.podSet.metadata":       {core.AnnotationRolledBy, model.AnnotationContents},
}

// metadataKeys refuses what Strimzi refuses, and names what has no effect.
func (f *findings) metadataKeys(at templatePart, m *v1.MetadataTemplate) {
	var reserved []string
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		if strings.HasPrefix(key, "strimzi.io/") {
			reserved = append(reserved, key)
			continue
		}
		f.ignoredIn(at.pool, unsupportedField{at.path + ".labels." + key, model.OwnLabel(key), setByOperator})
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		if strings.HasPrefix(key, "strimzi.io/") {
			reserved = append(reserved, key)
			continue
		}
		f.ignoredIn(at.pool, unsupportedField{at.path + ".annotations." + key, slices.Contains(overwritten[at.path], key), setByOperator})
	}
	if len(reserved) > 0 {
		f.invalid("TemplateReserved", "User provided labels or annotations includes a Strimzi annotation: [%s] (template of %s)",
			strings.Join(reserved, ", "), at.of)
	}
	if bad := badMetadata(at.path, m.Labels, m.Annotations, model.OwnLabel); len(bad) > 0 {
		f.invalid("TemplateMetadata", "Kubernetes would refuse the metadata in the template of %s: %s", at.of, join(bad))
	}
}

// podVolumes checks the additional volumes of pods, and returns their names. Other volumes of these pods have the taken names.
func (f *findings) podVolumes(of string, taken func(string) bool, pod v1.PodTemplate) (names []string) {
	for _, v := range pod.Volumes {
		names = append(names, v.Name)
		f.sources(of, v.Name, v.Secret != nil, v.ConfigMap != nil, v.EmptyDir != nil, v.PersistentVolumeClaim != nil, v.CSI != nil,
			v.Image != nil, v.Projected != nil)
	}
	for _, v := range pod.TemplatedVolumes {
		names = append(names, v.Name)
		f.sources(of, v.Name, v.Secret != nil, v.ConfigMap != nil, v.PersistentVolumeClaim != nil)
	}
	var bad, reserved, twice []string
	for i, name := range names {
		switch {
		case !volumeName.MatchString(name):
			bad = append(bad, name)
		case taken(name):
			reserved = append(reserved, name)
		case slices.Contains(names[:i], name):
			twice = append(twice, name)
		}
	}
	if len(bad) > 0 {
		f.invalid("VolumeName", "Volume names [%s] are invalid and do not match the pattern %s (%s)", strings.Join(bad, ", "), volumeName, of)
	}
	if len(reserved) > 0 {
		f.invalid("VolumeNameReserved", "Duplicate volume names found in additional volumes: [%s] (%s). Volumes of the operator's have these "+
			"names: use others in the volumes and volumeMounts of the template", strings.Join(reserved, ", "), of)
	}
	if len(twice) > 0 {
		f.invalid("VolumeNameTwice", "Duplicate volume names found in additional volumes: [%s] (%s)", strings.Join(twice, ", "), of)
	}
	return names
}

// replacedVolumes returns the names of volumes in the template of pods of the Kafka that a pool lacks, because it has a template of pods
// of its own.
func replacedVolumes(pool, kafka *v1.PodTemplate) (names []string) {
	if pool == nil || kafka == nil {
		return nil
	}
	for _, v := range kafka.Volumes {
		names = append(names, v.Name)
	}
	for _, v := range kafka.TemplatedVolumes {
		names = append(names, v.Name)
	}
	return names
}

// mounts checks where a container mounts additional volumes. The pod has those with names, and lacks those that were replaced.
func (f *findings) mounts(of, container string, names, replaced []string, mounts []corev1.VolumeMount) {
	for _, m := range mounts {
		if clean := path.Clean(m.MountPath); clean != "/mnt" && !strings.HasPrefix(clean, "/mnt/") {
			f.invalid("MountPath", "Forbidden path found in additional volumes. Should start with /mnt (%s of volume %s, %s)",
				m.MountPath, m.Name, of)
		}
		if !slices.Contains(names, m.Name) {
			why := ""
			if slices.Contains(replaced, m.Name) {
				why = ": template.pod of the pool replaces that of the Kafka as a whole"
			}
			f.invalid("MountOfNothing",
				"The %s container of %s mounts a volume %s, which is not in the volumes of the pod's template%s", container, of, m.Name, why)
		}
	}
}

func (f *findings) sources(of, name string, set ...bool) {
	if n := len(slices.DeleteFunc(set, func(set bool) bool { return !set })); n != 1 {
		f.invalid("VolumeSource", "Volume %s in the template of %s has %s: give it one", name, of, plural(n))
	}
}

func plural(n int) string {
	if n == 0 {
		return "no source"
	}
	return fmt.Sprintf("%d sources", n)
}
