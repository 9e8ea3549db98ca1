package apitest

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kafkav1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// clusterCRDs are the kinds of Kafka clusters, with the columns that kubectl must show: Strimzi's, then ours.
var clusterCRDs = map[string]struct {
	short   string
	columns []string
	scale   bool
}{
	"kafkas.kafka.strimzi.io": {short: "k", columns: []string{
		`Ready .status.conditions[?(@.type=="Ready")].status`, `Warnings .status.conditions[?(@.type=="Warning")].status`,
		"Kafka version .status.kafkaVersion", "Metadata version .status.kafkaMetadataVersion",
		"Age .metadata.creationTimestamp", `Reason .status.conditions[?(@.type=="Ready")].reason`,
	}},
	"kafkanodepools.kafka.strimzi.io": {short: "knp", scale: true, columns: []string{
		"Desired replicas .spec.replicas", "Roles .status.roles", "NodeIds .status.nodeIds",
		`Ready .status.conditions[?(@.type=="Ready")].status`,
		"Age .metadata.creationTimestamp", `Reason .status.conditions[?(@.type=="Ready")].reason`,
	}},
}

// TestClusterCRDs checks the installed CustomResourceDefinitions: names, versions, one schema for both versions, the columns, and no
// default except that of the status.
func TestClusterCRDs(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	for name, want := range clusterCRDs {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: name}, crd)).To(Succeed())
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.NonStructuralSchema {
				g.Expect(condition.Status).NotTo(Equal(apiextensionsv1.ConditionTrue), "%s: %s", name, condition.Message)
			}
		}
		g.Expect(crd.Spec.Names.ShortNames).To(Equal([]string{want.short}), name)
		g.Expect(crd.Spec.Names.Categories).To(Equal([]string{"strimzi"}), name)
		g.Expect(crd.Spec.Versions).To(HaveLen(2), name)
		for _, version := range crd.Spec.Versions {
			g.Expect(version.Served).To(BeTrue(), "%s %s", name, version.Name)
			g.Expect(version.Storage).To(Equal(version.Name == "v1"), "%s %s", name, version.Name)
			g.Expect(version.Subresources).To(HaveField("Status", Not(BeNil())), "%s %s", name, version.Name)
			g.Expect(version.Subresources.Scale != nil).To(Equal(want.scale), "%s %s", name, version.Name)
			var columns []string
			for _, c := range version.AdditionalPrinterColumns {
				columns = append(columns, c.Name+" "+c.JSONPath)
			}
			g.Expect(columns).To(Equal(want.columns), "%s %s", name, version.Name)
			same(t, name+" "+version.Name, crd.Spec.Versions[0].Schema, version.Schema)
		}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.DeepCopy()
		status := schema.Properties["status"]
		g.Expect(status.Default).To(HaveField("Raw", BeEquivalentTo(`{"observedGeneration":-1}`)),
			"%s: tools would take an object that nobody has dealt with for done", name)
		status.Default = nil
		schema.Properties["status"] = status
		g.Expect(defaulted(schema, "")).To(BeEmpty(), "%s: the server would write the default into users' objects", name)
	}
}

// defaulted returns the path of a field with a default; empty if there is none.
func defaulted(schema *apiextensionsv1.JSONSchemaProps, path string) string {
	if schema.Default != nil {
		return path
	}
	for name := range schema.Properties {
		property := schema.Properties[name]
		if found := defaulted(&property, path+"."+name); found != "" {
			return found
		}
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		return defaulted(schema.Items.Schema, path+"[]")
	}
	return ""
}

// listener is required in the cases below, which are not about it.
const listener = `"listeners":[{"name":"plain","port":9092,"type":"internal","tls":false}]`

