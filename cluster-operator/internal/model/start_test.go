package model

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// fakeJava appends its arguments to $SAID, one line for each run, and fails as the environment asks.
const fakeJava = `#!/usr/bin/env bash
echo "$*" >>"$SAID"
case "$*" in
  *-javaagent*StorageTool*) exit "${AGENT_FAILS:-0}" ;;
  *StorageTool*) exit "${FORMAT_FAILS:-0}" ;;
esac
`

// fakeSync notes the volume that is to be written to disk, and what is in all volumes. It fails as the environment asks.
const fakeSync = `#!/usr/bin/env bash
shopt -s nullglob
cd "${0%/*}"
echo "$1 ${2#"$PWD/"}:" data-*/kafka-log1/{.mov*,__*} >>synced
exit "${SYNC_FAILS:-0}"
`

// What start.sh runs.
const (
	runsAgent         = "agent"
	runsFormat        = "format"
	runsKafka         = "kafka"
	runsKafkaAndAgent = "agent kafka"
)

// container is one in which start.sh runs: its volumes are in a directory of its own.
type container struct {
	*WithT
	t   *testing.T
	dir string
	// classpath is what the user puts before Kafka's own.
	classpath string
	// said is what start.sh wrote.
	said string
}

// newContainer returns a container with volumes, and others in its configuration. The metadata log is to be on the volume metadata.
func newContainer(t *testing.T, mounted, configured []string, metadata string) *container {
	c := &container{WithT: NewWithT(t), t: t, dir: t.TempDir()}
	mounts := "1 1 0:1 / / rw - overlay overlay rw\n2 1 0:2 / " + c.dir + "/custom-config ro - ext4 /dev/disk rw\n"
	for _, volume := range mounted {
		mounts += fmt.Sprintf("3 1 0:3 / %s/%s rw - ext4 /dev/disk rw\n", c.dir, volume)
	}
	var dirs []string
	for _, volume := range configured {
		dirs = append(dirs, c.log(volume))
	}
	c.write("mountinfo", mounts)
	c.write("java", fakeJava)
	c.write("sync", fakeSync)
	c.write("custom-config/start.sh", strings.NewReplacer("/opt/kafka", c.dir, "/proc/self/mountinfo", c.dir+"/mountinfo",
		"/tmp/server.config", c.dir+"/tmp.config", "/tmp/ran.config", c.dir+"/ran.config").Replace(script("start.sh")))
	c.write("custom-config/server.config", "node.id=1\nlog.dirs="+strings.Join(dirs, ",")+"\nmetadata.log.dir="+c.log(metadata)+"\n")
	c.write("custom-config/cluster.id", "id")
	c.write("custom-config/metadata.version", "4.3-IV0")
	return c
}

// log is the log directory in a volume.
func (c *container) log(volume string) string { return filepath.Join(c.dir, volume, "kafka-log1") }

// write writes a file, and the directories that it is in.
func (c *container) write(file, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, file)
	c.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
	c.Expect(os.WriteFile(path, []byte(text), 0o700)).To(Succeed())
}

// configure adds lines to the configuration.
func (c *container) configure(lines string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "custom-config", "server.config"))
	c.Expect(err).NotTo(HaveOccurred())
	c.write("custom-config/server.config", string(text)+lines+"\n")
}

// format writes what Kafka writes to a volume when it is formatted.
func (c *container) format(volume, cluster string) {
	c.t.Helper()
	c.write(volume+"/kafka-log1/meta.properties", "#\n#Thu Nov 26 05:53:58 UTC 2026\nnode.id=1\nversion=1\ncluster.id="+cluster+"\n")
}

