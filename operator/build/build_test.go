package build

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestInfo(t *testing.T) {
	dirty := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}}
	if got := describe("1.2.3", "", dirty); got.Version != "1.2.3" || got.Revision != "abc-dirty" || got.Go == "" {
		t.Errorf("%+v", got)
	}
	if got := describe("", "", nil); got.Version != "devel" || got.Revision != "unknown" {
		t.Errorf("%+v", got)
	}
	if got := describe("1.2.3", "def", dirty); got.Revision != "def" {
		t.Errorf("%+v", got)
	}
	if text := Current().String(); !strings.HasPrefix(text, "devel (revision ") {
		t.Error(text)
	}
}

// Programs for other platforms are the same version.
func TestSource(t *testing.T) {
	arm := Info{Version: "1.2.3", Revision: "abc", Go: "go1.26.1", Platform: "linux/arm64"}
	amd := Info{Version: "1.2.3", Revision: "abc", Go: "go1.26.0", Platform: "linux/amd64"}
	if arm.Source() != "1.2.3 (revision abc)" || amd.Source() != arm.Source() {
		t.Errorf("%q, %q", arm.Source(), amd.Source())
	}
	if other := (Info{Version: "1.2.3", Revision: "def"}); other.Source() == arm.Source() {
		t.Error("another revision is another version")
	}
}

func TestTheMetricIsRegisteredOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	Register(registry, "test")
	Register(registry, "test") // a second manager in one process
	n, err := testutil.GatherAndCount(registry, "kafka_operators_build_info")
	if err != nil || n != 1 {
		t.Errorf("%d series, %v", n, err)
	}
}
