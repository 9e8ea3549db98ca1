package apitest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// settingRow matches a row of the generated tables in docs/<program>/configuration.md: variable, mark, default, meaning.
var settingRow = regexp.MustCompile("(?m)^\\| `(STRIMZI_\\w+)`( \\(ours\\))? \\| (?:[^|]*\\| )?([^|]*) \\| ([^|]*) \\|$")

// ownDefaults are the variables with defaults that differ between programs, and the reasons.
var ownDefaults = map[string]string{
	"STRIMZI_NAMESPACE":                  "commands have a context; the topic-operator must be given one, as Strimzi's",
	"STRIMZI_KAFKA_BOOTSTRAP_SERVERS":    "the roller derives addresses from the name of the Kafka cluster",
	"STRIMZI_CLIENT_ID":                  "it names the program",
	"STRIMZI_CLUSTER_NAMESPACE":          "the roller serves Kafka clusters in many namespaces",
	"STRIMZI_LEADER_ELECTION_LEASE_NAME": "it names the program",
}

// TestAVariableMeansOneThing checks that a variable has the same meaning and the same default in all programs that have it, except for
// ownDefaults.
func TestAVariableMeansOneThing(t *testing.T) {
	g := NewWithT(t)
	type setting struct{ added, fallback string }
	found := map[string]map[setting][]string{}
	for _, program := range []string{"topic-operator", "cluster-operator", "roller"} {
		doc, err := os.ReadFile(filepath.Join("..", "..", "docs", program, "configuration.md"))
		g.Expect(err).NotTo(HaveOccurred())
		rows := settingRow.FindAllSubmatch(doc, -1)
		g.Expect(len(rows)).To(BeNumerically(">", 20), program)
		for _, row := range rows {
			env := string(row[1])
			if found[env] == nil {
				found[env] = map[setting][]string{}
			}
			s := setting{added: string(row[2]), fallback: string(row[3])}
			found[env][s] = append(found[env][s], program)
		}
	}
	var differ []string
	for env, settings := range found {
		if len(settings) > 1 {
			differ = append(differ, env)
		}
	}
	g.Expect(differ).To(ConsistOf(slices.Collect(maps.Keys(ownDefaults))), "%v", found)
}
