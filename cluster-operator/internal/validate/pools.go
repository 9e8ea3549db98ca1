package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

var (
	// serviceName matches names of Services. Kubernetes before 1.34 lets none begin with a digit, later ones do where that is switched on.
	serviceName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	// dnsLabel matches names of hosts.
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// maxLabel is how long the name of a host, or the value of a label, can be.
const maxLabel = 63

// names checks what the names of objects make of the names of pods and Services, and the labels that are copied to them.
func (f *findings) names() {
	if !serviceName.MatchString(f.Kafka.Name) {
		f.invalid("NameInvalid", "The names of Services begin with the name of Kafka %s: begin it with a lower-case letter, and use lower-case "+
			"letters, digits and '-' only, without dots", f.key())
	}
	f.ownLabels("Kafka", f.Kafka.Name, f.Kafka.Labels)
	for _, p := range f.Pools {
		f.ownLabels("KafkaNodePool", p.Name, p.Labels)
		if !dnsLabel.MatchString(p.Name) {
			f.invalid("NameInvalid",
				"The name of KafkaNodePool %s/%s is part of the names of hosts: use lower-case letters, digits and '-' only, without dots",
				p.Namespace, p.Name)
		}
		// Ids have up to 10 digits, but mostly few: a name that is too long for three digits is rejected.
		if pod := fmt.Sprintf("%s-%s-100", f.Kafka.Name, p.Name); len(pod) > maxLabel {
			f.invalid("NameTooLong",
				"The names of the pods of KafkaNodePool %s would have %d characters (%s), and hosts can have %d: use a shorter name for the Kafka or "+
					"the KafkaNodePool",
				p.Name, len(pod), pod, maxLabel)
		}
	}
	f.serviceNames()
}

// serviceNames checks the names of the Services. Only ids that there are count, so that nothing is refused that runs.
func (f *findings) serviceNames() {
	check := func(of, name, shorter string) {
		if len(name) > maxLabel {
			f.invalid("NameTooLong", "The name of %s would have %d characters (%s), and it can have %d: use a shorter name for %s", of, len(name),
				name, maxLabel, shorter)
		}
	}
	check("the bootstrap Service", model.BootstrapService(f.Kafka.Name), "the Kafka")
	highest := int32(0)
	for _, id := range f.Brokers {
		highest = max(highest, id)
	}
	for _, l := range f.cluster().Listeners {
		if l.Type == v1.ListenerInternal {
			continue
		}
		check("the bootstrap Service of listener "+l.Name, model.ListenerBootstrapService(f.Kafka.Name, l), "the Kafka or the listener")
		for _, p := range f.Pools {
			if slices.Contains(p.Spec.Roles, v1.RoleBroker) {
				check(fmt.Sprintf("a broker's Service of listener %s in KafkaNodePool %s", l.Name, p.Name),
					model.ListenerNodeService(f.Kafka.Name, l, topology.Node{Pool: p.Name, ID: highest}), "the Kafka, the KafkaNodePool or the listener")
			}
		}
	}
}

func (f *findings) ownLabels(kind, name string, labels map[string]string) {
	for key := range labels {
		if strings.HasPrefix(key, "strimzi.io/") && key != v1.LabelCluster {
			f.invalid("ReservedLabel",
				"Labels starting with strimzi.io/ are not allowed in Custom Resources, such labels should be removed. (%s %s)", kind, name)
			return
		}
	}
}

// key is the Kafka object's namespace and name.
func (f *findings) key() string { return f.Kafka.Namespace + "/" + f.Kafka.Name }

// pools checks that the pools make a cluster.
func (f *findings) pools() {
	if len(f.Pools) == 0 {
		f.fail("NoPools", v1.ReasonInvalidConfiguration,
			"No KafkaNodePools found for Kafka cluster %[1]s: create one in namespace %[2]s with the label %[3]s: %[1]s, or label one there",
			f.Kafka.Name, f.Kafka.Namespace, v1.LabelCluster)
		return
	}
	nodes, names := 0, []string(nil)
	for _, p := range f.Pools {
		nodes, names = nodes+int(p.Spec.Replicas), append(names, p.Name)
	}
	if nodes == 0 {
		f.invalid("NoReplicas", "KafkaNodePools are enabled, but KafkaNodePools for Kafka cluster %s either don't exist or have 0 replicas. "+
			"Please make sure at least one KafkaNodePool resource exists, is in the same namespace as the Kafka resource, has at least one "+
			"replica, "+
			"and has the strimzi.io/cluster label set to the name of the Kafka resource. (KafkaNodePools with 0 replicas: %s)", f.Kafka.Name,
			strings.Join(names, ", "))
		return
	}
	var wrong []Problem
	add := func(code Code, format string, args ...any) {
		wrong = append(wrong, Problem{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if f.count(v1.RoleController) == 0 {
		add("NoController", "At least one KafkaNodePool with the controller role and at least one replica is required when KRaft mode is enabled")
	}
	if f.count(v1.RoleBroker) == 0 {
		add("NoBroker", "At least one KafkaNodePool with the broker role and at least one replica is required when KRaft mode is enabled")
	}
	for _, p := range f.Pools {
		if len(p.Spec.Roles) == 0 {
			add("NoRoles", "KafkaNodePool %s has no role defined in .spec.roles", p.Name)
		}
		if f.severalDisks(p) {
			add("DisksNeedMetadata",
				"Using more than one disk in a JBOD storage in KRaft mode is supported only with Apache Kafka 3.7.0 or newer and metadata version "+
					"3.7-IV2 or newer "+
					"(in KafkaNodePool %s)", p.Name)
		}
	}
	for _, w := range wrong {
		f.invalid(w.Code, "The Kafka cluster %s is invalid: [%s]", f.Kafka.Name, w.Message)
	}
}

// severalDisks reports whether a pool has brokers with several volumes, which the metadata version does not allow yet.
func (f *findings) severalDisks(p *v1.KafkaNodePool) bool {
	if !slices.Contains(p.Spec.Roles, v1.RoleBroker) || len(volumes(p.Spec.Storage)) < 2 {
		return false
	}
	metadata, known := f.metadataWanted()
	oldest, err := kafka.ParseMetadataVersion(jbodMetadata)
	return known && err == nil && metadata < oldest
}

// resources checks CPU and memory of the pools and of the topic operator.
func (f *findings) resources() {
	for _, p := range f.Pools {
		f.resource("KafkaNodePool.spec.resources", p.Spec.Resources)
	}
	f.resource(".spec.kafka.resources", f.cluster().Resources)
	if e := f.Kafka.Spec.EntityOperator; e != nil && e.TopicOperator != nil {
		f.resource(".spec.entityOperator.topicOperator.resources", e.TopicOperator.Resources)
	}
}

func (f *findings) resource(path string, r *corev1.ResourceRequirements) {
	if r == nil {
		return
	}
	var wrong []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, requested := r.Requests[name]
		limit, limited := r.Limits[name]
		if requested && request.Sign() <= 0 {
			wrong = append(wrong, fmt.Sprintf("%s %s request must be > zero", path, name))
		}
		if limited && limit.Sign() <= 0 {
			wrong = append(wrong, fmt.Sprintf("%s %s limit must be > zero", path, name))
		}
		if requested && limited && request.Cmp(limit) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s %s request must be <= limit", path, name))
		}
	}
	if len(wrong) > 0 {
		f.invalid("ResourcesInvalid", "[%s]", strings.Join(wrong, ", "))
	}
}