// TestInvalidKafka creates invalid Kafkas. The message has to name the field.
func TestInvalidKafka(t *testing.T) {
	s := needServer(t)
	kafka := func(fields string) string { return fmt.Sprintf(`{"kafka":{%s,%s}}`, listener, fields) }
	listeners := func(fields string) string { return fmt.Sprintf(`{"kafka":{"listeners":[{%s}]}}`, fields) }
	refuse(t, s, "Kafka", []refusal{
		{"no kafka", `{}`, `spec.kafka: Required value`},
		{"no listeners", `{"kafka":{}}`, `spec.kafka.listeners: Required value`},
		{"listeners empty", `{"kafka":{"listeners":[]}}`, `spec.kafka.listeners in body should have at least 1 items`},
		{"unknown field", kafka(`"kafkaVersion":"4.3.1"`), `unknown field "spec.kafka.kafkaVersion"`},
		{"unknown field in an authentication",
			listeners(`"name":"a","port":9092,"type":"internal","tls":true,"authentication":{"type":"tls","kind":"x"}`),
			`unknown field "spec.kafka.listeners[0].authentication.kind"`},
		{"version as a number", kafka(`"version":4.3`), `spec.kafka.version in body must be of type string: "number"`},
		{"config as a list", kafka(`"config":[]`), `spec.kafka.config in body must be of type object: "array"`},
		{"listener without a name", listeners(`"port":9092,"type":"internal","tls":true`), `spec.kafka.listeners[0].name: Required value`},
		{"listener without a port", listeners(`"name":"a","type":"internal","tls":true`), `spec.kafka.listeners[0].port: Required value`},
		{"listener without a type", listeners(`"name":"a","port":9092,"tls":true`), `spec.kafka.listeners[0].type: Required value`},
		{"listener without tls", listeners(`"name":"a","port":9092,"type":"internal"`), `spec.kafka.listeners[0].tls: Required value`},
		{"listener's name", listeners(`"name":"a-b","port":9092,"type":"internal","tls":true`),
			`spec.kafka.listeners[0].name in body should match '^[a-z0-9]{1,11}$'`},
		{"listener's port", listeners(`"name":"a","port":9091,"type":"internal","tls":true`),
			`spec.kafka.listeners[0].port in body should be greater than or equal to 9092`},
		{"listener's type", listeners(`"name":"a","port":9092,"type":"external","tls":true`),
			`Unsupported value: "external": supported values: "internal", "route"`},
		{"authentication's type", listeners(`"name":"a","port":9092,"type":"internal","tls":true,"authentication":{"type":"plain"}`),
			`Unsupported value: "plain": supported values: "tls", "scram-sha-512", "custom", "oauth"`},
		{"half a certificate",
			listeners(`"name":"a","port":9092,"type":"internal","tls":true,"configuration":{"brokerCertChainAndKey":{"secretName":"a","key":"b"}}`),
			`spec.kafka.listeners[0].configuration.brokerCertChainAndKey.certificate: Required value`},
		{"broker without an id", listeners(`"name":"a","port":9092,"type":"internal","tls":true,"configuration":{"brokers":[{"host":"a"}]}`),
			`spec.kafka.listeners[0].configuration.brokers[0].broker: Required value`},
		{"traffic policy", listeners(`"name":"a","port":9092,"type":"internal","tls":true,"configuration":{"externalTrafficPolicy":"local"}`),
			`Unsupported value: "local": supported values: "Local", "Cluster"`},
		{"authorization without a type", kafka(`"authorization":{"superUsers":["CN=a"]}`), `spec.kafka.authorization.type: Required value`},
		{"superUsers spelled wrong", kafka(`"authorization":{"type":"simple","superusers":["CN=a"]}`),
			`unknown field "spec.kafka.authorization.superusers"`},
		{"rack without its label", kafka(`"rack":{}`), `spec.kafka.rack: Invalid value: topologyKey property is required`},
		{"rack of type topology-label without its label", kafka(`"rack":{"type":"topology-label","envVarName":"A"}`),
			`topologyKey property is required`},
		{"rack with an empty label", kafka(`"rack":{"topologyKey":""}`), `topologyKey property is required`},
		{"rack without its variable", kafka(`"rack":{"type":"environment-variable","topologyKey":"a"}`),
			`spec.kafka.rack: Invalid value: envVarName property is required`},
		{"metrics without a reference", kafka(`"metricsConfig":{"type":"jmxPrometheusExporter"}`),
			`spec.kafka.metricsConfig: Invalid value: valueFrom property is required`},
		{"heap", kafka(`"jvmOptions":{"-Xmx":"2Gi"}`), `spec.kafka.jvmOptions.-Xmx in body should match '^[0-9]+[mMgG]?$'`},
		{"-XX as a boolean", kafka(`"jvmOptions":{"-XX":{"UseG1GC":true}}`),
			`spec.kafka.jvmOptions.-XX.UseG1GC in body must be of type string: "boolean"`},
		{"probe", kafka(`"readinessProbe":{"timeoutSeconds":0}`),
			`spec.kafka.readinessProbe.timeoutSeconds in body should be greater than or equal to 1`},
		{"logging's type", kafka(`"logging":{"type":"file"}`), `Unsupported value: "file": supported values: "inline", "external"`},
		{"ratio", kafka(`"quotas":{"type":"strimzi","minAvailableRatioPerVolume":1.5}`), `should be less than or equal to 1`},
		{"disruption budget", kafka(`"template":{"podDisruptionBudget":{"maxUnavailable":-1}}`),
			`maxUnavailable in body should be greater than or equal to 0`},
		{"variable with two values",
			kafka(`"template":{"kafkaContainer":{"env":[{"name":"a","value":"b","valueFrom":{"secretKeyRef":{"name":"a","key":"b"}}}]}}`),
			`value and valueFrom exclude each other`},
		{"variable of nowhere", kafka(`"template":{"kafkaContainer":{"env":[{"name":"a","valueFrom":{}}]}}`),
			`one of secretKeyRef and configMapKeyRef is required`},
		{"validityDays", fmt.Sprintf(`{"kafka":{%s},"clusterCa":{"validityDays":0}}`, listener),
			`spec.clusterCa.validityDays in body should be greater than or equal to 1`},
		{"expiration policy", fmt.Sprintf(`{"kafka":{%s},"clusterCa":{"certificateExpirationPolicy":"renew"}}`, listener),
			`Unsupported value: "renew": supported values: "renew-certificate", "replace-key"`},
		{"windows as text", fmt.Sprintf(`{"kafka":{%s},"maintenanceTimeWindows":"* * 0-1 * * ?"}`, listener),
			`spec.maintenanceTimeWindows in body must be of type array: "string"`},
	})
}

