// Package build identifies the running build of a program: for --version, the log and the metric kafka_operators_build_info.
package build

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Release is the release that this tree becomes: the tag of the images that the manifests, the Makefile and the settings name.
const Release = "0.1.0"

// version and revision are set by the linker: -ldflags '-X github.com/kafka-operators/kafka-operators/operator/build.version=1.2.3'. An
// image is built without the history, so the compiler records no revision there.
var version, revision string

// Info describes a build.
type Info struct {
	// Version is the release, such as 1.2.3; devel for a build that is no release.
	Version string
	// Revision is the commit, with "-dirty" if the build has uncommitted changes; unknown if the build does not record it.
	Revision string
	// Go is the version of the compiler, Platform is GOOS/GOARCH.
	Go, Platform string
}

// Current returns the build of the running program.
func Current() Info {
	recorded, _ := debug.ReadBuildInfo()
	return describe(version, revision, recorded)
}

func describe(version, revision string, recorded *debug.BuildInfo) Info {
	i := Info{Version: version, Revision: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if i.Version == "" {
		i.Version = "devel"
	}
	if revision != "" {
		i.Revision = revision
		return i
	}
	if recorded == nil {
		return i
	}
	dirty := false
	for _, s := range recorded.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty {
		i.Revision += "-dirty"
	}
	return i
}

// String returns the build in one line.
func (i Info) String() string {
	return fmt.Sprintf("%s (revision %s, %s, %s)", i.Version, i.Revision, i.Go, i.Platform)
}

// Source returns what the program was built from: it is the same on all platforms, and with each compiler.
func (i Info) Source() string { return fmt.Sprintf("%s (revision %s)", i.Version, i.Revision) }

// Register adds the metric kafka_operators_build_info, which is always 1, with the build in its labels.
func Register(registry prometheus.Registerer, program string) {
	i := Current()
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kafka_operators_build_info", Help: "Always 1; the labels describe the build",
		ConstLabels: prometheus.Labels{"program": program, "version": i.Version, "revision": i.Revision, "go_version": i.Go}})
	g.Set(1)
	if err := registry.Register(g); err != nil && !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		panic(err) // a label or name that Prometheus does not allow
	}
}
