package validate

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// good is a cluster without errors and warnings.
const good = `
kafka:
  metadata: {namespace: ns, name: c}
  spec:
    kafka:
      version: 4.3.1
      metadataVersion: 4.3-IV0
      listeners:
        - {name: tls, port: 9093, type: internal, tls: true}
      config: {default.replication.factor: 3, min.insync.replicas: 2}
pools:
  broker:
    metadata: {namespace: ns, name: broker, labels: {strimzi.io/cluster: c}}
    spec: {replicas: 3, roles: [broker], storage: {type: persistent-claim, size: 10Gi}}
  controller:
    metadata: {namespace: ns, name: controller, labels: {strimzi.io/cluster: c}}
    spec: {replicas: 3, roles: [controller], storage: {type: persistent-claim, size: 10Gi}}
`

// world holds the objects of a test, under the names that the changes in YAML use.
type world struct {
	Kafka *v1.Kafka                    `json:"kafka"`
	Pools map[string]*v1.KafkaNodePool `json:"pools"`
}

// input returns the good cluster with changes: maps are merged, null removes a value, and everything else is replaced.
func input(t *testing.T, changes string) Input {
	t.Helper()
	g := NewWithT(t)
	var objects, changed map[string]any
	g.Expect(yaml.Unmarshal([]byte(good), &objects)).To(Succeed())
	g.Expect(yaml.Unmarshal([]byte(changes), &changed)).To(Succeed())
	merge(objects, changed)
	text, err := json.Marshal(objects)
	g.Expect(err).NotTo(HaveOccurred())
	var w world
	g.Expect(json.Unmarshal(text, &w)).To(Succeed())
	return Input{
		Kafka: w.Kafka, Pools: slices.Collect(maps.Values(w.Pools)), Versions: []string{"3.9.1", "4.2.0", "4.2.1", "4.3.0", "4.3.1"},
		Version: "4.3.1",
		Brokers: []int32{0, 1, 2},
	}
}

func merge(into, changes map[string]any) {
	for key, value := range changes {
		inner, isMap := value.(map[string]any)
		existing, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(existing, inner)
		default:
			into[key] = value
		}
	}
}

// wrong is a manifest with one problem, and the message for its user.
type wrong struct {
	name string
	// changes add the problem to the good cluster.
	changes string
	// facts changes the other parts of the input.
	facts func(*Input)

	code            Code
	reason, message string
	// pool is the KafkaNodePool that a warning is about.
	pool string
	// missing reports that the user may create what is missing next.
	missing bool
}

// The reasons are literals, because alerts refer to them.
const (
	invalidResource      = "InvalidResourceException"
	invalidConfiguration = "InvalidConfigurationException"
	upgrade              = "KafkaUpgradeException"
)

// expectErrors checks that each manifest has exactly its error.
func expectErrors(t *testing.T, cases []wrong) {
	t.Helper()
	each(t, cases, func(r Result) []Problem { return r.Errors })
}

// expectWarnings checks that each manifest has its warning and no errors.
func expectWarnings(t *testing.T, cases []wrong) {
	t.Helper()
	each(t, cases, func(r Result) []Problem {
		NewWithT(t).Expect(r.Errors).To(BeEmpty())
		return r.Warnings
	})
}

func each(t *testing.T, cases []wrong, found func(Result) []Problem) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := input(t, c.changes)
			if c.facts != nil {
				c.facts(&in)
			}
			reason := c.reason
			if reason == "" {
				reason = invalidResource
			}
			record(t, in, c.message)
			NewWithT(t).Expect(found(Validate(in))).To(Equal([]Problem{{Code: c.code, Reason: reason, Message: c.message, Pool: c.pool,
				Missing: c.missing}}))
		})
	}
}

// row is a wrong manifest for TestWrongManifestsMakeAndHarmNothing of package controller.
type row struct {
	Name, Message string
	Kafka         *v1.Kafka
	Pools         []*v1.KafkaNodePool
	ConfigMaps    map[string]map[string]string
	Secrets       map[string]map[string][]byte
}

// record appends a manifest to the file that VALIDATE_ROWS names, if nothing else is wrong: not, for example, where the nodes are.
func record(t *testing.T, in Input, message string) {
	t.Helper()
	name := os.Getenv("VALIDATE_ROWS")
	rest, usual := in, input(t, "")
	rest.Kafka, rest.Pools, rest.ConfigMaps, rest.Secrets = nil, nil, nil, nil
	usual.Kafka, usual.Pools = nil, nil
	if name == "" || !reflect.DeepEqual(rest, usual) {
		return
	}
	g := NewWithT(t)
	wanted, read := row{t.Name(), message, in.Kafka, in.Pools, in.ConfigMaps, in.Secrets}, row{}
	text, err := json.Marshal(wanted)
	g.Expect(err).NotTo(HaveOccurred())
	if g.Expect(json.Unmarshal(text, &read)).To(Succeed()); !reflect.DeepEqual(wanted, read) {
		return // JSON does not have it, such as an empty list
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = file.Write(append(text, '\n'))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(file.Close()).To(Succeed())
}

func TestNothingIsToBeSaidOfAGoodCluster(t *testing.T) {
	g := NewWithT(t)
	in := input(t, "")
	g.Expect(Validate(in)).To(Equal(Result{}))
	in.Brokers, in.Version = nil, ""
	g.Expect(Validate(in)).To(Equal(Result{}))
}

func TestJoined(t *testing.T) {
	g := NewWithT(t)
	_, failed := Joined(nil)
	g.Expect(failed).To(BeFalse())
	all, failed := Joined([]Problem{{Code: "A", Reason: "R", Message: "one"}, {Code: "B", Reason: "S", Message: "two"}})
	g.Expect(failed).To(BeTrue())
	g.Expect(all).To(Equal(Problem{Code: "A", Reason: "R", Message: "one; two"}))
	all, _ = Joined([]Problem{{Message: "one", Missing: true}, {Message: "two", Missing: true}})
	g.Expect(all.Missing).To(BeTrue())
	all, _ = Joined([]Problem{{Message: "one", Missing: true}, {Message: "two"}})
	g.Expect(all.Missing).To(BeFalse(), "only the user can fix the second")
}

func TestAKafkaWithoutASpecIsReported(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Validate(Input{Kafka: &v1.Kafka{}}).Errors).To(Equal([]Problem{{Code: "SpecMissing", Reason: invalidResource,
		Message: "The required field .spec is missing"}}))
	g.Expect(Validate(Input{}).Errors).To(HaveLen(1))
}