// TestInvalidKafkaNodePool creates invalid KafkaNodePools. The message has to name the field.
func TestInvalidKafkaNodePool(t *testing.T) {
	s := needServer(t)
	refuse(t, s, "KafkaNodePool", []refusal{
		{"no replicas", `{"roles":["broker"],"storage":{"type":"ephemeral"}}`, `spec.replicas: Required value`},
		{"no roles", `{"replicas":1,"storage":{"type":"ephemeral"}}`, `spec.roles: Required value`},
		{"no storage", `{"replicas":1,"roles":["broker"]}`, `spec.storage: Required value`},
		{"negative replicas", `{"replicas":-1,"roles":["broker"],"storage":{"type":"ephemeral"}}`,
			`spec.replicas in body should be greater than or equal to 0`},
		{"unknown role", `{"replicas":1,"roles":["zookeeper"],"storage":{"type":"ephemeral"}}`,
			`Unsupported value: "zookeeper": supported values: "controller", "broker"`},
		{"storage without a type", `{"replicas":1,"roles":["broker"],"storage":{"size":"1Gi"}}`, `spec.storage.type: Required value`},
		{"unknown storage", `{"replicas":1,"roles":["broker"],"storage":{"type":"hostPath"}}`,
			`Unsupported value: "hostPath": supported values: "ephemeral", "persistent-claim", "jbod"`},
		{"jbod in jbod", `{"replicas":1,"roles":["broker"],"storage":{"type":"jbod","volumes":[{"id":0,"type":"jbod"}]}}`,
			`Unsupported value: "jbod": supported values: "ephemeral", "persistent-claim"`},
		{"negative id", `{"replicas":1,"roles":["broker"],"storage":{"type":"jbod","volumes":[{"id":-1,"type":"ephemeral"}]}}`,
			`spec.storage.volumes[0].id in body should be greater than or equal to 0`},
		{"kraftMetadata", `{"replicas":1,"roles":["broker"],"storage":{"type":"ephemeral","kraftMetadata":"mine"}}`,
			`Unsupported value: "mine": supported values: "shared"`},
		{"sizeLimit", `{"replicas":1,"roles":["broker"],"storage":{"type":"ephemeral","sizeLimit":"much"}}`,
			`spec.storage.sizeLimit in body should match`},
		{"unknown field", `{"replicas":1,"roles":["broker"],"storage":{"type":"ephemeral","deleteclaim":true}}`,
			`unknown field "spec.storage.deleteclaim"`},
	})
}