// start runs start.sh with an environment, and returns what it runs, the configuration that Kafka gets, and whether it fails.
func (c *container) start(env ...string) (runs []string, config string, err error) {
	c.t.Helper()
	said := filepath.Join(c.dir, "said")
	c.Expect(os.RemoveAll(said)).To(Succeed())
	start := exec.CommandContext(c.t.Context(), "bash", filepath.Join(c.dir, "custom-config", "start.sh"))
	start.Env = append(env, "PATH="+c.dir+":"+os.Getenv("PATH"), "SAID="+said)
	out, err := start.CombinedOutput()
	c.said = string(out)
	if err != nil {
		c.t.Logf("%v: %s", err, out)
	}
	text, _ := os.ReadFile(said) // there is none if nothing ran
	for line := range strings.Lines(string(text)) {
		c.Expect(line).To(ContainSubstring(" -cp " + c.classpath + c.dir + "/libs/* kafka."))
		run := runsKafka
		if strings.Contains(line, "StorageTool format") {
			run = runsFormat
		}
		agent := "-javaagent:" + c.dir + "/jmx-exporter/jmx_prometheus_javaagent.jar=9404:" + c.dir + "/custom-config/metrics-config.json"
		if strings.Contains(line, agent) {
			if run = runsAgent; !strings.Contains(line, "StorageTool random-uuid") {
				run = runsKafkaAndAgent
			}
		}
		runs = append(runs, run)
		args := strings.Fields(line)
		if run == runsAgent {
			continue
		}
		text, failed := os.ReadFile(args[len(args)-1])
		c.Expect(failed).NotTo(HaveOccurred())
		config = string(text)
	}
	return runs, config, err
}

func TestNodesStartWithoutAnExporterThatDoesNot(t *testing.T) {
	const exporter = "KAFKA_JMX_EXPORTER_ENABLED=true"
	for name, c := range map[string]struct {
		env       []string
		formatted string
		runs      []string
		fails     bool
		classpath string
	}{
		"no exporter":                     {runs: []string{runsFormat, runsKafka}},
		"an exporter":                     {env: []string{exporter}, runs: []string{runsAgent, runsFormat, runsKafkaAndAgent}},
		"an exporter that does not start": {env: []string{exporter, "AGENT_FAILS=1"}, runs: []string{runsAgent, runsFormat, runsKafka}},
		"storage that can't be formatted": {env: []string{"FORMAT_FAILS=1"}, runs: []string{runsFormat}, fails: true},
		"neither": {env: []string{exporter, "AGENT_FAILS=1", "FORMAT_FAILS=1"}, runs: []string{runsAgent, runsFormat},
			fails: true},
		"classes of the user": {env: []string{"CLASSPATH=/mnt/plugin/a.jar:/mnt/plugin/lib/*"}, runs: []string{runsFormat, runsKafka},
			classpath: "/mnt/plugin/a.jar:/mnt/plugin/lib/*:"},
		// During an upgrade, a node that was not restarted yet does not know the new metadata version.
		"a tool that does not know the metadata version of formatted storage": {env: []string{"FORMAT_FAILS=1"}, formatted: "id",
			runs: []string{runsKafka}},
		"formatted storage and an exporter that does not start": {env: []string{exporter, "AGENT_FAILS=1"}, formatted: "id",
			runs: []string{runsAgent, runsKafka}},
		"storage of another Kafka cluster": {env: []string{"FORMAT_FAILS=1"}, formatted: "other",
			runs: []string{runsFormat}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := newContainer(t, []string{"data"}, []string{"data"}, "data")
			in.classpath = c.classpath
			if c.formatted != "" {
				in.format("data", c.formatted)
			}
			runs, _, err := in.start(c.env...)
			in.Expect(err != nil).To(Equal(c.fails), "%v", err)
			in.Expect(runs).To(Equal(c.runs))
		})
	}
}

