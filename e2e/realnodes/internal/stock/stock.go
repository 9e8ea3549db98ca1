//go:build linux

// Package stock builds the images that every node has from the start.
package stock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
)

// The images of nodes themselves, and Kafka's.
const (
	Pause   = "realnodes.test/pause:1"
	CoreDNS = "realnodes.test/coredns:1"
	Kafka   = "docker.io/apache/kafka:4.3.1"
	// PreviousKafka is the previous version, from which upgrades start.
	PreviousKafka = "docker.io/apache/kafka:4.2.0"
)

// StoreDir is the name of the folder, below that of the images, with the container runtime's store of all images.
const StoreDir = "store"

// Inputs are the parts of the images.
type Inputs struct {
	// Nodes is the folder with the programs of nodes, including CoreDNS and the container runtime.
	Nodes string
	// Pause is the pause program.
	Pause string
	// Jars is the folder of Kafka's jars, PreviousJars that of the previous version.
	Jars, PreviousJars string
	// JRE is the folder of a Java runtime.
	JRE string
}

// Make writes the images' archives to a folder, and a store with the imported images.
func Make(ctx context.Context, out string, in Inputs) error {
	kafka, err := kafkaImage(ctx, Kafka, in.Jars, in.JRE)
	if err != nil {
		return err
	}
	previous, err := kafkaImage(ctx, PreviousKafka, in.PreviousJars, in.JRE)
	if err != nil {
		return err
	}
	var archives []string
	for file, i := range map[string]image.Image{
		"pause.tar":          image.OfBinary(Pause, in.Pause),
		"coredns.tar":        image.OfBinary(CoreDNS, filepath.Join(in.Nodes, "coredns")),
		"kafka.tar":          kafka,
		"kafka-previous.tar": previous,
	} {
		archive := filepath.Join(out, file)
		if err := i.Write(archive); err != nil {
			return err
		}
		archives = append(archives, archive)
	}
	slices.Sort(archives)
	return makeStore(ctx, in.Nodes, filepath.Join(out, StoreDir), archives)
}

// kafkaImage returns an image with Apache Kafka at the paths of the official image, a Java runtime, and a shell with the usual tools.
func kafkaImage(ctx context.Context, name, jars, jre string) (image.Image, error) {
	const java = "/opt/java"
	i := image.Image{Name: name, Config: image.Config{
		Env: []string{"PATH=" + java + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "JAVA_HOME=" + java, "LANG=C.UTF-8"},
		// The official image's user, which kubelet can't tell from root.
		User: "appuser", WorkingDir: "/",
	}}
	i.Files = []image.File{
		{Path: "/etc/passwd", Content: "root:x:0:0:root:/root:/bin/sh\nappuser:x:1000:1000::/home/appuser:/bin/sh\n"},
		{Path: "/etc/group", Content: "root:x:0:\nappuser:x:1000:\n"},
		{Path: "/etc/nsswitch.conf", Content: "hosts: files dns\n"},
		{Path: "/tmp", Dir: true, Mode: 0o777 | fs.ModeSticky},
		{Path: java, Source: jre},
		{Path: "/opt/kafka/libs", Source: jars},
	}
	shell, programs, err := shellFiles(ctx)
	if err != nil {
		return i, err
	}
	i.Files = append(i.Files, shell...)
	libraries, err := runtimeLibraries(ctx, jre, programs)
	i.Files = append(i.Files, libraries...)
	return i, err
}

// shellFiles returns bash, and busybox under the names of all its tools.
func shellFiles(ctx context.Context) (files []image.File, programs []string, err error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, nil, err
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, nil, err
	}
	list, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("busybox --list: %w", err)
	}
	files = []image.File{{Path: "/bin/busybox", Source: busybox}, {Path: "/bin/bash", Source: bash}}
	for _, tool := range strings.Fields(string(list)) {
		if tool != "busybox" && tool != "bash" {
			files = append(files, image.File{Path: "/bin/" + tool, Link: "busybox"})
		}
	}
	return files, []string{busybox, bash}, nil
}

// runtimeLibraries returns the shared libraries of the programs, and those of the Java runtime that it does not have itself.
func runtimeLibraries(ctx context.Context, jre string, programs []string) ([]image.File, error) {
	jre, err := filepath.Abs(jre)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(jre, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && (strings.HasSuffix(path, ".so") || path == filepath.Join(jre, "bin", "java")) {
			programs = append(programs, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	libraries, err := image.Libraries(ctx, []string{filepath.Join(jre, "lib"), filepath.Join(jre, "lib", "server")}, programs...)
	libraries = slices.DeleteFunc(libraries, func(f image.File) bool { return strings.HasPrefix(f.Path, jre+"/") })
	return libraries, err
}

// containerdConfig configures a container runtime that only imports images.
const containerdConfig = `version = 3
root = %q
state = %q
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt", "io.containerd.grpc.v1.cri"]
[grpc]
  address = %q
`

// makeStore makes a container runtime import the archives. A node that links the store needs no import and no disk space for it: only the
// databases in it are ever written again.
func makeStore(ctx context.Context, nodes, dir string, archives []string) (err error) {
	state, err := os.MkdirTemp("", "images-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	socket, config := filepath.Join(state, "socket"), filepath.Join(state, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, containerdConfig, dir, filepath.Join(state, "state"), socket), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(state, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	containerd := exec.CommandContext(ctx, filepath.Join(nodes, "containerd"), "--config", config)
	containerd.Stdout, containerd.Stderr = log, log
	if err := containerd.Start(); err != nil {
		return err
	}
	if err := importAll(ctx, filepath.Join(nodes, "ctr"), socket, archives); err != nil {
		stop()
		_ = containerd.Wait() // killed
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w; containerd's log:\n%s", err, said)
	}
	// Shut down gracefully, so that the databases are complete.
	if err := containerd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := containerd.Wait(); err != nil {
		return fmt.Errorf("containerd: %w", err)
	}
	return nil
}

// startPatience is the timeout for the start of the container runtime.
const startPatience = time.Minute

func importAll(ctx context.Context, ctr, socket string, archives []string) error {
	base := []string{"--address", socket, "--namespace", "k8s.io", "images", "import"}
	if err := awaitSocket(ctx, socket); err != nil {
		return err
	}
	for _, archive := range archives {
		if out, err := exec.CommandContext(ctx, ctr, append(slices.Clone(base), archive)...).CombinedOutput(); err != nil {
			return fmt.Errorf("import %s: %w: %s", archive, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

func awaitSocket(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containerd does not answer: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
