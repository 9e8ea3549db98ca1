//go:build linux

package supervise

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

// all waits for the children of this test process. There can be only one such object.
var all = newChildren()

// supervised returns a component whose program is a shell script, which writes its process id to the log at each start.
func supervised(t *testing.T, after ...nodespec.Condition) (c *component, pids func() []int) {
	log := filepath.Join(t.TempDir(), "log")
	c = &component{
		spec: nodespec.Component{Name: "script", Args: []string{"/bin/sh", "-c", "echo $$; exec sleep 600"}, After: after},
		log:  log, children: all, events: &events{out: io.Discard},
	}
	t.Cleanup(c.stop)
	return c, func() []int {
		content, _ := os.ReadFile(log) // there is none before the first start
		var found []int
		for _, line := range strings.Fields(string(content)) {
			pid, err := strconv.Atoi(line)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			found = append(found, pid)
		}
		return found
	}
}

func alive(pid int) error { return syscall.Kill(pid, 0) }

func TestAComponentThatEndsIsStartedAgain(t *testing.T) {
	g := NewWithT(t)
	c, pids := supervised(t)
	c.start()
	c.start() // no effect: it runs already
	g.Eventually(pids, time.Minute).Should(HaveLen(1))
	g.Expect(syscall.Kill(pids()[0], syscall.SIGKILL)).To(Succeed())
	g.Eventually(pids, time.Minute).Should(HaveLen(2))
	g.Expect(alive(pids()[1])).To(Succeed())
}

func TestAComponentThatIsStoppedStaysDownUntilStart(t *testing.T) {
	g := NewWithT(t)
	c, pids := supervised(t)
	c.start()
	g.Eventually(pids, time.Minute).Should(HaveLen(1))
	c.stop()
	g.Expect(alive(pids()[0])).To(Equal(syscall.ESRCH), "it is gone, and waited for")
	g.Consistently(pids, restartDelay+200*time.Millisecond).Should(HaveLen(1))
	c.stop() // no effect: it is stopped already
	c.start()
	g.Eventually(pids, time.Minute).Should(HaveLen(2))
}

func TestAComponentWaitsForItsConditions(t *testing.T) {
	g := NewWithT(t)
	var up atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	socket := filepath.Join(t.TempDir(), "socket")
	c, pids := supervised(t, nodespec.Condition{Socket: socket}, nodespec.Condition{URL: server.URL})
	c.start()
	g.Consistently(pids, 4*conditionInterval).Should(BeEmpty())
	listener, err := net.Listen("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	g.Consistently(pids, 4*conditionInterval).Should(BeEmpty())
	up.Store(true)
	g.Eventually(pids, time.Minute).Should(HaveLen(1))
}

func TestAComponentThatWaitsCanBeStopped(t *testing.T) {
	g := NewWithT(t)
	c, pids := supervised(t, nodespec.Condition{Socket: "/no/such/socket"})
	c.start()
	c.stop()
	g.Expect(pids()).To(BeEmpty())
}

func TestAProgramThatCanNotBeStartedIsTriedAgain(t *testing.T) {
	g := NewWithT(t)
	c, pids := supervised(t)
	program := filepath.Join(t.TempDir(), "program")
	c.spec.Args = []string{program}
	c.start()
	g.Expect(os.WriteFile(program+".new", []byte("#!/bin/sh\necho $$\nexec sleep 600\n"), 0o755)).To(Succeed())
	g.Expect(os.Rename(program+".new", program)).To(Succeed())
	g.Eventually(pids, time.Minute).ShouldNot(BeEmpty())
}

func TestRequestsAreAnswered(t *testing.T) {
	g := NewWithT(t)
	c, pids := supervised(t)
	dir := t.TempDir()
	n := &node{
		spec:       &nodespec.Spec{Dir: dir, ImportImage: []string{"/bin/sh", "-c", `test "$0" = good || { echo "bad archive" >&2; exit 1; }`}},
		children:   all,
		components: map[string]*component{"script": c},
	}
	g.Expect(n.fulfil("start script")).To(Succeed())
	g.Eventually(pids, time.Minute).Should(HaveLen(1))
	g.Expect(n.fulfil("stop script")).To(Succeed())
	g.Expect(n.fulfil("import good")).To(Succeed())
	g.Expect(n.fulfil("import bad")).To(MatchError("import bad: bad archive"))
	g.Expect(n.fulfil("stop nothing")).To(MatchError(ContainSubstring("no component")))
	g.Expect(n.fulfil("praise script")).To(MatchError(ContainSubstring("no request")))
	left, err := os.ReadDir(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(BeEmpty())
}
