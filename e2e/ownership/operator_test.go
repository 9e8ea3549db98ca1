package ownership

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
)

// settings are environment variables of an operator.
type settings map[string]string

// The intervals between two timed passes over a KafkaTopic.
var (
	// soon sets a short interval, for specs that wait for timed passes.
	soon = settings{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "1000"}
	// never sets an interval of an hour, so that all actions are due to events.
	never = settings{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "3600000"}
)

// and merges settings. Those of others take precedence.
func (s settings) and(others settings) settings {
	all := maps.Clone(s)
	maps.Copy(all, others)
	return all
}

// operator is a running operator.
type operator struct {
	process    *operatorproc.Process
	namespaces []string
}

// running are the operators that currently run, for messages of failures.
var running []*operator

// launch starts an operator that watches the namespaces, without waiting for it. It is stopped at the end of the spec or container that
// called launch.
func launch(bootstrap []string, env settings, namespaces ...string) *operator {
	GinkgoHelper()
	o := &operator{namespaces: namespaces}
	var err error
	o.process, err = operatorproc.Start(ctx, operatorproc.Options{
		Binary: program, Kubeconfig: plane.Kubeconfig(), Namespace: strings.Join(namespaces, ","), Bootstrap: bootstrap, Env: env,
	})
	Expect(err).NotTo(HaveOccurred())
	running = append(running, o)
	DeferCleanup(o.end)
	return o
}

// start starts an operator on a Kafka cluster and waits until it is ready.
func start(c *cluster, env settings, namespaces ...string) *operator {
	GinkgoHelper()
	return launch(c.Bootstrap(), env, namespaces...).awaitReady()
}

func (o *operator) awaitReady() *operator {
	GinkgoHelper()
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	Expect(o.process.WaitReady(bounded)).To(Succeed())
	return o
}

// stop shuts the operator down gracefully.
func (o *operator) stop() {
	GinkgoHelper()
	code, err := o.process.Terminate()
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(BeZero(), "the exit code; the log ends with\n%s", o.process.LogTail(lastLines))
}

// end stops the operator if it still runs, and removes its files.
func (o *operator) end() {
	GinkgoHelper()
	running = slices.DeleteFunc(running, func(other *operator) bool { return other == o })
	defer o.process.Close()
	if o.process.Running() {
		o.stop()
	}
}

// metric returns the sum of the series of a metric that have all of the labels.
func (o *operator) metric(name string, labels ...string) float64 {
	GinkgoHelper()
	all, err := o.process.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(all.Has(name, labels...)).To(BeTrue(), "the operator shows no %s%v", name, labels)
	return all.Sum(name, labels...)
}

// gauge waits until a metric has this value.
func (o *operator) gauge(value float64, name string, labels ...string) {
	GinkgoHelper()
	Eventually(func() float64 { return o.metric(name, labels...) }).Should(Equal(value), "%s%v", name, labels)
}

func reasonLabel(reason string) string { return `reason="` + reason + `"` }

// passes waits until the operator has refused that many more times for this reason, so that any further action would have happened.
func (o *operator) passes(more float64, reason string) {
	GinkgoHelper()
	const total = "strimzi_ownership_refusals_total"
	before := o.metric(total, reasonLabel(reason))
	Eventually(func() float64 { return o.metric(total, reasonLabel(reason)) }).Should(BeNumerically(">=", before+more),
		"passes that refuse with %s", reason)
}

// logged reports whether one line of the log contains all texts.
func (o *operator) logged(texts ...string) bool { return len(o.process.LogLines(texts...)) > 0 }

// lastLines is the number of log lines in the message of a failure.
const lastLines = 60

func (o *operator) explain() string {
	return fmt.Sprintf("--- operator of %v: the end of its log ---\n%s\n", o.namespaces, strings.TrimSpace(o.process.LogTail(lastLines)))
}
