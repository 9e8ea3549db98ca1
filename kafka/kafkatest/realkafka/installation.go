package realkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// minJava is the oldest Java that runs a Kafka 4 broker.
const minJava = 17

// installation is where Kafka and Java are found.
type installation struct {
	java        string
	javaVersion string
	jars        []string
}

// Available returns nil if Start can work, else one line that says what is missing. It may fetch Kafka's jars.
func Available(ctx context.Context) error {
	_, err := install(ctx, io.Discard)
	return err
}

// install finds Java and the jars, fetching the jars if this is a checkout of the repository.
func install(ctx context.Context, log io.Writer) (*installation, error) {
	java, version, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	home := os.Getenv("KAFKA_HOME")
	if home == "" {
		if home, err = fetch(ctx, log); err != nil {
			return nil, err
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

// fetch lets the repository's own script provide the jars.
func fetch(ctx context.Context, log io.Writer) (string, error) {
	script, err := assetsScript()
	if err != nil {
		return "", fmt.Errorf("no Kafka: KAFKA_HOME is not set and %w", err)
	}
	var out, progress bytes.Buffer
	cmd := exec.CommandContext(ctx, script, "kafka")
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&progress, log)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("no Kafka: hack/assets.sh kafka: %w: %s", err, lastLine(progress.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// assetsScript looks for the root of the workspace above the working directory, then above this source file (which tests
// of another checkout may have in their module cache).
func assetsScript() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	_, source, _, _ := runtime.Caller(0)
	for _, start := range []string{wd, filepath.Dir(source)} {
		for dir := start; ; dir = filepath.Dir(dir) {
			script := filepath.Join(dir, "hack", "assets.sh")
			if isFile(filepath.Join(dir, "go.work")) && isFile(script) {
				return script, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("there is no workspace with hack/assets.sh above the working directory")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// classpath is spelt out because the order of a wildcard is that of the folder, and a class archive binds to the order.
func (in *installation) classpath() string {
	return strings.Join(in.jars, string(filepath.ListSeparator))
}
