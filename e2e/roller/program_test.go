package roller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/freeport"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

// The exit codes of the roller's commands.
const (
	done    = 0
	failed  = 1
	usage   = 2
	pending = 3
	blocked = 4
)

// environment returns this process's environment without variables that would configure the roller.
func (s *scene) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(line string) bool {
		return strings.HasPrefix(line, "STRIMZI_") ||
			strings.HasPrefix(line, "KUBE")
	})
	return append(env, "KUBECONFIG="+s.roller.Kubeconfig)
}

// ask runs a command of the roller, checks its exit code, and returns its output.
func (s *scene) ask(exit int, args ...string) string {
	GinkgoHelper()
	c := exec.CommandContext(ctx, program, append(args, s.where(args[0])...)...)
	c.Env = s.environment()
	out, err := c.CombinedOutput()
	GinkgoWriter.Printf("$ roller %s\n%s\n", strings.Join(args, " "), out)
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(c.ProcessState.ExitCode()).To(Equal(exit), "roller %s:\n%s", strings.Join(args, " "), out)
	return string(out)
}

// background is a roller that runs during a spec.
type background struct {
	*process.Process
	output  string
	address string
}

// start starts a command. It is killed at the end of the spec at the latest.
func (s *scene) start(args ...string) *background {
	GinkgoHelper()
	b := &background{output: filepath.Join(GinkgoT().TempDir(), "roller.log")}
	var err error
	b.Process, err = process.Start(process.Options{
		Args: slices.Concat([]string{program}, args, s.where(args[0])), Env: s.environment(), Dir: filepath.Dir(b.output), Output: b.output,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		b.Kill()
		GinkgoWriter.Printf("$ roller %s\n%s\n", strings.Join(args, " "), b.printed())
	})
	return b
}

// rollOn runs roll with a short patience until it is done, and returns all that it printed. It gives up on nodes that take longer to start,
// as on a busy machine, and goes on when it is run again: it waits for its patience each time, and a node has that of the suite to start.
// watch is called all the time.
func (s *scene) rollOn(watch func(), short time.Duration, args ...string) (printed string) {
	GinkgoHelper()
	for tries, before := 0, s.restarts(); ; {
		began := time.Now()
		roll := s.start(append([]string{"roll", "--patience=" + short.String()}, args...)...)
		Eventually(func() bool {
			watch()
			return roll.Running()
		}).WithTimeout(8 * patience).Should(BeFalse())
		if printed += roll.printed(); roll.ExitCode() == done {
			return printed
		}
		Expect(roll.ExitCode()).To(Equal(blocked), printed)
		Expect(time.Since(began)).To(BeNumerically(">=", short), "it gave up too early: %s", printed)
		if now := s.restarts(); now > before {
			tries, before = 0, now
		}
		tries++
		Expect(tries).To(BeNumerically("<=", int(patience/short)), "a node does not start: %s", printed)
	}
}

// run starts the Deployment's program.
func (s *scene) run(args ...string) *background {
	GinkgoHelper()
	ports, err := freeport.Take(1)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { freeport.Release(ports) })
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	b := s.start(append([]string{"run", "--http-address=" + address}, args...)...)
	b.address = address
	return b
}

// printed returns its output so far.
func (b *background) printed() string {
	text, err := os.ReadFile(b.output)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// get returns a page of the Deployment's program.
func (b *background) get(path string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + b.address + path)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(text), err
}

// planned has the fields of the plan's JSON that users rely on.
type planned struct {
	Batches []struct {
		Nodes []int32 `json:"nodes"`
	} `json:"batches"`
	Fewest  int     `json:"fewest"`
	Blocked []int32 `json:"blocked"`
	Nodes   []struct {
		Node    int32  `json:"node"`
		Name    string `json:"name"`
		State   string `json:"state"`
		Need    string `json:"need"`
		Reasons []struct {
			Kind string `json:"kind"`
		} `json:"reasons"`
	} `json:"nodes"`
}

// plan returns the plan, which it reads as JSON.
func (s *scene) plan(exit int, args ...string) planned {
	GinkgoHelper()
	var p planned
	Expect(json.Unmarshal([]byte(s.ask(exit, append([]string{"plan", "-o", "json"}, args...)...)), &p)).To(Succeed())
	return p
}

// order returns the nodes of a plan's batches, one after the other.
func (p planned) order() []int32 {
	var ids []int32
	for _, b := range p.Batches {
		ids = append(ids, b.Nodes...)
	}
	return ids
}
