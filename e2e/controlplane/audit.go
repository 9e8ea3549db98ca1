package controlplane

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// auditPolicy logs the metadata of requests, and not their objects. It leaves out the requests of the API server to itself.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver"]
- level: Metadata
`

// Request is one request that the API server served.
type Request struct {
	Time time.Time
	// UserAgent is the client's user agent, User the authenticated user.
	UserAgent, User string
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	// Group, Resource, Subresource, Namespace and Name identify the requested resource; Path is set for requests that are not for a resource.
	Group, Resource, Subresource, Namespace, Name, Path string
	// Code is the status code of the response.
	Code int
}

// String returns a line for messages of failed tests.
func (r Request) String() string {
	what := r.Path
	if r.Resource != "" {
		what = r.Resource
		if r.Subresource != "" {
			what += "/" + r.Subresource
		}
		what += " " + r.Namespace + "/" + r.Name
	}
	return fmt.Sprintf("%s %s %s -> %d by %s (%s)", r.Time.Format("15:04:05.000"), r.Verb, what, r.Code, r.User, r.UserAgent)
}

// AuditLog is the log of the requests that an API server serves. The value is the folder that it is in.
type AuditLog string

func (l AuditLog) path() string { return filepath.Join(string(l), "audit.log") }

// Flags makes the folder, with the policy of the log, and returns the flags, without their dashes, of an API server that writes the log.
func (l AuditLog) Flags() (map[string]string, error) {
	if err := os.MkdirAll(string(l), 0o700); err != nil {
		return nil, err
	}
	policy := filepath.Join(string(l), "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	return map[string]string{
		"audit-policy-file": policy, "audit-log-path": l.path(),
		// Events are written before the response is complete, and the log is never rotated.
		"audit-log-mode": "blocking", "audit-log-maxsize": "1000000",
	}, nil
}

func (p *ControlPlane) configureAudit(args *envtest.Arguments) error {
	flags, err := AuditLog(p.dir).Flags()
	for name, value := range flags {
		args.Set(name, value)
	}
	return err
}

// Mark is a moment, and a position in the log of requests that has no later request before it.
type Mark struct {
	at       time.Time
	position int64
}

// Mark returns the current moment, for a later [ControlPlane.Requests].
func (p *ControlPlane) Mark() (Mark, error) {
	info, err := os.Stat(AuditLog(p.dir).path())
	if err != nil {
		return Mark{}, err
	}
	return Mark{at: time.Now().Truncate(time.Microsecond), position: info.Size()}, nil // as the log has it
}

// auditEvent has the fields of audit.k8s.io/v1 Event that are needed here.
type auditEvent struct {
	Stage          string
	RequestURI     string
	Verb           string
	UserAgent      string
	User           struct{ Username string }
	ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
	// The moments of the request and of the stage.
	RequestReceivedTimestamp, StageTimestamp time.Time
}

// Requests returns the requests that the API server received since the mark and that match, as [AuditLog.Requests] does.
func (p *ControlPlane) Requests(since Mark, match func(Request) bool) ([]Request, error) {
	return AuditLog(p.dir).Requests(since, match)
}

// Requests returns the requests that the API server received since the mark and that match, in order; Mark{} is for all. A watch counts
// once, when it begins. The API server logs a request just after its response, so the latest requests may be missing.
func (l AuditLog) Requests(since Mark, match func(Request) bool) ([]Request, error) {
	f, err := os.Open(l.path())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(since.position, io.SeekStart); err != nil {
		return nil, err
	}
	var requests []Request
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, nil // a line that is still being written is left for the next call
		}
		if err != nil {
			return nil, err
		}
		var e auditEvent
		if err := json.NewDecoder(bytes.NewReader(line)).Decode(&e); err != nil {
			return nil, fmt.Errorf("the audit log: %w", err)
		}
		if r, ok := e.request(); ok && !e.RequestReceivedTimestamp.Before(since.at) && match(r) {
			requests = append(requests, r)
		}
	}
}

// request converts the event. A long-running request (a watch) has one event at its start and one at its end.
func (e auditEvent) request() (Request, bool) {
	started := e.Stage == "ResponseStarted"
	if (e.Verb == "watch") != started {
		return Request{}, false
	}
	r := Request{
		Time: e.StageTimestamp, UserAgent: e.UserAgent, User: e.User.Username, Verb: e.Verb,
		Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code,
	}
	if r.Resource == "" {
		r.Path = e.RequestURI
	}
	return r, true
}

// Tally counts requests by a key, for example the verb and the resource.
func Tally(requests []Request, key func(Request) string) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		counts[key(r)]++
	}
	return counts
}
