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
	// labels are what a KafkaTopic must carry.
	labels map[string]string
	// kafka is the cluster that it works on.
	kafka *broker
}

// running are the operators of the moment, for whoever explains a failure.
var running []*operator

// setup describes how to start an operator. The zero value watches all namespaces, for objects that carry a label of its own.
type setup struct {
	name string
	// namespaces is STRIMZI_NAMESPACE; if it is given, there is no selector.
	namespaces string
	// kafka is the cluster, main if nil; bootstrap are other addresses than its plaintext listener's.
	kafka     *broker
	bootstrap []string
	// kubeconfig is the administrator's if empty.
	kubeconfig string
	env        settings
}

// labelOperator is the label by which operators of one suite share a control plane.
const labelOperator = "e2e/operator"

// program is the operator's binary, built once.
var program string

// newOperator starts an operator without waiting for it. Nobody but the caller ends it.
func newOperator(s setup) *operator {
	GinkgoHelper()
	if program == "" {
		var err error
		program, err = operatorproc.Build(ctx, false)
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

// startOperator starts an operator that lives as long as the spec, or the container, that asks for it.
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

// end ends the operator in order, if it still runs, and proves that it ended well. Files are removed either way.
func (o *operator) end() {
	GinkgoHelper()
	defer o.forget()
	if o.process.Running() {
		o.terminate()
	}
}

// forget removes what is left of an operator.
func (o *operator) forget() {
	running = slices.DeleteFunc(running, func(other *operator) bool { return other == o })
	o.process.Close()
}

// shutdownLimit is how long an operator may take to end after SIGTERM, on a busy machine.
const shutdownLimit = 6 * time.Second

// terminate asks the operator to end. It must do so soon, and with code 0.
func (o *operator) terminate() {
	GinkgoHelper()
	began := time.Now()
	code, err := o.process.Terminate()
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(BeZero(), "the exit code; the log ends with\n%s", o.process.LogTail(30))
	Expect(time.Since(began)).To(BeNumerically("<", shutdownLimit), "the time that the operator took to end")
}

// metric adds up the series of a metric that have all of the labels.
func (o *operator) metric(name string, labels ...string) float64 {
	GinkgoHelper()
	all, err := o.process.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all.Sum(name, labels...)
}

// requests is how often the operator has sent a request of this name to Kafka.
func (o *operator) requests(name string) float64 {
	GinkgoHelper()
	return o.metric("strimzi_kafka_request_duration_seconds_count", `request="`+name+`"`)
}

// logged reports whether one line of the log contains all texts.
func (o *operator) logged(texts ...string) bool { return len(o.process.LogLines(texts...)) > 0 }

// shared keeps operators that several specs use, by name.
var shared = map[string]*operator{}

// sharedOperator starts an operator when it is first asked for; it lives as long as the suite.
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

// core is the operator of most specs: Strimzi's defaults. Its timed passes are two minutes apart, so what a spec sees is due to events.
func core() *operator { GinkgoHelper(); return sharedOperator(setup{name: "core"}) }

// timed is an operator whose timed passes come every two seconds.
func timed() *operator {
	GinkgoHelper()
	return sharedOperator(setup{name: "timed", env: settings{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "2000"}})
}

// unfinalized is an operator in the mode without finalizers.
func unfinalized() *operator {
	GinkgoHelper()
	return sharedOperator(setup{name: "unfinalized", env: settings{"STRIMZI_USE_FINALIZERS": "false"}})
}

// endShared ends the operators of the suite. None of them must have ended before.
func endShared() {
	GinkgoHelper()
	for _, o := range shared {
		if !o.process.Running() {
			Expect(o.process.ExitCode()).To(BeZero(), "operator %s ended by itself; its log ends with\n%s", o.name, o.process.LogTail(30))
		}
		o.end()
	}
}

// lastLines is how much of a log helps.
const lastLines = 60

func (o *operator) explain() string {
	return fmt.Sprintf("--- operator %s: the end of its log ---\n%s\n", o.name, strings.TrimSpace(o.process.LogTail(lastLines)))
}
