package realkafka

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// minJava is the oldest Java that runs a Kafka 4 broker.
const minJava = 17

// installation has the paths of Kafka and Java.
type installation struct {
	java        string
	javaVersion string
	jars        []string
}

// Available returns nil if Start can work, else one line with what is missing. It may download Kafka's jars.
func Available(ctx context.Context) error { return Prepare(ctx, io.Discard) }

// Prepare is Available with a progress report.
func Prepare(ctx context.Context, progress io.Writer) error {
	_, err := install(ctx, progress)
	return err
}

// install finds Java and the jars. In a checkout of the repository it downloads missing jars.
func install(ctx context.Context, log io.Writer) (*installation, error) {
	java, version, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	home := os.Getenv("KAFKA_HOME")
	if home == "" {
		if home, err = assets.Dir(ctx, "kafka", log); err != nil {
			return nil, fmt.Errorf("no Kafka: KAFKA_HOME is not set, and %w", err)
		}
	}
	jars, err := filepath.Glob(filepath.Join(home, "libs", "*.jar"))
	if err != nil || len(jars) == 0 {
		return nil, fmt.Errorf("no Kafka: no jars in %s", filepath.Join(home, "libs"))
	}
	return &installation{java: java, javaVersion: version, jars: jars}, nil
}

var javaMajor = regexp.MustCompile(`version "(\d+)`)

func findJava(ctx context.Context) (path, version string, err error) {
	path = "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path = filepath.Join(home, "bin", "java")
	}
	if path, err = exec.LookPath(path); err != nil {
		return "", "", fmt.Errorf("no Kafka: no Java runtime (%d or later) on PATH or in JAVA_HOME", minJava)
	}
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("no Kafka: %s -version: %w", path, err)
	}
	m := javaMajor.FindSubmatch(out)
	if m == nil {
		return "", "", fmt.Errorf("no Kafka: %s does not tell its version", path)
	}
	if major, _ := strconv.Atoi(string(m[1])); major < minJava {
		return "", "", fmt.Errorf("no Kafka: %s is Java %d, Kafka needs %d or later", path, major, minJava)
	}
	return path, string(out), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// classpath lists all jars, because the order of a wildcard is that of the folder, and a class archive depends on the order.
func (in *installation) classpath() string {
	return strings.Join(in.jars, string(filepath.ListSeparator))
}