func TestOptionsOfJavaAsKafkasOwnScriptsReadThem(t *testing.T) {
	const jmx = "-Dcom.sun.management.jmxremote"
	for name, c := range map[string]struct {
		env     []string
		options string // in the place of the operator's configuration of log4j
	}{
		"none":       {nil, " -Dlog4j2.configurationFile=DIR/custom-config/log4j2.properties "},
		"log4j":      {[]string{"KAFKA_LOG4J_OPTS=-Dlog4j2.configurationFile=/mnt/a -Da=b"}, " -Dlog4j2.configurationFile=/mnt/a -Da=b "},
		"JMX":        {[]string{"KAFKA_JMX_OPTS=-Dx -Dy"}, " -Dx -Dy -Dlog4j2.configurationFile=DIR/custom-config/log4j2.properties "},
		"empty ones": {[]string{"KAFKA_JMX_OPTS=", "JMX_PORT="}, " -Dlog4j2.configurationFile=DIR/custom-config/log4j2.properties "},
		"that of a Service": {[]string{"JMX_PORT=tcp://10.0.0.5:9999"},
			" -Dlog4j2.configurationFile=DIR/custom-config/log4j2.properties "},
		"a port": {[]string{"KAFKA_LOG4J_OPTS=-Da", "JMX_PORT=9999"},
			" " + jmx + "=true " + jmx + ".authenticate=false " + jmx + ".ssl=false " + jmx + ".port=9999 " + jmx + ".rmi.port=9999 -Da "},
		"both": {[]string{"KAFKA_LOG4J_OPTS=-Da", "KAFKA_JMX_OPTS=-Dx", "JMX_PORT=9999"},
			" -Dx " + jmx + ".port=9999 " + jmx + ".rmi.port=9999 -Da "},
		"a port of RMI": {[]string{"KAFKA_LOG4J_OPTS=-Da", "KAFKA_JMX_OPTS=" + jmx + ".rmi.port=1", "JMX_PORT=9999"},
			" " + jmx + ".rmi.port=1 " + jmx + ".port=9999 -Da "},
	} {
		t.Run(name, func(t *testing.T) {
			in := newContainer(t, []string{"data"}, []string{"data"}, "data")
			in.format("data", "id")
			_, _, err := in.start(append(c.env, "STRIMZI_JAVA_SYSTEM_PROPERTIES=-Dbefore")...)
			in.Expect(err).NotTo(HaveOccurred())
			said, err := os.ReadFile(filepath.Join(in.dir, "said"))
			in.Expect(err).NotTo(HaveOccurred())
			in.Expect(string(said)).To(ContainSubstring(" -Dbefore" + strings.ReplaceAll(c.options, "DIR", in.dir) + "-Dkafka.logs.dir=/tmp "))
		})
	}
}

func TestNodesFormatVolumesThatWereAdded(t *testing.T) {
	c := newContainer(t, []string{"data-0", "data-1"}, []string{"data-0", "data-1"}, "data-0")
	c.format("data-0", "id")
	runs, _, err := c.start()
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(runs).To(Equal([]string{runsFormat, runsKafka}))
}

// The operator does not know the metadata version of a Kafka that came later.
func TestNodesFormatWithTheirOwnMetadataVersion(t *testing.T) {
	for known, args := range map[string]string{"4.3-IV0": " --release-version 4.3-IV0 --config ", "": " --cluster-id id --config "} {
		c := newContainer(t, []string{"data-0"}, []string{"data-0"}, "data-0")
		c.write("custom-config/metadata.version", known)
		_, _, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		said, err := os.ReadFile(filepath.Join(c.dir, "said"))
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(string(said)).To(ContainSubstring(args))
	}
}

// metadataLog are the files of a metadata log, in its log directory.
const metadataLog = "/kafka-log1/__cluster_metadata-0/"

func TestNodesMoveTheirMetadataLog(t *testing.T) {
	for name, interrupted := range map[string]bool{"at once": false, "after an attempt that was interrupted": true} {
		t.Run(name, func(t *testing.T) {
			c := newContainer(t, []string{"data-0", "data-1"}, []string{"data-0", "data-1"}, "data-1")
			c.write("data-0"+metadataLog+"quorum-state", "{}")
			c.write("data-0"+metadataLog+"00.log", "records")
			if interrupted {
				c.write("data-1/kafka-log1/.moving/00.log", "rec")
				c.write("data-1/kafka-log1/.moving/01.log", "old")
			}
			for range 2 { // a node that starts again finds nothing to move
				_, _, err := c.start()
				c.Expect(err).NotTo(HaveOccurred())
				c.Expect(c.files("data-0")).To(BeEmpty())
				c.Expect(c.files("data-1")).To(Equal(map[string]string{
					"__cluster_metadata-0/quorum-state": "{}", "__cluster_metadata-0/00.log": "records"}))
			}
		})
	}
	t.Run("and keep the old one until the new one is on disk", func(t *testing.T) {
		c := newContainer(t, []string{"data-0", "data-1"}, []string{"data-0", "data-1"}, "data-1")
		c.write("data-0"+metadataLog+"00.log", "records")
		_, _, err := c.start("SYNC_FAILS=1")
		c.Expect(err).To(HaveOccurred())
		c.Expect(c.files("data-0")).To(Equal(map[string]string{"__cluster_metadata-0/00.log": "records"}))
		c.Expect(os.Remove(filepath.Join(c.dir, "synced"))).To(Succeed())
		_, _, err = c.start()
		c.Expect(err).NotTo(HaveOccurred())
		text, err := os.ReadFile(filepath.Join(c.dir, "synced"))
		c.Expect(err).NotTo(HaveOccurred())
		at := strings.NewReplacer("OLD", "data-0/kafka-log1", "NEW", "data-1/kafka-log1", "LOG", "__cluster_metadata-0")
		c.Expect(string(text)).To(Equal(at.Replace("-f NEW: NEW/.moving OLD/LOG\n-f NEW: OLD/LOG NEW/LOG\n-f OLD: OLD/.moved NEW/LOG\n")))
	})
	t.Run("and leave nothing of a move that was interrupted and taken back", func(t *testing.T) {
		c := newContainer(t, []string{"data-0", "data-1"}, []string{"data-0", "data-1"}, "data-0")
		c.write("data-0"+metadataLog+"00.log", "records")
		c.write("data-0/kafka-log1/.moved/00.log", "rec")
		c.write("data-1/kafka-log1/.moving/00.log", "rec")
		_, _, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(c.files("data-0")).To(Equal(map[string]string{"__cluster_metadata-0/00.log": "records"}))
		c.Expect(c.files("data-1")).To(BeEmpty())
	})
}

