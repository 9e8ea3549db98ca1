package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Input has the objects to validate, and the facts to check them against.
type Input struct {
	// Kafka is the user's object.
	Kafka *v1.Kafka
	// Pools are the KafkaNodePools that belong to it, with the storage that their nodes are made with.
	Pools []*v1.KafkaNodePool

	// Versions are the versions of Kafka that the operator has images for, and Version is the one that is wanted where the Kafka object names
	// none.
	Versions []string
	Version  string
	// Running is the running Kafka; nil if there is none.
	Running *Running
	// Clusters are the Kubernetes clusters that pools can be put in; nil if the operator knows only the one that it runs in.
	Clusters *Clusters
	// Placed maps pools to the ids of the Kubernetes clusters where their nodes or volumes are.
	Placed map[string]string

	// Exporter: the operator can give nodes the JMX exporter.
	Exporter bool

	// Brokers are the ids of the brokers; nil as long as they are unknown.
	Brokers []int32

	// ConfigMaps holds the data of those that the Kafka object refers to (References); nil for one that does not exist. ConfigMaps that
	// are not in the map were not read; rules about them are skipped.
	ConfigMaps map[string]map[string]string
	// Secrets holds the data of those that the Kafka object refers to (References); nil for one that does not exist. Secrets that are
	// not in the map were not read; rules about them are skipped.
	Secrets map[string]map[string][]byte
	// Held names the listeners for which nodes have a certificate of their user's already: they keep it while another one is refused.
	Held map[string]bool
	// Now is for what expires.
	Now time.Time
}

// Running is the running Kafka.
type Running struct {
	// Versions are the Kafka versions of pods, from their annotation strimzi.io/kafka-version.
	Versions []string
	// Unannotated: there are pods without that annotation.
	Unannotated bool
	// MetadataVersion is that of the cluster; empty if it is unknown.
	MetadataVersion string
	// Features are the levels of the features that the cluster uses, if Kafka was asked for them.
	Features map[string]int16
}

// Code identifies a rule.
type Code string

// Problem is one finding.
type Problem struct {
	Code Code
	// Reason and Message are the reason and message of the condition.
	Reason, Message string
	// Pool names the KafkaNodePool that a warning is about; empty if it is about none, or several.
	Pool string
	// Missing reports that something does not exist that the user may create next, without changing the object.
	Missing bool
}

// Result is all that was found.
type Result struct {
	// Errors block all changes.
	Errors []Problem
	// Refused are problems that affect a single setting: nodes keep their previous one, and everything else proceeds.
	Refused []Problem
	// Warnings are reported in addition to Ready.
	Warnings []Problem
}

// Joined is all problems as one condition shows them: in Strimzi's words, where it has some for several. There is none without problems.
func Joined(problems []Problem) (Problem, bool) {
	if len(problems) == 0 {
		return Problem{}, false
	}
	var messages []string
	missing := true
	for _, e := range problems {
		messages = append(messages, e.Message)
		missing = missing && e.Missing
	}
	return Problem{Code: problems[0].Code, Reason: problems[0].Reason, Message: strings.Join(messages, "; "), Missing: missing}, true
}

// Validate holds objects against all rules. Its result depends on nothing but its input, in its order as well.
func Validate(in Input) Result {
	switch {
	case in.Kafka != nil && in.Kafka.Invalid != "":
		return Result{Errors: []Problem{{Code: "Undecodable", Reason: v1.ReasonInvalidResource,
			Message: "The Kafka can't be read: " + in.Kafka.Invalid}}}
	case in.Kafka == nil || in.Kafka.Spec == nil:
		return Result{Errors: []Problem{{Code: "SpecMissing", Reason: v1.ReasonInvalidResource, Message: "The required field .spec is missing"}}}
	}
	f := begin(in)
	for _, rule := range []func(){
		f.stretch, f.names, f.versions, f.pools, f.resources, f.storages, f.listeners, f.config, f.quotas, f.metrics, f.logging, f.authorities,
		f.templates, f.windows, f.topicOperator,
		f.advice, f.deprecated, f.unsupported, f.typed, f.keys, f.switches,
	} {
		rule()
	}
	return f.Result
}

// Stretched holds objects against the rules about where a Kafka is stretched, which need no Kubernetes cluster to be read.
func Stretched(in Input) []Problem {
	f := begin(in)
	f.stretch()
	return f.Errors
}

// begin returns the findings of no rule yet.
func begin(in Input) *findings {
	in.Pools = slices.SortedFunc(slices.Values(in.Pools), func(a, b *v1.KafkaNodePool) int { return cmp.Compare(a.Name, b.Name) })
	in.Pools = slices.DeleteFunc(in.Pools, func(p *v1.KafkaNodePool) bool { return p.Spec == nil })
	return &findings{Input: in}
}

// findings are collected by the rules.
type findings struct {
	Input
	Result
}

func (f *findings) fail(code Code, reason, format string, args ...any) {
	f.Errors = append(f.Errors, Problem{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// missing is fail for what may be created next.
func (f *findings) missing(code Code, reason, format string, args ...any) {
	f.Errors = append(f.Errors, Problem{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...), Missing: true})
}

// invalid is fail with the reason of most errors, an invalid resource.
func (f *findings) invalid(code Code, format string, args ...any) {
	f.fail(code, v1.ReasonInvalidResource, format, args...)
}

func (f *findings) warn(code Code, reason, format string, args ...any) {
	f.Warnings = append(f.Warnings, Problem{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// warnOf is warn for what is about one KafkaNodePool.
func (f *findings) warnOf(pool *v1.KafkaNodePool, code Code, reason, format string, args ...any) {
	f.Warnings = append(f.Warnings, Problem{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...), Pool: pool.Name})
}

// cluster is the part of the Kafka object that is about nodes.
func (f *findings) cluster() *v1.KafkaClusterSpec { return &f.Kafka.Spec.Kafka }

// version is the version of Kafka that is wanted.
func (f *findings) version() string { return cmp.Or(f.cluster().Version, f.Version) }

// count is how many nodes with a role the pools ask for.
func (f *findings) count(role v1.ProcessRole) int {
	n := 0
	for _, p := range f.Pools {
		if slices.Contains(p.Spec.Roles, role) {
			n += int(p.Spec.Replicas)
		}
	}
	return n
}

// or returns the value of a pointer, or a default.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
