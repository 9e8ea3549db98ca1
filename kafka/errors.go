package kafka

import (
	"context"
	"errors"
	"fmt"
)

// Class classifies errors by what a caller can do about them.
type Class int

// The classes. The error's code and message have the details.
const (
	// ClassUnknown is an error that Kafka itself could not explain, or one that this module does not know. A later retry may help.
	ClassUnknown Class = iota
	// ClassRetriable is a temporary state of the cluster, or of the connection to it: no broker answered, an election, a full request
	// queue, a deadline. A write that failed may still have been executed: read before writing again.
	ClassRetriable
	// ClassThrottled is an exceeded quota (KIP-599): retry later, not sooner.
	ClassThrottled
	// ClassForbidden is a lack of authorization. Final until it is granted.
	ClassForbidden
	// ClassAuthentication is a refused login or TLS handshake. Final until the credentials change.
	ClassAuthentication
	// ClassInvalid is a request whose content Kafka rejects, by its own rules or by a policy. Final until the request changes.
	ClassInvalid
	// ClassNotFound is a topic or resource that does not exist.
	ClassNotFound
	// ClassExists is a topic that exists already.
	ClassExists
	// ClassDisabled is an operation that the cluster has switched off (delete.topic.enable=false).
	ClassDisabled
	// ClassUnsupported is an operation that this version of Kafka lacks.
	ClassUnsupported
	// ClassWrongCluster is a call of a client that is bound to one cluster (see ClusterPinner), when no broker of that cluster answered
	// and one of another cluster did. Nothing of the request was executed. Final until the connection to Kafka is corrected.
	ClassWrongCluster
)

// Error is an error from Kafka, or from the connection to it.
type Error struct {
	// Code is Kafka's error code, or CodeTransport when no broker answered.
	Code int16
	// Name is the exception's name as Kafka's own clients print it, such as TopicAuthorizationException (docs/decisions/kafkas-words.md).
	Name string
	// Message is Kafka's text, or the usual text of the code if the broker sent none. For CodeTransport it describes the failure without
	// details that differ between attempts; the cause is wrapped.
	Message string
	// Class tells callers how to handle it.
	Class Class

	cause     error
	answering string // the cluster that answered instead of the right one
	tls       TLSFailure
	following int // the controllers that answered that they do not lead the quorum
}

// CodeTransport is the code of an Error that did not come from a broker.
const CodeTransport int16 = -2

// Error returns "Name: Message", the form that users' alerts know (docs/decisions/kafkas-words.md).
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Name
	}
	return e.Name + ": " + e.Message
}

// Unwrap returns the cause of a transport error.
func (e *Error) Unwrap() error { return e.cause }

// NewTransportError wraps a failure to reach a broker or to read its answer. Its class is ClassRetriable.
func NewTransportError(message string, cause error) *Error {
	return &Error{Code: CodeTransport, Name: "TimeoutException", Message: message, Class: ClassRetriable, cause: cause}
}

// TLSFailure is the reason why a TLS handshake failed.
type TLSFailure int

// The reasons of a failed handshake. TLSUntrusted is any other problem of the broker's certificate or its answer.
const (
	TLSUntrusted TLSFailure = iota + 1
	// TLSAlert: the broker rejected the client's certificate, or something else, with an alert.
	TLSAlert
	// TLSExpired: the broker's own certificate has expired. If that of a CA has, or one is not valid yet, other clients may accept it.
	TLSExpired
	// TLSOwnExpired: the broker rejected the client with an alert, and the client's own certificate has expired, or is not valid yet.
	TLSOwnExpired
	// TLSNoCertificate: the broker rejected the client with an alert, and the client has no certificate, which the listener may require.
	TLSNoCertificate
)

// NewTLSError returns the error of a failed TLS handshake. Its class is ClassAuthentication.
func NewTLSError(message string, failure TLSFailure) *Error {
	return &Error{Code: CodeTransport, Name: "SslAuthenticationException", Class: ClassAuthentication, Message: message, tls: failure}
}

// TLSFailureOf returns why the TLS handshake of err failed, 0 if err is no handshake error.
func TLSFailureOf(err error) TLSFailure {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.tls
}

// NewWrongClusterError returns the error of a call that found only brokers of another cluster than the pinned one. Its class is
// ClassWrongCluster. Kafka uses the same name when brokers detect that.
func NewWrongClusterError(pinned, answering string) *Error {
	return &Error{
		Code: CodeTransport, Name: "InconsistentClusterIdException", Class: ClassWrongCluster, answering: answering,
		Message: fmt.Sprintf("a broker of the Kafka cluster %s answered, but this client is bound to the cluster %s; "+
			"nothing of the request was executed; check that the bootstrap addresses point to the cluster %[2]s", answering, pinned),
	}
}

// WrongCluster returns the id of the cluster that answered, if err is of ClassWrongCluster.
func WrongCluster(err error) (answering string, ok bool) {
	var e *Error
	if errors.As(err, &e) && e.Class == ClassWrongCluster {
		return e.answering, true
	}
	return "", false
}

// NewNoLeaderError returns the error of a request to the leader of the metadata quorum, when no controller that answered leads, and at
// least so many answered. There may be an election. Its class is ClassRetriable.
func NewNoLeaderError(controllers int, message string) *Error {
	e := NewError(CodeNotController, message)
	e.following = controllers
	return e
}

// NoLeader returns how many controllers answered at least that they do not lead the metadata quorum, when none was found that does; 0 for
// other errors. It is no proof that there is no leader unless each controller answered.
func NoLeader(err error) int {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.following
}

// CheckPin helps implementations of ClusterPinner: it returns why a client that is bound to present (empty: to none) can't be bound to
// wanted.
func CheckPin(present, wanted string) error {
	switch {
	case wanted == "":
		return NewError(CodeInvalidRequest, "A client can't be bound to a cluster without an id.")
	case present != "" && present != wanted:
		return NewError(CodeInvalidRequest, fmt.Sprintf("The client is bound to the cluster %s and can't be bound to %s.", present, wanted))
	}
	return nil
}

// ClassOf returns the class of the first *Error in err's chain. A context's end is ClassRetriable; anything else is ClassUnknown.
func ClassOf(err error) Class {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ClassRetriable
	}
	return ClassUnknown
}

// IsNotFound reports whether the topic or resource does not exist.
func IsNotFound(err error) bool { return err != nil && ClassOf(err) == ClassNotFound }

// IsExists reports whether the topic exists already.
func IsExists(err error) bool { return err != nil && ClassOf(err) == ClassExists }

// IsRetriable reports whether a later retry of the same request may succeed.
func IsRetriable(err error) bool {
	if err == nil {
		return false
	}
	c := ClassOf(err)
	return c == ClassRetriable || c == ClassThrottled || c == ClassUnknown
}