// refusal is a spec that the API server rejects, and a part of the message.
type refusal struct{ name, spec, want string }

func refuse(t *testing.T, s *server, kind string, cases []refusal) {
	t.Helper()
	for _, tc := range cases {
		for _, version := range versions {
			t.Run(tc.name+"/"+version.Version, func(t *testing.T) {
				object := decode(t, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"a","namespace":"default"},"spec":%s}`, version,
					kind, tc.spec))
				NewWithT(t).Expect(client.NewDryRunClient(s.strict()).Create(t.Context(), object)).To(MatchError(ContainSubstring(tc.want)))
			})
		}
	}
}

// TestScalePool scales a pool as kubectl and autoscalers do.
func TestScalePool(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	pool := &kafkav1.KafkaNodePool{Spec: &kafkav1.KafkaNodePoolSpec{
		Replicas: 3, Roles: []kafkav1.ProcessRole{kafkav1.RoleBroker}, Storage: kafkav1.Storage{Type: kafkav1.StorageEphemeral},
	}}
	pool.Namespace, pool.Name = s.namespace(ctx, t), "broker"
	g.Expect(s.strict().Create(ctx, pool)).To(Succeed())
	pool.Status = kafkav1.KafkaNodePoolStatus{Replicas: 3, LabelSelector: "strimzi.io/cluster=my-cluster,strimzi.io/pool-name=broker"}
	g.Expect(s.strict().Status().Update(ctx, pool)).To(Succeed())
	scale := &autoscalingv1.Scale{}
	g.Expect(s.client.SubResource("scale").Get(ctx, pool, scale)).To(Succeed())
	g.Expect(scale.Spec.Replicas).To(BeEquivalentTo(3))
	g.Expect(scale.Status).To(Equal(autoscalingv1.ScaleStatus{Replicas: 3, Selector: pool.Status.LabelSelector}))
	scale.Spec.Replicas = 0
	g.Expect(s.client.SubResource("scale").Update(ctx, pool, client.WithSubResourceBody(scale))).To(Succeed())
	g.Expect(s.client.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	g.Expect(pool.Spec.Replicas).To(BeZero())
}

// TestWhatIsNotSupportedIsStored checks that the API server stores fields that the operator does not support, so that the operator can
// report them.
func TestWhatIsNotSupportedIsStored(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	object := decode(t, fmt.Sprintf(`{"apiVersion":"kafka.strimzi.io/v1","kind":"Kafka","metadata":{"name":"a"},"spec":{"kafka":{%s},
		"cruiseControl":{"a":{"b":[1,"c"]}}}}`, listener))
	object.SetNamespace(s.namespace(ctx, t))
	g.Expect(s.strict().Create(ctx, object)).To(Succeed())
	kafka := &kafkav1.Kafka{}
	g.Expect(s.client.Get(ctx, client.ObjectKeyFromObject(object), kafka)).To(Succeed())
	same(t, "cruiseControl", json.RawMessage(`{"a":{"b":[1,"c"]}}`), kafka.Spec.CruiseControl)
}