// Kafka does not start with two metadata logs.
func TestNodesKeepOneMetadataLog(t *testing.T) {
	whole := map[string]string{"quorum-state": "{}", "00.log": "records"}
	for name, c := range map[string]struct {
		roles    string
		old, new map[string]string
		stays    map[string]string // nil if both stay
	}{
		"a broker fetches what is missing":  {"broker", map[string]string{"00.log": "newer"}, whole, whole},
		"a controller's that was copied":    {"controller", whole, whole, whole},
		"a part of one that was copied":     {"broker,controller", map[string]string{"00.log": "records"}, whole, whole},
		"an empty one":                      {"controller", nil, whole, whole},
		"an empty one in the new place":     {"controller", whole, nil, whole},
		"a copy of which a part is missing": {"controller", whole, map[string]string{"00.log": "records"}, nil},
		"another vote":                      {"controller", map[string]string{"quorum-state": "{1}", "00.log": "records"}, whole, nil},
		"other records":                     {"broker,controller", map[string]string{"00.log": "record"}, whole, nil},
		"unknown roles":                     {"", map[string]string{"00.log": "record"}, whole, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := newContainer(t, []string{"data-0", "data-1"}, []string{"data-0", "data-1"}, "data-1")
			in.configure("process.roles=" + c.roles)
			for volume, files := range map[string]map[string]string{"data-0": c.old, "data-1": c.new} {
				in.Expect(os.MkdirAll(filepath.Join(in.dir, volume, metadataLog), 0o700)).To(Succeed())
				for file, text := range files {
					in.write(volume+metadataLog+file, text)
				}
			}
			before := []map[string]string{in.files("data-0"), in.files("data-1")}
			runs, _, err := in.start()
			if c.stays == nil {
				in.Expect(err).To(HaveOccurred())
				in.Expect(runs).To(BeEmpty())
				in.Expect([]map[string]string{in.files("data-0"), in.files("data-1")}).To(Equal(before))
				in.Expect(in.said).To(ContainSubstring(": %s/__cluster_metadata-0 and %s/__cluster_metadata-0.", in.log("data-1"), in.log("data-0")))
				return
			}
			in.Expect(err).NotTo(HaveOccurred())
			in.Expect(filepath.Join(in.dir, "data-0", metadataLog)).NotTo(BeADirectory())
			in.Expect(in.files("data-0")).To(BeEmpty())
			in.Expect(in.files("data-1")).To(HaveLen(len(c.stays)))
			for file, text := range c.stays {
				in.Expect(in.files("data-1")).To(HaveKeyWithValue("__cluster_metadata-0/"+file, text))
			}
		})
	}
	t.Run("of three", func(t *testing.T) {
		volumes := []string{"data-0", "data-1", "data-2"}
		c := newContainer(t, volumes, volumes, "data-2")
		c.configure("process.roles=broker")
		c.write("data-0"+metadataLog+"00.log", "a")
		c.write("data-1"+metadataLog+"00.log", "b")
		_, _, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(c.files("data-0")).To(BeEmpty())
		c.Expect(c.files("data-1")).To(BeEmpty())
		c.Expect(c.files("data-2")).To(Equal(map[string]string{"__cluster_metadata-0/00.log": "a"}))
	})
}

