package realkafka

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// gcFlag must be the same for an archive and the nodes that use it.
const gcFlag = "-XX:+UseSerialGC"

// classArchive returns the path of an archive of the classes that a node loads (Java's AppCDS), which halves the time and the CPU of a
// start. It is created once per Java and set of jars, by starting and stopping a node, and kept in the user's cache. The archive is
// optional: if anything fails, classArchive returns "" and nodes start without it.
func (in *installation) classArchive(ctx context.Context, o Options) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "kafka-operators", "classes")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return ""
	}
	path := filepath.Join(dir, in.fingerprint()+".jsa")
	if isFile(path) {
		return path
	}
	unlock, err := lockFile(filepath.Join(dir, ".lock"), syscall.LOCK_EX)
	if err != nil {
		return ""
	}
	defer unlock()
	if isFile(path) {
		return path
	}
	fmt.Fprintln(o.Log, "realkafka: archiving Kafka's classes, once, for faster starts")
	if err := in.makeArchive(ctx, path, o); err != nil {
		fmt.Fprintf(o.Log, "realkafka: no class archive: %v\n", err)
		return ""
	}
	return path
}

// fingerprint identifies the inputs of the archive: the JVM rejects one that was created with other jars.
func (in *installation) fingerprint() string {
	h := sha256.New()
	fmt.Fprintln(h, in.java, in.javaVersion, gcFlag)
	for _, jar := range in.jars {
		if info, err := os.Stat(jar); err == nil {
			fmt.Fprintln(h, jar, info.Size(), info.ModTime().UnixNano())
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// makeArchive runs a node with all listeners, because the archive contains the classes that this node loads.
func (in *installation) makeArchive(ctx context.Context, path string, o Options) error {
	part := path + ".part"
	trainee := Options{
		SASL:     &SASL{Users: map[string]string{"u": "p"}},
		TLS:      &TLS{},
		ACL:      &ACL{},
		JVMFlags: []string{"-XX:ArchiveClassesAtExit=" + part},
		Log:      o.Log,
	}
	c, err := start(ctx, in, "", trainee)
	if err != nil {
		return err
	}
	defer c.Close()
	// The JVM writes the archive when it exits, which takes a few seconds.
	if err := c.nodes[0].proc.Terminate(2 * time.Minute); err != nil {
		return err
	}
	return os.Rename(part, path)
}
