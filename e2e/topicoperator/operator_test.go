package topicoperator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
)

// settings are environment variables of an operator.
type settings map[string]string

// operator is a running operator.
type operator struct {
	name    string
	process *operatorproc.Process
	// labels are the labels that a KafkaTopic needs.
	labels map[string]string
	// kafka is the cluster of the operator.
	kafka *broker
}

// running are the operators that currently run, for messages of failures.
var running []*operator

// setup has the options of an operator. The zero value watches all namespaces, and selects objects by a label of this operator.
type setup struct {
	name string
	// namespaces is STRIMZI_NAMESPACE. If it is set, there is no selector.
	namespaces string
	// kafka is the cluster; nil means main. bootstrap are addresses to use instead of its plaintext listener's.
	kafka     *broker
	bootstrap []string
	// kubeconfig is the path of the kubeconfig; empty means the administrator's.
	kubeconfig string
	env        settings
}

// labelOperator is the label by which operators of the suite select their objects on the shared control plane.
const labelOperator = "e2e/operator"

// program is the path of the operator's binary, which is built once.
var program string

// newOperator starts an operator without waiting for it. The caller has to stop it.
func newOperator(s setup) *operator {
	GinkgoHelper()
	if program == "" {
		var err error
		program, err = operatorproc.Build(ctx)
		Expect(err).NotTo(HaveOccurred())
	}
	o := &operator{name: s.name, kafka: s.kafka}
	if o.kafka == nil {
		o.kafka = main
	}
	if s.bootstrap == nil {
		s.bootstrap = o.kafka.Bootstrap()
	}
	if s.kubeconfig == "" {
		s.kubeconfig = plane.Kubeconfig()
	}
	env := settings{"STRIMZI_ENABLE_ADDITIONAL_METRICS": "true"}
	if s.namespaces == "" {
		s.namespaces = "*"
		o.labels = map[string]string{labelOperator: s.name}
		env["STRIMZI_RESOURCE_LABELS"] = labelOperator + "=" + s.name
	}
	for key, value := range s.env {
		env[key] = value
	}
	var err error
	o.process, err = operatorproc.Start(ctx, operatorproc.Options{
		Binary: program, Kubeconfig: s.kubeconfig, Namespace: s.namespaces, Bootstrap: s.bootstrap, Env: env,
	})
	Expect(err).NotTo(HaveOccurred())
	running = append(running, o)
	return o
}

// startOperator starts an operator, which is stopped at the end of the spec or container that called startOperator.
func startOperator(s setup) *operator {
	GinkgoHelper()
	o := newOperator(s)
	DeferCleanup(o.end)
	o.awaitReady()
	return o
}

func (o *operator) awaitReady() {
	GinkgoHelper()
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	Expect(o.process.WaitReady(bounded)).To(Succeed())
}

// end shuts the operator down gracefully, if it still runs, and checks its exit code. It always removes the operator's files.
func (o *operator) end() {
	GinkgoHelper()
	defer o.forget()
	if o.process.Running() {
		o.terminate()
	}
}

// forget removes the files of an operator.
func (o *operator) forget() {
	running = slices.DeleteFunc(running, func(other *operator) bool { return other == o })
	o.process.Close()
}

// shutdownLimit is how long an operator may take to end after SIGTERM, on a busy machine.
const shutdownLimit = 6 * time.Second

// terminate asks the operator to end, and checks that it ends soon, with code 0.
func (o *operator) terminate() {
	GinkgoHelper()
	began := time.Now()
	code, err := o.process.Terminate()
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(BeZero(), "the exit code; the log ends with\n%s", o.process.LogTail(30))
	Expect(time.Since(began)).To(BeNumerically("<", shutdownLimit), "the time that the operator took to end")
}

// metric returns the sum of the series of a metric that have all of the labels.
func (o *operator) metric(name string, labels ...string) float64 {
	GinkgoHelper()
	all, err := o.process.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all.Sum(name, labels...)
}

// requests returns how often the operator has sent a request of this name to Kafka.
func (o *operator) requests(name string) float64 {
	GinkgoHelper()
	return o.metric("strimzi_kafka_request_duration_seconds_count", `request="`+name+`"`)
}

// logged reports whether one line of the log contains all texts.
func (o *operator) logged(texts ...string) bool { return len(o.process.LogLines(texts...)) > 0 }

// shared maps names to operators that several specs use.
var shared = map[string]*operator{}

// sharedOperator starts an operator when it is first needed. It runs until the end of the suite.
func sharedOperator(s setup) *operator {
	GinkgoHelper()
	if o := shared[s.name]; o != nil && o.process.Running() {
		return o
	}
	o := newOperator(s)
	o.awaitReady()
	shared[s.name] = o
	return o
}

// coreOperator returns the operator of most specs, with Strimzi's defaults. Its timed passes are two minutes apart, so the changes that
// specs see are due to events.
func coreOperator() *operator { GinkgoHelper(); return sharedOperator(setup{name: "core"}) }

// timed returns an operator with timed passes every two seconds.
func timed() *operator {
	GinkgoHelper()
	return sharedOperator(setup{name: "timed", env: settings{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "2000"}})
}

// unfinalized returns an operator that runs without finalizers.
func unfinalized() *operator {
	GinkgoHelper()
	return sharedOperator(setup{name: "unfinalized", env: settings{"STRIMZI_USE_FINALIZERS": "false"}})
}

// endShared stops the operators of the suite, and checks that none of them has ended before.
func endShared() {
	GinkgoHelper()
	for _, o := range shared {
		if !o.process.Running() {
			Expect(o.process.ExitCode()).To(BeZero(), "operator %s ended by itself; its log ends with\n%s", o.name, o.process.LogTail(30))
		}
		o.end()
	}
}

// lastLines is the number of log lines in the message of a failure.
const lastLines = 60

func (o *operator) explain() string {
	return fmt.Sprintf("--- operator %s: the end of its log ---\n%s\n", o.name, strings.TrimSpace(o.process.LogTail(lastLines)))
}