// files returns the files in the log directory of a volume.
func (c *container) files(volume string) map[string]string {
	c.t.Helper()
	found := map[string]string{}
	c.Expect(filepath.WalkDir(c.log(volume), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, c.log(volume)+"/")] = string(text)
		return err
	})).To(Succeed())
	return found
}

// A node's ConfigMap changes before its pod is replaced. If the container restarts in between, it has the configuration of the next pod.
func TestNodesUseMountedVolumesOnly(t *testing.T) {
	log := map[string]string{"__cluster_metadata-0/00.log": "records"}
	t.Run("a volume was added and gets the metadata log", func(t *testing.T) {
		c := newContainer(t, []string{"data-0"}, []string{"data-0", "data-1"}, "data-1")
		c.write("data-0"+metadataLog+"00.log", "records")
		_, config, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(config).To(Equal("node.id=1\nlog.dirs=" + c.log("data-0") + "\nmetadata.log.dir=" + c.log("data-0") + "\n"))
		c.Expect(c.files("data-0")).To(Equal(log))
		c.Expect(filepath.Join(c.dir, "data-1")).NotTo(BeADirectory())
	})
	t.Run("the metadata log stays on the one of two volumes that has it", func(t *testing.T) {
		c := newContainer(t, []string{"data-0", "data-1"}, []string{"data-0", "data-1", "data-2"}, "data-2")
		c.write("data-1"+metadataLog+"00.log", "records")
		_, config, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(config).To(HaveSuffix("\nlog.dirs=" + c.log("data-0") + "," + c.log("data-1") + "\nmetadata.log.dir=" + c.log("data-1") + "\n"))
		c.Expect(c.files("data-1")).To(Equal(log))
	})
	t.Run("a volume was added and the metadata log stays", func(t *testing.T) {
		c := newContainer(t, []string{"data-0"}, []string{"data-0", "data-1"}, "data-0")
		c.format("data-0", "id")
		runs, config, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(runs).To(Equal([]string{runsKafka}))
		c.Expect(config).To(HaveSuffix("\nlog.dirs=" + c.log("data-0") + "\nmetadata.log.dir=" + c.log("data-0") + "\n"))
	})
	t.Run("what is not mounted is cordoned", func(t *testing.T) {
		for cordoned, left := range map[string]string{"data-1": "", "data-0,data-1": "data-0", "*": "*"} {
			c := newContainer(t, []string{"data-0"}, []string{"data-0", "data-1"}, "data-0")
			paths := strings.NewReplacer("data-0", c.log("data-0"), "data-1", c.log("data-1"))
			c.configure("cordoned.log.dirs=" + paths.Replace(cordoned))
			_, config, err := c.start()
			c.Expect(err).NotTo(HaveOccurred())
			if left == "" {
				c.Expect(config).NotTo(ContainSubstring("cordoned.log.dirs"))
			} else {
				c.Expect(config).To(HaveSuffix("\ncordoned.log.dirs=" + paths.Replace(left) + "\n"))
			}
		}
	})
	t.Run("all volumes were replaced", func(t *testing.T) {
		c := newContainer(t, []string{"data-0"}, []string{"data-1"}, "data-1")
		c.write("data-0"+metadataLog+"00.log", "records")
		runs, _, err := c.start()
		c.Expect(err).To(HaveOccurred())
		c.Expect(runs).To(BeEmpty())
		c.Expect(c.files("data-0")).To(Equal(log))
		c.Expect(filepath.Join(c.dir, "data-1")).NotTo(BeADirectory())
	})
	t.Run("also in what this pod ran with before", func(t *testing.T) {
		c := newContainer(t, []string{"data-0"}, []string{"data-0", "data-1"}, "data-1")
		_, before, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.configure("broker.rack=" + c.inFile(placementDir, "rack"))
		_, config, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(config).To(Equal(before))
	})
	t.Run("it is unknown what is mounted", func(t *testing.T) {
		for _, mounts := range []string{"", "1 1 0:1 / / rw - overlay overlay rw\n"} {
			c := newContainer(t, nil, []string{"data-0"}, "data-0")
			c.write("mountinfo", mounts)
			if mounts == "" {
				c.Expect(os.Remove(filepath.Join(c.dir, "mountinfo"))).To(Succeed())
			}
			runs, _, err := c.start()
			c.Expect(err).NotTo(HaveOccurred())
			c.Expect(runs).To(Equal([]string{runsFormat, runsKafka}))
		}
	})
}

