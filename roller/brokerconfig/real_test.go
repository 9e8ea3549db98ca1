package brokerconfig_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// needKafka skips the test if the machine can't run Kafka; in CI the test fails instead.
func needKafka(t *testing.T) {
	t.Helper()
	if err := realkafka.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

var jarVersion = regexp.MustCompile(`kafka_2\.13-([0-9.]+)\.jar$`)

// jars returns the folder of the jars that the tests use, and their version.
func jars(t *testing.T) (folder, version string) {
	t.Helper()
	g := NewWithT(t)
	home := os.Getenv("KAFKA_HOME")
	if home == "" {
		var err error
		home, err = assets.Dir(t.Context(), "kafka", &bytes.Buffer{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	found, err := filepath.Glob(filepath.Join(home, "libs", "kafka_2.13-*.jar"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(1))
	return filepath.Join(home, "libs"), jarVersion.FindStringSubmatch(found[0])[1]
}

// The generated table must equal the generator's present output for these jars.
func TestTheTableIsWhatKafkasClassesSay(t *testing.T) {
	needKafka(t)
	g := NewWithT(t)
	folder, version := jars(t)
	root, err := assets.Root()
	g.Expect(err).NotTo(HaveOccurred())
	committed, err := os.ReadFile(filepath.Join(root, "kafka", "configdef", "tables", "kafka-"+version+".tsv"))
	g.Expect(err).NotTo(HaveOccurred(), "add Kafka %s to hack/brokerconfig/versions.txt and run hack/brokerconfig/generate.sh", version)
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	cmd := exec.CommandContext(t.Context(), java, "-cp", filepath.Join(folder, "*"), filepath.Join(root, "hack", "brokerconfig", "Table.java"))
	var said bytes.Buffer
	cmd.Stderr = &said
	made, err := cmd.Output()
	g.Expect(err).NotTo(HaveOccurred(), said.String())
	g.Expect(strings.Split(string(made), "\n")).To(Equal(strings.Split(string(committed), "\n")), "run hack/brokerconfig/generate.sh")
}

// live is a running broker.
type live struct {
	*GomegaWithT
	t       *testing.T
	cluster *realkafka.Cluster
	admin   *saramakafka.Admin
	table   *brokerconfig.Table
	id      int32
	roles   brokerconfig.Roles
}

func startLive(t *testing.T, o realkafka.Options) *live {
	t.Helper()
	needKafka(t)
	l := &live{GomegaWithT: NewWithT(t), t: t, roles: broker}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var err error
	l.cluster, err = realkafka.Start(ctx, o)
	l.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { NewWithT(t).Expect(l.cluster.Close()).To(Succeed()) })
	l.admin, err = saramakafka.New(kafka.Config{Bootstrap: l.cluster.Bootstrap(), ClientID: "brokerconfig-test"})
	l.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(l.admin.Close)
	_, version := jars(t)
	var exact bool
	l.table, exact = brokerconfig.For(version)
	l.Expect(exact).To(BeTrue())
	l.id = l.cluster.BrokerIDs()[0]
	if o.Controllers == 0 {
		l.roles = combined
	}
	return l
}

// file returns the properties that the broker was started with.
func (l *live) file() map[string]string {
	content, err := os.ReadFile(filepath.Join(filepath.Dir(l.cluster.LogFile(l.id)), "server.properties"))
	l.Expect(err).NotTo(HaveOccurred())
	properties := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			properties[key] = value
		}
	}
	l.Expect(properties).To(HaveKey("node.id"))
	return properties
}

func (l *live) describe() map[string]brokerconfig.Entry {
	resource := kafka.BrokerResource(l.id)
	results, err := l.admin.DescribeConfigs(l.t.Context(), []kafka.ConfigResource{resource}, nil)
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(results[resource].Err).NotTo(HaveOccurred())
	entries := map[string]brokerconfig.Entry{}
	for key, e := range results[resource].Entries {
		entries[key] = brokerconfig.Entry{Value: e.Value, Source: brokerconfig.Source(e.Source), ReadOnly: e.ReadOnly, Sensitive: e.Sensitive}
	}
	return entries
}

func (l *live) alter(resource kafka.ConfigResource, changes []brokerconfig.Change, validateOnly bool) error {
	change := kafka.ConfigChange{Resource: resource, Set: map[string]string{}}
	for _, c := range changes {
		if c.To == nil {
			change.Delete = append(change.Delete, c.Key)
		} else {
			change.Set[c.Key] = *c.To
		}
	}
	results, err := l.admin.AlterConfigs(l.t.Context(), []kafka.ConfigChange{change}, validateOnly)
	l.Expect(err).NotTo(HaveOccurred())
	return results[resource]
}

var everyBroker = kafka.ConfigResource{Type: kafka.ResourceBroker}

func (l *live) set(resource kafka.ConfigResource, key, value string, validateOnly bool) error {
	return l.alter(resource, []brokerconfig.Change{{Key: key, To: &value}}, validateOnly)
}

func TestALiveBrokerAgreesWithTheTable(t *testing.T) {
	l := startLive(t, realkafka.Options{Controllers: 1})
	t.Run("it describes each key as the table does", l.describesAsTheTable)
	t.Run("started with a file, it needs nothing to have that file's configuration", func(t *testing.T) {
		d := l.table.Compare(brokerconfig.Config{Desired: l.file(), Live: l.describe()}, l.roles)
		NewWithT(t).Expect(d).To(Equal(brokerconfig.Diff{}))
	})
	t.Run("it takes and refuses changes as the table says", l.takesAndRefuses)
}

func (l *live) describesAsTheTable(t *testing.T) {
	g := NewWithT(t)
	entries, file := l.describe(), l.file()
	for _, name := range l.table.Names() {
		k, _ := l.table.Key(name)
		g.Expect(entries).To(HaveKey(name))
		e := entries[name]
		g.Expect(e.ReadOnly).To(Equal(k.Mode == brokerconfig.ReadOnly), name)
		g.Expect(e.Sensitive).To(Equal(k.Type == brokerconfig.Password), name)
		if e.Source == brokerconfig.SourceDefault && brokerconfig.Owned(name) == "" {
			g.Expect(k.Type.Same(e.Value, text(k.Default))).To(BeTrue(), "%s is %q, its default is %q", name, e.Value, text(k.Default))
		}
	}
	for name := range entries {
		if _, known := l.table.Key(name); !known {
			g.Expect(file).To(HaveKey(name), "a key that is not the file's")
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// takesAndRefuses lets the broker validate a change of each key to the key's present value.
func (l *live) takesAndRefuses(t *testing.T) {
	g := NewWithT(t)
	entries := l.describe()
	tried := map[brokerconfig.Mode]int{}
	for _, name := range l.table.Names() {
		k, _ := l.table.Key(name)
		value := entries[name].Value
		if value == "" && k.Mode != brokerconfig.ReadOnly && k.Mode != brokerconfig.PerListener {
			continue // no legal value is known
		}
		tried[k.Mode]++
		own, all := fmt.Sprint(l.set(kafka.BrokerResource(l.id), name, value, true)), fmt.Sprint(l.set(everyBroker, name, value, true))
		switch k.Mode {
		case brokerconfig.ReadOnly:
			g.Expect(own).To(ContainSubstring("Cannot update these configs dynamically"), name)
			g.Expect(all).To(ContainSubstring("Cannot update these configs dynamically"), name)
		case brokerconfig.PerListener:
			g.Expect(own).To(ContainSubstring("only per-listener using the listener prefix"), name)
		case brokerconfig.PerBroker:
			g.Expect(own).To(Equal("<nil>"), name)
			g.Expect(all).To(ContainSubstring("Cannot update these configs at default cluster level"), name)
		case brokerconfig.ClusterWide:
			if name == "min.insync.replicas" {
				g.Expect(own).To(ContainSubstring("Broker-level min.insync.replicas cannot be altered while ELR is enabled"))
			} else {
				g.Expect(own).To(Equal("<nil>"), name)
			}
			g.Expect(all).To(Equal("<nil>"), name)
		}
	}
	g.Expect(tried[brokerconfig.PerBroker]).To(BeNumerically(">", 10))
	g.Expect(tried[brokerconfig.ClusterWide]).To(BeNumerically(">", 50))
	g.Expect(tried[brokerconfig.ReadOnly]).To(BeNumerically(">", 200))
	g.Expect(l.alter(everyBroker, []brokerconfig.Change{{Key: "min.insync.replicas"}}, true)).
		To(MatchError(ContainSubstring("cannot be removed while ELR is enabled")), "the reason why it is set to its default instead")
}

// wishes returns values that the broker accepts for cluster-wide and per-broker keys, by key.
func (l *live) wishes() map[string]string {
	values := map[string]string{}
	entries := l.describe()
	for _, name := range l.table.Names() {
		k, _ := l.table.Key(name)
		value := entries[name].Value
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && k.Type == brokerconfig.Integer {
			value = strconv.FormatInt(n/2+1, 10)
		} else if k.Type == brokerconfig.Boolean {
			value = map[string]string{"true": "false", "false": "true"}[value]
		} else if k.Type == brokerconfig.Double {
			value = "0.75"
		} else {
			continue
		}
		resource := everyBroker
		if k.Mode == brokerconfig.PerBroker {
			resource = kafka.BrokerResource(l.id)
		}
		if k.Mode != brokerconfig.PerBroker && k.Mode != brokerconfig.ClusterWide || l.set(resource, name, value, true) != nil {
			continue
		}
		values[name] = value
	}
	return values
}

// settle applies the changes of comparisons until a comparison finds none, and returns how many rounds it took. It never restarts the
// broker.
func (l *live) settle(desired map[string]string) int {
	for turn := 0; ; turn++ {
		d := l.table.Compare(brokerconfig.Config{Desired: desired, Live: l.describe()}, l.roles)
		if d.Empty() {
			return turn
		}
		l.Expect(d.Restart).To(BeEmpty())
		l.Expect(turn).To(BeNumerically("<", 2), "%+v", to(slices.Concat(d.Node, d.Global)))
		l.Expect(l.alter(kafka.BrokerResource(l.id), d.Node, true)).To(Succeed())
		if len(d.Node) > 0 {
			l.Expect(l.alter(kafka.BrokerResource(l.id), d.Node, false)).To(Succeed())
		}
		if len(d.Global) > 0 {
			l.Expect(l.alter(everyBroker, d.Global, false)).To(Succeed())
		}
		l.awaitShown(d)
	}
}

// awaitShown waits until the broker reports the changes that the controller accepted.
func (l *live) awaitShown(d brokerconfig.Diff) {
	l.Eventually(func(g Gomega) {
		entries := l.describe()
		for _, c := range slices.Concat(d.Global, d.Node) {
			k, _ := l.table.Key(c.Key)
			if c.To != nil {
				g.Expect(k.Type.Same(entries[c.Key].Value, *c.To)).To(BeTrue(), "%s is %q, set to %q", c.Key, entries[c.Key].Value, *c.To)
			} else if slices.ContainsFunc(d.Node, func(n brokerconfig.Change) bool { return n.Key == c.Key }) {
				g.Expect(entries[c.Key].Source).NotTo(Equal(brokerconfig.SourceDynamicNode), c.Key)
			} else {
				g.Expect(entries[c.Key].Source).NotTo(Equal(brokerconfig.SourceDynamicGlobal), c.Key)
			}
		}
	}).WithTimeout(20 * time.Second).WithPolling(20 * time.Millisecond).Should(Succeed())
}

// The broker changes from one configuration to another and back at runtime, including overrides that another client set.
func TestALiveBrokerIsReconfiguredWithoutARestart(t *testing.T) {
	l := startLive(t, realkafka.Options{})
	file, wishes := l.file(), l.wishes()
	l.Expect(len(wishes)).To(BeNumerically(">", 40))
	r := rand.New(rand.NewPCG(6, 6))
	names := slices.Sorted(maps.Keys(wishes))
	for range 5 {
		desired := maps.Clone(file)
		for _, name := range names {
			if r.IntN(2) == 0 {
				desired[name] = wishes[name]
			} else if r.IntN(4) == 0 && name != "min.insync.replicas" {
				l.Expect(l.set(kafka.BrokerResource(l.id), name, wishes[name], false)).To(Succeed(), name)
			}
		}
		l.settle(desired)
		entries := l.describe()
		for _, name := range names {
			k, _ := l.table.Key(name)
			want := cmp.Or(desired[name], text(k.Default))
			l.Expect(k.Type.Same(entries[name].Value, want)).To(BeTrue(), "%s is %q, want %q", name, entries[name].Value, want)
		}
	}
	l.settle(file)
	l.Expect(l.settle(file)).To(BeZero())
}
