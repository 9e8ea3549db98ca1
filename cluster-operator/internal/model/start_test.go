package model

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// fakeJava appends its arguments to $SAID, one line for each run, and fails as the environment asks.
const fakeJava = `#!/usr/bin/env bash
echo "$*" >>"$SAID"
case "$*" in
  *-javaagent*StorageTool*) exit "${AGENT_FAILS:-0}" ;;
  *StorageTool*) exit "${FORMAT_FAILS:-0}" ;;
esac
`

func TestNodesStartWithoutAnExporterThatDoesNot(t *testing.T) {
	const format, agentAndFormat, kafka, agentAndKafka = "format", "agent format", "kafka", "agent kafka"
	for name, c := range map[string]struct {
		env       []string
		runs      []string
		fails     bool
		classpath string
	}{
		"no exporter": {runs: []string{format, kafka}},
		"an exporter": {env: []string{"KAFKA_JMX_EXPORTER_ENABLED=true"}, runs: []string{agentAndFormat, agentAndKafka}},
		"an exporter that does not start": {env: []string{"KAFKA_JMX_EXPORTER_ENABLED=true", "AGENT_FAILS=1"},
			runs: []string{agentAndFormat, format, kafka}},
		"storage that can't be formatted": {env: []string{"FORMAT_FAILS=1"}, runs: []string{format}, fails: true},
		"neither": {env: []string{"KAFKA_JMX_EXPORTER_ENABLED=true", "AGENT_FAILS=1", "FORMAT_FAILS=1"}, runs: []string{agentAndFormat, format},
			fails: true},
		"classes of the user": {env: []string{"CLASSPATH=/mnt/plugin/a.jar:/mnt/plugin/lib/*"}, runs: []string{format, kafka},
			classpath: "/mnt/plugin/a.jar:/mnt/plugin/lib/*:"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			conf := filepath.Join(dir, "custom-config")
			g.Expect(os.Mkdir(conf, 0o700)).To(Succeed())
			for file, text := range map[string]string{
				"custom-config/start.sh":         strings.ReplaceAll(script("start.sh"), "/opt/kafka", dir),
				"custom-config/server.config":    "log.dirs=/absent\nmetadata.log.dir=/absent\n",
				"custom-config/cluster.id":       "id",
				"custom-config/metadata.version": "4.3-IV0",
				"java":                           fakeJava,
			} {
				g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700)).To(Succeed())
			}
			said := filepath.Join(dir, "said")
			start := exec.CommandContext(t.Context(), "bash", filepath.Join(conf, "start.sh"))
			start.Env = append(c.env, "PATH="+dir+":"+os.Getenv("PATH"), "SAID="+said)
			out, err := start.CombinedOutput()
			g.Expect(err != nil).To(Equal(c.fails), "%v: %s", err, out)
			text, err := os.ReadFile(said)
			g.Expect(err).NotTo(HaveOccurred())
			var runs []string
			for line := range strings.Lines(string(text)) {
				g.Expect(line).To(ContainSubstring(" -cp " + c.classpath + dir + "/libs/* kafka."))
				run := kafka
				if strings.Contains(line, "StorageTool format") {
					run = format
				}
				if strings.Contains(line, "-javaagent:"+dir+"/jmx-exporter/jmx_prometheus_javaagent.jar=9404:"+conf+"/metrics-config.json") {
					run = "agent " + run
				}
				runs = append(runs, run)
			}
			g.Expect(runs).To(Equal(c.runs))
		})
	}
}