// inFile refers to a file in one of Kafka's folders of the container.
func (c *container) inFile(dir, file string) string {
	return inFile(strings.Replace(dir, "/opt/kafka", c.dir, 1), file)
}

// Kafka takes a reference to a missing file for the value. It would register with a false rack, for example.
func TestNodesStartWithTheConfigurationOfTheirPod(t *testing.T) {
	newPod := func(t *testing.T) *container {
		c := newContainer(t, []string{"data"}, []string{"data"}, "data")
		c.format("data", "id")
		c.configure("process.roles=controller,broker")
		c.write("certificates/node.key", "key")
		return c
	}
	for name, line := range map[string]func(c *container) string{
		"a rack": func(c *container) string { return "broker.rack=" + c.inFile(placementDir, "rack") },
		"a certificate": func(c *container) string {
			return "listener.name.tls.ssl.keystore.key=" + c.inFile(certificatesDir, "own.key")
		},
		"the second of two addresses": func(c *container) string {
			c.write("placement/address", "1.2.3.4")
			return "advertised.listeners=A://" + c.inFile(placementDir, "address") + ":1,B://" + c.inFile(placementDir, "address-hostname") + ":2"
		},
		"other roles": func(*container) string { return "process.roles=controller" },
	} {
		t.Run(name, func(t *testing.T) {
			c := newPod(t)
			_, before, err := c.start()
			c.Expect(err).NotTo(HaveOccurred())
			c.configure(line(c))
			for range 2 {
				runs, config, err := c.start()
				c.Expect(err).NotTo(HaveOccurred())
				c.Expect(runs).To(Equal([]string{runsKafka}))
				c.Expect(config).To(Equal(before))
			}
			for _, file := range []string{"placement/rack", "placement/address-hostname", "certificates/own.key"} {
				c.write(file, "x")
			}
			c.Expect(os.Remove(filepath.Join(c.dir, "ran.config"))).To(Succeed())
			_, config, err := c.start()
			c.Expect(err).NotTo(HaveOccurred(), "the next pod")
			c.Expect(config).To(Equal(before + line(c) + "\n"))
		})
	}
	t.Run("a rack from a variable", func(t *testing.T) {
		c := newPod(t)
		_, before, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		rack := "broker.rack=east-" + rackSource(&v1.Rack{Type: v1.RackEnvironmentVariable, EnvVarName: "MY.RACK"})
		c.configure(rack)
		_, config, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(config).To(Equal(before))
		c.Expect(c.said).To(ContainSubstring("it has no environment variable MY.RACK"))
		_, config, err = c.start("MY.RACK=")
		c.Expect(err).NotTo(HaveOccurred(), "the next pod")
		c.Expect(config).To(Equal(before + rack + "\n"))
		c.configure("more=1")
		_, config, err = c.start()
		c.Expect(err).NotTo(HaveOccurred(), "a pod that never had the variable, which is the user's")
		c.Expect(config).To(Equal(before + rack + "\nmore=1\n"))
		c.Expect(os.Remove(filepath.Join(c.dir, "ran.config"))).To(Succeed())
		_, _, err = c.start()
		c.Expect(err).NotTo(HaveOccurred(), "its first start")
	})
	t.Run("which is not known", func(t *testing.T) {
		c := newPod(t)
		c.configure("broker.rack=" + c.inFile(placementDir, "rack"))
		runs, _, err := c.start()
		c.Expect(err).To(HaveOccurred())
		c.Expect(runs).To(BeEmpty())
		c.Expect(c.said).To(ContainSubstring("it has no " + c.dir + "/placement/rack"))
	})
	t.Run("or a newer one for the same pod", func(t *testing.T) {
		c := newPod(t)
		_, _, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.configure("ssl.keystore.key=" + c.inFile(certificatesDir, "node.key") + "\nsasl=" + c.inFile("/opt/kafka/mine", "key"))
		_, config, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(config).To(HaveSuffix("/mine:key}\n"))
	})
	t.Run("although there is no space to note it", func(t *testing.T) {
		c := newPod(t)
		c.Expect(os.Symlink("/nowhere/file", filepath.Join(c.dir, "ran.config.new"))).To(Succeed())
		runs, _, err := c.start()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(runs).To(Equal([]string{runsKafka}))
	})
}
